//! Tests who must confirm in every combination, that different subjects have different digests, and
//! that a confirmation is valid for its subject and its time only.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::ids::TaskId;
use crate::limits::{RESOURCE_ID_MAX_BYTES, RESOURCE_TYPE_MAX_BYTES};
use crate::risk::Score;

#[test]
fn step_up_asks_passkey_owners_and_others_if_required() {
    let held = |has_passkey, is_recent| Credentials { has_passkey, is_recent };
    for purpose in Purpose::ALL {
        let subject = ConfirmationSubject::new(purpose, BTreeSet::new()).unwrap();
        let is_own = [Purpose::AddPasskey, Purpose::RemovePasskey].contains(&purpose);
        for rule in [Rule::WhenEnrolled, Rule::Required] {
            for is_recent in [false, true] {
                let asked = demand(rule, &subject, held(true, is_recent));
                assert_eq!(asked, Demand::Word, "{purpose:?} {rule:?}");
                let expected = match (rule, is_own, is_recent) {
                    (Rule::Required, false, _) => Demand::Passkey,
                    (Rule::WhenEnrolled, ..) | (Rule::Required, true, _) if is_recent => {
                        Demand::Nothing
                    }
                    (Rule::WhenEnrolled, ..) | (Rule::Required, true, _) => Demand::SignIn,
                };
                let asked = demand(rule, &subject, held(false, is_recent));
                assert_eq!(asked, expected, "{purpose:?} {rule:?}");
            }
        }
    }
}

#[test]
fn step_up_for_a_light_task_is_only_for_old_sign_ins() {
    let mut task = crate::samples::draft();
    task.content.level = Level::Low;
    let subject = yes([&task]).unwrap();
    for rule in [Rule::WhenEnrolled, Rule::Required] {
        for (has_passkey, is_recent, expected) in [
            (false, true, Demand::Nothing),
            (true, true, Demand::Nothing),
            (true, false, Demand::Word),
            (false, false, Demand::SignIn),
        ] {
            let asked = demand(rule, &subject, Credentials { has_passkey, is_recent });
            assert_eq!(asked, expected, "{rule:?} {has_passkey} {is_recent}");
        }
    }
    let sent = ConfirmationSubject::new(subject.purpose(), subject.about().clone()).unwrap();
    assert_eq!(sent.digest(), subject.digest(), "a client can name it");
}

#[test]
fn step_up_is_required_once_a_tenant_has_a_passkey() {
    for (rule, has_passkeys, expected) in [
        (Rule::WhenEnrolled, false, Rule::WhenEnrolled),
        (Rule::WhenEnrolled, true, Rule::Required),
        (Rule::Required, false, Rule::Required),
        (Rule::Required, true, Rule::Required),
    ] {
        assert_eq!(rule.in_tenant(has_passkeys), expected, "{rule:?} {has_passkeys}");
    }
}

#[test]
fn step_up_for_a_token_covers_each_of_its_terms() {
    let networks = |texts: &[&str]| Networks::parse(texts.iter().copied()).unwrap();
    let (here, anywhere) = (networks(&["10.1.0.0/16"]), Networks::default());
    let (both, one) = ([Scope::Read, Scope::Decide].into(), [Scope::Decide].into());
    let hours = Duration::from_hours;
    let terms = TokenTerms { label: "ade", scopes: &both, lifetime: hours(8), networks: &here };
    let subject = ConfirmationSubject::create_token(&terms);
    let label = Digest::of(b"ade");
    assert_eq!(
        subject.text(),
        format!(
            "ade step-up 1\ncreate_token\nlabel {label}\nlifetime:28800s\n\
             network:10.1.0.0/16\nscope:decide\nscope:read\n"
        )
    );
    let code = UserCode::parse("BCDF-GHJK").unwrap();
    let mut subjects = vec![
        subject.clone(),
        ConfirmationSubject::approve_device(&code, &terms),
        ConfirmationSubject::approve_device(&UserCode::parse("BCDF-GHJL").unwrap(), &terms),
    ];
    for other in [
        TokenTerms { label: "", ..terms },
        TokenTerms { scopes: &one, ..terms },
        TokenTerms { lifetime: hours(9), ..terms },
        TokenTerms { networks: &anywhere, ..terms },
    ] {
        subjects.push(ConfirmationSubject::create_token(&other));
    }
    let digests: BTreeSet<Digest> = subjects.iter().map(ConfirmationSubject::digest).collect();
    assert_eq!(digests.len(), subjects.len(), "each term is part of the digest");
    for subject in subjects {
        let sent = ConfirmationSubject::new(subject.purpose(), subject.about().clone());
        assert_eq!(sent, Ok(subject), "a client can name it");
    }
}

#[test]
fn step_up_purpose_names_match_their_serialized_form() {
    for purpose in Purpose::ALL {
        assert_eq!(serde_json::to_value(purpose).unwrap(), purpose.as_str());
    }
}

fn yes<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Option<ConfirmationSubject> {
    ConfirmationSubject::answering(Answer::Approve, tasks, Thresholds::default())
}

#[test]
fn step_up_is_needed_from_high_and_covers_all_tasks() {
    let of = |number: u128, level: Level| {
        let mut task = crate::samples::draft();
        task.id = TaskId::from_u128(number);
        task.content.level = level;
        task
    };
    for level in [Level::Low, Level::Medium] {
        let subject = yes([&of(1, level)]).unwrap();
        assert_eq!(subject.occasion, Occasion::OldSignIn, "{level:?}");
    }
    for level in [Level::High, Level::Critical] {
        let (small, large) = (of(1, Level::Low), of(2, level));
        let both = yes([&small, &large]).unwrap();
        assert_eq!(both.about().len(), 2, "the subject includes low-risk tasks");
        assert_eq!(yes([&large, &small, &large]), Some(both.clone()), "order does not matter");
        assert_ne!(yes([&large]), Some(both), "a part of the set is another subject");
        for no in [Answer::Reject, Answer::RequestChanges] {
            let subject = ConfirmationSubject::answering(no, [&large], Thresholds::default());
            assert_eq!(subject, None, "{no:?}");
        }
    }
    assert_eq!(yes([]).map(|subject| subject.occasion), Some(Occasion::OldSignIn));
}

#[test]
fn step_up_is_needed_above_the_installation_threshold() {
    let mut task = crate::samples::draft();
    task.content.level = Level::Low;
    for (points, occasion) in [(59, Occasion::OldSignIn), (60, Occasion::Action)] {
        task.content.subject.risk = Score::new(points);
        assert_eq!(yes([&task]).unwrap().occasion, occasion, "{points}");
    }
}

#[test]
fn step_up_subject_text_is_pinned() {
    let digest = Digest::of(b"effect");
    let subject = ConfirmationSubject::publish(PolicyDraftId::from_u128(1), digest);
    let id = PolicyDraftId::from_u128(1);
    assert_eq!(subject.text(), format!("ade step-up 1\npublish_policy\n{id} {digest}\n"));
    let resource = ResourceRef::new("database", "orders").unwrap();
    let subject = ConfirmationSubject::break_lock(&resource, None);
    assert_eq!(subject.text(), "ade step-up 1\nbreak_lock\ndatabase:orders\n");
    let subject = ConfirmationSubject::break_lock(&resource, Some(digest));
    let text = format!("ade step-up 1\nbreak_lock\ndatabase:orders {digest}\n");
    assert_eq!(subject.text(), text);
    assert_eq!(ConfirmationSubject::add_passkey().text(), "ade step-up 1\nadd_passkey\n");
}

#[test]
fn step_up_subject_with_ambiguous_names_is_refused() {
    let of = |id: &str| {
        let about = BTreeSet::from([Thing { id: id.to_owned(), digest: None }]);
        ConfirmationSubject::new(Purpose::Approve, about)
    };
    assert_eq!(STEP_UP_THING_MAX_BYTES, RESOURCE_TYPE_MAX_BYTES + 1 + RESOURCE_ID_MAX_BYTES);
    let longest = "x".repeat(STEP_UP_THING_MAX_BYTES);
    assert!(of("database:orders").is_ok() && of(&longest).is_ok());
    let long = format!("{longest}x");
    for name in ["", " ", "a b", "a\nb", "a\u{a0}b", "\u{e9}", "\0", &long] {
        assert_eq!(of(name), Err(SubjectError::Name), "{name:?}");
    }
    let many = |things: usize| {
        let about = (0..things).map(|number| Thing { id: number.to_string(), digest: None });
        ConfirmationSubject::new(Purpose::Approve, about.collect())
    };
    assert!(many(BATCH_ITEMS_MAX).is_ok());
    let things = BATCH_ITEMS_MAX + 1;
    assert_eq!(many(things), Err(SubjectError::Things { things }));
}

fn things() -> impl Strategy<Value = BTreeSet<Thing>> {
    let digest = proptest::option::of(any::<[u8; 1]>().prop_map(|bytes| Digest::of(&bytes)));
    let one = ("[a-c:]{1,3}", digest).prop_map(|(id, digest)| Thing { id, digest });
    proptest::collection::btree_set(one, 0..4)
}

fn purposes() -> impl Strategy<Value = Purpose> {
    proptest::sample::select(Purpose::ALL.to_vec())
}

fn word() -> impl Strategy<Value = Word> {
    (0..2_u8, 0..2_u128, 0..2_u8, 0..2_000_000_000_i64).prop_map(|(subject, by, key, micros)| {
        Word {
            subject: Digest::of(&[subject]),
            by: UserId::from_u128(by),
            key_id: key.to_string(),
            given_at: Timestamp::from_micros(micros),
        }
    })
}

proptest! {
    #[test]
    fn step_up_subject_digest_is_unique(
        one in (purposes(), things()),
        other in (purposes(), things()),
    ) {
        let (left, right) = (
            ConfirmationSubject::new(one.0, one.1.clone()).unwrap(),
            ConfirmationSubject::new(other.0, other.1.clone()).unwrap(),
        );
        prop_assert_eq!(left.digest() == right.digest(), one == other);
    }

    #[test]
    fn step_up_challenge_is_derived_from_subject_and_nonce(
        one: [[u8; 32]; 2],
        other: [[u8; 32]; 2],
        is_same: bool,
    ) {
        let other = if is_same { one } else { other };
        let of = |[subject, nonce]: [[u8; 32]; 2]| challenge(&Digest::from_bytes(subject), &nonce);
        prop_assert_eq!(of(one) == of(other), one == other);
        let [subject, nonce] = one;
        prop_assert_eq!(of([nonce, subject]) == of(one), subject == nonce);
    }

    #[test]
    fn step_up_confirmation_covers_its_subject_while_fresh(
        word in word(),
        asked in word(),
    ) {
        let now = asked.given_at;
        let question =
            StepUpUse { subject: &asked.subject, by: asked.by, key_id: &asked.key_id, now };
        let age = now.micros() - word.given_at.micros();
        let expected = word.subject == asked.subject
            && word.by == asked.by
            && word.key_id == asked.key_id
            && (0..=300_000_000).contains(&age);
        prop_assert_eq!(word.covers(&question), expected);
    }
}

#[test]
fn step_up_confirmation_is_valid_to_its_last_moment() {
    let given_at = Timestamp::from_micros(1_000_000);
    let subject = Digest::of(b"");
    let by = UserId::from_u128(1);
    let word = Word { subject, by, key_id: "k".to_owned(), given_at };
    let at = |now| word.covers(&StepUpUse { subject: &subject, by, key_id: "k", now });
    assert!(at(given_at) && at(given_at.plus(STEP_UP_MAX_AGE)));
    assert!(!at(given_at.plus(STEP_UP_MAX_AGE + Duration::from_micros(1))), "too old");
    assert!(!at(given_at.minus(Duration::from_micros(1))), "not given yet");
}
