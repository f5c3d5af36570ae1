//! Audit entries and events are stored unchanged in their partitions.

use ade_core::actor::{Credential, CredentialKind};
use ade_core::audit::{AuditEntry, EntryKind, RequestOrigin, What, Where, Who, Why};
use ade_core::change::Digest;
use ade_core::ids::{AgentId, StepUpId, UserId};
use ade_core::time::Timestamp;
use ade_store::{StoreError, audit};
use uuid::Uuid;

use crate::test_database::{TestDatabase, connect_app, run, try_run};

fn leaves(rig: &TestDatabase) -> Vec<AuditEntry> {
    let full = |who| {
        let what = What {
            object: "task_x".to_owned(),
            action: "task.submit".to_owned(),
            from: Some("DRAFT".to_owned()),
            to: Some("SUBMITTED".to_owned()),
            revision: Some(2),
            digest: Some(Digest::of(b"effect")),
        };
        let origin = RequestOrigin {
            salt: Uuid::from_u128(9),
            address: Some("192.0.2.7".parse().unwrap()),
            user_agent: Some("browser".to_owned()),
        };
        let place = Where::request(origin, "api");
        let why = Why { reason: Some("because".to_owned()), ticket: Some("INC-1".to_owned()) };
        AuditEntry::new(rig.tenant, EntryKind::Refusal, who, what, rig.now, place, why)
    };
    let person = UserId::from_u128(1);
    let credential = |kind| {
        let (key_id, issued_by) = ("AAAAAAAAAAA".to_owned(), Some(UserId::from_u128(6)));
        Some(Credential { kind, key_id, issued_by, step_up: Some(StepUpId::from_u128(7)) })
    };
    vec![
        rig.leaf("user.rename"),
        full(Who::User { user: person, credential: credential(CredentialKind::Session) }),
        full(Who::Agent {
            agent: AgentId::from_u128(4),
            on_behalf_of: person,
            credential: credential(CredentialKind::Token),
        }),
        full(Who::System { worker: "expirer".to_owned() }),
    ]
}

#[tokio::test]
async fn audit_entries_round_trip() {
    let rig = TestDatabase::new().await;
    let written = leaves(&rig);
    let mut tx = rig.begin().await;
    let ids = audit::append(&mut tx, &written).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = rig.begin().await;
    for (id, leaf) in ids.iter().zip(&written) {
        assert_eq!(audit::read(&mut tx, rig.now, *id).await.unwrap().as_ref(), Some(leaf));
    }
    let elsewhere = Timestamp::from_micros(rig.now.micros() + 1);
    assert_eq!(audit::read(&mut tx, elsewhere, ids[0]).await.unwrap(), None);
    let mut tx = rig.begin_as(rig.other).await;
    assert_eq!(audit::read(&mut tx, rig.now, ids[0]).await.unwrap(), None, "another tenant's");
}

#[tokio::test]
async fn audit_entry_columns_agree_with_its_bytes() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let ids = audit::append(&mut tx, &leaves(&rig)).await.unwrap();
    let query = sqlx::query_as::<_, (String, i64, Option<String>, String)>(
        "SELECT concat_ws(' ', kind, right(user_id::text, 1), right(agent_id::text, 1),
                    right(on_behalf_of::text, 1), worker) AS who,
                (extract(epoch FROM at) * 1000000)::bigint,
                host(address),
                concat_ws(' ', object, action, from_state, to_state, revision,
                    left(encode(digest, 'hex'), 4), user_agent, service, reason, ticket)
           FROM unnest($1) WITH ORDINALITY AS wanted (id, place)
           JOIN audit_entry USING (id) ORDER BY place",
    )
    .bind(ids.iter().map(|id| id.0).collect::<Vec<_>>());
    let rows = tx.read(query).await.unwrap();
    let digest = Digest::of(b"effect").to_string();
    let prefix = &digest["sha256:".len()..][..4];
    let full = format!("task_x task.submit DRAFT SUBMITTED 2 {prefix} browser api because INC-1");
    let plain = "database:prod-db-01 user.rename DRAFT 3 curl/8 store".to_owned();
    let address = |text: &str| Some(text.to_owned());
    let at = rig.now.micros();
    let expected = [
        ("change 1".to_owned(), at, address("2001:db8::7"), plain),
        ("refusal 1".to_owned(), at, address("192.0.2.7"), full.clone()),
        ("refusal 4 1".to_owned(), at, address("192.0.2.7"), full.clone()),
        ("refusal expirer".to_owned(), at, address("192.0.2.7"), full),
    ];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn audit_entry_cannot_be_changed_or_removed() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    audit::append(&mut tx, &leaves(&rig)).await.unwrap();
    tx.commit().await.unwrap();
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    let partition: String =
        sqlx::query_scalar("SELECT DISTINCT tableoid::regclass::text FROM audit_entry")
            .fetch_one(&mut app)
            .await
            .unwrap();
    for sql in [
        "UPDATE audit_entry SET reason = 'other'",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
        "UPDATE vote SET answer = 'approve'",
        "DELETE FROM vote",
        "DELETE FROM outbox",
        "CREATE TABLE mine (id int)",
        "SELECT make_partitions('1 day')",
        "ALTER TABLE audit_entry DISABLE ROW LEVEL SECURITY",
        &format!("SELECT * FROM {partition}"),
        &format!("DELETE FROM {partition}"),
    ] {
        let refused = StoreError::from(try_run(&mut app, sql).await.expect_err(sql));
        assert!(matches!(refused, StoreError::Forbidden { .. }), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn audit_entry_with_changed_bytes_is_an_error() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let ids = audit::append(&mut tx, &leaves(&rig)).await.unwrap();
    tx.commit().await.unwrap();
    let mut admin = rig.database.connect().await;
    run(&mut admin, "UPDATE audit_entry SET canonical = canonical || ' '::bytea").await;
    let mut tx = rig.begin().await;
    let error = audit::read(&mut tx, rig.now, ids[0]).await.unwrap_err();
    let StoreError::Row(row) = error else { panic!("{error}") };
    assert_eq!((row.table, row.column), ("audit_entry", "hash"));
    assert_eq!(row.row, ids[0].0.to_string());
}

/// Returns the column that a reader reports after this change of the entry's row.
async fn wrong_column(rig: &TestDatabase, change: &str) -> &'static str {
    let mut tx = rig.begin().await;
    let ids = audit::append(&mut tx, &leaves(rig)).await.unwrap();
    tx.commit().await.unwrap();
    let mut admin = rig.database.connect().await;
    let id = ids[1].0;
    run(&mut admin, &format!("UPDATE audit_entry SET {change} WHERE id = '{id}'")).await;
    let all = audit::AuditFilter::default();
    let mut tx = rig.begin().await;
    let error = audit::list(&mut tx, &all, None, 100).await.unwrap_err();
    let StoreError::Row(row) = error else { panic!("{error}") };
    run(&mut admin, &format!("DELETE FROM audit_entry WHERE id = '{id}'")).await;
    assert_eq!((row.table, row.row), ("audit_entry", id.to_string()));
    row.column
}

#[tokio::test]
async fn audit_entry_hidden_from_a_filter_is_an_error() {
    let rig = TestDatabase::new().await;
    for (change, column) in [
        ("object = 'task_y'", "object"),
        ("action = 'task.read'", "action"),
        ("user_id = gen_random_uuid()", "user_id"),
        ("kind = 'change'", "kind"),
        ("at = at + interval '1 microsecond'", "at"),
        ("address = '192.0.2.8'", "origin_salt"),
        ("user_agent = NULL", "origin_salt"),
    ] {
        assert_eq!(wrong_column(&rig, change).await, column, "{change}");
    }
}

#[tokio::test]
async fn audit_entry_is_readable_after_its_origin_is_erased() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let written = leaves(&rig);
    let ids = audit::append(&mut tx, &written).await.unwrap();
    tx.commit().await.unwrap();
    let mut admin = rig.database.connect().await;
    let erase = "UPDATE audit_entry SET origin_salt = NULL, address = NULL, user_agent = NULL";
    run(&mut admin, erase).await;
    let mut tx = rig.begin().await;
    let read = audit::read(&mut tx, rig.now, ids[1]).await.unwrap().unwrap();
    assert_eq!(read.place.origin(), None);
    assert_eq!(read.to_bytes(), written[1].to_bytes(), "the hashed bytes are unchanged");
}

#[tokio::test]
async fn audit_partitions_are_created_ahead_and_used() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    // Uses the day of the migration, because midnight may have passed since.
    let again: i32 = sqlx::query_scalar(
        "SELECT make_partitions('60 days',
                to_date(min(right(c.relname, 10)), 'YYYY_MM_DD')::timestamp AT TIME ZONE 'UTC')
           FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'outbox'::regclass",
    )
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(again, 0, "the migration made them");
    let made: i32 = sqlx::query_scalar("SELECT make_partitions('40 days', '2031-01-31T23:59:59Z')")
        .fetch_one(&mut admin)
        .await
        .unwrap();
    assert_eq!(made, 3 + 41, "January to March, and each day to 12 March");
    for (at, month, day) in [
        ("2031-01-31T23:59:59.999999Z", "audit_entry_2031_01", "outbox_2031_01_31"),
        ("2031-02-01T00:00:00Z", "audit_entry_2031_02", "outbox_2031_02_01"),
    ] {
        let mut leaf = rig.leaf("user.rename");
        leaf.when = at.parse().unwrap();
        let mut tx = rig.begin().await;
        audit::append(&mut tx, &[leaf]).await.unwrap();
        tx.commit().await.unwrap();
        run(
            &mut admin,
            &format!(
                "INSERT INTO outbox (tenant_id, at, kind, object, payload)
             VALUES ('{}', '{at}', 'task.created', 'x', '{{}}')",
                rig.tenant.uuid()
            ),
        )
        .await;
        let homes: Vec<String> = sqlx::query_scalar(
            "SELECT tableoid::regclass::text FROM audit_entry WHERE at = $1::timestamptz
             UNION ALL SELECT tableoid::regclass::text FROM outbox WHERE at = $1::timestamptz",
        )
        .bind(at)
        .fetch_all(&mut admin)
        .await
        .unwrap();
        assert_eq!(homes, [month, day]);
    }
    assert!(try_run(&mut admin, "SELECT make_partitions('401 days')").await.is_err());
    assert!(try_run(&mut admin, "SELECT make_partitions('-1 day')").await.is_err());
}

#[tokio::test]
async fn audit_row_without_a_partition_is_refused() {
    let rig = TestDatabase::new().await;
    let mut leaf = rig.leaf("user.rename");
    leaf.when = "2099-01-01T00:00:00Z".parse().unwrap();
    let mut tx = rig.begin().await;
    assert!(audit::append(&mut tx, &[leaf]).await.is_err());
    assert!(tx.commit().await.is_err());
}
