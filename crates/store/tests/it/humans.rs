//! All accounts of a person count as that person: the table of votes follows aliases like the rules
//! do, in both directions and transitively.

use ade_core::actor::Directory;
use ade_core::ids::UserId;
use ade_store::tenant_config::{self, Base};
use ade_store::{StoreError, users};

use crate::test_database::{TestDatabase, run, try_run};

const AUTHOR: u128 = 1;
/// The person who issued the token of the agent that proposed the task.
const ISSUER: u128 = 8;

async fn insert_task(rig: &TestDatabase) {
    let mut admin = rig.database.connect().await;
    let (tenant, author) = (rig.tenant.uuid(), UserId::from_u128(AUTHOR).uuid());
    let issuer = UserId::from_u128(ISSUER).uuid();
    let digest = "decode(repeat('00', 32), 'hex')";
    run(
        &mut admin,
        &format!(
            "INSERT INTO task (tenant_id, id, number, state, since, version, revision, title,
                 task_type, priority, risk, level, digest, author_id, submitter_id, token_issuers,
                 attempts, created_at, updated_at)
             VALUES ('{tenant}', '{tenant}', 1, 'SUBMITTED', now(), 1, 1, 'x', 'db.migrate', 50,
                 45, 'MEDIUM', {digest}, '{author}', '{author}', ARRAY['{issuer}'::uuid], 0, now(),
                 now())"
        ),
    )
    .await;
}

/// Returns whether the table accepts a vote of this account, without keeping it.
async fn is_taken(rig: &TestDatabase, voter: u128) -> bool {
    let mut admin = rig.database.connect().await;
    let (tenant, voter) = (rig.tenant.uuid(), UserId::from_u128(voter).uuid());
    // The foreign key to a revision is checked when the statement ends, after the rule.
    let sql = format!(
        "INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round, places,
             at, effectual)
         VALUES ('{tenant}', '{tenant}', '{voter}', 'approve', 1,
             decode(repeat('00', 32), 'hex'), 0, '{{}}', now(), true)"
    );
    match try_run(&mut admin, &sql).await.map_err(StoreError::from) {
        Err(StoreError::Constraint { constraint, .. }) if constraint == "vote_revision_exists" => {
            true
        }
        Err(StoreError::Constraint { constraint, .. }) => {
            assert_eq!(constraint, "vote_is_not_of_the_involved");
            false
        }
        other => panic!("{other:?}"),
    }
}

async fn directory(rig: &TestDatabase) -> Directory {
    let mut tx = rig.begin().await;
    tenant_config::load(&mut tx, Base::default()).await.unwrap().directory
}

#[tokio::test]
async fn vote_by_an_alias_of_an_involved_person_is_refused() {
    let rig = TestDatabase::new().await;
    insert_task(&rig).await;
    assert!(!is_taken(&rig, AUTHOR).await);
    assert!(!is_taken(&rig, ISSUER).await);
    assert!(is_taken(&rig, 2).await, "not an alias yet");
    // 2 is an alias of the author, 3 of 2, 4 is linked with 3 through an unknown account, 5 is
    // linked with 6.
    let unseen = UserId::from_u128(77);
    let [one, two, three, four, five, six] = [1, 2, 3, 4, 5, 6].map(UserId::from_u128);
    let mut tx = rig.begin_closed().await;
    for (user, alias) in [(one, two), (three, two), (three, unseen), (four, unseen), (five, six)] {
        users::add_alias(&mut tx, user, alias).await.unwrap();
    }
    rig.keep(tx).await;
    let directory = directory(&rig).await;
    for voter in 1..=7 {
        let is_author = directory.same_human(UserId::from_u128(voter), one);
        assert_eq!(is_author, voter <= 4, "account {voter} in the rules");
        assert_eq!(is_taken(&rig, voter).await, !is_author, "account {voter} in the table");
    }
}

#[tokio::test]
async fn vote_ignores_aliases_of_another_tenant() {
    let rig = TestDatabase::new().await;
    insert_task(&rig).await;
    let mut admin = rig.database.connect().await;
    let [one, two, three] = [1, 2, 3].map(|number| UserId::from_u128(number).uuid());
    let other = rig.other.uuid();
    let aliases = format!("('{other}', '{one}', '{two}'), ('{other}', '{three}', '{one}')");
    run(&mut admin, &format!("INSERT INTO user_alias VALUES {aliases}")).await;
    for voter in [2, 3] {
        assert!(is_taken(&rig, voter).await, "account {voter}");
    }
}
