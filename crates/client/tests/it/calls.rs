//! Calls across connection failures and busy servers: a bounded number of retries under one key,
//! and none after a final response.

use std::time::{Duration, Instant};

use ade_api::code::Code;
use ade_api::executions::Pulse;
use ade_api::page::PageQuery;
use ade_api::pending_changes::PendingChange;
use ade_api::problem::Problem;
use ade_api::settings::SetFlag;
use ade_api::tasks::Cancellation;
use ade_client::{Client, Error, Submitted, TaskFilter};
use ade_core::flag::Flag;
use ade_core::ids::{ExecutionId, LeaseId, TaskId};
use ade_core::limits::CLIENT_TRIES;
use serde_json::{Value, json};

use crate::fake::{Fake, Step, header};

const TASK: TaskId = TaskId::from_u128(1);

fn client(fake: &Fake) -> Client {
    Client::new(&fake.url, "ade_agt_x").unwrap()
}

fn problem(code: Code) -> String {
    let mut problem = Problem::new(code, "as the test wants it").with("state", "DRAFT");
    "req-1".clone_into(&mut problem.request_id);
    serde_json::to_string(&problem).unwrap()
}

pub fn refusal(code: Code) -> Step {
    let line = match code.status() {
        503 => "503 Service Unavailable",
        _ => "409 Conflict",
    };
    Step::Answer(line, "content-type: application/problem+json\r\n", problem(code))
}

fn empty_page() -> Step {
    Step::Answer("200 OK", "", r#"{"items":[]}"#.to_owned())
}

async fn cancel(fake: &Fake) -> Result<(), Error> {
    client(fake).tasks().cancel(TASK, 7, &Cancellation::default()).await.map(|_| ())
}

fn keys(fake: &Fake) -> Vec<String> {
    let key = |request: &String| header(request, "idempotency-key").unwrap().to_owned();
    fake.seen().iter().map(key).collect()
}

#[tokio::test]
async fn retries_of_an_unsafe_call_share_its_idempotency_key() {
    let fake = Fake::start(vec![
        Step::Hang,
        refusal(Code::Overloaded),
        refusal(Code::IdempotencyInFlight),
        refusal(Code::WrongState),
    ])
    .await;
    assert!(cancel(&fake).await.unwrap_err().is(Code::WrongState));
    let first = keys(&fake);
    assert_eq!(first.len(), 4, "{first:?}");
    assert!(first.iter().all(|key| key == &first[0]), "{first:?}");
    assert!(cancel(&fake).await.is_err());
    assert_ne!(keys(&fake).last(), first.last());
    for request in fake.seen() {
        assert_eq!(header(&request, "if-match"), Some("\"7\""));
        assert_eq!(header(&request, "authorization"), Some("Bearer ade_agt_x"));
    }
}

#[tokio::test]
async fn anonymous_call_sends_no_token_and_is_not_retried() {
    let fake = Fake::start(vec![refusal(Code::Overloaded)]).await;
    let stranger = Client::stranger(&fake.url).unwrap();
    assert!(stranger.device().token("abc").await.unwrap_err().is(Code::Overloaded));
    let seen = fake.seen();
    assert_eq!(seen.len(), 1, "retried automatically: {seen:?}");
    assert_eq!(header(&seen[0], "authorization"), None);
}

#[tokio::test]
async fn refusal_is_not_retried_and_keeps_its_details() {
    let fake = Fake::start(vec![refusal(Code::WrongState)]).await;
    let Err(Error::Refused(refusal)) = cancel(&fake).await else { panic!("it was not refused") };
    assert_eq!(fake.seen().len(), 1);
    assert_eq!((refusal.code.as_str(), refusal.status), ("wrong_state", 409));
    assert_eq!(
        (refusal.detail.as_str(), refusal.request_id.as_str()),
        ("as the test wants it", "req-1")
    );
    assert_eq!(refusal.next_action.message, Code::WrongState.next_action());
    assert_eq!(refusal.facts["state"], "DRAFT");
}

#[tokio::test]
async fn retries_are_bounded() {
    let fake = Fake::start(vec![Step::Hang]).await;
    let failed = cancel(&fake).await.unwrap_err();
    assert!(matches!(failed, Error::Unreachable { .. }), "{failed}");
    assert_eq!(fake.seen().len(), CLIENT_TRIES);
}

#[tokio::test]
async fn retry_after_of_the_server_is_respected() {
    let busy = Step::Answer("503 Service Unavailable", "retry-after: 1\r\n", problem(Code::Busy));
    let fake = Fake::start(vec![busy, empty_page()]).await;
    let began = Instant::now();
    let page =
        client(&fake).tasks().list(&TaskFilter::default(), &PageQuery::default()).await.unwrap();
    assert!(page.items.is_empty());
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(fake.seen().len(), 2);
}

#[tokio::test]
async fn retry_after_that_is_too_long_is_reported() {
    let limited = Step::Answer("429 Too Many", "retry-after: 60\r\n", problem(Code::RateLimited));
    let fake = Fake::start(vec![limited]).await;
    assert!(cancel(&fake).await.unwrap_err().is(Code::RateLimited));
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn heartbeat_is_tried_once_within_its_timeout() {
    let fake = Fake::start(vec![Step::Hang]).await;
    let pulse = Pulse { lease_id: LeaseId::from_u128(2) };
    let id = ExecutionId::from_u128(3);
    let beaten = client(&fake).executions().heartbeat(id, &pulse, Duration::from_secs(1)).await;
    assert!(beaten.unwrap_err().is_passing());
    assert_eq!(fake.seen().len(), 1);
    // The server accepts the connection and never responds, so only the timeout ends the call.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let client = Client::new(&url, "x").unwrap();
    let short = Duration::from_millis(50);
    let beaten = client.executions().heartbeat(id, &pulse, short).await.unwrap_err();
    assert!(beaten.to_string().contains("in time"), "{beaten}");
}

#[tokio::test]
async fn token_is_not_sent_to_another_server() {
    let other = Fake::start(vec![empty_page()]).await;
    let location = format!("location: {}/v1/tasks\r\n", other.url);
    let moved = Step::Answer("302 Found", Box::leak(location.into_boxed_str()), String::new());
    let fake = Fake::start(vec![moved]).await;
    let failed = client(&fake)
        .tasks()
        .list(&TaskFilter::default(), &PageQuery::default())
        .await
        .unwrap_err();
    assert!(matches!(failed, Error::Unreadable { status: 302, .. }), "{failed}");
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn unknown_error_code_is_still_a_refusal() {
    let body = problem(Code::WrongState).replace("wrong_state", "of_tomorrow");
    let fake = Fake::start(vec![Step::Answer("409 Conflict", "", body)]).await;
    let failed = cancel(&fake).await.unwrap_err();
    assert_eq!(failed.refusal().unwrap().code, "of_tomorrow");
}

/// Returns a change that waits, as the server sends it.
fn waiting() -> Value {
    let zeroes = "0".repeat(26);
    json!({
        "id": format!("chg_{zeroes}"), "kind": "settings.flag", "object": "batch_approvals",
        "command": {}, "verdict": "looser", "tasks": [], "reason": null,
        "findings": [{ "verdict": "looser", "sentence": "batch_approvals is enabled" }],
        "proposed_by": format!("usr_{zeroes}"), "proposed_at": "2026-11-15T19:00:00.000000Z",
        "takes_effect_at": null, "digest": "x", "outcome": null, "closed_by": null,
        "closed_at": null, "objection": null, "next_action": { "message": "wait" }
    })
}

#[tokio::test]
async fn rule_change_is_pending_only_with_status_202() {
    let flag = json!({
        "name": "batch_approvals", "enabled": true, "meaning": "x", "set_by": null, "set_at": null
    });
    let fake = Fake::start(vec![
        Step::Answer("200 OK", "", flag.to_string()),
        Step::Answer("202 Accepted", "", waiting().to_string()),
        // A body that does not fit the status is an error and not the other result.
        Step::Answer("202 Accepted", "", flag.to_string()),
    ])
    .await;
    let client = client(&fake);
    let set = async || {
        let to = SetFlag { enabled: true, reason: None };
        client.settings().set_flag(Flag::BatchApprovals, &to).await
    };
    let Submitted::Done(done) = set().await.unwrap() else { panic!("it is in force") };
    assert_eq!((done.name, done.enabled), (Flag::BatchApprovals, true));
    let Submitted::Pending(change) = set().await.unwrap() else { panic!("it waits") };
    assert_eq!(*change, serde_json::from_value::<PendingChange>(waiting()).unwrap());
    let failed = set().await.unwrap_err();
    assert!(matches!(failed, Error::Unreadable { status: 202, .. }), "{failed}");
}
