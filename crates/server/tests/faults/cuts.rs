//! The connection to PostgreSQL breaks around a commit. A caller without a definite response
//! retries with the same idempotency key, and the change is made once.

use ade_engine::admin::bootstrap;
use ade_testkit::{Database, Direction, Proxy, eventually};
use serde_json::json;

use crate::invariants;
use crate::meetings::{Office, SOON, rounds};
use crate::world::{Answer, World, id, plan, quoted};

/// How often each cut is made: two hundred times where the races run a thousand times.
fn tries() -> usize {
    rounds() / 5
}

/// PostgreSQL's `CommandComplete` message: tag, length, and the command.
const COMMIT_DONE: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
/// The query message that requests the commit.
const COMMIT_ASKED: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// An office whose server reaches PostgreSQL through a proxy.
async fn office() -> (Office, Proxy) {
    let database =
        Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await;
    let proxy = Proxy::to_port(database.server().port(), 1);
    let world = World::through(database, proxy.port()).await;
    (Office::in_world(world, 1).await, proxy)
}

/// Repeats the same request until it gets a definite response, as `next_action` says.
async fn resolved(call: impl AsyncFn() -> Answer) -> Answer {
    eventually("the outcome is known", SOON, async || {
        let answer = call().await;
        match answer.status {
            409 if answer.body["code"] == "idempotency_in_flight" => Err(answer.body.to_string()),
            503 => Err(answer.body.to_string()),
            _ => Ok(answer),
        }
    })
    .await
}

async fn create(office: &Office, title: &str) -> Answer {
    let keyed = [("idempotency-key", title)];
    office.world.send("POST", &office.bob.token, "/v1/tasks", Some(plan(title)), &keyed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_after_the_commit_is_resolved_by_the_key() {
    let (office, proxy) = office().await;
    for attempt in 0..tries() {
        let title = format!("task-{attempt}");
        let trap = proxy.cut_after(Direction::ToClient, COMMIT_DONE, 1);
        create(&office, &title).await.refused(503, "outcome_unknown");
        trap.wait(SOON).await;
        let answer = resolved(async || create(&office, &title).await).await;
        assert!(answer.is_repeated, "the change was committed before the cut");
        answer.expect(201);
        let found = format!("SELECT count(*) FROM task WHERE title = '{title}'");
        assert_eq!(office.number(&found).await, 1, "attempt {attempt}");
    }
    let made = office.number("SELECT count(*) FROM task").await;
    assert_eq!(usize::try_from(made).unwrap(), tries());
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_the_commit_is_resolved_by_the_key() {
    let (office, proxy) = office().await;
    for attempt in 0..tries() {
        let title = format!("task-{attempt}");
        let trap = proxy.cut_after(Direction::ToServer, COMMIT_ASKED, 1);
        create(&office, &title).await.refused(503, "outcome_unknown");
        trap.wait(SOON).await;
        let answer = resolved(async || create(&office, &title).await).await;
        assert!(!answer.is_repeated, "the change was not committed before the cut");
        answer.expect(201);
        let found = format!("SELECT count(*) FROM task WHERE title = '{title}'");
        assert_eq!(office.number(&found).await, 1, "attempt {attempt}");
    }
    let made = office.number("SELECT count(*) FROM task").await;
    assert_eq!(usize::try_from(made).unwrap(), tries());
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_before_the_commit_changes_nothing_and_is_reported() {
    let (office, proxy) = office().await;
    for attempt in 0..tries() {
        let title = format!("task-{attempt}");
        // The title first occurs in the statement that writes the task.
        let trap = proxy.cut_after(Direction::ToServer, title.as_bytes(), 1);
        create(&office, &title).await.refused(503, "database_unavailable");
        trap.wait(SOON).await;
        let found = format!("SELECT count(*) FROM task WHERE title = '{title}'");
        assert_eq!(office.number(&found).await, 0, "attempt {attempt}");
        let answer = resolved(async || create(&office, &title).await).await;
        assert!(!answer.is_repeated);
        answer.expect(201);
        assert_eq!(office.number(&found).await, 1, "attempt {attempt}");
    }
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transition_cut_at_the_commit_is_made_once() {
    let (office, proxy) = office().await;
    for attempt in 0..tries() {
        let draft = office.world.draft(&office.bob, "Add a currency").await;
        let (path, version) = (format!("/v1/tasks/{}/submit", id(&draft)), quoted(&draft));
        let key = format!("submit-{attempt}");
        let headers = [("idempotency-key", &*key), ("if-match", &*version)];
        let submit =
            async || office.world.send("POST", &office.bob.token, &path, None, &headers).await;
        let (direction, pattern, had_happened) = match attempt % 2 {
            0 => (Direction::ToClient, COMMIT_DONE, true),
            _ => (Direction::ToServer, COMMIT_ASKED, false),
        };
        let trap = proxy.cut_after(direction, pattern, 1);
        submit().await.refused(503, "outcome_unknown");
        trap.wait(SOON).await;
        let answer = resolved(submit).await;
        assert_eq!(answer.is_repeated, had_happened, "attempt {attempt}");
        assert_eq!(answer.expect(202)["state"], "SUBMITTED");
        let task = office.task(id(&draft)).await;
        assert_eq!((&task["state"], &task["version"]), (&json!("SUBMITTED"), &json!(2)));
    }
    invariants::assert_hold(&office.world.database, 1).await;
}
