//! Every part of a response is tested with a wrong value, every truncation, and the names of pages.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn party() -> Party {
    Party::of_page("https://ade.example.org").unwrap()
}

fn challenge() -> Digest {
    Digest::of(b"challenge")
}

fn said(kind: &str) -> Value {
    json!({
        "type": kind, "challenge": URL_SAFE_NO_PAD.encode(challenge().bytes()),
        "origin": "https://ade.example.org", "crossOrigin": false
    })
}

fn authenticator_data(flags: u8, counter: u32, named: &[u8]) -> Vec<u8> {
    let mut bytes = Digest::of(b"ade.example.org").bytes().to_vec();
    bytes.push(flags);
    bytes.extend(counter.to_be_bytes());
    bytes.extend(named);
    bytes
}

fn named(credential: &[u8]) -> Vec<u8> {
    let length = u16::try_from(credential.len()).unwrap().to_be_bytes();
    [[7; MODEL_BYTES].as_slice(), &length, credential, b"the key"].concat()
}

fn ask(
    ceremony: Ceremony,
    said: &Value,
    authenticator_data: &[u8],
) -> Result<(u32, Option<Vec<u8>>), PasskeyRejection> {
    let (challenge, party) = (challenge(), party());
    let expected = ExpectedCeremony { ceremony, challenge: &challenge, party: &party };
    let believed = believe(said.to_string().as_bytes(), authenticator_data, &expected)?;
    Ok((believed.counter, believed.credential.map(<[u8]>::to_vec)))
}

const FLAGS: u8 = PRESENT | VERIFIED;
const NEW: u8 = FLAGS | NAMES_CREDENTIAL;

#[test]
fn passkey_answer_is_accepted_only_if_every_part_matches() {
    let (get, create) = (said("webauthn.get"), said("webauthn.create"));
    assert_eq!(ask(Ceremony::Get, &get, &authenticator_data(FLAGS, 7, &[])), Ok((7, None)));
    let copied = FLAGS | MAY_BE_COPIED | IS_COPIED;
    assert_eq!(
        ask(Ceremony::Get, &get, &authenticator_data(copied, 0, b"extensions")),
        Ok((0, None))
    );
    let made = authenticator_data(NEW, 0, &named(b"id"));
    assert_eq!(ask(Ceremony::Create, &create, &made), Ok((0, Some(b"id".to_vec()))));

    let with = |name: &str, value: Value| {
        let mut said = get.clone();
        said[name] = value;
        said
    };
    let padded = format!("{}=", get["challenge"].as_str().unwrap());
    let wrong = [
        (create.clone(), PasskeyRejection::Kind),
        (with("challenge", json!("")), PasskeyRejection::Challenge),
        (with("challenge", json!(padded)), PasskeyRejection::Challenge),
        (with("challenge", json!(URL_SAFE_NO_PAD.encode([0; 32]))), PasskeyRejection::Challenge),
        (with("origin", json!("https://ade.example.org/")), PasskeyRejection::Origin),
        (with("origin", json!("http://ade.example.org")), PasskeyRejection::Origin),
        (with("origin", json!("https://ade.example.org:444")), PasskeyRejection::Origin),
        (with("origin", json!("https://evil.ade.example.org")), PasskeyRejection::Origin),
        (with("crossOrigin", json!(true)), PasskeyRejection::Framed),
        (with("crossOrigin", json!("no")), PasskeyRejection::Unreadable),
        (json!({ "type": "webauthn.get" }), PasskeyRejection::Unreadable),
        (json!([]), PasskeyRejection::Unreadable),
    ];
    for (said, why) in wrong {
        assert_eq!(
            ask(Ceremony::Get, &said, &authenticator_data(FLAGS, 1, &[])),
            Err(why),
            "{said}"
        );
    }
    let added = with("topOrigin", json!("https://elsewhere.example"));
    assert!(
        ask(Ceremony::Get, &added, &authenticator_data(FLAGS, 1, &[])).is_ok(),
        "what others add"
    );

    for (flags, why) in [
        (0, PasskeyRejection::Absent),
        (VERIFIED, PasskeyRejection::Absent),
        (PRESENT, PasskeyRejection::Unverified),
        (FLAGS | IS_COPIED, PasskeyRejection::Contradiction),
    ] {
        assert_eq!(
            ask(Ceremony::Get, &get, &authenticator_data(flags, 1, &[])),
            Err(why),
            "{flags}"
        );
    }
    let mut elsewhere = authenticator_data(FLAGS, 1, &[]);
    elsewhere[0] ^= 1;
    assert_eq!(ask(Ceremony::Get, &get, &elsewhere), Err(PasskeyRejection::Party));
    for named in [
        Vec::new(),
        named(b""),
        named(&vec![1; CREDENTIAL_MAX_BYTES + 1]),
        named(b"id")[..MODEL_BYTES + 3].to_vec(),
    ] {
        let made = ask(Ceremony::Create, &create, &authenticator_data(NEW, 0, &named));
        assert_eq!(made, Err(PasskeyRejection::Credential), "{}", named.len());
    }
    let longest = vec![1; CREDENTIAL_MAX_BYTES];
    assert!(ask(Ceremony::Create, &create, &authenticator_data(NEW, 0, &named(&longest))).is_ok());
    let unnamed = ask(Ceremony::Create, &create, &authenticator_data(FLAGS, 0, &named(b"id")));
    assert_eq!(unnamed, Err(PasskeyRejection::Credential), "its flags announce no credential");
}

#[test]
fn passkey_answer_that_is_truncated_is_refused() {
    let whole = authenticator_data(FLAGS, 1, &[]);
    let get = said("webauthn.get");
    for length in 0..whole.len() {
        let cut = ask(Ceremony::Get, &get, &whole[..length]);
        assert_eq!(cut, Err(PasskeyRejection::Unreadable), "{length}");
    }
    let challenge = challenge();
    let party = party();
    let expected =
        ExpectedCeremony { ceremony: Ceremony::Get, challenge: &challenge, party: &party };
    let text = get.to_string();
    for length in 0..text.len() {
        let cut = believe(&text.as_bytes()[..length], &whole, &expected);
        assert_eq!(cut, Err(PasskeyRejection::Unreadable), "{length}");
    }
    let twice = text.replacen('{', r#"{"type":"webauthn.get","#, 1);
    let twice = believe(twice.as_bytes(), &whole, &expected);
    assert_eq!(twice, Err(PasskeyRejection::Unreadable), "duplicate keys are ambiguous");
}

#[test]
fn passkey_relying_party_is_the_host_name() {
    for (page, id, origin) in [
        ("https://ade.example.org", "ade.example.org", "https://ade.example.org"),
        ("HTTPS://ADE.Example.org/", "ade.example.org", "https://ade.example.org"),
        ("https://ade.example.org:443/x", "ade.example.org", "https://ade.example.org"),
        ("https://ade.example.org:8443", "ade.example.org", "https://ade.example.org:8443"),
        ("http://localhost:7700", "localhost", "http://localhost:7700"),
        ("http://localhost:80?x", "localhost", "http://localhost"),
        ("http://ade.localhost", "ade.localhost", "http://ade.localhost"),
        ("https://localhost", "localhost", "https://localhost"),
    ] {
        let party = Party::of_page(page).unwrap();
        assert_eq!((party.id(), party.origin()), (id, origin), "{page}");
    }
    for page in [
        "",
        "ade.example.org",
        "http://ade.example.org",
        "http://127.0.0.1:7700",
        "https://127.0.0.1",
        "https://[::1]:7700",
        "https://",
        "https://a..b",
        "https://user@ade.example.org",
        "https://ade.example.org:x",
        "https://ade.example.org:70000",
        "https://ade.example.org:",
        "ftp://localhost",
    ] {
        assert_eq!(Party::of_page(page), Err(NoParty), "{page}");
    }
}

proptest! {
    #[test]
    fn passkey_counter_must_increase(before: u32, now: u32) {
        let expected = now.checked_sub(before).is_some_and(|more| more > 0 || now == 0);
        prop_assert_eq!(counts_on(before, now), expected);
    }

    #[test]
    fn passkey_parser_never_panics(heard: Vec<u8>, authenticator_data: Vec<u8>, is_new: bool) {
        let ceremony = if is_new { Ceremony::Create } else { Ceremony::Get };
        let (challenge, party) = (challenge(), party());
        let expected = ExpectedCeremony { ceremony, challenge: &challenge, party: &party };
        prop_assert!(believe(&heard, &authenticator_data, &expected).is_err());
        let good = said("webauthn.get").to_string();
        let _ = believe(good.as_bytes(), &authenticator_data, &expected);
    }
}
