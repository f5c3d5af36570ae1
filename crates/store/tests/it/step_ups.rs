//! A passkey confirmation is given and used once, in time, and cannot be changed after its use.

use std::time::Duration;

use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, StepUpId, UserId};
use ade_core::step_up::Purpose;
use ade_core::time::Timestamp;
use ade_store::passkeys::{self, Passkey};
use ade_store::step_ups::{self, Signed, StepUpChallenge};
use ade_store::{StoreError, Tx};

use crate::test_database::{TestDatabase, broken_rule};

const PERSON: UserId = UserId::from_u128(2);
const SIGNED: Signed<'static> =
    Signed { client_data: b"said", authenticator_data: b"data", signature: b"signed" };

fn passkey(rig: &TestDatabase) -> Passkey {
    Passkey {
        id: PasskeyId::from_u128(1),
        user: PERSON,
        name: "ring".to_owned(),
        credential: vec![1],
        algorithm: -7,
        public_key: vec![2],
        counter: 0,
        created_at: rig.now,
        last_used_at: None,
        counts_from: None,
    }
}

fn question(number: u128, asked_at: Timestamp) -> StepUpChallenge {
    StepUpChallenge {
        id: StepUpId::from_u128(number),
        user: PERSON,
        key_id: "session".to_owned(),
        purpose: Purpose::Approve,
        subject: Digest::of(b"this"),
        nonce: [7; 32],
        asked_at,
        is_given: false,
    }
}

/// A confirmation that is given at once.
async fn given(rig: &TestDatabase, number: u128) -> StepUpId {
    let mut tx = rig.begin().await;
    let asked = question(number, tx.now());
    step_ups::ask(&mut tx, &asked).await.unwrap();
    assert_eq!(step_ups::question(&mut tx, asked.id).await.unwrap(), Some(asked.clone()));
    step_ups::give(&mut tx, asked.id, &passkey(rig), SIGNED).await.unwrap();
    rig.keep(tx).await;
    asked.id
}

async fn enrolled() -> TestDatabase {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    passkeys::insert(&mut tx, &passkey(&rig)).await.unwrap();
    rig.keep(tx).await;
    rig
}

async fn touched(tx: &mut Tx, sql: &'static str) -> u64 {
    tx.write(sqlx::query(sql)).await.unwrap()
}

#[tokio::test]
async fn step_up_is_used_by_one_decision_and_immutable() {
    let rig = enrolled().await;
    let (used, other) = (given(&rig, 1).await, given(&rig, 2).await);
    let mut tx = rig.begin().await;
    let found = step_ups::unused(&mut tx, PERSON).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].word.subject, Digest::of(b"this"));
    step_ups::use_up(&mut tx, used).await.unwrap();
    rig.keep(tx).await;
    let mut tx = rig.begin().await;
    let twice = step_ups::use_up(&mut tx, used).await.unwrap_err();
    assert!(matches!(twice, StoreError::Conflict { .. }), "{twice}");
    tx.roll_back().await;
    let mut tx = rig.begin().await;
    let left = step_ups::unused(&mut tx, PERSON).await.unwrap();
    assert_eq!(left.iter().map(|left| left.id).collect::<Vec<_>>(), [other]);
    assert_eq!(step_ups::question(&mut tx, used).await.unwrap(), None, "it is over");
    // The application can only change confirmations that were not used.
    assert_eq!(touched(&mut tx, "UPDATE step_up SET signature = '\\x00'").await, 1);
    assert_eq!(touched(&mut tx, "DELETE FROM step_up").await, 1);
    tx.roll_back().await;
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(step_ups::unused(&mut foreign, PERSON).await.unwrap(), []);
    assert_eq!(passkeys::list(&mut foreign, PERSON).await.unwrap(), []);
    assert!(!passkeys::has_any(&mut foreign, PERSON).await.unwrap());
}

#[tokio::test]
async fn step_up_given_or_used_too_late_is_refused() {
    let rig = enrolled().await;
    let id = given(&rig, 1).await;
    let mut tx = rig.begin().await;
    step_ups::ask(&mut tx, &question(2, rig.now)).await.unwrap();
    rig.keep(tx).await;
    rig.set_clock(rig.now.plus(Duration::from_secs(301))).await;
    let mut tx = rig.begin().await;
    let late = step_ups::use_up(&mut tx, id).await;
    assert_eq!(broken_rule(late), "step_up_is_used_in_time");
    tx.roll_back().await;
    let mut tx = rig.begin().await;
    let late = step_ups::give(&mut tx, StepUpId::from_u128(2), &passkey(&rig), SIGNED).await;
    assert_eq!(broken_rule(late), "step_up_is_given_in_time");
}

#[tokio::test]
async fn passkey_counter_is_guarded_and_removed_keys_are_refused() {
    let rig = enrolled().await;
    let id = given(&rig, 1).await;
    let mut tx = rig.begin().await;
    passkeys::count_on(&mut tx, &passkey(&rig), 5).await.unwrap();
    rig.keep(tx).await;
    let mut tx = rig.begin().await;
    // Read before the other transaction advanced the counter.
    let raced = passkeys::count_on(&mut tx, &passkey(&rig), 6).await.unwrap_err();
    assert!(matches!(raced, StoreError::Conflict { .. }), "{raced}");
    tx.roll_back().await;
    let mut tx = rig.begin().await;
    let other = Passkey { id: PasskeyId::from_u128(2), ..passkey(&rig) };
    let again = passkeys::insert(&mut tx, &other).await;
    assert_eq!(broken_rule(again), "passkey_is_known_once");
    tx.roll_back().await;
    let mut tx = rig.begin().await;
    passkeys::remove(&mut tx, PERSON, &[passkey(&rig).id]).await.unwrap();
    assert!(!passkeys::has_any(&mut tx, PERSON).await.unwrap());
    assert_eq!(step_ups::unused(&mut tx, PERSON).await.unwrap(), [], "{id} is worth nothing");
    rig.keep(tx).await;
}
