//! Versions of a policy are published in sequence and round-trip unchanged.

use ade_core::ids::UserId;
use ade_core::policy::{Document, Policy};
use ade_core::samples::{passes_below, policy, two_dbas};
use ade_store::{StoreError, policies};

use crate::test_database::{TestDatabase, broken_rule};

const PROPOSER: UserId = UserId::from_u128(5);
const CONFIRMER: UserId = UserId::from_u128(6);

async fn publish(rig: &TestDatabase, policy: &Policy) -> Result<(), StoreError> {
    let mut tx = rig.begin_closed().await;
    let outcome = policies::insert_published(&mut tx, policy, PROPOSER, Some(CONFIRMER)).await;
    match outcome {
        Ok(()) => rig.keep(tx).await,
        Err(_) => tx.roll_back().await,
    }
    outcome
}

#[tokio::test]
async fn policy_versions_are_consecutive_and_kept() {
    let rig = TestDatabase::new().await;
    let renamed = Document { name: "renamed".to_owned(), ..passes_below(30) };
    let history = [policy(1, 1, two_dbas()), policy(1, 2, passes_below(30)), policy(1, 3, renamed)];
    for version in &history {
        publish(&rig, version).await.unwrap();
    }
    publish(&rig, &policy(2, 1, two_dbas())).await.unwrap();
    for wrong in [policy(1, 3, two_dbas()), policy(1, 5, two_dbas()), policy(9, 2, two_dbas())] {
        let refused = publish(&rig, &wrong).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{wrong:?}: {refused:?}");
    }
    let mut tx = rig.begin().await;
    let never = [policy(7, 1, two_dbas()), policy(1, u32::MAX, two_dbas())];
    let wanted = [&history[2], &never[0], &never[1], &history[0]].map(Policy::reference);
    let read = policies::versions(&mut tx, &wanted).await.unwrap();
    assert_eq!(read, [history[2].clone(), history[0].clone()], "in the order asked for");
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(policies::versions(&mut foreign, &wanted).await.unwrap(), []);
}

#[tokio::test]
async fn policy_version_needs_two_admins_and_a_unique_name() {
    let rig = TestDatabase::new().await;
    let first = policy(1, 1, two_dbas());
    let mut tx = rig.begin_closed().await;
    let alone = policies::insert_published(&mut tx, &first, PROPOSER, Some(PROPOSER)).await;
    assert_eq!(broken_rule(alone), "policy_version_has_two_admins");
    publish(&rig, &first).await.unwrap();
    assert_eq!(broken_rule(publish(&rig, &policy(2, 1, two_dbas())).await), "policy_name_is_taken");
}
