//! More than thirty ways to forge an ID token, none of which may identify a user.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;
use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;
const ISSUER: &str = "https://id.example";

/// A key pair of the provider, or of an attacker who impersonates it.
struct Pair {
    key: EncodingKey,
    algorithm: Algorithm,
    public: Value,
}

fn elliptic(id: &str) -> Pair {
    let made = EcdsaKeyPair::generate_pkcs8(
        &ECDSA_P256_SHA256_FIXED_SIGNING,
        &aws_lc_rs::rand::SystemRandom::new(),
    )
    .unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref()).unwrap();
    let point = pair.public_key().as_ref();
    let [x, y] = [&point[1..33], &point[33..65]].map(|part| URL_SAFE_NO_PAD.encode(part));
    let public = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id, "use": "sig" });
    Pair { key: EncodingKey::from_ec_der(made.as_ref()), algorithm: Algorithm::ES256, public }
}

fn edwards(id: &str) -> Pair {
    let made = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
    let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    let public = json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": id });
    Pair { key: EncodingKey::from_ed_der(made.as_ref()), algorithm: Algorithm::EdDSA, public }
}

fn encoded(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

fn signed(header: &str, payload: &str, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", encoded(header), encoded(payload));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "sub": "ada", "aud": "ade", "nonce": "n", "exp": NOW + 300, "iat": NOW,
            "name": "Ada", "email": "ada@example.org", "email_verified": true,
            "groups": ["dba", "staff"] })
}

/// Returns the valid claims with these changes; `null` removes a claim.
fn but(changes: &Value) -> String {
    let mut all = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(all.as_object_mut().unwrap().remove(name)),
            value => all[name] = value.clone(),
        }
    }
    all.to_string()
}

fn judge(token: &str, keys: &JwkSet) -> Result<Identity, IdTokenError> {
    let expected = ExpectedClaims { issuer: ISSUER, client: "ade", nonce: "n", now: NOW };
    verify(token, keys, &expected, "groups")
}

fn set(keys: &[&Value]) -> JwkSet {
    serde_json::from_value(json!({ "keys": keys })).unwrap()
}

fn header(pair: &Pair) -> String {
    json!({ "alg": format!("{:?}", pair.algorithm), "kid": pair.public["kid"] }).to_string()
}

#[test]
fn id_token_valid_identifies_by_issuer_and_subject() {
    for pair in [elliptic("one"), edwards("one")] {
        let token = signed(&header(&pair), &claims().to_string(), &pair.key, pair.algorithm);
        let who = judge(&token, &set(&[&pair.public])).unwrap();
        assert_eq!((who.issuer.as_str(), who.subject.as_str()), (ISSUER, "ada"));
        assert_eq!(who.name.as_deref(), Some("Ada"));
        assert_eq!(who.email.as_deref(), Some("ada@example.org"));
        assert_eq!(who.groups, ["dba", "staff"].map(str::to_owned).into());
    }
}

#[test]
fn id_token_unverified_email_is_ignored() {
    let pair = elliptic("one");
    for unchecked in [json!({ "email_verified": false }), json!({ "email_verified": null })] {
        let token = signed(&header(&pair), &but(&unchecked), &pair.key, pair.algorithm);
        assert_eq!(judge(&token, &set(&[&pair.public])).unwrap().email, None);
    }
}

/// The token is signed correctly, but its claims are for another client, another time or another
/// issuer.
#[test]
fn id_token_with_wrong_claims_is_rejected() {
    let pair = elliptic("one");
    let keys = set(&[&pair.public]);
    let cases = [
        json!({ "iss": "https://evil.example" }),
        json!({ "iss": "https://id.example/" }),
        json!({ "iss": null }),
        json!({ "aud": "other" }),
        json!({ "aud": ["other"] }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "aud": ["ade", "other"] }),
        json!({ "azp": "other" }),
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "exp": NOW - 61 }),
        json!({ "exp": null }),
        json!({ "exp": "tomorrow" }),
        json!({ "exp": -1 }),
        json!({ "iat": NOW - 700 }),
        json!({ "iat": NOW + 120 }),
        json!({ "iat": null }),
        json!({ "nbf": NOW + 120 }),
        json!({ "sub": "" }),
        json!({ "sub": null }),
        json!({ "sub": 7 }),
        json!({ "sub": "s".repeat(300) }),
    ];
    for case in cases {
        let token = signed(&header(&pair), &but(&case), &pair.key, pair.algorithm);
        assert!(judge(&token, &keys).is_err(), "{case}");
    }
    let twice = claims().to_string().replacen('{', r#"{"sub":"root","#, 1);
    let token = signed(&header(&pair), &twice, &pair.key, pair.algorithm);
    assert_eq!(judge(&token, &keys), Err(IdTokenError::Unreadable), "two subjects");
}

/// The published keys of the provider, and the keys of an attacker who impersonates it.
struct Forgery {
    ours: Pair,
    evil: Pair,
    ciphers: Pair,
    named: Pair,
    keys: JwkSet,
    payload: String,
}

impl Forgery {
    fn new() -> Self {
        let (ours, other) = (elliptic("one"), edwards("two"));
        let (mut ciphers, mut named) = (elliptic("ciphers"), elliptic("named"));
        ciphers.public["use"] = json!("enc");
        named.public["alg"] = json!("ES384");
        let shared = json!({ "kty": "oct", "k": encoded("shared"), "kid": "shared" });
        let keys = set(&[&ours.public, &other.public, &ciphers.public, &named.public, &shared]);
        let payload = claims().to_string();
        Self { ours, evil: elliptic("one"), ciphers, named, keys, payload }
    }

    fn with(&self, header: &Value, pair: &Pair) -> String {
        signed(&header.to_string(), &self.payload, &pair.key, pair.algorithm)
    }

    /// Returns a token signed with a shared secret.
    fn shared(&self, key: &str, secret: &str) -> String {
        let header = json!({ "alg": "HS256", "kid": key }).to_string();
        let key = EncodingKey::from_secret(secret.as_bytes());
        signed(&header, &self.payload, &key, Algorithm::HS256)
    }

    fn refuses(&self, forged: &[(&str, String)]) {
        for (what, token) in forged {
            assert!(judge(token, &self.keys).is_err(), "{what}");
        }
    }
}

/// The claims are valid, but the key is not one of the provider's keys for ID tokens.
#[test]
fn id_token_signed_by_a_wrong_key_is_rejected() {
    let forgery = Forgery::new();
    let Forgery { ours, evil, ciphers, named, .. } = &forgery;
    let whole = ours.public.to_string();
    let place = "https://evil.example/keys";
    let with = |header: Value, pair: &Pair| forgery.with(&header, pair);
    forgery.refuses(&[
        ("our public key as a secret", forgery.shared("one", ours.public["x"].as_str().unwrap())),
        ("the whole key as a secret", forgery.shared("one", &whole)),
        ("a shared secret that is published", forgery.shared("shared", "shared")),
        ("a key of the same name", with(json!({ "alg": "ES256", "kid": "one" }), evil)),
        ("an unknown key", with(json!({ "alg": "ES256", "kid": "none" }), evil)),
        (
            "a key of its own in the header",
            with(json!({ "alg": "ES256", "jwk": evil.public, "kid": "one" }), evil),
        ),
        (
            "a place for keys in the header",
            with(json!({ "alg": "ES256", "kid": "one", "jku": place }), evil),
        ),
        ("no name, where there are several keys", with(json!({ "alg": "ES256" }), evil)),
        ("a key of another kind", with(json!({ "alg": "ES256", "kid": "two" }), ours)),
        ("a key for something else", with(json!({ "alg": "ES256", "kid": "ciphers" }), ciphers)),
        ("a key for another algorithm", with(json!({ "alg": "ES256", "kid": "named" }), named)),
    ]);
}

/// The claims are valid, but the signature is missing or covers something else.
#[test]
fn id_token_with_forged_signature_is_rejected() {
    let forgery = Forgery::new();
    let ours = &forgery.ours;
    let good = forgery.with(&json!({ "alg": "ES256", "kid": "one" }), ours);
    assert!(judge(&good, &forgery.keys).is_ok());
    let parts: Vec<&str> = good.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    let root = encoded(&but(&json!({ "sub": "root" })));
    let none = encoded(r#"{"alg":"none"}"#);
    let spelt = encoded(r#"{"alg":"None"}"#);
    let nameless = encoded(r#"{"alg":"ES256"}"#);
    let zeros = URL_SAFE_NO_PAD.encode([0; 64]);
    let critical = json!({ "alg": "ES256", "kid": "one", "crit": ["x"], "x": 1 });
    forgery.refuses(&[
        ("no algorithm", format!("{none}.{body}.")),
        ("no algorithm, spelt otherwise", format!("{spelt}.{body}.")),
        ("no algorithm, with a signature", format!("{none}.{body}.{signature}")),
        (
            "an algorithm that does not exist",
            forgery.with(&json!({ "alg": "ES257", "kid": "one" }), ours),
        ),
        ("something critical", forgery.with(&critical, ours)),
        ("other claims", format!("{head}.{root}.{signature}")),
        ("another header", format!("{nameless}.{body}.{signature}")),
        ("no signature", format!("{head}.{body}.")),
        ("half a signature", good[..good.len() - 40].to_owned()),
        ("a signature of zeros", format!("{head}.{body}.{zeros}")),
        ("two parts", format!("{head}.{body}")),
        ("five parts", format!("{good}.{body}.{signature}")),
        ("nothing", String::new()),
        ("too much", format!("{good}{}", "A".repeat(ID_TOKEN_MAX_BYTES))),
    ]);
}
