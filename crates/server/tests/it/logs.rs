//! A log as it grows: every line once and in order, also over a break, and the end with it.

use std::time::{Duration, Instant};

use ade_engine::work::Driver;
use ade_testkit::{eventually, within};
use serde_json::json;

use crate::coverage::cases;
use crate::executions::{permit, runner, say};
use crate::world::{Message, Person, World, path_of};

cases! {
    a_log_is_followed_while_it_grows:
        Happy "GET /v1/tasks/{id}/logs", Denied "GET /v1/tasks/{id}/logs";
}

/// What was told, once the stream has ended.
async fn follow(world: &World, who: &Person, path: &str, last: Option<&str>) -> Vec<Message> {
    let last: Vec<(&str, &str)> = last.map(|last| ("last-event-id", last)).into_iter().collect();
    world.streamed(&who.token, path, &last).await
}

async fn a_log_is_followed_while_it_grows(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let path = format!("{}/logs", path_of(&task));
    assert_eq!(
        follow(world, &bob, &format!("{path}?wait=0s"), None).await,
        [],
        "nobody applies it"
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
        held["execution"].as_str().unwrap().to_owned()
    };
    let (told, execution) = tokio::join!(follow(world, &bob, &following, None), working);
    let kinds: Vec<&str> = told.iter().map(|message| message.event.as_str()).collect();
    assert_eq!(kinds, ["line", "line", "line", "end"]);
    assert_eq!(told[2].data["text"], "line 2\n\ndata: x", "a line that looks like the end of one");
    assert_eq!(told[3].data["result"], "success");
    let again = follow(world, &bob, &following, Some(&format!("{execution}:1"))).await;
    assert_eq!(again[0].data["number"], 2, "after the last that was seen");
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

/// Not only at the end of its time: as everything else that somebody listens to.
#[tokio::test]
async fn whoever_may_not_listen_any_more_is_let_go_within_a_second() {
    let world = World::new().await;
    let watching = Driver::watch(&world.app);
    within(Duration::from_secs(1), async || somebody_is_let_go(&world).await).await;
    watching.stop().await;
}

/// How long after the right to listen ended.
async fn somebody_is_let_go(world: &World) -> Duration {
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "Add a currency").await;
    let path = format!("{}/logs?wait=30s", path_of(&task));
    let revoking = async {
        let joined = async || match world.app.live.listeners() {
            0 => Err("nobody listens"),
            _ => Ok(()),
        };
        eventually("somebody follows", Duration::from_secs(10), joined).await;
        let key = bob.token.split('_').nth(2).unwrap();
        let path = format!("/v1/tokens/{key}");
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
        Instant::now()
    };
    let (told, revoked) = tokio::join!(follow(world, &bob, &path, None), revoking);
    assert_eq!(told, []);
    revoked.elapsed()
}
