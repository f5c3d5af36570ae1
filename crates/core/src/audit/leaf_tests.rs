//! The exact bytes of leaves, and that no other bytes are taken for one.

use proptest::prelude::*;

use super::super::tree::leaf_hash;
use super::*;

fn example() -> Leaf {
    Leaf::new(
        TenantId::from_u128(1),
        Kind::Change,
        Who::Agent {
            agent: AgentId::from_u128(2),
            on_behalf_of: UserId::from_u128(3),
            session: Some(AgentSessionId::from_u128(4)),
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

/// Written by hand. If this test fails, the code is wrong: leaves like this one are stored.
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
fn the_bytes_of_a_leaf_never_change() {
    let bytes = example().to_bytes().unwrap();
    assert_eq!(std::str::from_utf8(&bytes).unwrap(), EXAMPLE);
    assert_eq!(
        leaf_hash(&bytes).to_string(),
        "sha256:69a4d62eb734d070b5e371c4c0b4385e15b14d97360555873e27f668a78ef266"
    );
    assert_eq!(Leaf::parse(EXAMPLE.as_bytes()), Ok(example()));
}

#[test]
fn each_kind_of_actor_has_its_own_form() {
    let session = Some(SessionId::from_u128(9));
    let forms = [
        (
            Actor::User { id: UserId::from_u128(1), session },
            r#"{"kind":"user","session":"ses_00000000000000000000000009","#.to_owned()
                + r#""user":"usr_00000000000000000000000001"}"#,
        ),
        (
            Actor::Agent { id: AgentId::from_u128(2), on_behalf_of: UserId::from_u128(1) },
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
        assert_eq!(Leaf::parse(text.as_bytes()), Ok(leaf));
    }
}

#[test]
fn each_kind_of_leaf_has_its_word() {
    for (kind, word) in
        [(Kind::Change, "change"), (Kind::Refusal, "refusal"), (Kind::Disclosure, "disclosure")]
    {
        let leaf = Leaf { kind, ..example() };
        let text = String::from_utf8(leaf.to_bytes().unwrap()).unwrap();
        assert!(text.contains(&format!(r#""kind":"{word}","tenant""#)), "{text}");
    }
}

#[test]
fn any_other_spelling_is_refused() {
    let same = |from: &str, to: &str| {
        let text = EXAMPLE.replacen(from, to, 1);
        assert_ne!(text, EXAMPLE, "{from}");
        Leaf::parse(text.as_bytes())
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
    assert!(newer.to_string().contains("format 2 is not known"), "{newer}");
    let trailing = Leaf::parse(format!("{EXAMPLE}\n").as_bytes());
    assert_eq!(trailing, Err(LeafError::NotCanonical));
}

#[test]
fn every_text_is_bounded_and_filled_or_absent() {
    type Field = (&'static str, usize, fn(&mut Leaf, String));
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
        // Every byte of this takes six when escaped.
        set(&mut largest, "\u{1}".repeat(max));
    }
    let bytes = largest.to_bytes().unwrap();
    assert!(bytes.len() > AUDIT_LEAF_MAX_BYTES / 2 && bytes.len() <= AUDIT_LEAF_MAX_BYTES);
    assert_eq!(Leaf::parse(&bytes), Ok(largest));
}

#[test]
fn what_is_larger_than_any_leaf_is_not_read() {
    let blanks = vec![b' '; AUDIT_LEAF_MAX_BYTES + 1];
    let bytes = blanks.len();
    assert_eq!(Leaf::parse(&blanks), Err(LeafError::TooLarge { bytes }));
    let within = Leaf::parse(&blanks[1..]);
    assert!(matches!(within, Err(LeafError::Malformed(_))), "{within:?}");
}

#[test]
fn a_moment_outside_the_calendar_is_refused() {
    let leaf = Leaf { when: Timestamp::from_micros(i64::MAX), ..example() };
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
    ) -> Leaf {
        let who = match which {
            0 => Who::User {
                user: UserId::from_u128(ids[1]),
                session: user_session.map(SessionId::from_u128),
            },
            1 => Who::Agent {
                agent: AgentId::from_u128(ids[2]),
                on_behalf_of: UserId::from_u128(ids[1]),
                session: agent_session.map(AgentSessionId::from_u128),
            },
            _ => Who::System { worker },
        };
        let kind = [Kind::Change, Kind::Refusal, Kind::Disclosure][kind];
        let place = Where { address, user_agent, service };
        let when = Timestamp::from_micros(micros);
        let why = Why { reason, ticket };
        Leaf::new(TenantId::from_u128(ids[0]), kind, who, what, when, place, why)
    }
}

proptest! {
    #[test]
    fn a_leaf_survives_its_bytes(leaf in leaves()) {
        let bytes = leaf.to_bytes().unwrap();
        prop_assert_eq!(Leaf::parse(&bytes), Ok(leaf));
    }

    #[test]
    fn random_bytes_are_refused_without_panic(bytes: Vec<u8>) {
        prop_assert!(Leaf::parse(&bytes).is_err());
    }

    /// Whatever is done to a leaf's bytes, what is then accepted is another leaf, never the
    /// same one in two spellings.
    #[test]
    fn changed_bytes_are_another_leaf_or_none(
        leaf in leaves(), at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = leaf.to_bytes().unwrap();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        if let Ok(other) = Leaf::parse(&bytes) {
            prop_assert_ne!(&other, &leaf);
            prop_assert_eq!(other.to_bytes(), Ok(bytes));
        }
    }
}
