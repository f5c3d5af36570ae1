//! Streaming of a growing log: every line arrives once and in order, also after a reconnect, and
//! the stream reports the end.

use std::time::{Duration, Instant};

use ade_engine::workers::Driver;
use ade_testkit::{eventually, within};
use serde_json::json;

use crate::coverage::cases;
use crate::executions::{permit, runner, say};
use crate::world::{Message, Person, World, path_of};

cases! {
    log_stream_delivers_each_line_once_while_it_grows:
        Happy "GET /v1/tasks/{id}/logs", Denied "GET /v1/tasks/{id}/logs";
}

/// Reads a stream to its end and returns its messages.
async fn follow(world: &World, who: &Person, path: &str, last: Option<&str>) -> Vec<Message> {
    let last: Vec<(&str, &str)> = last.map(|last| ("last-event-id", last)).into_iter().collect();
    world.streamed(&who.token, path, &last).await
}

async fn log_stream_delivers_each_line_once_while_it_grows(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("{}/logs", path_of(&task));
    assert_eq!(
        follow(world, &bob, &format!("{path}?wait=0s"), None).await,
        [],
        "the task is not being applied"
    );
    let following = format!("{path}?wait=20s");
    let working = async {
        let held = permit(world, &bot).await;
        say(world, &bot, &held, "begin", json!({})).await.expect(200);
        for first in 0..3 {
            let lines = json!([{ "stream": "stdout", "text": format!("line {first}\n\ndata: x") }]);
            let log = json!({ "first": first, "lines": lines });
            say(world, &bot, &held, "log", log).await.expect(200);
        }
        say(world, &bot, &held, "finish", json!({})).await.expect(200);
        held["execution_id"].as_str().unwrap().to_owned()
    };
    let (messages, execution) = tokio::join!(follow(world, &bob, &following, None), working);
    let kinds: Vec<&str> = messages.iter().map(|message| message.event.as_str()).collect();
    assert_eq!(kinds, ["line", "line", "line", "end"]);
    assert_eq!(messages[2].data["text"], "line 2\n\ndata: x", "line breaks are escaped");
    assert_eq!(messages[3].data["outcome"], "succeeded");
    let again = follow(world, &bob, &following, Some(&format!("{execution}:1"))).await;
    assert_eq!(again[0].data["number"], 2, "after the last received line");
    assert_eq!(again.len(), 2);
    let other = world.approved(&bob, &rea, "Add another").await;
    let refused = |path: String, last: String, who: Person| async move {
        world.send("GET", &who.token, &path, None, &[("last-event-id", &last)]).await
    };
    let elsewhere = format!("{}/logs", path_of(&other));
    let last = format!("{execution}:1");
    refused(elsewhere, last.clone(), bob.clone()).await.refused(404, "not_found");
    refused(path.clone(), "7".to_owned(), bob).await.refused(400, "malformed_request");
    let (_, stranger) = world.tenant("umbrella").await;
    refused(path, last, stranger).await.refused(404, "not_found");
}

/// Like every live stream, a log stream ends at once and not only after its `wait`.
#[tokio::test]
async fn log_stream_ends_within_a_second_of_losing_permission() {
    let world = World::new().await;
    let watching = Driver::watch(&world.app);
    within(Duration::from_secs(1), async || stream_ends(&world).await).await;
    watching.stop().await;
}

/// Returns how long the stream stayed open after the permission to listen ended.
async fn stream_ends(world: &World) -> Duration {
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "Add a currency").await;
    let path = format!("{}/logs?wait=30s", path_of(&task));
    let revoking = async {
        let joined = async || match world.app.live.listeners() {
            0 => Err("there is no listener"),
            _ => Ok(()),
        };
        eventually("the log is followed", Duration::from_secs(10), joined).await;
        let key = bob.token.split('_').nth(2).unwrap();
        let path = format!("/v1/tokens/{key}");
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
        Instant::now()
    };
    let (messages, revoked) = tokio::join!(follow(world, &bob, &path, None), revoking);
    assert_eq!(messages, []);
    revoked.elapsed()
}
