//! Receipts as a target sees them: valid ones, forged ones, and those of a holder that is late.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_800_000_000;

fn receipt() -> Receipt {
    Receipt {
        issuer: "https://ade.example".to_owned(),
        audience: "database:orders".to_owned(),
        nonce: "n-1".to_owned(),
        issued_at: NOW - 5,
        expires_at: NOW + 60,
        task: "task_1".to_owned(),
        tenant: "tnt_1".to_owned(),
        revision: 2,
        digest: "ab".repeat(32),
        agent: "agt_1".to_owned(),
        lease: "lea_1".to_owned(),
        votes: vec![Voted { user: "usr_1".to_owned(), at: "2026-01-01T00:00:00Z".to_owned() }],
        policies: vec![PolicyVersion { policy: "pol_1".to_owned(), version: 3 }],
        resources: vec![fenced(LockMode::Exclusive, 7)],
        versions: BTreeMap::from([("database:orders".to_owned(), "v9".to_owned())]),
    }
}

fn fenced(mode: LockMode, fence: u64) -> Fenced {
    Fenced { resource: "database:orders".to_owned(), mode, fence }
}

fn signer() -> Signer {
    Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap()
}

fn keys(signers: &[&Signer]) -> KeySet {
    KeySet::new(signers.iter().map(|signer| signer.public().clone()).collect())
}

const EXPECTED: Expected<'_> =
    Expected { issuer: "https://ade.example", audience: "database:orders", now: NOW };

#[test]
fn receipt_is_verified_also_after_a_key_rotation() {
    let (old, new) = (signer(), signer());
    let [by_old, by_new] = [&old, &new].map(|signer| signer.sign(&receipt()).unwrap());
    let both = serde_json::to_string(&keys(&[&new, &old])).unwrap();
    let both = KeySet::from_json(&both).unwrap();
    for token in [&by_old, &by_new] {
        assert_eq!(both.verify(token, EXPECTED), Ok(receipt()));
    }
    let only_new = keys(&[&new]);
    let id = old.public().id.clone();
    assert_eq!(only_new.verify(&by_old, EXPECTED), Err(Refused::UnknownKey { id }));
    assert_eq!(receipt().of("database:orders"), Some(&fenced(LockMode::Exclusive, 7)));
    assert_eq!(receipt().of("database:other"), None);
}

#[test]
fn receipt_is_valid_for_its_issuer_audience_and_in_time() {
    let signer = signer();
    let token = signer.sign(&receipt()).unwrap();
    let keys = keys(&[&signer]);
    let refusal = |expected| keys.verify(&token, expected).unwrap_err();
    let issuer = receipt().issuer;
    let other = Expected { issuer: "https://evil.example", ..EXPECTED };
    assert_eq!(refusal(other), Refused::OtherIssuer { issuer });
    let audience = receipt().audience;
    let other = Expected { audience: "database:other", ..EXPECTED };
    assert_eq!(refusal(other), Refused::OtherAudience { audience });
    let until = receipt().expires_at;
    assert_eq!(refusal(Expected { now: until, ..EXPECTED }), Refused::RunOut { until });
    assert!(keys.verify(&token, Expected { now: until - 1, ..EXPECTED }).is_ok());
    let issued_at = receipt().issued_at;
    let early = Expected { now: issued_at - 1, ..EXPECTED };
    assert_eq!(refusal(early), Refused::NotYet { issued_at });
}

/// A token of these two parts with the signature of another one.
fn forged(header: &Value, claims: &Value, signature: &str) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    format!("{header}.{claims}.{signature}")
}

#[test]
fn receipt_that_is_forged_is_refused() {
    let signer = signer();
    let keys = keys(&[&signer]);
    let token = signer.sign(&receipt()).unwrap();
    let (whole, signature) = token.rsplit_once('.').unwrap();
    let (_, claims) = whole.split_once('.').unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let kid = &signer.public().id;
    let honest = json!({ "alg": "EdDSA", "typ": "ade-receipt+jwt", "kid": kid });
    let mut richer = claims.clone();
    richer["resources"][0]["fence"] = json!(8);
    let mut talkative = claims.clone();
    talkative["scope"] = json!("everything");
    let not_receipts = [
        String::new(),
        "a.b.c".to_owned(),
        whole.to_owned(),
        forged(&json!({ "alg": "none", "typ": "ade-receipt+jwt", "kid": kid }), &claims, ""),
        forged(
            &json!({ "alg": "HS256", "typ": "ade-receipt+jwt", "kid": kid }),
            &claims,
            signature,
        ),
        forged(
            &json!({ "alg": "RS256", "typ": "ade-receipt+jwt", "kid": kid }),
            &claims,
            signature,
        ),
        forged(&json!({ "alg": "EdDSA", "typ": "JWT", "kid": kid }), &claims, signature),
        forged(&json!({ "alg": "EdDSA", "kid": kid }), &claims, signature),
        forged(&json!({ "alg": "EdDSA", "typ": "ade-receipt+jwt" }), &claims, signature),
    ];
    for token in not_receipts {
        assert_eq!(keys.verify(&token, EXPECTED), Err(Refused::NotAReceipt), "{token}");
    }
    let wrong_signatures = [
        forged(&honest, &richer, signature),
        forged(&honest, &talkative, signature),
        forged(&honest, &claims, ""),
        forged(&honest, &claims, &signature[2..]),
        forged(&honest, &claims, &URL_SAFE_NO_PAD.encode([0; 64])),
    ];
    for token in wrong_signatures {
        assert_eq!(keys.verify(&token, EXPECTED), Err(Refused::WrongSignature), "{token}");
    }
    let own = self::signer();
    let by_another = own.sign(&receipt()).unwrap();
    let id = own.public().id.clone();
    assert_eq!(keys.verify(&by_another, EXPECTED), Err(Refused::UnknownKey { id }));
}

/// RFC 8037, appendix A: the key, its thumbprint, and a signature made elsewhere.
#[test]
fn keys_and_signatures_follow_rfc_8037() {
    let text = json!({ "keys": [{
        "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
        "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }] });
    let keys = KeySet::from_json(&text.to_string()).unwrap();
    let key = keys.get("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k").unwrap();
    let key = jsonwebtoken::DecodingKey::from_ed_components(&key.x).unwrap();
    let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = concat!(
        "hgyY0il_MGCjP0JzlnLWG1PPO",
        "t7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
    let algorithm = jsonwebtoken::Algorithm::EdDSA;
    assert!(jsonwebtoken::crypto::verify(signature, message, &key, algorithm).unwrap());
}

#[test]
fn key_set_with_an_inconsistent_key_is_refused() {
    let good = serde_json::to_value(signer().public()).unwrap();
    for (member, wrong) in
        [("kid", "mine"), ("x", "AAAA"), ("crv", "X25519"), ("kty", "RSA"), ("alg", "none")]
    {
        let mut key = good.clone();
        key[member] = json!(wrong);
        let set = json!({ "keys": [good, key] }).to_string();
        assert!(matches!(KeySet::from_json(&set), Err(KeyError::NotPublic { .. })), "{member}");
    }
    assert!(matches!(KeySet::from_json("{}"), Err(KeyError::NotASet(_))));
    assert!(matches!(Signer::from_pkcs8(b"not one"), Err(KeyError::NotPrivate)));
    assert!(format!("{:?}", signer()).contains("public"));
}

#[test]
fn watermark_refuses_older_fences() {
    let admit = |mark: Watermark, mode, fence| mark.admit(&fenced(mode, fence));
    let mark = admit(Watermark::default(), LockMode::Exclusive, 5).unwrap();
    // The same holder is admitted again; an earlier one is not.
    assert_eq!(admit(mark, LockMode::Exclusive, 5), Ok(mark));
    assert_eq!(admit(mark, LockMode::Exclusive, 4), Err(Overtaken { fence: 4, at: 5 }));
    assert_eq!(admit(mark, LockMode::Shared, 4), Err(Overtaken { fence: 4, at: 5 }));
    let mark = admit(mark, LockMode::Shared, 9).unwrap();
    // Shared holders are admitted in any order.
    let mark = admit(mark, LockMode::Shared, 7).unwrap();
    assert_eq!(admit(mark, LockMode::Exclusive, 8), Err(Overtaken { fence: 8, at: 9 }));
    let mark = admit(mark, LockMode::Exclusive, 10).unwrap();
    assert_eq!(admit(mark, LockMode::Shared, 9), Err(Overtaken { fence: 9, at: 10 }));
}

#[test]
fn request_token_covers_its_body_and_is_not_a_receipt() {
    let signer = signer();
    let keys = keys(&[&signer]);
    let (issuer, audience) = (EXPECTED.issuer, EXPECTED.audience);
    let request = SignedRequest::new(issuer, audience, "n-1", "apply", b"{}");
    let request = request.between(NOW - 5, NOW + 60);
    let token = signer.sign_request(&request).unwrap();
    assert_eq!(keys.verify_request(&token, b"{}", EXPECTED), Ok(request.clone()));
    assert_eq!(keys.verify_request(&token, b"{ }", EXPECTED), Err(Refused::OtherBody));
    assert_eq!(keys.verify(&token, EXPECTED), Err(Refused::NotAReceipt));
    let receipt = signer.sign(&receipt()).unwrap();
    assert_eq!(keys.verify_request(&receipt, b"{}", EXPECTED), Err(Refused::NotAReceipt));
    let late = Expected { now: NOW + 60, ..EXPECTED };
    let until = request.expires_at;
    assert_eq!(keys.verify_request(&token, b"{}", late), Err(Refused::RunOut { until }));
    let other = Expected { audience: "https://elsewhere.example", ..EXPECTED };
    let audience = request.audience;
    let refusal = keys.verify_request(&token, b"{}", other);
    assert_eq!(refusal, Err(Refused::OtherAudience { audience }));
}
