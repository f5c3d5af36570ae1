//! Every combination of who is asked; subjects that differ in anything have other digests; a word
//! counts for what it was given for, and not a moment longer than it should.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::ids::TaskId;
use crate::limits::{RESOURCE_ID_MAX_BYTES, RESOURCE_TYPE_MAX_BYTES};

#[test]
fn whoever_has_a_passkey_is_asked_and_others_only_where_it_is_required() {
    for purpose in Purpose::ALL {
        let is_own = [Purpose::AddPasskey, Purpose::RemovePasskey].contains(&purpose);
        for rule in [Rule::WhenEnrolled, Rule::Required] {
            assert_eq!(demand(rule, purpose, true), Demand::Word, "{purpose:?} {rule:?}");
            let expected = match (rule, is_own) {
                (Rule::Required, false) => Demand::Passkey,
                (Rule::WhenEnrolled, _) | (Rule::Required, true) => Demand::Nothing,
            };
            assert_eq!(demand(rule, purpose, false), expected, "{purpose:?} {rule:?}");
        }
    }
}

#[test]
fn a_purpose_is_written_as_it_is_named() {
    for purpose in Purpose::ALL {
        assert_eq!(serde_json::to_value(purpose).unwrap(), purpose.as_str());
    }
}

fn yes<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Option<Subject> {
    Subject::answering(Answer::Approve, tasks)
}

#[test]
fn only_what_is_high_or_above_needs_a_word_and_then_for_all_of_it() {
    let of = |number: u128, level: Level| {
        let mut task = crate::samples::draft();
        task.id = TaskId::from_u128(number);
        task.content.level = level;
        task
    };
    for level in [Level::Low, Level::Medium] {
        assert_eq!(yes([&of(1, level)]), None, "{level:?}");
    }
    for level in [Level::High, Level::Critical] {
        let (small, large) = (of(1, Level::Low), of(2, level));
        let both = yes([&small, &large]).unwrap();
        assert_eq!(both.about().len(), 2, "the light ones pass by the same word");
        assert_eq!(yes([&large, &small, &large]), Some(both.clone()), "a set");
        assert_ne!(yes([&large]), Some(both), "and no part of it");
        for no in [Answer::Reject, Answer::RequestChanges] {
            assert_eq!(Subject::answering(no, [&large]), None, "{no:?}");
        }
    }
    assert_eq!(yes([]), None);
}

#[test]
fn the_text_of_a_subject_is_pinned() {
    let digest = Digest::of(b"effect");
    let subject = Subject::publish(PolicyDraftId::from_u128(1), digest);
    let id = PolicyDraftId::from_u128(1);
    assert_eq!(subject.text(), format!("ade step-up 1\npublish_policy\n{id} {digest}\n"));
    let resource = ResourceRef::new("database", "orders").unwrap();
    let subject = Subject::break_lock(&resource, None);
    assert_eq!(subject.text(), "ade step-up 1\nbreak_lock\ndatabase:orders\n");
    let subject = Subject::break_lock(&resource, Some(digest));
    let text = format!("ade step-up 1\nbreak_lock\ndatabase:orders {digest}\n");
    assert_eq!(subject.text(), text);
    assert_eq!(Subject::add_passkey().text(), "ade step-up 1\nadd_passkey\n");
}

#[test]
fn names_that_could_be_read_in_two_ways_are_refused() {
    let of = |id: &str| {
        let about = BTreeSet::from([Thing { id: id.to_owned(), digest: None }]);
        Subject::new(Purpose::Approve, about)
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
        Subject::new(Purpose::Approve, about.collect())
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
    fn two_subjects_share_a_digest_only_if_they_are_one(
        one in (purposes(), things()),
        other in (purposes(), things()),
    ) {
        let (left, right) = (
            Subject::new(one.0, one.1.clone()).unwrap(),
            Subject::new(other.0, other.1.clone()).unwrap(),
        );
        prop_assert_eq!(left.digest() == right.digest(), one == other);
    }

    #[test]
    fn a_challenge_follows_from_subject_and_nonce(
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
    fn a_word_covers_what_it_was_given_for_while_it_is_fresh(
        word in word(),
        asked in word(),
    ) {
        let now = asked.given_at;
        let question =
            Asked { subject: &asked.subject, by: asked.by, key_id: &asked.key_id, now };
        let age = now.micros() - word.given_at.micros();
        let expected = word.subject == asked.subject
            && word.by == asked.by
            && word.key_id == asked.key_id
            && (0..=300_000_000).contains(&age);
        prop_assert_eq!(word.covers(&question), expected);
    }
}

#[test]
fn a_word_counts_to_the_last_moment_of_its_time() {
    let given_at = Timestamp::from_micros(1_000_000);
    let subject = Digest::of(b"");
    let by = UserId::from_u128(1);
    let word = Word { subject, by, key_id: "k".to_owned(), given_at };
    let at = |now| word.covers(&Asked { subject: &subject, by, key_id: "k", now });
    assert!(at(given_at) && at(given_at.plus(STEP_UP_MAX_AGE)));
    assert!(!at(given_at.plus(STEP_UP_MAX_AGE + Duration::from_micros(1))), "too old");
    assert!(!at(given_at.minus(Duration::from_micros(1))), "not given yet");
}
