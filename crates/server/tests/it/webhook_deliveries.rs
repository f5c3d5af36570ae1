//! Webhook deliveries to receivers that follow the protocol or misbehave on demand. Events arrive
//! at least once, signed, in order per object and within bounds, and no endpoint affects another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::{TenantId, WebhookId};
use ade_core::limits::{
    WEBHOOK_BACKLOG_MAX, WEBHOOK_CIRCUIT_FAILURES, WEBHOOK_CIRCUIT_REST_MAX,
    WEBHOOK_DELIVERIES_KEPT, WEBHOOK_DELIVERY_MAX_AGE, WEBHOOK_PAUSE_MAX, WEBHOOK_SENDING_MAX,
    WEBHOOK_SENDING_PER_ENDPOINT, WEBHOOK_SENDING_PER_TENANT, WEBHOOK_TRIES_MAX,
};
use ade_engine::{App, workers};
use ade_testkit::WebhookReceiver;
use ade_testkit::webhook_receiver::{Behaviour, ReceivedCall};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::webhooks::{hook, hook_of, path};
use crate::world::{Person, World, id, path_of, quoted};

const SOON: Duration = Duration::from_mins(1);

/// A clock that can be advanced several times.
#[derive(Default)]
struct Clock(Duration);

impl Clock {
    async fn pass(&mut self, world: &World, by: Duration) {
        self.0 += by;
        world.pass(self.0).await;
    }
}

/// Sends everything that can be sent now.
pub async fn settle(world: &World) {
    while world.work("relay").await.has_more {}
    while world.work("webhook_dispatcher").await.has_more {}
    send(world).await;
}

async fn send(world: &World) {
    loop {
        let done = world.work("webhook_sender").await;
        world.app.webhooks.quiet().await;
        if done.items == 0 {
            return;
        }
    }
}

async fn ping(world: &World, hook: &Value) -> Value {
    let at = format!("{}/ping", path(hook));
    world.send("POST", &world.admin.token, &at, None, &[]).await.expect(202)
}

async fn deliveries(world: &World, hook: &Value) -> Vec<Value> {
    let at = format!("{}/deliveries?page_size=200", path(hook));
    let listed = world.get(&world.admin.token, &at).await.expect(200);
    listed["items"].as_array().unwrap().clone()
}

async fn shown(world: &World, hook: &Value) -> Value {
    world.get(&world.admin.token, &path(hook)).await.expect(200)
}

fn kinds(heard: &[ReceivedCall]) -> Vec<&str> {
    heard.iter().map(|heard| heard.body["type"].as_str().unwrap()).collect()
}

/// Creates tasks with a few events each.
async fn lives(world: &World, author: &Person, tasks: usize) -> Vec<Value> {
    let mut made = Vec::new();
    for number in 0..tasks {
        let mut task = world.draft(author, &format!("task {number}")).await;
        for tag in ["one", "two"] {
            let change = Some(json!({ "tags": [tag], "parameters": { "for": tag } }));
            let at = path_of(&task);
            task = world.matching("PATCH", &author.token, &at, change, &task).await.expect(200);
        }
        world.submit(author, &task).await;
        made.push(task);
    }
    made
}

#[tokio::test]
async fn webhook_receives_only_subscribed_events_in_the_envelope() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let early = world.draft(&bob, "too early").await;
    let [all, few] = [WebhookReceiver::start().await, WebhookReceiver::start().await];
    hook(&world, &all, &["*"]).await;
    hook(&world, &few, &["task.sub*"]).await;
    let elsewhere = WebhookReceiver::start().await;
    let (_, other) = world.tenant("other").await;
    hook_of(&world, &other, &elsewhere, &["*"]).await;
    let task = world.draft(&bob, "in time").await;
    world.submit(&bob, &task).await;
    settle(&world).await;
    let heard = all.taken();
    let of_task: Vec<&ReceivedCall> =
        heard.iter().filter(|heard| heard.body["object"] == task["id"]).collect();
    assert_eq!(kinds(&heard)[..2], ["task.created", "task.submitted"], "{heard:?}");
    for heard in &of_task {
        let body = &heard.body;
        assert_eq!(body["id"], heard.id.as_str());
        assert_eq!((&body["tenant_id"], &body["actor"]), (&json!(world.tenant), &json!(bob.id)));
        assert!(body["seq"].is_u64() && body["version"].is_u64() && body["at"].is_string());
        assert!(body["data"].is_object(), "{body}");
    }
    assert!(
        heard.iter().all(|heard| heard.body["object"] != early["id"]),
        "the endpoint did not exist yet"
    );
    assert_eq!(kinds(&few.taken()), ["task.submitted"]);
    assert_eq!(few.taken()[0].id, of_task[1].id, "one event has one id");
    assert_eq!((all.refusals(), elsewhere.calls()), (Vec::new(), 0));
}

/// The signatures are verified by the official library of another language and by an independent
/// implementation of Ed25519.
#[tokio::test]
async fn webhook_signatures_pass_the_official_library() {
    let Some(python) = tools() else { return };
    let world = World::new().await;
    let receiver = WebhookReceiver::start().await;
    let shared = hook(&world, &receiver, &["*"]).await;
    let turned = format!("{}/rotate", path(&shared));
    let turned = world.post(&world.admin.token, &turned, json!({})).await.expect(200);
    let body = json!({ "url": receiver.url(), "events": ["*"], "scheme": "v1a" });
    let pair = world.post(&world.admin.token, "/v1/webhooks", body).await.expect(201);
    receiver.trust(pair["public_key"].as_str().unwrap());
    for hook in [&shared, &pair] {
        ping(&world, hook).await;
    }
    send(&world).await;
    let heard = receiver.taken();
    let is_of = |heard: &&ReceivedCall, hook: &Value| heard.body["object"] == hook["id"];
    let of = |hook: &Value| heard.iter().find(|heard| is_of(heard, hook)).unwrap();
    let mut cases = Vec::new();
    let case = |heard: &ReceivedCall, key: &Value, is_good: bool| {
        json!({ "key": key, "id": heard.id, "timestamp": heard.timestamp,
                "signature": heard.signature, "body": heard.text, "good": is_good })
    };
    let (by_shared, by_pair) = (of(&shared), of(&pair));
    cases.push(case(by_shared, &shared["secret"], true));
    cases.push(case(by_shared, &turned["secret"], true));
    cases.push(case(by_pair, &pair["public_key"], true));
    for heard in [by_shared, by_pair] {
        let key =
            if std::ptr::eq(heard, by_shared) { &turned["secret"] } else { &pair["public_key"] };
        let other = |change: &dyn Fn(&mut ReceivedCall)| {
            let mut other = heard.clone();
            change(&mut other);
            case(&other, key, false)
        };
        cases.push(other(&|other| other.text = other.text.replace("webhook.ping", "webhook.pong")));
        cases.push(other(&|other| other.id.push('x')));
        cases.push(other(&|other| other.timestamp = "1".to_owned()));
        cases.push(other(&|other| other.signature = "v1,AAAA v1a,AAAA".to_owned()));
    }
    cases.push(case(by_pair, &shared["secret"], false));
    let judge = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs/verify.py");
    let cases_text = json!(cases).to_string();
    let output = Command::new(python).arg(judge).arg(&cases_text).output().unwrap();
    let (said, error) = (output.stdout, output.stderr);
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8(error).unwrap());
    assert_eq!(said.trim(), format!("{} verified as expected", cases.len()));
}

/// Returns the Python interpreter with the test libraries. Only CI is sure to have it.
fn tools() -> Option<PathBuf> {
    let python = std::env::var_os("ADE_TOOLS").map(|tools| PathBuf::from(tools).join("python"));
    if python.is_none() {
        eprintln!("ADE_TOOLS is not set: the signatures were not verified independently");
    }
    python
}

#[tokio::test]
async fn webhook_order_per_object_holds_despite_failures() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["task.*"]).await;
    let tasks = lives(&world, &bob, 12).await;
    let apps: Vec<Arc<App>> = (0..3).map(|_| world.another_app()).collect();
    for round in 0..60 {
        if round < 6 {
            for behaviour in [Behaviour::Status(500), Behaviour::Close, Behaviour::Status(204)] {
                receiver.behave_once(behaviour);
            }
        }
        world.work("relay").await;
        for name in ["webhook_dispatcher", "webhook_sender"] {
            together(&apps, name).await;
        }
        for app in &apps {
            app.webhooks.quiet().await;
        }
        clock.pass(&world, Duration::from_hours(1)).await;
        if deliveries(&world, &made).await.iter().all(|one| one["state"] == "delivered") {
            break;
        }
    }
    let listed = deliveries(&world, &made).await;
    assert!(listed.len() >= tasks.len() * 4, "{}", listed.len());
    let left: Vec<_> = listed.iter().filter(|one| one["state"] != "delivered").collect();
    assert!(left.is_empty(), "{left:?}");
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for heard in receiver.taken() {
        let object = heard.body["object"].as_str().unwrap().to_owned();
        let seq = heard.body["seq"].as_u64().unwrap();
        let before = last.insert(object.clone(), seq);
        assert!(before < Some(seq), "{object}: {seq} after {before:?}");
    }
    assert_eq!(receiver.taken().len(), listed.len(), "every delivery was accepted once");
    assert!(receiver.calls() > listed.len(), "some were sent again");
    assert_eq!(receiver.refusals(), Vec::<String>::new());
}

/// Runs a worker in all these processes at once.
async fn together(apps: &[Arc<App>], worker: &'static str) {
    let mut running = JoinSet::new();
    for app in apps {
        let app = Arc::clone(app);
        running.spawn(async move { workers::run_once(&app, worker).await.unwrap().unwrap() });
    }
    running.join_all().await;
}

#[tokio::test]
async fn undeliverable_webhook_becomes_dead_and_can_be_resent() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let bob = world.person("Bob", &["author"]).await;
    let [down, well] = [WebhookReceiver::start().await, WebhookReceiver::start().await];
    let failing = hook(&world, &down, &["task.*"]).await;
    hook(&world, &well, &["task.*"]).await;
    down.behave(Behaviour::Body(500, b"no\x1b[31m room\r\n".to_vec()));
    let task = world.draft(&bob, "one").await;
    world.submit(&bob, &task).await;
    settle(&world).await;
    assert_eq!(kinds(&well.taken()), ["task.created", "task.submitted"], "unaffected");
    let is_first = |heard: &&ReceivedCall| heard.body["type"] == "task.created";
    let calls = || down.heard().iter().filter(is_first).count();
    for hour in 0.. {
        let listed = deliveries(&world, &failing).await;
        let first = listed.last().unwrap();
        if first["state"] == "dead" {
            assert_eq!(first["tries"], WEBHOOK_TRIES_MAX);
            break;
        }
        assert_eq!((&first["state"], &first["tries"]), (&json!("pending"), &json!(calls())));
        let failure = (&first["status"], &first["problem"]);
        assert_eq!(failure, (&json!(500), &json!("the endpoint responded with 500")));
        assert_eq!(first["excerpt"], "no\u{fffd}[31m room\u{fffd}\u{fffd}");
        assert_eq!(listed[0]["state"], "waiting", "it waits for the first");
        assert!(hour < 60, "{first}");
        clock.pass(&world, WEBHOOK_PAUSE_MAX / 24).await;
        send(&world).await;
    }
    assert_eq!(calls(), usize::try_from(WEBHOOK_TRIES_MAX).unwrap());
    let listed = deliveries(&world, &failing).await;
    assert_eq!(listed[1]["state"], "dead", "{listed:?}");
    assert_eq!(listed[0]["state"], "pending", "it is the next of its object");
    down.behave(Behaviour::Status(204));
    clock.pass(&world, WEBHOOK_CIRCUIT_REST_MAX).await;
    send(&world).await;
    assert_eq!(kinds(&down.taken()), ["task.submitted"]);
    let again = format!("{}/redeliver", path(&failing));
    let since = json!({ "dead_since": "2026-01-01T00:00:00Z" });
    let redelivered = world.post(&world.admin.token, &again, since).await.expect(202);
    assert_eq!(redelivered["count"], 1);
    send(&world).await;
    assert_eq!(kinds(&down.taken()), ["task.submitted", "task.created"]);
}

#[tokio::test]
async fn webhook_delivery_past_its_maximum_age_is_dead() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["task.*"]).await;
    receiver.behave(Behaviour::Close);
    let task = world.draft(&bob, "one").await;
    world.submit(&bob, &task).await;
    settle(&world).await;
    // There may be several calls if the first random delay was short.
    let calls = receiver.calls();
    clock.pass(&world, WEBHOOK_DELIVERY_MAX_AGE).await;
    send(&world).await;
    let listed = deliveries(&world, &made).await;
    assert_eq!(states_of(&listed), ["dead", "dead"]);
    assert_eq!(receiver.calls(), calls, "a dead delivery is not sent");

    // Redelivery keeps the original order, regardless of the order in the request.
    receiver.behave(Behaviour::Status(204));
    let named = json!({ "delivery_ids": [listed[0]["id"], listed[1]["id"], listed[0]["id"]] });
    let again = format!("{}/redeliver", path(&made));
    let redelivered = world.post(&world.admin.token, &again, named).await.expect(202);
    assert_eq!(redelivered["count"], 2);
    assert_eq!(states_of(&deliveries(&world, &made).await), ["waiting", "pending"]);
    clock.pass(&world, WEBHOOK_CIRCUIT_REST_MAX).await;
    send(&world).await;
    send(&world).await;
    assert_eq!(kinds(&receiver.taken()), ["task.created", "task.submitted"]);
}

fn states_of(listed: &[Value]) -> Vec<&str> {
    listed.iter().map(|one| one["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn failing_webhook_endpoint_is_paused_and_probed() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["*"]).await;
    receiver.behave(Behaviour::Status(503));
    let failures = usize::try_from(WEBHOOK_CIRCUIT_FAILURES).unwrap();
    for _ in 0..failures + 3 {
        ping(&world, &made).await;
    }
    send(&world).await;
    // Deliveries that were in flight when the last one failed may have been sent as well.
    let calls = receiver.calls();
    assert!((failures..failures + 4).contains(&calls), "{calls}");
    let seen = shown(&world, &made).await;
    assert_eq!(seen["failures"], json!(calls));
    assert!(seen["resting_until"].is_string(), "{seen}");
    send(&world).await;
    assert_eq!(receiver.calls(), calls, "the endpoint is paused");
    let status = world.get(&world.admin.token, "/v1/status").await.expect(200);
    let degradations = status["degradations"].to_string();
    assert!(degradations.contains("webhook") && degradations.contains(id(&made)), "{degradations}");
    clock.pass(&world, WEBHOOK_CIRCUIT_REST_MAX).await;
    send(&world).await;
    assert_eq!(receiver.calls(), calls + 1, "one delivery probes the endpoint");
    receiver.behave(Behaviour::Status(204));
    clock.pass(&world, WEBHOOK_CIRCUIT_REST_MAX).await;
    send(&world).await;
    clock.pass(&world, WEBHOOK_CIRCUIT_REST_MAX).await;
    send(&world).await;
    let seen = shown(&world, &made).await;
    assert_eq!((&seen["failures"], &seen["resting_until"]), (&json!(0), &json!(null)));
    assert_eq!(receiver.taken().len(), failures + 3);
    let status = world.get(&world.admin.token, "/v1/status").await.expect(200);
    assert!(!status["degradations"].to_string().contains(id(&made)));
}

#[tokio::test]
async fn webhook_retry_after_header_is_respected() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["*"]).await;
    receiver.behave_once(Behaviour::Head(429, "Retry-After: 3600".to_owned()));
    ping(&world, &made).await;
    send(&world).await;
    clock.pass(&world, Duration::from_mins(59)).await;
    send(&world).await;
    assert_eq!(receiver.calls(), 1, "not before the requested time");
    clock.pass(&world, Duration::from_mins(2)).await;
    send(&world).await;
    assert_eq!((receiver.calls(), receiver.taken().len()), (2, 1));
}

#[tokio::test]
async fn webhook_endpoint_that_answers_gone_is_disabled() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["*"]).await;
    receiver.behave(Behaviour::Status(410));
    ping(&world, &made).await;
    send(&world).await;
    world.draft(&bob, "unheard").await;
    settle(&world).await;
    assert_eq!(receiver.calls(), 1);
    let seen = shown(&world, &made).await;
    assert_eq!(seen["active"], false);
    assert!(seen["disabled_because"].as_str().unwrap().contains("410"), "{seen}");
    assert_eq!(deliveries(&world, &made).await.len(), 1);
    let at = format!("/v1/audit?object={}", id(&made));
    let entries = world.get(&world.admin.token, &at).await.expect(200);
    let entry = &entries["items"][0]["leaf"];
    assert_eq!(entry["what"]["action"], "webhook.disable", "{entries}");
    assert_eq!(entry["who"]["worker"], "webhook_sender");
}

/// Endpoints that hang, send slowly, never end or cut the connection do not delay a healthy one.
#[tokio::test]
async fn slow_webhook_endpoint_delays_no_other_and_ends_in_time() {
    let world = World::new().await;
    let slow = [Behaviour::Hang, Behaviour::Drip, Behaviour::Endless, Behaviour::Cut];
    let mut made = Vec::new();
    for behaviour in slow {
        let receiver = WebhookReceiver::start().await;
        receiver.behave(behaviour);
        made.push((hook(&world, &receiver, &["*"]).await, receiver));
    }
    let well = WebhookReceiver::start().await;
    let good = hook(&world, &well, &["*"]).await;
    for (hook, _) in &made {
        ping(&world, hook).await;
    }
    world.work("webhook_sender").await;
    let begun = tokio::time::Instant::now();
    for (_, receiver) in &made {
        receiver.called(1, SOON).await;
    }
    ping(&world, &good).await;
    world.work("webhook_sender").await;
    well.called(1, SOON).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    world.app.webhooks.quiet().await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let mut outcomes = Vec::new();
    for (hook, _) in &made {
        let one = deliveries(&world, hook).await[0].clone();
        outcomes.push((one["state"].clone(), one["problem"].clone()));
    }
    let late = json!("no response within 10 s");
    let cut = json!("the connection was lost before a response arrived");
    let pending = json!("pending");
    assert_eq!(outcomes[0], (pending.clone(), late.clone()));
    assert_eq!(outcomes[1], (pending.clone(), late));
    assert_eq!(outcomes[2], (json!("delivered"), json!(null)), "its status was a success");
    assert_eq!(outcomes[3], (pending, cut));
    let excerpt = deliveries(&world, &made[2].0).await[0]["excerpt"].clone();
    assert_eq!(excerpt.as_str().unwrap().len(), 256);
}

#[tokio::test]
async fn webhook_redirects_and_private_addresses_are_not_followed() {
    let world = World::new().await;
    let [receiver, inside] = [WebhookReceiver::start().await, WebhookReceiver::start().await];
    let made = hook(&world, &receiver, &["*"]).await;
    for to in [inside.url(), "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/"] {
        receiver.behave(Behaviour::Redirect(to.to_owned()));
        ping(&world, &made).await;
        send(&world).await;
        let one = deliveries(&world, &made).await[0].clone();
        assert_eq!((&one["status"], &one["state"]), (&json!(307), &json!("pending")), "{one}");
    }
    assert_eq!(inside.calls(), 0);
    // The address is set as if it had been accepted under other settings.
    let other = hook(&world, &inside, &["*"]).await;
    world.database.run("UPDATE webhook_endpoint SET url = 'http://169.254.169.254/x'").await;
    ping(&world, &other).await;
    send(&world).await;
    let one = deliveries(&world, &other).await[0].clone();
    assert!(one["problem"].as_str().unwrap().contains("an address that is not allowed"), "{one}");
    assert_eq!(inside.calls(), 0);
}

/// The sending process dies after the receiver got the event and before the result is recorded.
#[tokio::test]
async fn webhook_sender_crash_repeats_but_loses_no_event() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["*"]).await;
    receiver.behave_once(Behaviour::Hang);
    ping(&world, &made).await;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let doomed = {
        let _within = runtime.enter();
        world.another_app()
    };
    runtime.spawn(async move { workers::run_once(&doomed, "webhook_sender").await });
    receiver.called(1, SOON).await;
    runtime.shutdown_background();
    send(&world).await;
    assert_eq!(receiver.calls(), 1, "the delivery may still be in flight");
    clock.pass(&world, WEBHOOK_SENDING_MAX).await;
    send(&world).await;
    let heard = receiver.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0].id, heard[1].id, "the receiver can detect the duplicate");
    assert_eq!(receiver.taken().len(), 1);
    let one = deliveries(&world, &made).await[0].clone();
    assert_eq!((&one["state"], &one["tries"]), (&json!("delivered"), &json!(2)));
}

#[tokio::test]
async fn webhook_deliveries_in_flight_are_bounded() {
    let world = World::new().await;
    let receiver = WebhookReceiver::start().await;
    receiver.behave(Behaviour::Hang);
    let mut hooks = Vec::new();
    for _ in 0..6 {
        hooks.push(hook(&world, &receiver, &["*"]).await);
    }
    for hook in &hooks {
        for _ in 0..WEBHOOK_SENDING_PER_ENDPOINT + 2 {
            ping(&world, hook).await;
        }
    }
    let apps: Vec<Arc<App>> = (0..3).map(|_| world.another_app()).collect();
    for _ in 0..2 {
        together(&apps, "webhook_sender").await;
    }
    let most = usize::try_from(WEBHOOK_SENDING_PER_TENANT).unwrap();
    receiver.called(most, SOON).await;
    let sending = "SELECT count(*) FROM webhook_delivery WHERE sending_until IS NOT NULL";
    assert_eq!(world.database.number(sending).await, i64::from(WEBHOOK_SENDING_PER_TENANT));
    let widest = format!("SELECT max(n) FROM ({sending} GROUP BY endpoint_id) AS of (n)");
    assert_eq!(world.database.number(&widest).await, i64::from(WEBHOOK_SENDING_PER_ENDPOINT));
    assert_eq!(receiver.calls(), most);
}

#[tokio::test]
async fn webhook_delivery_is_created_once_by_many_dispatchers() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["task.*"]).await;
    lives(&world, &bob, 5).await;
    world.work("relay").await;
    let apps: Vec<Arc<App>> = (0..4).map(|_| world.another_app()).collect();
    for _ in 0..3 {
        together(&apps, "webhook_dispatcher").await;
    }
    let listed = deliveries(&world, &made).await;
    let events: BTreeSet<&str> =
        listed.iter().map(|one| one["event_id"].as_str().unwrap()).collect();
    assert_eq!((listed.len(), events.len()), (20, 20));
    let out_of_line = "
        SELECT count(*) FROM webhook_delivery d
         WHERE (d.state = 'pending') <> NOT EXISTS (
               SELECT FROM webhook_delivery e
                WHERE e.endpoint_id = d.endpoint_id AND e.object = d.object AND e.seq < d.seq)";
    assert_eq!(
        world.database.number(out_of_line).await,
        0,
        "only the first delivery of each object is pending"
    );
}

#[tokio::test]
async fn disabled_webhook_receives_nothing_until_enabled() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["task.*"]).await;
    world.draft(&bob, "waits").await;
    world.work("relay").await;
    world.work("webhook_dispatcher").await;
    let at = path(&made);
    let off = Some(json!({ "active": false }));
    let off = world.matching("PATCH", &world.admin.token, &at, off, &made).await.expect(200);
    world.draft(&bob, "unheard").await;
    settle(&world).await;
    assert_eq!(receiver.calls(), 0);
    let version = quoted(&off);
    let on = Some(json!({ "active": true }));
    world.send("PATCH", &world.admin.token, &at, on, &[("if-match", &version)]).await.expect(200);
    settle(&world).await;
    assert_eq!(receiver.taken().len(), 1);
}

#[tokio::test]
async fn late_webhook_result_is_ignored() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["*"]).await;
    receiver.behave_once(Behaviour::Hang);
    ping(&world, &made).await;
    let slow = world.another_app();
    workers::run_once(&slow, "webhook_sender").await.unwrap().unwrap();
    receiver.called(1, SOON).await;
    clock.pass(&world, WEBHOOK_SENDING_MAX).await;
    send(&world).await;
    let state = deliveries(&world, &made).await[0].clone();
    assert_eq!((&state["state"], &state["tries"]), (&json!("delivered"), &json!(2)));
    slow.webhooks.quiet().await;
    assert_eq!(
        deliveries(&world, &made).await[0],
        state,
        "another process has taken over the delivery"
    );
    assert_eq!(shown(&world, &made).await["failures"], 0);
}

#[tokio::test]
async fn unheard_events_are_skipped_and_old_deliveries_pruned() {
    let world = World::new().await;
    let mut clock = Clock::default();
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "unheard").await;
    world.work("relay").await;
    assert_eq!(world.work("webhook_dispatcher").await.items, 0, "no endpoint is subscribed");
    let cursor = "SELECT coalesce(max(tenant_seq), 0) FROM consumer_cursor
                   WHERE consumer = 'webhook-dispatcher'";
    assert_eq!(world.database.number(cursor).await, 0);
    world.work("webhook_pruner").await;
    let head = world.database.number("SELECT max(tenant_seq) FROM event_head").await;
    assert_eq!(world.database.number(cursor).await, head);
    let receiver = WebhookReceiver::start().await;
    hook(&world, &receiver, &["task.*"]).await;
    world.draft(&bob, "heard").await;
    settle(&world).await;
    assert_eq!(kinds(&receiver.taken()), ["task.created"]);
    // Tokens expire earlier, so the rows are counted directly.
    let kept = "SELECT count(*) FROM webhook_delivery";
    for left in [1, 0] {
        clock.pass(&world, WEBHOOK_DELIVERIES_KEPT / 2).await;
        world.work("webhook_pruner").await;
        assert_eq!(world.database.number(kept).await, left);
    }
    let metrics = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
    for name in [
        "ade_webhook_deliveries_total{outcome=\"delivered\"}",
        "ade_webhook_delivery_lag_seconds",
        "ade_webhook_open_circuits 0",
        "ade_webhook_endpoints_waiting",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
}

/// The number of pending deliveries of one endpoint is limited.
#[tokio::test]
async fn webhook_backlog_of_an_endpoint_is_bounded() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let receiver = WebhookReceiver::start().await;
    let made = hook(&world, &receiver, &["task.*"]).await;
    let endpoint: WebhookId = id(&made).parse().unwrap();
    let tenant: TenantId = world.tenant.parse().unwrap();
    let fill = format!(
        "INSERT INTO webhook_delivery (tenant_id, id, endpoint_id, event_id, kind, object, body,
                                       state, next_at, created_at, queued_at)
         SELECT '{}', uuid_v7(), '{}', 'evt_' || n, 'task.created', 'task_' || n, '{{}}', 'pending',
                moment() + interval '1 day', moment(), moment()
           FROM generate_series(2, {WEBHOOK_BACKLOG_MAX}) AS n",
        tenant.uuid(),
        endpoint.uuid(),
    );
    world.database.run(&fill).await;
    let task = world.draft(&bob, "one").await;
    world.submit(&bob, &task).await;
    settle(&world).await;
    assert_eq!(kinds(&receiver.taken()), ["task.created"], "there was room for one");
    let at = format!("{}/deliveries?state=dead", path(&made));
    let dead = world.get(&world.admin.token, &at).await.expect(200);
    assert_eq!(dead["items"][0]["type"], "task.submitted");
    let problem = dead["items"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("backlog of this endpoint is full"), "{problem}");
}
