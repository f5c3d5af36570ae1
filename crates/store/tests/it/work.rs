//! Events, idempotent retries and scheduled jobs, each in the transaction it belongs to.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::change::Digest;
use ade_core::event::EventKind;
use ade_core::time::Timestamp;
use ade_store::idempotency::{self, IdempotencyKey, IdempotentResponse, KeyState, StoredResponse};
use ade_store::outbox::{self, OutboxEvent};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::{StoreError, TenantLock, Tx, audit};

use crate::test_database::TestDatabase;

fn event(kind: EventKind, number: i64) -> OutboxEvent {
    let payload = serde_json::json!({ "number": number, "text": "é\u{1F600}" });
    OutboxEvent { kind, object: format!("task_{number}"), version: Some(number), payload }
}

#[tokio::test]
async fn outbox_events_keep_their_order_and_transaction() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let events: Vec<OutboxEvent> =
        (1..=20).map(|number| event(EventKind::TaskCreated, number)).collect();
    outbox::append(&mut tx, &events).await.unwrap();
    outbox::append(&mut tx, &[]).await.unwrap();
    outbox::append(&mut tx, &[event(EventKind::TaskSubmitted, 21)]).await.unwrap();
    audit::append(&mut tx, &[rig.leaf("task.create")]).await.unwrap();
    let rows = sqlx::query_as::<_, (String, String, i64, String, bool, Option<i64>)>(
        "SELECT kind, object, version, payload->>'text', xid = pg_current_xact_id(), tenant_seq
           FROM outbox ORDER BY xid, seq",
    );
    let rows = tx.read(rows).await.unwrap();
    assert_eq!(rows.len(), 21);
    for (number, row) in (1..).zip(&rows) {
        let kind = if number == 21 { "task.submitted" } else { "task.created" };
        let text = "é\u{1F600}".to_owned();
        let expected = (kind.to_owned(), format!("task_{number}"), number, text, true, None);
        assert_eq!(*row, expected);
    }
    tx.commit().await.unwrap();
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey {
        principal: "usr_1".to_owned(),
        route: "tasks.create".to_owned(),
        key: name.to_owned(),
    }
}

async fn begin_at(rig: &TestDatabase, now: Timestamp) -> Tx {
    rig.set_clock(now).await;
    Tx::begin(&rig.pool, rig.tenant, Actor::system("test"), TenantLock::None).await.unwrap()
}

async fn keep(
    tx: &mut Tx,
    body: &Digest,
    answer: &IdempotentResponse,
    expires_at: Timestamp,
) -> Result<(), StoreError> {
    idempotency::store_response(tx, &StoredResponse { key: &key("a"), body, answer, expires_at })
        .await
}

#[tokio::test]
async fn idempotent_retry_gets_the_first_response_until_expiry() {
    let rig = TestDatabase::new().await;
    let (body, other) = (Digest::of(b"body"), Digest::of(b"other"));
    let answer = IdempotentResponse { status: 201, body: r#"{"id":"task_1"}"#.to_owned() };
    let expires_at = rig.now.plus(Duration::from_mins(1));

    let mut first = rig.begin().await;
    assert_eq!(
        idempotency::reserve_key(&mut first, &key("a"), &body).await.unwrap(),
        KeyState::New
    );
    let mut second = rig.begin().await;
    let claim = idempotency::reserve_key(&mut second, &key("a"), &body).await.unwrap();
    assert_eq!(claim, KeyState::InFlight, "the first request is in progress");
    assert_eq!(
        idempotency::reserve_key(&mut second, &key("b"), &body).await.unwrap(),
        KeyState::New
    );
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(
        idempotency::reserve_key(&mut foreign, &key("a"), &body).await.unwrap(),
        KeyState::New
    );
    keep(&mut first, &body, &answer, expires_at).await.unwrap();
    audit::append(&mut first, &[rig.leaf("task.create")]).await.unwrap();
    first.commit().await.unwrap();

    let claim = idempotency::reserve_key(&mut second, &key("a"), &body).await.unwrap();
    assert_eq!(claim, KeyState::Answered(answer.clone()));
    let claim = idempotency::reserve_key(&mut second, &key("a"), &other).await.unwrap();
    assert_eq!(claim, KeyState::OtherBody);
    let again = keep(&mut second, &body, &answer, expires_at).await;
    assert!(
        matches!(again, Err(StoreError::Conflict { .. })),
        "an answer is not replaced: {again:?}"
    );
    second.roll_back().await;

    let last = Timestamp::from_micros(expires_at.micros() - 1);
    let mut before = begin_at(&rig, last).await;
    let claim = idempotency::reserve_key(&mut before, &key("a"), &body).await.unwrap();
    assert_eq!(claim, KeyState::Answered(answer.clone()));
    before.roll_back().await;
    let mut after = begin_at(&rig, expires_at).await;
    assert_eq!(
        idempotency::reserve_key(&mut after, &key("a"), &other).await.unwrap(),
        KeyState::New
    );
    let later = expires_at.plus(Duration::from_secs(1));
    keep(&mut after, &other, &answer, later).await.unwrap();
    let claim = idempotency::reserve_key(&mut after, &key("a"), &other).await.unwrap();
    assert_eq!(claim, KeyState::Answered(answer));
}

#[tokio::test]
async fn idempotency_key_parts_are_kept_separate() {
    let rig = TestDatabase::new().await;
    let body = Digest::of(b"body");
    let mut first = rig.begin().await;
    let parts = |principal: &str, route: &str, key: &str| IdempotencyKey {
        principal: principal.to_owned(),
        route: route.to_owned(),
        key: key.to_owned(),
    };
    idempotency::reserve_key(&mut first, &parts("ab", "c", "d"), &body).await.unwrap();
    let mut second = rig.begin().await;
    for other in [parts("a", "bc", "d"), parts("ab", "cd", ""), parts("ab", "d", "c")] {
        let claim = idempotency::reserve_key(&mut second, &other, &body).await.unwrap();
        assert_eq!(claim, KeyState::New, "{other:?}");
    }
}

#[tokio::test]
async fn scheduled_job_is_unique_per_object_and_kind() {
    let rig = TestDatabase::new().await;
    let objects = [1, 2].map(sqlx::types::Uuid::from_u128);
    let at = |seconds| rig.now.plus(Duration::from_secs(seconds));
    let word = |kind, object, seconds| ScheduledJob { kind, object, at: at(seconds) };
    let mut tx = rig.begin().await;
    let dues = [
        word("expire", objects[0], 10),
        word("expire", objects[1], 20),
        word("escalate", objects[0], 30),
    ];
    scheduled_jobs::set(&mut tx, &dues).await.unwrap();
    scheduled_jobs::set(&mut tx, &[word("expire", objects[0], 5)]).await.unwrap();
    assert_eq!(scheduled_jobs::clear(&mut tx, "expire", objects[1]).await.unwrap(), 1);
    assert_eq!(scheduled_jobs::clear(&mut tx, "expire", objects[1]).await.unwrap(), 0);
    let left = sqlx::query_as::<_, (String, sqlx::types::Uuid, i64)>(
        "SELECT kind, object, (extract(epoch FROM at) * 1000000)::bigint
               FROM scheduled_job ORDER BY at",
    );
    let left = tx.read(left).await.unwrap();
    let row = |kind: &str, seconds| (kind.to_owned(), objects[0], at(seconds).micros());
    assert_eq!(left, [row("expire", 5), row("escalate", 30)]);
}
