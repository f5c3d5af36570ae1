//! No data crosses from one tenant to another, whatever a query asks and whichever tenant used the
//! connection before.

use ade_core::ids::UserId;
use ade_store::{StoreError, TenantLock};
use sqlx::PgConnection;

use crate::test_database::{PEOPLE, TestDatabase, connect_app, run, try_run};

const COUNT: &str = "SELECT count(*) FROM app_user";

async fn count(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar(COUNT).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn query_without_a_tenant_returns_no_rows() {
    let rig = TestDatabase::new().await;
    let mut app = connect_app(&rig).await;
    assert_eq!(count(&mut app).await, 0, "never set");
    run(&mut app, "SET ade.tenant = ''").await;
    assert_eq!(count(&mut app).await, 0, "set to nothing");
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    assert_eq!(count(&mut app).await, i64::try_from(PEOPLE).unwrap());
    run(&mut app, "SET ade.tenant = 'everybody'").await;
    assert!(sqlx::query(COUNT).fetch_one(&mut app).await.is_err(), "an invalid tenant is an error");
}

#[tokio::test]
async fn connection_reused_has_no_tenant() {
    let rig = TestDatabase::new().await;
    // There is one connection, so the next transaction gets the same one.
    let pool = rig.pool(1);
    let seen = async |tenant| {
        let mut tx = rig.begin_through(&pool, tenant, TenantLock::None).await.unwrap();
        let query = sqlx::query_as::<_, (i64, String, i32)>(
            "SELECT count(*), current_setting('lock_timeout'), pg_backend_pid() FROM app_user",
        );
        let row = tx.read(query).await.unwrap().remove(0);
        (tx, row)
    };
    let (first, (people, timeout, pid)) = seen(rig.tenant).await;
    assert_eq!((people, timeout.as_str()), (i64::try_from(PEOPLE).unwrap(), "750ms"));
    first.commit().await.unwrap();
    // The same connection and login, outside of a `Tx`.
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        &format!(
            "DELETE FROM app_user WHERE tenant_id = '{}' AND id <> '{}'",
            rig.other.uuid(),
            UserId::from_u128(1).uuid()
        ),
    )
    .await;
    for _ in 0..3 {
        let (tx, (people, _, same)) = seen(rig.other).await;
        assert_eq!((people, same), (1, pid), "the other tenant's rows only");
        drop(tx);
        let (tx, (people, _, same)) = seen(rig.tenant).await;
        assert_eq!((people, same), (i64::try_from(PEOPLE).unwrap(), pid));
        tx.roll_back().await;
    }
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("BEGIN; SET LOCAL ade.tenant = '{}'; COMMIT", rig.tenant.uuid())).await;
    assert_eq!(count(&mut app).await, 0, "the setting ends with its transaction");
}

#[tokio::test]
async fn rows_of_another_tenant_cannot_be_read_or_written() {
    let rig = TestDatabase::new().await;
    let other = rig.other.uuid();
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM app_user WHERE tenant_id = $1")
        .bind(other)
        .fetch_one(&mut app)
        .await
        .unwrap();
    assert_eq!(seen, 0);
    let insert = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         VALUES ('{other}', gen_random_uuid(), 'idp', 'spy', 'spy')"
    );
    let refused = StoreError::from(try_run(&mut app, &insert).await.unwrap_err());
    assert!(matches!(refused, StoreError::Forbidden { .. }), "{refused}");
    let update = format!("UPDATE app_user SET active = false WHERE tenant_id = '{other}'");
    assert_eq!(try_run(&mut app, &update).await.unwrap(), 0);
    let moved = format!("UPDATE app_user SET tenant_id = '{other}' WHERE subject = '7'");
    let refused = StoreError::from(try_run(&mut app, &moved).await.unwrap_err());
    assert!(matches!(refused, StoreError::Forbidden { .. }), "{refused}");
    // A reference cannot cross tenants either: the same id in another tenant is another object.
    let stranger = UserId::from_u128(99).uuid();
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        &format!(
            "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         VALUES ('{other}', '{stranger}', 'idp', '99', 'p')"
        ),
    )
    .await;
    let managed = format!("UPDATE app_user SET manager_id = '{stranger}' WHERE subject = '1'");
    let refused = StoreError::from(try_run(&mut app, &managed).await.unwrap_err());
    let StoreError::Constraint { constraint, .. } = refused else { panic!("{refused}") };
    assert_eq!(constraint, "app_user_manager_exists");
}

#[tokio::test]
async fn token_lookup_without_a_tenant_reveals_nothing_else() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        &format!(
            "INSERT INTO token (tenant_id, key_id, agent_id, secret_hash, scopes, expires_at)
         VALUES ('{}', 'key1', '{}', decode(repeat('ab', 32), 'hex'), '{{read}}', now() + '1 h')",
            rig.other.uuid(),
            UserId::from_u128(1).uuid()
        ),
    )
    .await;
    let mut app = connect_app(&rig).await;
    let rows: i64 =
        sqlx::query_scalar("SELECT count(*) FROM token").fetch_one(&mut app).await.unwrap();
    assert_eq!(rows, 0, "the table itself stays closed");
    let found: Vec<(sqlx::types::Uuid, String, Vec<String>)> = sqlx::query_as(
        "SELECT tenant_id, principal_kind, scopes FROM resolve_token('key1', '1 min')",
    )
    .fetch_all(&mut app)
    .await
    .unwrap();
    assert_eq!(found, [(rig.other.uuid(), "agent".to_owned(), vec!["read".to_owned()])]);
    let unknown: i64 = sqlx::query_scalar("SELECT count(*) FROM resolve_token('key2', '1 min')")
        .fetch_one(&mut app)
        .await
        .unwrap();
    assert_eq!(unknown, 0);
}

#[tokio::test]
async fn worker_sees_only_due_jobs_and_the_outbox_of_all_tenants() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    for tenant in [rig.tenant, rig.other] {
        run(
            &mut admin,
            &format!(
                "INSERT INTO scheduled_job VALUES ('{}', 'expire', gen_random_uuid(), now());
             INSERT INTO outbox (tenant_id, at, kind, object, payload)
             VALUES ('{0}', now(), 'task.created', 'x', '{{}}')",
                tenant.uuid()
            ),
        )
        .await;
    }
    run(&mut admin, "SET ROLE ade_worker").await;
    for table in ["scheduled_job", "outbox"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let seen: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut admin).await.unwrap();
        assert_eq!(seen, 2, "{table}");
    }
    let closed: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_class c
          WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition AND has_table_privilege('ade_worker', c.oid, 'SELECT')
          ORDER BY 1",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    let expected = [
        "_sqlx_migrations",
        "consumer_cursor",
        "event_head",
        "outbox",
        "scheduled_job",
        "worker_lease",
    ];
    assert_eq!(closed, expected);
    run(&mut admin, "RESET ROLE; SET ROLE ade_app").await;
    for table in ["scheduled_job", "outbox"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let seen: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut admin).await.unwrap();
        assert_eq!(seen, 0, "{table} for the application");
    }
}
