//! Audit entries have exact bytes, and no other bytes are accepted.

use proptest::prelude::*;

use super::super::tree::leaf_hash;
use super::*;
use crate::actor::CredentialKind;
use crate::ids::StepUpId;

/// Parses bytes of an entry from the usual origin.
fn read_back(bytes: &[u8]) -> Result<AuditEntry, LeafError> {
    let mut entry = AuditEntry::parse(bytes)?;
    entry.reveal(Some(origin()))?;
    Ok(entry)
}

fn credential(kind: CredentialKind) -> Credential {
    Credential {
        kind,
        key_id: "AAAAAAAAAAA".to_owned(),
        issued_by: Some(UserId::from_u128(6)),
        step_up: Some(StepUpId::from_u128(7)),
    }
}

fn origin() -> RequestOrigin {
    RequestOrigin {
        salt: Uuid::from_u128(8),
        address: "2001:db8::1".parse().ok(),
        user_agent: Some("ade/0.1 \"é\"\n".to_owned()),
    }
}

fn example() -> AuditEntry {
    AuditEntry::new(
        TenantId::from_u128(1),
        EntryKind::Change,
        Who::Agent {
            agent: AgentId::from_u128(2),
            on_behalf_of: UserId::from_u128(3),
            credential: Some(credential(CredentialKind::Token)),
        },
        What {
            object: "task_00000000000000000000000005".to_owned(),
            action: "task.submit".to_owned(),
            from: Some("DRAFT".to_owned()),
            to: Some("SUBMITTED".to_owned()),
            revision: Some(7),
            digest: Some(Digest::of(b"")),
        },
        Timestamp::from_micros(1_773_847_800_000_001),
        Where::request(origin(), "api"),
        Why { reason: None, ticket: Some("INC-42".to_owned()) },
    )
    .with_assertion(&Assertion {
        authenticator_data: "YQ",
        client_data: "Yg",
        signature: "Yw",
    })
}

/// Written by hand. If this test fails, the code is wrong: entries like this one are stored.
const EXAMPLE: &str = concat!(
    r#"{"assertion":"#,
    r#""sha256:52b4f4e0325cdfd80581fef0f07f71803b8be1461fc0a84fdb43d47fe451b2b1","#,
    r#""format":2,"kind":"change","marks":[],"setup":false,"#,
    r#""tenant":"ten_00000000000000000000000001","#,
    r#""what":{"action":"task.submit","#,
    r#""digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","#,
    r#""from":"DRAFT","object":"task_00000000000000000000000005","revision":7,"#,
    r#""to":"SUBMITTED"},"when":"2026-03-18T15:30:00.000001Z","#,
    r#""where":{"origin":"#,
    r#""sha256:c16a85eb5777e8d4f1da6452f5c35953be4025439512d2553e34977b5d590091","#,
    r#""service":"api"},"#,
    r#""who":{"agent":"agt_00000000000000000000000002","#,
    r#""credential":{"issued_by":"usr_00000000000000000000000006","key_id":"AAAAAAAAAAA","#,
    r#""kind":"token","step_up":"stp_00000000000000000000000007"},"kind":"agent","#,
    r#""on_behalf_of":"usr_00000000000000000000000003"},"#,
    r#""why":{"reason":null,"ticket":"INC-42"}}"#,
);

#[test]
fn audit_entry_bytes_are_pinned() {
    let bytes = example().to_bytes().unwrap();
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), EXAMPLE);
    assert_eq!(
        leaf_hash(&bytes).to_string(),
        "sha256:9992b689a3f763ba08427d107ff4f5208e8f6b0250b63532df4cf3a3e872ebba"
    );
    let mut read = AuditEntry::parse(EXAMPLE.as_bytes()).unwrap();
    assert_eq!(read.place.origin(), None, "the bytes contain no address");
    read.reveal(Some(origin())).unwrap();
    assert_eq!(read, example());
}

#[test]
fn audit_entry_accepts_only_the_origin_that_it_hashes() {
    let entry = || AuditEntry::parse(EXAMPLE.as_bytes()).unwrap();
    assert_eq!(entry().reveal(None), Ok(()), "an erased origin");
    let others = [
        RequestOrigin { salt: Uuid::from_u128(9), ..origin() },
        RequestOrigin { address: "2001:db8::2".parse().ok(), ..origin() },
        RequestOrigin { address: None, ..origin() },
        RequestOrigin { user_agent: None, ..origin() },
    ];
    for other in others {
        assert_eq!(entry().reveal(Some(other)), Err(LeafError::WrongOrigin));
    }
    let mut own = AuditEntry { place: Where::service("worker"), ..entry() };
    assert_eq!(own.reveal(Some(origin())), Err(LeafError::WrongOrigin));
}

#[test]
fn audit_entry_has_a_form_for_each_kind_of_actor() {
    let session = Credential {
        kind: CredentialKind::Session,
        issued_by: None,
        step_up: None,
        ..credential(CredentialKind::Session)
    };
    let forms = [
        (
            Actor::User { id: UserId::from_u128(1), credential: Some(session) },
            r#"{"credential":{"issued_by":null,"key_id":"AAAAAAAAAAA","kind":"session","#
                .to_owned()
                + r#""step_up":null},"kind":"user","user":"usr_00000000000000000000000001"}"#,
        ),
        (
            Actor::agent(AgentId::from_u128(2), UserId::from_u128(1)),
            r#"{"agent":"agt_00000000000000000000000002","credential":null,"kind":"agent","#
                .to_owned()
                + r#""on_behalf_of":"usr_00000000000000000000000001"}"#,
        ),
        (Actor::system("expirer"), r#"{"kind":"system","worker":"expirer"}"#.to_owned()),
    ];
    for (actor, form) in forms {
        let mut leaf = example();
        leaf.who = Who::from(&actor);
        let text = String::from_utf8(leaf.to_bytes().unwrap()).unwrap();
        assert!(text.contains(&format!(r#""who":{form}"#)), "{text}");
        assert_eq!(read_back(text.as_bytes()), Ok(leaf));
    }
}

#[test]
fn audit_entry_kinds_have_their_names() {
    for (kind, word) in [
        (EntryKind::Change, "change"),
        (EntryKind::Refusal, "refusal"),
        (EntryKind::Disclosure, "disclosure"),
    ] {
        let leaf = AuditEntry { kind, ..example() };
        let text = String::from_utf8(leaf.to_bytes().unwrap()).unwrap();
        assert!(text.contains(&format!(r#""kind":"{word}","marks""#)), "{text}");
    }
}

#[test]
fn audit_entry_in_another_spelling_is_refused() {
    let same = |from: &str, to: &str| {
        let text = EXAMPLE.replacen(from, to, 1);
        assert_ne!(text, EXAMPLE, "{from}");
        AuditEntry::parse(text.as_bytes())
    };
    for (from, to) in [
        (r#"{"assertion""#, r#"{ "assertion""#),
        (r#""kind":"change","#, ""),
        (r#""reason":null,"#, ""),
        (r#""ticket":"INC-42""#, r#""ticket":"INC\u002d42""#),
        (r#""kind":"token""#, r#""kind":"cookie""#),
        (r#""step_up":"#, r#""session":null,"step_up":"#),
        (r#""origin":"#, r#""address":null,"origin":"#),
        (".000001Z", ".0000010Z"),
        ("15:30:00.000001Z", "16:30:00.000001+01:00"),
        (r#""revision":7"#, r#""revision":7.0"#),
        (r#""revision":7"#, r#""revision":7e0"#),
        (r#""format":2,"kind":"change""#, r#""kind":"change","format":2"#),
        (r#""ticket":"INC-42""#, r#""ticket":"INC-42","note":"x""#),
        (r#""to":"SUBMITTED""#, r#""to":"REJECTED","to":"SUBMITTED""#),
        (r#""when":"#, r#""until":null,"when":"#),
        ("sha256:e3", "sha256:E3"),
    ] {
        assert!(same(from, to).is_err(), "{from} as {to}");
    }
    assert_eq!(same(r#""reason":null,"#, ""), Err(LeafError::NotCanonical));
    let newer = same(r#""format":2"#, r#""format":3"#).unwrap_err();
    assert!(newer.to_string().contains("unsupported format 3, expected 2"), "{newer}");
    let trailing = AuditEntry::parse(format!("{EXAMPLE}\n").as_bytes());
    assert_eq!(trailing, Err(LeafError::NotCanonical));
}

#[test]
fn audit_entry_texts_are_bounded_and_not_empty() {
    type Field = (&'static str, usize, fn(&mut AuditEntry, String));
    let fields: [Field; 9] = [
        ("who.worker", AUDIT_TEXT_MAX_BYTES, |leaf, worker| {
            leaf.who = Who::System { worker };
        }),
        ("what.object", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.what.object = text;
        }),
        ("what.action", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.what.action = text;
        }),
        ("what.from", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.what.from = Some(text);
        }),
        ("what.to", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.what.to = Some(text);
        }),
        ("who.credential.key_id", AUDIT_TEXT_MAX_BYTES, |leaf, key_id| {
            let credential = Credential { key_id, ..credential(CredentialKind::Session) };
            leaf.who = Who::User { user: UserId::from_u128(1), credential: Some(credential) };
        }),
        ("where.service", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.place = leaf.place.in_service(text);
        }),
        ("why.reason", REASON_MAX_BYTES, |leaf, text| {
            leaf.why.reason = Some(text);
        }),
        ("why.ticket", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.why.ticket = Some(text);
        }),
    ];
    let mut largest = example();
    for (field, max, set) in fields {
        let with = |text: String| {
            let mut leaf = example();
            set(&mut leaf, text);
            leaf.to_bytes()
        };
        assert_eq!(with(String::new()), Err(LeafError::Empty { field }));
        assert!(with("x".repeat(max)).is_ok(), "{field}");
        let bytes = max + 1;
        let too_long = LeafError::TooLong { field, bytes, max };
        assert_eq!(with("x".repeat(bytes)), Err(too_long));
        // Every byte of this text takes six bytes when escaped.
        set(&mut largest, "\u{1}".repeat(max));
    }
    let bytes = largest.to_bytes().unwrap();
    assert!(bytes.len() > AUDIT_LEAF_MAX_BYTES / 2 && bytes.len() <= AUDIT_LEAF_MAX_BYTES);
    assert_eq!(read_back(&bytes), Ok(largest));
}

#[test]
fn audit_entry_over_the_size_limit_is_refused() {
    let blanks = vec![b' '; AUDIT_LEAF_MAX_BYTES + 1];
    let bytes = blanks.len();
    assert_eq!(AuditEntry::parse(&blanks), Err(LeafError::TooLarge { bytes }));
    let within = AuditEntry::parse(&blanks[1..]);
    assert!(matches!(within, Err(LeafError::Malformed(_))), "{within:?}");
}

#[test]
fn audit_entry_with_a_time_out_of_range_is_refused() {
    let leaf = AuditEntry { when: Timestamp::from_micros(i64::MAX), ..example() };
    assert_eq!(leaf.to_bytes(), Err(LeafError::NoSuchMoment { micros: i64::MAX }));
}

fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| {
        let mut text: String = text.chars().take(40).collect();
        text.push('.');
        text
    })
}

prop_compose! {
    fn whats()(
        object in text(), action in text(),
        from in prop::option::of(text()), to in prop::option::of(text()),
        revision: Option<u32>, bytes: Option<[u8; 32]>,
    ) -> What {
        What { object, action, from, to, revision, digest: bytes.map(Digest::from_bytes) }
    }
}

prop_compose! {
    fn credentials()(
        which in 0..3_usize, key_id in text(), issuer: Option<u128>, step_up: Option<u128>,
    ) -> Credential {
        use CredentialKind::{Invitation, Session, Token};
        Credential {
            kind: [Session, Token, Invitation][which],
            key_id,
            issued_by: issuer.map(UserId::from_u128),
            step_up: step_up.map(StepUpId::from_u128),
        }
    }
}

prop_compose! {
    fn leaves()(
        ids: [u128; 3], credential in prop::option::of(credentials()),
        which in 0..3, worker in text(), kind in 0..3_usize,
        what in whats(),
        micros in -377_705_023_201_000_000_i64..=253_402_207_200_999_999,
        is_request: bool, salt: u128, address: Option<IpAddr>,
        user_agent in prop::option::of(text()), service in text(),
        reason in prop::option::of(text()), ticket in prop::option::of(text()),
        assertion: Option<[u8; 32]>,
    ) -> AuditEntry {
        let who = match which {
            0 => Who::User {
                user: UserId::from_u128(ids[1]),
                credential,
            },
            1 => Who::Agent {
                agent: AgentId::from_u128(ids[2]),
                on_behalf_of: UserId::from_u128(ids[1]),
                credential,
            },
            _ => Who::System { worker },
        };
        let kind = [EntryKind::Change, EntryKind::Refusal, EntryKind::Disclosure][kind];
        let origin = RequestOrigin { salt: Uuid::from_u128(salt), address, user_agent };
        let place = if is_request {
            Where::request(origin, service)
        } else {
            Where::service(service)
        };
        let when = Timestamp::from_micros(micros);
        let why = Why { reason, ticket };
        let entry = AuditEntry::new(TenantId::from_u128(ids[0]), kind, who, what, when, place, why);
        AuditEntry { assertion: assertion.map(Digest::from_bytes), ..entry }
    }
}

proptest! {
    #[test]
    fn audit_entry_round_trips_through_its_bytes(leaf in leaves()) {
        let bytes = leaf.to_bytes().unwrap();
        let mut read = AuditEntry::parse(&bytes).unwrap();
        prop_assert_eq!(read.reveal(leaf.place.origin().cloned()), Ok(()));
        prop_assert_eq!(read, leaf);
    }

    #[test]
    fn audit_entry_of_random_bytes_is_refused_without_panic(bytes: Vec<u8>) {
        prop_assert!(AuditEntry::parse(&bytes).is_err());
    }

    /// If changed bytes of an entry are accepted at all, they are a different entry, never a second
    /// spelling of the same one.
    #[test]
    fn audit_entry_with_changed_bytes_is_different_or_refused(
        leaf in leaves(), at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = leaf.to_bytes().unwrap();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        if let Ok(other) = AuditEntry::parse(&bytes) {
            prop_assert_ne!(&other, &leaf);
            prop_assert_eq!(other.to_bytes(), Ok(bytes));
        }
    }
}
