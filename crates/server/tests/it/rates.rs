//! Rate limits over HTTP: a caller who exceeds a limit has to wait, and others are not affected.

use std::net::IpAddr;
use std::time::Duration;

use ade_core::rate::Rate;
use ade_core::token::{KeyId, Secret, Token};
use ade_engine::services::rate_limiter::RateLimitSettings;
use ade_server::config::Config;
use ade_server::http::state::Shared;
use ade_server::{assemble, http, telemetry};
use ade_testkit::{Cluster, eventually};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::test_server::{TestServer, settings};
use crate::world::{LockBackend, Person, TestServerOptions, World, id, plan, quoted, unlimited};

const SOON: Duration = Duration::from_mins(1);

/// A rate so slow that no capacity is restored during a test.
fn slow(burst: u32) -> Rate {
    Rate { per_minute: 1, burst }
}

async fn world(rates: RateLimitSettings) -> World {
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    World::fitted(TestServerOptions { rates, ..line.into() }).await
}

async fn ask(rig: &TestServer, token: &str, path: &str) -> Response {
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

/// Threat T10: reviewers are not flooded, and the riskiest task stays at the top.
#[tokio::test]
async fn submission_flood_is_limited_and_risky_task_stays_first() {
    let world = world(RateLimitSettings { submit: slow(50), ..unlimited() }).await;
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
    let problem = submit(&world, &bot, &late).await.refused(429, "rate_limited");
    assert_eq!(problem["limit"], "tasks_submit");
    assert!(problem["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{problem}");
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
async fn rate_limit_headers_are_sent_and_tokens_are_independent() {
    let world = world(RateLimitSettings { token: slow(40), ..unlimited() }).await;
    let (ann, bea) = (world.person("Ann", &["author"]).await, world.person("Bea", &[]).await);
    let beside = world.beside().await;
    let first = ask(&world.rig, &ann.token, "/v1/me").await;
    assert_eq!((first.status().as_u16(), number(&first, "ratelimit-limit")), (200, 40));
    assert_eq!(number(&first, "ratelimit-remaining"), 39);
    assert!(number(&first, "ratelimit-reset") <= 60);
    // A response without a handler has the headers too, and the other process uses the same count.
    let missing = ask(&beside, &ann.token, "/v1/tasks/task_0").await;
    assert_eq!((missing.status().as_u16(), number(&missing, "ratelimit-remaining")), (404, 38));
    for _ in 0..38 {
        assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 200);
    }
    let refused = ask(&beside, &ann.token, "/v1/me").await;
    assert_eq!((refused.status().as_u16(), number(&refused, "ratelimit-remaining")), (429, 0));
    assert!(number(&refused, "retry-after") >= 30);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["limit"]), (&json!("rate_limited"), &json!("token")));
    assert_eq!(ask(&world.rig, &bea.token, "/v1/me").await.status(), 200);
    let missing = |path: &str| world.rig.get(path).send();
    let wrong = world.rig.request("DELETE", "/openapi.json").send();
    for open in [missing("/openapi.json").await, missing("/v1/nothing").await, wrong.await] {
        let open = open.unwrap();
        assert!(open.headers().contains_key("ratelimit-remaining"), "{open:?}");
    }
}

/// Requests that are refused for a missing scope count as well.
#[tokio::test]
async fn rate_limits_count_refused_requests() {
    let world = world(RateLimitSettings { token: slow(40), ..unlimited() }).await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for status in std::iter::repeat_n(403, 40).chain([429]) {
        let asked = world.rig.json("/v1/users", r#"{"name":"Eve","roles":[]}"#);
        let asked = asked.header("authorization", format!("Bearer {}", bot.token));
        let response = asked.send().await.unwrap();
        assert_eq!(response.status(), status);
        assert!(response.headers().contains_key("ratelimit-remaining"), "{response:?}");
    }
}

#[tokio::test]
async fn rate_limited_tenant_does_not_affect_its_neighbour() {
    let world = world(RateLimitSettings { tenant: slow(60), ..unlimited() }).await;
    let (_, neighbour) = world.tenant("beside").await;
    let ann = world.person("Ann", &["author"]).await;
    let mut status = 200;
    for _ in 0..60 {
        status = ask(&world.rig, &ann.token, "/v1/me").await.status().as_u16();
    }
    assert_eq!(status, 429, "creating the tenant has used some of the quota");
    assert_eq!(ask(&world.rig, &neighbour.token, "/v1/me").await.status(), 200);
}

/// Threat T24: a caller who guesses tokens is slowed down and learns nothing from it.
#[tokio::test]
async fn token_guessing_is_rate_limited_by_address() {
    // A cluster of its own: the count of an address is shared by all tenants.
    let cluster = Cluster::owned().await;
    let rates = RateLimitSettings { refused: slow(5), ..unlimited() };
    let line = LockBackend::Redis(cluster.urls(), LockBackend::SETTINGS);
    let world = World::fitted(TestServerOptions { rates, ..line.into() }).await;
    // A token that was valid before keeps working.
    assert_eq!(ask(&world.rig, &world.admin.token, "/v1/me").await.status(), 200);
    let mut wrong = world.admin.token.clone();
    wrong.truncate(wrong.len() - 10);
    for _ in 0..5 {
        assert_eq!(ask(&world.rig, &wrong, "/v1/me").await.status(), 401);
    }
    let refused = ask(&world.rig, &wrong, "/v1/me").await;
    assert_eq!(refused.status(), 429);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["limit"], "refused");
    assert_eq!(world.rig.get("/v1/me").send().await.unwrap().status(), 429, "without a token");
    assert_eq!(ask(&world.rig, &world.admin.token, "/v1/me").await.status(), 200);
    assert_eq!(world.rig.get("/healthz").send().await.unwrap().status(), 200);
}

/// A token that looks valid: unknown, or a known one with a wrong secret.
fn guess(nth: u32, known: &Person) -> String {
    let mut token = Token::parse(&known.token).unwrap();
    token.secret = Secret::from_bytes([2; 32]);
    if nth.is_multiple_of(2) {
        let mut id = [0; 11];
        id[..4].copy_from_slice(&nth.to_be_bytes());
        token.key_id = KeyId::from_bytes(id);
    }
    token.reveal()
}

/// Returns when the API login last executed a statement, in microseconds.
async fn last_statement(world: &World) -> i64 {
    let login = format!("{}_app", world.database.name());
    let sql = "SELECT (extract(epoch FROM max(state_change)) * 1000000)::bigint";
    world.database.number(&format!("{sql} FROM pg_stat_activity WHERE usename = '{login}'")).await
}

/// Threat T39: once an address has used up its wrong tokens, it costs no transaction.
#[tokio::test]
async fn wrong_tokens_over_the_limit_cost_no_transaction() {
    const LIMIT: u32 = 20;
    let rates = RateLimitSettings { refused: slow(LIMIT), ..unlimited() };
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let world = World::fitted(TestServerOptions { rates, ..line.into() }).await;
    let (ann, bea) = (world.person("Ann", &["author"]).await, world.person("Bea", &[]).await);
    assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 200);
    let before = last_statement(&world).await;
    for nth in 0..LIMIT {
        assert_eq!(ask(&world.rig, &guess(nth, &ann), "/v1/me").await.status(), 401, "{nth}");
    }
    let at_limit = last_statement(&world).await;
    assert!(at_limit > before, "a wrong token is looked up");
    for nth in LIMIT..300 {
        let refused = ask(&world.rig, &guess(nth, &ann), "/v1/me").await;
        assert_eq!(refused.status(), 429, "{nth}");
        assert!(number(&refused, "retry-after") >= 1);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["limit"], "refused");
    }
    assert_eq!(last_statement(&world).await, at_limit, "a guess over the limit is looked up");
    assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 200, "it was valid before");
    assert_eq!(ask(&world.rig, &bea.token, "/v1/me").await.status(), 429, "it was never used");
    let elsewhere = Client::builder().no_proxy().local_address(IpAddr::from([127, 0, 0, 2]));
    let asked = elsewhere.build().unwrap().get(world.rig.url("/v1/me")).bearer_auth(&bea.token);
    assert_eq!(asked.send().await.unwrap().status(), 200, "another address is not affected");
}

#[tokio::test]
async fn revoked_token_over_the_limit_is_looked_up_once() {
    let rates = RateLimitSettings { refused: slow(1), ..unlimited() };
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let world = World::fitted(TestServerOptions { rates, ..line.into() }).await;
    let ann = world.person("Ann", &["author"]).await;
    let beside = world.beside().await;
    assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 200);
    assert_eq!(ask(&world.rig, &guess(0, &ann), "/v1/me").await.status(), 401);
    let path = format!("/v1/tokens/{}", Token::parse(&ann.token).unwrap().key_id);
    let revoked = beside.request("DELETE", &path).bearer_auth(&world.admin.token).send().await;
    assert_eq!(revoked.unwrap().status(), 200);
    eventually("the revoked token is refused", SOON, async || {
        let status = ask(&world.rig, &ann.token, "/v1/me").await.status();
        if status == 429 { Ok(()) } else { Err(status) }
    })
    .await;
    let before = last_statement(&world).await;
    for _ in 0..10 {
        assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), 429);
    }
    assert_eq!(last_statement(&world).await, before);
}

#[tokio::test]
async fn endpoint_can_have_its_own_rate_limit() {
    let mut rates = unlimited();
    rates.endpoints.insert("me_get".to_owned(), slow(2));
    let world = world(rates).await;
    let ann = world.person("Ann", &["author"]).await;
    for status in [200, 200, 429] {
        assert_eq!(ask(&world.rig, &ann.token, "/v1/me").await.status(), status);
    }
    assert_eq!(ask(&world.rig, &ann.token, "/v1/tasks").await.status(), 200);
}

#[tokio::test]
async fn rate_limit_without_an_effect_is_refused_at_start() {
    for (name, says) in [("tasks_hand_in", "not an endpoint"), ("tasks_retry", "`rates.submit`")] {
        let set = |of: &str| (format!("ADE__RATES__ENDPOINTS__{name}__{of}"), "5".to_owned());
        let set = [set("PER_MINUTE"), set("BURST")].into_iter().collect();
        let app = assemble::unconnected(&Config::read(None, set).unwrap()).unwrap();
        let shared = Shared::new(app, settings(&[]), telemetry::metrics().unwrap());
        let Err(error) = http::build(shared) else { panic!("{name} is accepted") };
        assert!(error.to_string().contains(says), "{error}");
    }
}
