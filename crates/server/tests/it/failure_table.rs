//! The failures that an agent meets, as a table: every response to one contains a cause for
//! programs, the reason that a person gave or a rule has, and the next step.

use std::time::Duration;

use ade_core::rate::Rate;
use ade_core::token::{Secret, Token};
use ade_engine::services::rate_limiter::RateLimitSettings;
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::claiming::{approved_of, may_have};
use crate::coverage::on_both;
use crate::executions::{claim, permit, runner, say};
use crate::locks::{ACQUIRE, HEARTBEAT, bots, lease_of, release, want, with};
use crate::world::{LockBackend, Person, TestServerOptions, World, id, path_of, seen, unlimited};

on_both! {
    failure_by_a_decision_tells_the_agent_why:
        Conflict "POST /v1/tasks/{id}/claim";
    failure_to_get_a_permit_tells_the_agent_why:
        Happy "POST /v1/tasks/{id}/claim";
    failure_of_a_lock_tells_the_agent_why:
        Conflict "POST /v1/leases/{id}/release";
    failure_of_an_attempt_tells_the_agent_why:
        Conflict "POST /v1/executions/{id}/heartbeat",
        Conflict "POST /v1/executions/{id}/finish",
        Conflict "POST /v1/executions/{id}/begin";
}

const SOON: Duration = Duration::from_mins(1);

/// Asserts that the response contains these texts at these JSON pointers: the cause, the reason and
/// the next step.
#[track_caller]
fn assert_explains(case: &str, answer: &Value, expected: [(&str, &str); 3]) {
    for ((pointer, text), what) in expected.into_iter().zip(["cause", "reason", "next step"]) {
        let value = answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(!value.is_empty(), "{case}: no {what} at {pointer} in {answer:#}");
        assert!(value.contains(text), "{case}: the {what} is `{value}`, not `{text}`");
    }
}

struct Team {
    bob: Person,
    rea: Person,
    bot: Person,
}

async fn team(world: &World) -> Team {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "infra-bot", &bob).await;
    Team { bob, rea, bot }
}

async fn claim_one(world: &World, bot: &Person, task: &Value) -> crate::world::Answer {
    world.post(&bot.token, &format!("{}/claim", path_of(task)), json!({})).await
}

async fn cancel(world: &World, who: &Person, task: &Value, status: u16) {
    let path = format!("{}/cancel", path_of(task));
    let reason = json!({ "reason": "customer called" });
    world.post(&who.token, &path, reason).await.expect(status);
}

async fn failure_by_a_decision_tells_the_agent_why(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    for (vote, outcome, next) in [
        ("reject", "rejected", "do not repeat the request"),
        ("request-changes", "changes_requested", "amend the task"),
    ] {
        let task = world.reviewing(&bot, vote).await;
        let mut answer = seen(&task);
        answer["reason"] = json!("not on a Friday");
        let path = format!("{}/{vote}", path_of(&task));
        world.post(&rea.token, &path, answer).await.expect(200);
        let expected = [
            ("/decision/outcome", outcome),
            ("/decision/reason", "not on a Friday"),
            ("/next_action/message", next),
        ];
        assert_explains(vote, &world.task(&bot, &task).await, expected);
        let refused = claim_one(world, &bot, &task).await.refused(409, "wrong_state");
        assert_explains(vote, &refused, expected);
    }

    let task = world.reviewing(&bot, "cancel").await;
    cancel(world, &bob, &task, 200).await;
    let expected = [
        ("/decision/outcome", "cancelled"),
        ("/decision/reason", "customer called"),
        ("/next_action/message", "resubmit"),
    ];
    assert_explains("cancelled", &world.task(&bot, &task).await, expected);
    let refused = claim_one(world, &bot, &task).await.refused(409, "wrong_state");
    assert_explains("cancelled", &refused, expected);

    let task = world.reviewing(&bot, "expire").await;
    world.pass(Duration::from_hours(3 * 24 + 1)).await;
    world.work("task_expirer").await;
    let expected = [
        ("/decision/outcome", "expired"),
        ("/decision/reason", ""),
        ("/next_action/message", "resubmit"),
    ];
    assert_explains("expired", &world.task(&bot, &task).await, expected);
    let refused = claim_one(world, &bot, &task).await.refused(409, "wrong_state");
    assert_explains("expired", &refused, expected);
}

async fn failure_to_get_a_permit_tells_the_agent_why(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    may_have(world, &bot, 3).await;
    let task = approved_of(world, &bob, &rea, "orders").await;
    let other = approved_of(world, &bob, &rea, "orders").await;
    let blocked = async |case: &str, task: &Value, code: &str, reason: &str, next: &str| {
        let claimed = claim_one(world, &bot, task).await.expect(200);
        let expected = [
            ("/blocked_by/0/code", code),
            ("/blocked_by/0/reason", reason),
            ("/blocked_by/0/next_action/message", next),
        ];
        assert_explains(case, &claimed, expected);
        assert!(claimed["retry_after_ms"].is_u64(), "{case}: {claimed}");
    };

    let freeze = json!({ "scope": "tenant", "reason": "launch day" });
    let freeze = world.post(&world.admin.token, "/v1/freezes", freeze).await.expect(201);
    blocked("frozen", &task, "frozen", "launch day", "freeze").await;
    let path = format!("/v1/freezes/{}", id(&freeze));
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);

    let order = format!("/v1/agents/{}", bot.id);
    let reason = json!({ "reason": "release week" });
    world.post(&world.admin.token, &format!("{order}/pause"), reason).await.expect(200);
    blocked("paused", &task, "agent_paused", "release week", "resumes the agent").await;
    let beat = json!({ "process_id": format!("ags_{:026}", 7) });
    let beat = world.post(&bot.token, &format!("{order}/heartbeat"), beat).await.expect(200);
    let directives = json!({ "is_draining": false, "is_paused": true, "reason": "release week" });
    assert_eq!(beat["directives"], directives);
    world.post(&world.admin.token, &format!("{order}/resume"), json!({})).await.expect(200);

    let held = claim_one(world, &bot, &task).await.expect(200);
    assert!(held["permit"].is_object(), "{held}");
    blocked("lock busy", &other, "lock_held", id(&task), "").await;
}

async fn failure_of_a_lock_tells_the_agent_why(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let olga = world.person("Olga", &["operator"]).await;
    let fenced = json!({ "fenced": true });
    let held = world.post(&one.token, ACQUIRE, with(want(&["a"]), &fenced)).await.expect(200);
    let busy = world.post(&other.token, ACQUIRE, want(&["a"])).await.refused(423, "lock_held");
    let expected =
        [("/code", "lock_held"), ("/holder/agent_id", &one.id), ("/next_action/message", "Retry")];
    assert_explains("lock busy", &busy, expected);
    assert_eq!(busy["retriable"], true);

    let advisory = world.post(&one.token, ACQUIRE, want(&["b"])).await.expect(200);
    for (case, lease, name) in [("fenced", &held, "a"), ("advisory", &advisory, "b")] {
        let path = format!("/v1/locks/db/{name}/break");
        let reason = json!({ "reason": format!("incident {case}") });
        world.post(&olga.token, &path, reason).await.expect(200);
        let beats = json!({ "lease_ids": [lease_of(lease)] });
        let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
        let broken = &beats["leases"][0];
        assert_eq!(
            (&broken["state"], &broken["broken"]["by"]),
            (&json!("BROKEN"), &json!(olga.id))
        );
        assert_eq!(broken["broken"]["reason"], format!("incident {case}"), "{case}");
        assert!(broken["broken"]["at"].is_string(), "{broken}");
        let refused = release(world, &one, lease_of(lease)).await.refused(409, "lease_lost");
        let reason = format!("incident {case}");
        let expected = [
            ("/state", "BROKEN"),
            ("/broken/reason", reason.as_str()),
            ("/next_action/message", "Stop all work under this lease"),
        ];
        assert_explains(case, &refused, expected);
        assert!(refused["detail"].as_str().unwrap().contains(&reason), "{refused}");
        assert_eq!(
            (&refused["broken"]["by"], &refused["retriable"]),
            (&json!(olga.id), &json!(false))
        );
    }

    let session = |number: u8| json!({ "process_id": format!("ags_{number:026}") });
    let wait = |name: &str, number: u8| {
        with(with(want(&[name]), &session(number)), &json!({ "wait": "1ms" }))
    };
    world.post(&one.token, ACQUIRE, with(want(&["x"]), &session(1))).await.expect(200);
    world.post(&other.token, ACQUIRE, with(want(&["y"]), &session(2))).await.expect(200);
    world.post(&one.token, ACQUIRE, wait("y", 1)).await.refused(423, "lock_held");
    let stuck = world.post(&other.token, ACQUIRE, wait("x", 2)).await;
    let stuck = stuck.refused(423, "deadlock_detected");
    let expected = [
        ("/code", "deadlock_detected"),
        ("/detail", "waits for `db:x` behind"),
        ("/next_action/message", "Release all your locks"),
    ];
    assert_explains("deadlock", &stuck, expected);
    assert_eq!(stuck["retriable"], false, "the same call cannot succeed");
    let who: Vec<&Value> =
        stuck["cycle"].as_array().unwrap().iter().map(|lease| &lease["agent_id"]).collect();
    assert_eq!(who, [&json!(other.id), &json!(one.id)], "{stuck}");
    assert_eq!(stuck["cycle"][0]["resources"][0]["resource"], "db:x");
    assert_eq!(stuck["cycle"][1]["resources"][0]["resource"], "db:y");
}

async fn failure_of_an_attempt_tells_the_agent_why(world: &World) {
    let Team { bob, rea, bot } = team(world).await;
    let olga = world.person("Olga", &["operator"]).await;
    may_have(world, &bot, 9).await;
    let break_lock = async |database: &str| {
        let path = format!("/v1/locks/database/{database}/break");
        let reason = json!({ "reason": "incident 7" });
        world.post(&olga.token, &path, reason).await.expect(200);
    };
    let expected = [
        ("/state", "BROKEN"),
        ("/broken/reason", "incident 7"),
        ("/next_action/message", "Claim the task again"),
    ];
    approved_of(world, &bob, &rea, "one").await;
    let held = permit(world, &bot).await;
    break_lock("one").await;
    for verb in ["heartbeat", "begin"] {
        let refused = say(world, &bot, &held, verb, json!({})).await.refused(409, "lease_lost");
        assert_explains(verb, &refused, expected);
        assert_eq!(refused["broken"]["by"], json!(olga.id));
        assert_eq!(refused["has_begun"], false, "{refused}");
    }

    let task = approved_of(world, &bob, &rea, "two").await;
    let held =
        claim(world, &bot, json!({ "task_id": id(&task) })).await.expect(200)["permit"].clone();
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    break_lock("two").await;
    let expected = [expected[0], expected[1], ("/next_action/message", "a person must find out")];
    for verb in ["heartbeat", "finish"] {
        let refused = say(world, &bot, &held, verb, json!({})).await.refused(409, "lease_lost");
        assert_explains(verb, &refused, expected);
        assert_eq!((&refused["has_begun"], &refused["task_id"]), (&json!(true), &task["id"]));
        let next = refused["next_action"].to_string();
        assert!(!next.contains("Claim the task again") && !next.contains("/claim"), "{next}");
    }

    let task = approved_of(world, &bob, &rea, "three").await;
    let short = json!({ "task_id": id(&task), "ttl_seconds": 1 });
    let held = claim(world, &bot, short).await.expect(200)["permit"].clone();
    eventually("the attempt is given up", SOON, async || {
        world.pass(Duration::from_secs(1)).await;
        world.work("apply_rescuer").await;
        match world.task(&bob, &task).await["state"].as_str() {
            Some("APPROVED") => Ok(()),
            state => Err(format!("{state:?}")),
        }
    })
    .await;
    let refused = say(world, &bot, &held, "begin", json!({})).await.refused(409, "lease_lost");
    let expected = [("/state", "EXPIRED"), ("/detail", "EXPIRED"), ("/next_action/call", "/claim")];
    assert_explains("lease lost", &refused, expected);

    let task = approved_of(world, &bob, &rea, "four").await;
    let held =
        claim(world, &bot, json!({ "task_id": id(&task) })).await.expect(200)["permit"].clone();
    cancel(world, &bob, &task, 202).await;
    let alive = say(world, &bot, &held, "heartbeat", json!({})).await.expect(200);
    assert_eq!(alive["abort_requested"], true);
    assert_eq!(alive["abort"]["by"], json!(bob.id), "{alive}");
    assert_eq!(alive["abort"]["reason"], "customer called", "{alive}");
    let refused = say(world, &bot, &held, "begin", json!({})).await;
    let expected = [
        ("/code", "abort_requested"),
        ("/abort/reason", "customer called"),
        ("/next_action/message", "Stop"),
    ];
    assert_explains("cancelled", &refused.refused(409, "abort_requested"), expected);
}

#[tokio::test]
async fn failure_to_authenticate_tells_the_holder_of_the_secret_why() {
    let world = World::new().await;
    let beside = world.beside().await;
    let ask = async |token: &str| {
        let asked = beside.get("/v1/me").header("authorization", format!("Bearer {token}"));
        let response = asked.send().await.unwrap();
        assert_eq!(response.status(), 401);
        response.json::<Value>().await.unwrap()
    };
    let eve = world.person("Eve", &["author"]).await;
    let ended = async |name: &str, set: &str| {
        let person = world.person(name, &["author"]).await;
        let key_id = Token::parse(&person.token).unwrap().key_id;
        world.database.run(&format!("UPDATE token SET {set} WHERE key_id = '{key_id}'")).await;
        person.token
    };
    let old = "created_at = now() - interval '2 days', expires_at = now()";
    let cut = eve.token[..eve.token.len() - 4].to_owned();
    for (cause, token, detail, next) in [
        ("malformed", cut, "incomplete or mistyped", "Send the whole token"),
        ("expired", ended("Old", old).await, "expired at", "Sign in again"),
        ("revoked", ended("Gone", "revoked_at = now()").await, "revoked at", "new token"),
    ] {
        let problem = ask(&token).await;
        let expected = [("/cause", cause), ("/detail", detail), ("/next_action/message", next)];
        assert_explains(cause, &problem, expected);
        assert_eq!(
            (&problem["code"], &problem["retriable"]),
            (&json!("unauthenticated"), &json!(false))
        );
    }
    // With a wrong secret, the state of the token stays unknown.
    for token in [ended("Older", old).await, ended("Lost", "revoked_at = now()").await] {
        let known = Token::parse(&token).unwrap();
        let wrong = Token { secret: Secret::from_bytes([2; 32]), ..known }.reveal();
        let problem = ask(&wrong).await;
        assert_eq!(problem.get("cause"), None, "{problem}");
        let expected = [
            ("/code", "unauthenticated"),
            ("/detail", "the token is invalid"),
            ("/next_action/message", "Send a valid token"),
        ];
        assert_explains("wrong token", &problem, expected);
    }
}

#[tokio::test]
async fn failure_by_scope_or_rate_tells_the_agent_why() {
    const BURST: u32 = 30;
    let rates = RateLimitSettings { token: Rate { per_minute: 1, burst: BURST }, ..unlimited() };
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    let world = World::fitted(TestServerOptions { rates, ..line.into() }).await;
    let path = "/v1/freezes";
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let refused = world.post(&bot.token, path, json!({})).await;
    let expected = [
        ("/required_scope", "operate"),
        ("/detail", "requires the scope"),
        ("/next_action/message", "Use a token with the scope"),
    ];
    assert_explains("wrong scope", &refused.refused(403, "insufficient_scope"), expected);
    for _ in 1..BURST {
        world.get(&bot.token, "/v1/me").await.expect(200);
    }
    let limited = world.get(&bot.token, "/v1/me").await.refused(429, "rate_limited");
    let expected =
        [("/limit", "token"), ("/detail", "exceeded"), ("/next_action/message", "Retry after")];
    assert_explains("rate limited", &limited, expected);
    assert_eq!(limited["retriable"], true);
    assert!(limited["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0), "{limited}");
}

#[tokio::test]
async fn restart_answers_waits_and_keeps_the_permit() {
    let world = World::new().await;
    let Team { bob, rea, bot } = team(&world).await;
    let task = approved_of(&world, &bob, &rea, "orders").await;
    let claimed = async |server: &crate::test_server::TestServer| {
        let asked = server.json(&format!("{}/claim", path_of(&task)), json!({}).to_string());
        let asked = asked.header("authorization", format!("Bearer {}", bot.token));
        let response = asked.header("idempotency-key", "mine").send().await.unwrap();
        response.json::<Value>().await.unwrap()["permit"].clone()
    };
    let permit = claimed(&world.rig).await;
    assert!(permit.is_object(), "{permit}");
    world.rig.shared.begin_draining();
    let path = format!("{}?wait=55s&until=ended", path_of(&task));
    let waited = world.get(&bot.token, &path).await.expect(200);
    assert_eq!(waited["timed_out"], true);
    let expected = [
        ("/state", "APPLYING"),
        ("/decision/outcome", "approved"),
        ("/next_action/message", "wait for the apply"),
    ];
    assert_explains("restart", &waited, expected);
    assert_eq!(claimed(&world.beside().await).await, permit, "another process knows the key");
}
