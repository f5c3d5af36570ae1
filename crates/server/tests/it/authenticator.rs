//! A software passkey: it signs the challenges of a browser, and invalid ones for tests that expect
//! a refusal.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::{Answer, Person, World, id};

/// The origin of the dashboard in every test world.
const ORIGIN: &str = "https://ade.example.org";
const PARTY: &str = "ade.example.org";
/// The flags "user present" and "user verified".
const VERIFIED: u8 = 0x05;
/// The same flags, with attested credential data.
const NEW: u8 = 0x45;

pub struct Authenticator {
    pair: EcdsaKeyPair,
    credential: Vec<u8>,
    pub counter: u32,
    pub origin: &'static str,
    pub flags: u8,
}

pub fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Authenticator {
    pub fn new() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let credential = Sha256::digest(pair.public_key().as_ref()).to_vec();
        Self { pair, credential, counter: 0, origin: ORIGIN, flags: VERIFIED }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin,
            "crossOrigin": false
        });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let mut data = Sha256::digest(PARTY).to_vec();
        data.push(flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// The response of `navigator.credentials.create`.
    pub fn created(&self, options: &Value) -> Value {
        let mut data = self.authenticator_data(NEW);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.credential.len()).unwrap().to_be_bytes());
        data.extend(&self.credential);
        let key: PublicKeyX509Der<'_> = self.pair.public_key().as_der().unwrap();
        json!({
            "client_data": text(&self.client_data("webauthn.create", options)),
            "authenticator_data": text(&data),
            "public_key": text(key.as_ref()),
            "algorithm": -7
        })
    }

    /// The response of `navigator.credentials.get`.
    pub fn word(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let client_data = self.client_data("webauthn.get", options);
        let data = self.authenticator_data(self.flags);
        let signed = [data.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "credential": text(&self.credential),
            "client_data": text(&client_data),
            "authenticator_data": text(&data),
            "signature": text(signature.as_ref())
        })
    }

    /// Starts a step-up and confirms it with this passkey.
    pub async fn confirm(&mut self, world: &World, token: &str, step_up: &Value) -> Answer {
        let question = world.post(token, "/v1/step-up", step_up.clone()).await.expect(201);
        let path = format!("/v1/step-up/{}", id(&question));
        let given = self.word(&question["options"]);
        world.post(token, &path, given).await
    }
}

/// Registers the first passkey of this person.
pub async fn enrol(world: &World, who: &Person) -> Authenticator {
    let key = Authenticator::new();
    add(world, &who.token, &key).await.expect(201);
    key
}

pub async fn add(world: &World, token: &str, key: &Authenticator) -> Answer {
    let offer = world.post(token, "/v1/passkeys", json!({ "name": "mine" })).await.expect(201);
    let path = format!("/v1/passkeys/{}", id(&offer));
    world.post(token, &path, key.created(&offer["options"])).await
}

/// Creates a second token of the same person.
pub async fn second_token(world: &World, who: &Person) -> String {
    let asked = json!({ "scopes": crate::world::NO_AUTHORITY });
    let made = world.post(&who.token, "/v1/tokens", asked).await.expect(201);
    let token = made["token"].as_str().unwrap().to_owned();
    world.widen(&token).await;
    token
}
