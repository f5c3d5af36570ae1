//! Audit entries have exact bytes, and no other bytes are accepted.

use proptest::prelude::*;

use super::super::tree::leaf_hash;
use super::*;

fn example() -> AuditEntry {
    AuditEntry::new(
        TenantId::from_u128(1),
        EntryKind::Change,
        Who::Agent {
            agent: AgentId::from_u128(2),
            on_behalf_of: UserId::from_u128(3),
            session: Some(ProcessId::from_u128(4)),
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
        Where {
            address: "2001:db8::1".parse().ok(),
            user_agent: Some("ade/0.1 \"é\"\n".to_owned()),
            service: "api".to_owned(),
        },
        Why { reason: None, ticket: Some("INC-42".to_owned()) },
    )
}

/// Written by hand. If this test fails, the code is wrong: entries like this one are stored.
const EXAMPLE: &str = concat!(
    r#"{"format":1,"kind":"change","tenant":"ten_00000000000000000000000001","#,
    r#""what":{"action":"task.submit","#,
    r#""digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","#,
    r#""from":"DRAFT","object":"task_00000000000000000000000005","revision":7,"#,
    r#""to":"SUBMITTED"},"when":"2026-03-18T15:30:00.000001Z","#,
    r#""where":{"address":"2001:db8::1","service":"api","user_agent":"ade/0.1 \"é\"\n"},"#,
    r#""who":{"agent":"agt_00000000000000000000000002","kind":"agent","#,
    r#""on_behalf_of":"usr_00000000000000000000000003","#,
    r#""session":"ags_00000000000000000000000004"},"#,
    r#""why":{"reason":null,"ticket":"INC-42"}}"#,
);

#[test]
fn audit_entry_bytes_are_pinned() {
    let bytes = example().to_bytes().unwrap();
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), EXAMPLE);
    assert_eq!(
        leaf_hash(&bytes).to_string(),
        "sha256:69a4d62eb734d070b5e371c4c0b4385e15b14d97360555873e27f668a78ef266"
    );
    assert_eq!(AuditEntry::parse(EXAMPLE.as_bytes()), Ok(example()));
}

#[test]
fn audit_entry_has_a_form_for_each_kind_of_actor() {
    let session = Some(SessionId::from_u128(9));
    let forms = [
        (
            Actor::User { id: UserId::from_u128(1), session, token_issuer: None },
            r#"{"kind":"user","session":"ses_00000000000000000000000009","#.to_owned()
                + r#""user":"usr_00000000000000000000000001"}"#,
        ),
        (
            Actor::agent(AgentId::from_u128(2), UserId::from_u128(1)),
            r#"{"agent":"agt_00000000000000000000000002","kind":"agent","#.to_owned()
                + r#""on_behalf_of":"usr_00000000000000000000000001","session":null}"#,
        ),
        (Actor::system("expirer"), r#"{"kind":"system","worker":"expirer"}"#.to_owned()),
    ];
    for (actor, form) in forms {
        let mut leaf = example();
        leaf.who = Who::from(&actor);
        let text = String::from_utf8(leaf.to_bytes().unwrap()).unwrap();
        assert!(text.contains(&format!(r#""who":{form}"#)), "{text}");
        assert_eq!(AuditEntry::parse(text.as_bytes()), Ok(leaf));
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
        assert!(text.contains(&format!(r#""kind":"{word}","tenant""#)), "{text}");
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
        (r#"{"format""#, r#"{ "format""#),
        (r#""kind":"change","#, ""),
        (r#""reason":null,"#, ""),
        ("é", "\\u00e9"),
        ("2001:db8::1", "2001:db8:0::1"),
        ("2001:db8::1", "2001:DB8::1"),
        (".000001Z", ".0000010Z"),
        ("15:30:00.000001Z", "16:30:00.000001+01:00"),
        (r#""revision":7"#, r#""revision":7.0"#),
        (r#""revision":7"#, r#""revision":7e0"#),
        (r#""format":1,"kind":"change""#, r#""kind":"change","format":1"#),
        (r#""ticket":"INC-42""#, r#""ticket":"INC-42","note":"x""#),
        (r#""to":"SUBMITTED""#, r#""to":"REJECTED","to":"SUBMITTED""#),
        (r#""when":"#, r#""until":null,"when":"#),
        ("sha256:e3", "sha256:E3"),
    ] {
        assert!(same(from, to).is_err(), "{from} as {to}");
    }
    assert_eq!(same(r#""reason":null,"#, ""), Err(LeafError::NotCanonical));
    let newer = same(r#""format":1"#, r#""format":2"#).unwrap_err();
    assert!(newer.to_string().contains("unsupported format 2, expected 1"), "{newer}");
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
        ("where.user_agent", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.place.user_agent = Some(text);
        }),
        ("where.service", AUDIT_TEXT_MAX_BYTES, |leaf, text| {
            leaf.place.service = text;
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
    assert_eq!(AuditEntry::parse(&bytes), Ok(largest));
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
    fn leaves()(
        ids: [u128; 3], user_session: Option<u128>, agent_session: Option<u128>,
        which in 0..3, worker in text(), kind in 0..3_usize,
        what in whats(),
        micros in -377_705_023_201_000_000_i64..=253_402_207_200_999_999,
        address: Option<IpAddr>, user_agent in prop::option::of(text()), service in text(),
        reason in prop::option::of(text()), ticket in prop::option::of(text()),
    ) -> AuditEntry {
        let who = match which {
            0 => Who::User {
                user: UserId::from_u128(ids[1]),
                session: user_session.map(SessionId::from_u128),
            },
            1 => Who::Agent {
                agent: AgentId::from_u128(ids[2]),
                on_behalf_of: UserId::from_u128(ids[1]),
                session: agent_session.map(ProcessId::from_u128),
            },
            _ => Who::System { worker },
        };
        let kind = [EntryKind::Change, EntryKind::Refusal, EntryKind::Disclosure][kind];
        let place = Where { address, user_agent, service };
        let when = Timestamp::from_micros(micros);
        let why = Why { reason, ticket };
        AuditEntry::new(TenantId::from_u128(ids[0]), kind, who, what, when, place, why)
    }
}

proptest! {
    #[test]
    fn audit_entry_round_trips_through_its_bytes(leaf in leaves()) {
        let bytes = leaf.to_bytes().unwrap();
        prop_assert_eq!(AuditEntry::parse(&bytes), Ok(leaf));
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
