//! The tables accept exactly the states of the core and enforce the invariants of each.

use ade_core::ids::UserId;
use ade_core::resource::ResourceRef;
use ade_core::task::State;
use ade_store::StoreError;
use sqlx::PgConnection;

use crate::test_database::{TestDatabase, run, try_run};

/// Inserts a row that is valid for `state`, with everything that a state may require.
async fn insert(
    connection: &mut PgConnection,
    rig: &TestDatabase,
    state: &str,
    change: &str,
) -> Result<(), String> {
    let is_closed = ["COMPLETED", "REJECTED", "CANCELLED", "EXPIRED"].contains(&state);
    let closed_at = if is_closed { "now()" } else { "NULL" };
    let (tenant, author) = (rig.tenant.uuid(), UserId::from_u128(1).uuid());
    let sql = format!(
        "BEGIN;
         INSERT INTO task (tenant_id, id, number, state, since, version, revision, title,
             task_type, priority, risk, level, digest, author_id, submitter_id, basis, attempts,
             review_opened_at, created_at, updated_at, closed_at)
         VALUES ('{tenant}', '{tenant}', 1, '{state}', now(), 1, 1, 'x', 'db.migrate', 50, 45,
             'MEDIUM', decode(repeat('00', 32), 'hex'), '{author}', '{author}', '{{}}', 1,
             now(), now(), now(), {closed_at});
         UPDATE task SET {change} WHERE id = '{tenant}'"
    );
    let outcome = try_run(connection, &sql).await;
    run(connection, "ROLLBACK").await;
    match outcome.map_err(StoreError::from) {
        Ok(_) => Ok(()),
        Err(StoreError::Constraint { constraint, .. }) => Err(constraint),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn task_states_in_sql_are_those_of_the_core() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    for state in State::ALL {
        let outcome = insert(&mut admin, &rig, state.as_str(), "title = 'y'").await;
        assert_eq!(outcome, Ok(()), "{state}");
    }
    for foreign in ["draft", "DONE", "", "APPROVED "] {
        let outcome = insert(&mut admin, &rig, foreign, "title = 'y'").await;
        assert_eq!(outcome, Err("task_state_is_known".to_owned()), "{foreign}");
    }
}

#[tokio::test]
async fn task_state_requires_its_columns() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    for state in State::ALL {
        let name = state.as_str();
        let is_closed = ["COMPLETED", "REJECTED", "CANCELLED", "EXPIRED"].contains(&name);
        let flipped = if is_closed { "closed_at = NULL" } else { "closed_at = now()" };
        let expectations = [
            (flipped, true, "task_terminal_has_closed_at"),
            ("basis = NULL", ["APPROVED", "APPLYING"].contains(&name), "task_approved_has_basis"),
            (
                "submitter_id = NULL",
                !["DRAFT", "CANCELLED"].contains(&name),
                "task_past_draft_has_submitter",
            ),
            ("attempts = 0", name == "APPLYING", "task_applying_has_attempt"),
            ("review_opened_at = NULL", name == "REVIEWING", "task_reviewing_was_opened"),
            ("risk = 101", true, "task_risk_is_a_score"),
            ("version = 0", true, "task_counts_are_natural"),
            ("level = 'SEVERE'", true, "task_level_is_known"),
        ];
        for (change, is_refused, constraint) in expectations {
            let outcome = insert(&mut admin, &rig, name, change).await;
            let expected = if is_refused { Err(constraint.to_owned()) } else { Ok(()) };
            assert_eq!(outcome, expected, "{name} with {change}");
        }
    }
}

#[tokio::test]
async fn registry_names_in_sql_are_those_of_the_core() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let (kind, id) = ("k".repeat(64), "i".repeat(256));
    for name in [
        "database:prod-db-01".to_owned(),
        format!("{kind}:{id}"),
        "a:b:c:!~".to_owned(),
        format!("{kind}k:x"),
        format!("a:{id}i"),
        "a:".to_owned(),
        ":b".to_owned(),
        "nocolon".to_owned(),
        "A:b".to_owned(),
        "a:b c".to_owned(),
        "a:é".to_owned(),
        "a:b\n".to_owned(),
    ] {
        let insert = "INSERT INTO resource (tenant_id, name) VALUES ($1, $2)";
        let query = sqlx::query(insert).bind(rig.tenant.uuid()).bind(&name);
        let is_taken = match query.execute(&mut admin).await.map_err(StoreError::from) {
            Ok(_) => true,
            Err(StoreError::Constraint { constraint, .. }) => {
                assert_eq!(constraint, "resource_name_is_type_and_id");
                false
            }
            Err(other) => panic!("{name}: {other}"),
        };
        assert_eq!(is_taken, name.parse::<ResourceRef>().is_ok(), "{name:?}");
    }
}
