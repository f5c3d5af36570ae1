//! A passkey made of software: it signs what a browser would hand it, and whatever else a test
//! wants to be refused.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::{Answer, Person, World, id};

/// The page of every world.
const ORIGIN: &str = "https://ade.example.org";
const PARTY: &str = "ade.example.org";
/// The person is there, and the passkey has made sure who it is.
const VERIFIED: u8 = 0x05;
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
        let said = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin,
            "crossOrigin": false
        });
        said.to_string().into_bytes()
    }

    fn told(&self, flags: u8) -> Vec<u8> {
        let mut told = Sha256::digest(PARTY).to_vec();
        told.push(flags);
        told.extend(self.counter.to_be_bytes());
        told
    }

    /// As `navigator.credentials.create` would bring it.
    pub fn created(&self, options: &Value) -> Value {
        let mut told = self.told(NEW);
        told.extend([0; 16]);
        told.extend(u16::try_from(self.credential.len()).unwrap().to_be_bytes());
        told.extend(&self.credential);
        let key: PublicKeyX509Der<'_> = self.pair.public_key().as_der().unwrap();
        json!({
            "client_data": text(&self.client_data("webauthn.create", options)),
            "authenticator_data": text(&told),
            "public_key": text(key.as_ref()),
            "algorithm": -7
        })
    }

    /// As `navigator.credentials.get` would bring it.
    pub fn word(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let client_data = self.client_data("webauthn.get", options);
        let told = self.told(self.flags);
        let signed = [told.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "credential": text(&self.credential),
            "client_data": text(&client_data),
            "authenticator_data": text(&told),
            "signature": text(signature.as_ref())
        })
    }

    /// Asks for a word and gives it.
    pub async fn confirm(&mut self, world: &World, token: &str, step_up: &Value) -> Answer {
        let question = world.post(token, "/v1/step-up", step_up.clone()).await.expect(201);
        let path = format!("/v1/step-up/{}", id(&question));
        let given = self.word(&question["options"]);
        world.post(token, &path, given).await
    }
}

/// A first passkey of this person.
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

/// The same person, at another place.
pub async fn second_token(world: &World, who: &Person) -> String {
    let asked = json!({ "user": who.id, "scopes": crate::world::ALL_SCOPES });
    let made = world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201);
    made["token"].as_str().unwrap().to_owned()
}
