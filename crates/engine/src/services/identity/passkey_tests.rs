//! Assertions and registrations of generated keys of every supported type: valid ones are accepted,
//! and every change to one is detected.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Pair {
    fn all() -> [Self; 3] {
        [
            Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
            Self::Ed25519(Ed25519KeyPair::generate().unwrap()),
            Self::Rsa(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())),
        ]
    }

    fn algorithm(&self) -> i32 {
        match self {
            Self::P256(_) => -7,
            Self::Ed25519(_) => -8,
            Self::Rsa(_) => -257,
        }
    }

    fn public_key(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = match self {
            Self::P256(pair) => pair.public_key().as_der().unwrap(),
            Self::Ed25519(pair) => pair.public_key().as_der().unwrap(),
            Self::Rsa(pair) => pair.public_key().as_der().unwrap(),
        };
        der.as_ref().to_vec()
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

fn party() -> Party {
    Party::of_page("https://ade.example.org").unwrap()
}

fn said(kind: &str, challenge: &Digest) -> Vec<u8> {
    let challenge = URL_SAFE_NO_PAD.encode(challenge.bytes());
    let said = json!({ "type": kind, "challenge": challenge, "origin": party().origin() });
    said.to_string().into_bytes()
}

fn authenticator_bytes(flags: u8, counter: u32) -> Vec<u8> {
    let party = Digest::of(party().id().as_bytes());
    [party.bytes().as_slice(), &[flags], &counter.to_be_bytes()].concat()
}

fn signed(pair: &Pair, client_data: &[u8], authenticator_data: &[u8]) -> Vec<u8> {
    let said = Digest::of(client_data);
    pair.sign(&[authenticator_data, said.bytes()].concat())
}

#[test]
fn passkey_assertion_verifies_and_tampering_is_detected() {
    let (challenge, party) = (Digest::of(b"this"), party());
    let client_data = said("webauthn.get", &challenge);
    let authenticator_data = authenticator_bytes(5, 8);
    for pair in Pair::all() {
        let (algorithm, public_key) = (pair.algorithm(), pair.public_key());
        let signature = signed(&pair, &client_data, &authenticator_data);
        let ask = |client_data: &[u8], authenticator_data: &[u8], signature: &[u8]| {
            let answer = PasskeyResponse { client_data, authenticator_data };
            let known = RegisteredKey { algorithm, public_key: &public_key, counter: 7 };
            verify(answer, signature, known, &challenge, &party)
        };
        assert_eq!(ask(&client_data, &authenticator_data, &signature), Ok(8), "{algorithm}");
        // The signature covers every byte.
        for at in 0..client_data.len() {
            let mut other = client_data.clone();
            other[at] ^= 1;
            assert!(ask(&other, &authenticator_data, &signature).is_err(), "{algorithm} {at}");
        }
        for at in 0..authenticator_data.len() {
            let mut other = authenticator_data.clone();
            other[at] ^= 1;
            assert!(ask(&client_data, &other, &signature).is_err(), "{algorithm} {at}");
        }
        for at in 0..signature.len() {
            let mut other = signature.clone();
            other[at] ^= 1;
            let refused = ask(&client_data, &authenticator_data, &other);
            assert_eq!(refused, Err(PasskeyError::Signature), "{algorithm} {at}");
        }
        let none = ask(&client_data, &authenticator_data, &[]);
        assert_eq!(none, Err(PasskeyError::Signature));
        // JSON ignores the space; the signature does not.
        let spaced = [client_data.as_slice(), b" "].concat();
        let refused = ask(&spaced, &authenticator_data, &signature);
        assert_eq!(refused, Err(PasskeyError::Signature));
        for counter in [0, 6, 7] {
            let old = authenticator_bytes(5, counter);
            let signature = signed(&pair, &client_data, &old);
            assert_eq!(ask(&client_data, &old, &signature), Err(PasskeyError::Copied));
        }
    }
}

#[test]
fn passkey_assertion_verifies_only_with_its_own_key() {
    let (challenge, party) = (Digest::of(b"this"), party());
    let client_data = said("webauthn.get", &challenge);
    let authenticator_data = authenticator_bytes(5, 0);
    let answer =
        PasskeyResponse { client_data: &client_data, authenticator_data: &authenticator_data };
    let pairs = Pair::all();
    for pair in &pairs {
        let signature = signed(pair, &client_data, &authenticator_data);
        for other in &pairs {
            for algorithm in [-7, -8, -257, -35, 0] {
                let public_key = other.public_key();
                let known = RegisteredKey { algorithm, public_key: &public_key, counter: 0 };
                let is_it = std::ptr::eq(pair, other) && algorithm == pair.algorithm();
                let verified = verify(answer, &signature, known, &challenge, &party);
                assert_eq!(verified.is_ok(), is_it, "{algorithm}: {verified:?}");
            }
        }
    }
}

#[test]
fn passkey_registration_accepts_supported_key_types_only() {
    let (challenge, party) = (Digest::of(b"this"), party());
    let client_data = said("webauthn.create", &challenge);
    let named =
        [authenticator_bytes(0x45, 3), vec![0; 16], vec![0, 2], b"id".to_vec(), vec![9; 77]]
            .concat();
    let ask = |algorithm: i32, public_key: &[u8]| {
        let answer = PasskeyResponse { client_data: &client_data, authenticator_data: &named };
        register(answer, algorithm, public_key, &challenge, &party)
    };
    for pair in Pair::all() {
        let key = pair.public_key();
        assert_eq!(ask(pair.algorithm(), &key), Ok((b"id".to_vec(), 3)));
        for other in ALGORITHMS.into_iter().filter(|other| *other != pair.algorithm()) {
            assert_eq!(ask(other, &key), Err(PasskeyError::Key), "{other}");
        }
        assert_eq!(ask(pair.algorithm(), &key[1..]), Err(PasskeyError::Key));
        assert_eq!(ask(pair.algorithm(), &[]), Err(PasskeyError::Key));
    }
    let strange = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_ASN1_SIGNING).unwrap();
    let der: PublicKeyX509Der<'_> = strange.public_key().as_der().unwrap();
    assert_eq!(ask(-7, der.as_ref()), Err(PasskeyError::Key), "another curve");
    let get = said("webauthn.get", &challenge);
    let answer = PasskeyResponse { client_data: &get, authenticator_data: &named };
    let key = Pair::all()[0].public_key();
    let refused = register(answer, -7, &key, &challenge, &party);
    assert_eq!(refused, Err(PasskeyError::Disbelief(PasskeyRejection::Kind)));
}

#[test]
fn passkey_rule_required_is_refused_without_a_host_name() {
    assert!(
        Passkeys::new(Rule::Required, Duration::from_hours(1), "http://127.0.0.1:7700").is_err()
    );
    let off = Passkeys::new(Rule::WhenEnrolled, Duration::from_hours(1), "http://127.0.0.1:7700")
        .unwrap();
    assert!(off.party().is_none());
    let on =
        Passkeys::new(Rule::Required, Duration::from_hours(1), "https://ade.example.org").unwrap();
    assert_eq!(on.party().unwrap().id(), "ade.example.org");
}
