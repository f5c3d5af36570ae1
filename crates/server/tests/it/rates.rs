//! How often callers may call, over HTTP: whoever floods is told to wait, and nobody else is.

use ade_core::rate::Rate;
use ade_engine::limiter::Settings;
use ade_server::config::Config;
use ade_server::http::state::Shared;
use ade_server::{assemble, http, telemetry};
use ade_testkit::Cluster;
use reqwest::Response;
use serde_json::{Value, json};

use crate::rig::{Rig, settings};
use crate::world::{Fittings, Line, Person, World, id, plan, quoted, unlimited};

/// So slow that nothing comes back while a test runs.
fn slow(burst: u32) -> Rate {
    Rate { per_minute: 1, burst }
}

async fn world(rates: Settings) -> World {
    let line = Line::redis(Line::SETTINGS).await;
    World::fitted(Fittings { rates, ..line.into() }).await
}

async fn ask(rig: &Rig, token: &str, path: &str) -> Response {
    rig.get(path).header("authorization", format!("Bearer {token}")).send().await.unwrap()
}

fn number(response: &Response, name: &str) -> u64 {
    response.headers()[name].to_str().unwrap().parse().unwrap()
}

async fn submit(world: &World, who: &Person, task: &Value) -> crate::world::Answer {
    let path = format!("/v1/tasks/{}/submit", id(task));
    let tag = quoted(task);
    world.send("POST", &who.token, &path, None, &[("if-match", tag.as_str())]).await
}

/// Threat T10: reviewers are not drowned, and the one task that matters stays on top.
#[tokio::test]
async fn the_fifty_first_review_is_refused_and_the_risky_one_stays_first() {
    let world = world(Settings { submit: slow(50), ..unlimited() }).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let (bot, other) = (world.agent("bot", &bob).await, world.agent("other", &bob).await);
    let entry = |criticality: u32| Some(json!({ "criticality": criticality }));
    for (name, criticality) in [("orders", 0), ("payments", 100)] {
        let path = format!("/v1/resources/database/{name}");
        let put = world.send("PUT", &world.admin.token, &path, entry(criticality), &[]);
        put.await.expect(200);
    }
    for number in 0..49 {
        let task = world.draft(&bot, &format!("trivial {number}")).await;
        submit(&world, &bot, &task).await.expect(202);
    }
    let risky = plan("drop it").to_string().replace("orders", "payments");
    let risky: Value = serde_json::from_str(&risky).unwrap();
    let risky = world.post(&bot.token, "/v1/tasks", risky).await.expect(201);
    submit(&world, &bot, &risky).await.expect(202);
    let late = world.draft(&bot, "one too many").await;
    let told = submit(&world, &bot, &late).await.refused(429, "rate_limited");
    assert_eq!(told["limit"], "tasks_submit");
    assert!(told["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{told}");
    let path = format!("/v1/tasks/{}", id(&late));
    let kept = world.get(&bot.token, &path).await.expect(200);
    assert_eq!(kept["state"], "DRAFT", "nothing was written");
    let own = world.draft(&other, "of another agent").await;
    submit(&world, &other, &own).await.expect(202);
    while world.work("review_opener").await.items > 0 {}
    let inbox = world.get(&rea.token, "/v1/approvals?status=PENDING&page_size=1").await;
    let inbox = inbox.expect(200);
    assert_eq!(inbox["items"][0]["task"]["id"], risky["id"], "{inbox}");
}

#[tokio::test]
async fn every_answer_says_what_is_left_and_one_token_takes_nothing_from_another() {
    let world = world(Settings { token: slow(40), ..unlimited() }).await;
    let (ann, bea) = (world.person("Ann", &["author"]).await, world.person("Bea", &[]).await);
    let beside = world.beside().await;
    let first = ask(&world.rig, &ann.token, "/v1/me").await;
    assert_eq!((first.status().as_u16(), number(&first, "ratelimit-limit")), (200, 40));
    assert_eq!(number(&first, "ratelimit-remaining"), 39);
    assert!(number(&first, "ratelimit-reset") <= 60);
    // What no handler answers says it too, and the other process counts on.
    let missing = ask(&beside, &ann.token, "/v1/tasks/task_0").await;
    assert_eq!((missing.status().as_u16(), number(&missing, "ratelimit-remaining")), (404, 38));
    for _ in 0..38 {
        assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 200);
    }
    let refused = ask(&beside, &ann.token, "/v1/me").await;
    assert_eq!((refused.status().as_u16(), number(&refused, "ratelimit-remaining")), (429, 0));
    assert!(number(&refused, "retry-after") >= 30);
    let told: Value = refused.json().await.unwrap();
    assert_eq!((&told["code"], &told["limit"]), (&json!("rate_limited"), &json!("token")));
    assert_eq!(ask(&world.rig, &bea.token, "/v1/me").await.status(), 200);
    let missing = |path: &str| world.rig.get(path).send();
    let wrong = world.rig.request("DELETE", "/openapi.json").send();
    for open in [missing("/openapi.json").await, missing("/v1/nothing").await, wrong.await] {
        let open = open.unwrap();
        assert!(open.headers().contains_key("ratelimit-remaining"), "{open:?}");
    }
}

/// What a token does not open counts like what it does: nobody hammers at closed doors.
#[tokio::test]
async fn refusals_at_the_door_count_too() {
    let world = world(Settings { token: slow(40), ..unlimited() }).await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for status in std::iter::repeat_n(403, 40).chain([429]) {
        let asked = world.rig.json("/v1/users", r#"{"name":"Eve","roles":[]}"#);
        let asked = asked.header("authorization", format!("Bearer {}", bot.token));
        let told = asked.send().await.unwrap();
        assert_eq!(told.status(), status);
        assert!(told.headers().contains_key("ratelimit-remaining"), "{told:?}");
    }
}

#[tokio::test]
async fn a_tenant_that_floods_is_stopped_and_its_neighbour_is_not() {
    let world = world(Settings { tenant: slow(60), ..unlimited() }).await;
    let (_, neighbour) = world.tenant("beside").await;
    let ann = world.person("Ann", &["author"]).await;
    let mut status = 200;
    for _ in 0..60 {
        status = ask(&world.rig, &ann.token, "/v1/me").await.status().as_u16();
    }
    assert_eq!(status, 429, "setting up the tenant has cost some already");
    assert_eq!(ask(&world.rig, &neighbour.token, "/v1/me").await.status(), 200);
}

/// Threat T24: whoever guesses is slowed down, and learns nothing from it.
#[tokio::test]
async fn an_address_that_guesses_is_told_to_wait_and_who_has_a_token_is_not() {
    // Not where others are: an address counts for all tenants.
    let cluster = Cluster::owned().await;
    let rates = Settings { refused: slow(5), ..unlimited() };
    let line = Line::Redis(cluster.urls(), Line::SETTINGS);
    let world = World::fitted(Fittings { rates, ..line.into() }).await;
    let mut wrong = world.admin.token.clone();
    wrong.truncate(wrong.len() - 10);
    for _ in 0..5 {
        assert_eq!(ask(&world.rig, &wrong, "/v1/me").await.status(), 401);
    }
    let refused = ask(&world.rig, &wrong, "/v1/me").await;
    assert_eq!(refused.status(), 429);
    let told: Value = refused.json().await.unwrap();
    assert_eq!(told["limit"], "refused");
    assert_eq!(world.rig.get("/v1/me").send().await.unwrap().status(), 429, "without any, too");
    assert_eq!(ask(&world.rig, &world.admin.token, "/v1/me").await.status(), 200);
    assert_eq!(world.rig.get("/healthz").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_endpoint_may_have_a_rate_of_its_own() {
    let mut rates = unlimited();
    rates.endpoints.insert("users_whoami".to_owned(), slow(2));
    let world = world(rates).await;
    let ann = world.person("Ann", &["author"]).await;
    for status in [200, 200, 429] {
        assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), status);
    }
    assert_eq!(ask(&world.rig, &ann.token, "/v1/tasks").await.status(), 200);
}

#[tokio::test]
async fn a_rate_that_would_limit_nobody_is_refused_at_the_start() {
    for (name, says) in [("tasks_hand_in", "no endpoint"), ("tasks_retry", "`rates.submit`")] {
        let set = |of: &str| (format!("ADE__RATES__ENDPOINTS__{name}__{of}"), "5".to_owned());
        let set = [set("PER_MINUTE"), set("BURST")].into_iter().collect();
        let app = assemble::unconnected(&Config::read(None, set).unwrap()).unwrap();
        let shared = Shared::new(app, settings(&[]), telemetry::metrics().unwrap());
        let Err(told) = http::build(shared) else { panic!("{name} is taken") };
        assert!(told.to_string().contains(says), "{told}");
    }
}
