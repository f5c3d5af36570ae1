//! A person's other accounts are that person: the table of votes follows aliases as the rules do,
//! both ways and through others.

use ade_core::actor::Directory;
use ade_core::ids::UserId;
use ade_store::rulebook::{self, Base};
use ade_store::{Error, users};

use crate::rig::{Rig, run, try_run};

const AUTHOR: u128 = 1;

async fn insert_task(rig: &Rig) {
    let mut admin = rig.database.connect().await;
    let (tenant, author) = (rig.tenant.uuid(), UserId::from_u128(AUTHOR).uuid());
    let digest = "decode(repeat('00', 32), 'hex')";
    run(
        &mut admin,
        &format!(
            "INSERT INTO task (tenant_id, id, number, state, since, version, revision, title,
                 task_type, priority, risk, level, digest, author_id, submitter_id, attempts,
                 created_at, updated_at)
             VALUES ('{tenant}', '{tenant}', 1, 'SUBMITTED', now(), 1, 1, 'x', 'db.migrate', 50,
                 45, 'MEDIUM', {digest}, '{author}', '{author}', 0, now(), now())"
        ),
    )
    .await;
}

/// Whether the table takes an answer of this account, without keeping it.
async fn is_taken(rig: &Rig, voter: u128) -> bool {
    let mut admin = rig.database.connect().await;
    let (tenant, voter) = (rig.tenant.uuid(), UserId::from_u128(voter).uuid());
    // The foreign key to a revision is looked at when the statement ends, after the rule.
    let sql = format!(
        "INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round, places,
             at, effectual)
         VALUES ('{tenant}', '{tenant}', '{voter}', 'approve', 1,
             decode(repeat('00', 32), 'hex'), 0, '{{}}', now(), true)"
    );
    match try_run(&mut admin, &sql).await.map_err(Error::from) {
        Err(Error::Constraint { constraint, .. }) if constraint == "vote_revision_exists" => true,
        Err(Error::Constraint { constraint, .. }) => {
            assert_eq!(constraint, "vote_is_not_of_the_involved");
            false
        }
        other => panic!("{other:?}"),
    }
}

async fn directory(rig: &Rig) -> Directory {
    let mut tx = rig.begin().await;
    rulebook::load(&mut tx, Base::default()).await.unwrap().directory
}

#[tokio::test]
async fn another_account_of_somebody_involved_cannot_answer() {
    let rig = Rig::new().await;
    insert_task(&rig).await;
    assert!(!is_taken(&rig, AUTHOR).await);
    assert!(is_taken(&rig, 2).await, "nobody's alias yet");
    // 2 is the author's, 3 is 2's, 4 meets 3 over an account that never came, 5 is 6's.
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
async fn aliases_of_another_tenant_say_nothing() {
    let rig = Rig::new().await;
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
