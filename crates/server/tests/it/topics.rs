//! Who receives which live events: every topic is checked against a table, for everyone in a tenant
//! and for members of another tenant in which the same things happen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::event::Topic;
use serde_json::{Value, json};

use crate::live::{Said, Socket};
use crate::locks::{ACQUIRE, want, with};
use crate::rule_changes::end_setup;
use crate::world::{Person, World, id};

/// Longer than any wait on a busy machine.
const SOON: Duration = Duration::from_mins(1);
const SESSIONS: [&str; 2] = ["ags_01k9xq3vb8f2n4s6t7w8y9z0ab", "ags_01k9xq3vb8f2n4s6t7w8y9z0ac"];

/// Five people, three agents, two members of another tenant, and two callers who may not listen.
const WHO: [&str; 12] = [
    "author",
    "reviewer",
    "admin",
    "operator",
    "auditor",
    "agent of the author",
    "agent of another owner",
    "agent of another owner that may run it",
    "foreign admin",
    "foreign agent",
    "token without `read`",
    "caller without a token",
];

/// The expected results in the order of [`WHO`]: `+` receives the events of the tenant, `.`
/// receives none of them, `x` is refused.
const TABLE: &[(Topic, &str)] = &[
    (Topic::Task, "+++++ +.+ .. xx"),
    (Topic::Approval, "+++++ +.+ .. xx"),
    (Topic::Lock, "+++++ +++ .. xx"),
    (Topic::Agent, "+++++ +++ .. xx"),
    (Topic::Policy, "+++++ +++ .. xx"),
    (Topic::Freeze, "+++++ +++ .. xx"),
    (Topic::Change, "+++++ +++ .. xx"),
];

const HEARS: char = '+';
const HEARS_NOTHING: char = '.';
const REFUSED: char = 'x';

/// A tenant in which an event of every topic has happened.
struct Tenant {
    id: String,
    admin: Person,
    author: Person,
    reviewer: Person,
    agent: Person,
    /// The object of the events of each topic.
    objects: BTreeMap<Topic, String>,
}

async fn happen(world: &World, (tenant, admin): (String, Person), session: &str) -> Tenant {
    let author = world.person_of(&admin, "Bob", &["author"]).await;
    let reviewer = world.person_of(&admin, "Rea", &["reviewer"]).await;
    let agent = world.agent_of(&admin, "bot", &author).await;
    let task = world.approved(&author, &reviewer, "Grow").await;
    let beat = format!("/v1/agents/{}/heartbeat", agent.id);
    world.post(&agent.token, &beat, json!({ "process_id": session })).await.expect(200);
    let asked = with(want(&["a"]), &json!({ "fenced": true }));
    let held = world.post(&agent.token, ACQUIRE, asked).await.expect(200);
    let stop = json!({ "scope": "tenant", "reason": "month's end" });
    let freeze = world.post(&admin.token, "/v1/freezes", stop).await.expect(201);
    let published = publish(world, &admin).await;
    let objects = BTreeMap::from([
        (Topic::Task, id(&task).to_owned()),
        (Topic::Approval, id(&task).to_owned()),
        (Topic::Lock, held["lease_hash"].as_str().unwrap().to_owned()),
        (Topic::Agent, agent.id.clone()),
        (Topic::Policy, published["policy_id"].as_str().unwrap().to_owned()),
        (Topic::Freeze, id(&freeze).to_owned()),
    ]);
    Tenant { id: tenant, admin, author, reviewer, agent, objects }
}

/// Publishes a policy that applies to no task of these tests.
async fn publish(world: &World, admin: &Person) -> Value {
    let second = world.person_of(admin, "Second", &["admin"]).await;
    let document =
        "name: rare\nmatch: {task_types: [\"rare.*\"]}\nrequire: [{roles: [x], min: 1}]\n";
    let asked = json!({ "document": document });
    let draft = world.post(&admin.token, "/v1/policies", asked).await.expect(201);
    let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
    world.send("POST", &second.token, &path, None, &[]).await.expect(200)
}

/// Returns all callers in the order of [`WHO`].
async fn cast(world: &World, home: &Tenant, other: &Tenant) -> [Person; 12] {
    let olga = world.person("Olga", &["operator"]).await;
    let aude = world.person("Aude", &["auditor"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let eves = world.agent("eves", &eve).await;
    let able = world.agent("able", &eve).await;
    let path = format!("/v1/agents/{}", able.id);
    let change = Some(json!({ "capabilities": ["db.*"] }));
    world.send("PATCH", &home.admin.token, &path, change, &[]).await.expect(200);
    let asked = json!({ "user_id": home.author.id, "scopes": ["propose"] });
    let made = world.post(&home.admin.token, "/v1/tokens", asked).await.expect(201);
    let token = made["token"].as_str().unwrap().to_owned();
    let deaf = Person { id: home.author.id.clone(), token };
    let anonymous = Person { id: String::new(), token: String::new() };
    let [author, reviewer, admin, agent] =
        [&home.author, &home.reviewer, &home.admin, &home.agent].map(Person::clone);
    let [stranger, theirs] = [&other.admin, &other.agent].map(Person::clone);
    [author, reviewer, admin, olga, aude, agent, eves, able, stranger, theirs, deaf, anonymous]
}

/// The number of the last event of a tenant.
async fn head(world: &World, of: &Tenant) -> u64 {
    let messages = world.streamed(&of.admin.token, "/v1/events?wait=0s", &[]).await;
    messages[0].data["seq"].as_u64().unwrap()
}

/// Reads all events up to this number. Each number is sent or skipped, so the loop always ends.
pub async fn heard(socket: &mut Socket, head: u64) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let said =
            tokio::time::timeout(SOON, socket.next_ever()).await.expect("no message arrived");
        let Said::Message(said) = said else { panic!("the socket was closed") };
        let number = said["seq"].as_u64().unwrap();
        if said["frame"].is_null() {
            events.push(said);
        } else {
            assert_eq!(said["frame"], "skip", "{said}");
        }
        if number >= head {
            return events;
        }
    }
}

/// Returns the mark of the table for these events with regard to a tenant.
fn mark(events: &[Value], of: &Tenant, topic: Topic) -> char {
    let mut of_tenant = events.iter().filter(|event| event["tenant_id"] == json!(of.id)).peekable();
    if of_tenant.peek().is_none() {
        return HEARS_NOTHING;
    }
    let object = &of.objects[&topic];
    assert!(of_tenant.any(|event| event["object"] == json!(object)), "not of {object}: {events:?}");
    HEARS
}

async fn assert_refused(world: &World, who: &Person, topic: Topic) {
    let path = format!("/v1/events?wait=0s&after=0&topics={}", topic.as_str());
    let stream = world.get(&who.token, &path).await;
    let ticket = world.send("POST", &who.token, "/v1/ws/tickets", None, &[]).await;
    for answer in [stream, ticket] {
        let code = if who.token.is_empty() { "unauthenticated" } else { "insufficient_scope" };
        assert!([401, 403].contains(&answer.status), "{}", answer.body);
        assert_eq!(answer.body["code"], code, "{}", answer.body);
    }
}

#[tokio::test]
async fn topics_are_delivered_only_to_entitled_listeners() {
    let listed: BTreeSet<Topic> = TABLE.iter().map(|(topic, _)| *topic).collect();
    assert_eq!(listed, BTreeSet::from(Topic::ALL), "every topic has a row");
    let world = World::new().await;
    let home = (world.tenant.clone(), world.admin.clone());
    let mut home = happen(&world, home, SESSIONS[0]).await;
    let other = world.tenant("other").await;
    let mut other = happen(&world, other, SESSIONS[1]).await;
    let cast = cast(&world, &home, &other).await;
    end_setup(&world).await;
    for tenant in [&mut home, &mut other] {
        let enable = Some(json!({ "enabled": true }));
        let path = "/v1/flags/auto_approve_low_risk";
        let change = world.send("PUT", &tenant.admin.token, path, enable, &[]).await.expect(202);
        tenant.objects.insert(Topic::Change, id(&change).to_owned());
    }
    world.work("relay").await;
    let heads = [head(&world, &home).await, head(&world, &other).await];
    assert!(heads.iter().all(|head| *head > 0), "{heads:?}");

    // All sockets are opened before any is read: a caller without events gets its first message
    // only after a second.
    let mut listening = Vec::new();
    for (topic, row) in TABLE {
        let row: Vec<char> = row.chars().filter(|mark| *mark != ' ').collect();
        assert_eq!(row.len(), WHO.len(), "{}", topic.as_str());
        for ((name, who), expected) in WHO.iter().zip(&cast).zip(row) {
            if expected == REFUSED {
                assert_refused(&world, who, *topic).await;
                continue;
            }
            let query = format!("after=0&topics={}", topic.as_str());
            let socket = Socket::of(&world, who, &query).await;
            listening.push((*topic, *name, expected, socket));
        }
    }
    for (topic, name, expected, mut socket) in listening {
        let is_foreign = name.starts_with("foreign");
        let events = heard(&mut socket, heads[usize::from(is_foreign)]).await;
        let shown = format!("{} as {name}: {events:?}", topic.as_str());
        let is_of_topic = |event: &Value| Topic::of(event["type"].as_str().unwrap()) == topic;
        assert!(events.iter().all(is_of_topic), "{shown}");
        assert_eq!(mark(&events, &home, topic), expected, "{shown}");
        // Each caller receives the events of its own tenant, so no socket is silent by mistake.
        let elsewhere = if is_foreign { HEARS } else { HEARS_NOTHING };
        assert_eq!(mark(&events, &other, topic), elsewhere, "{shown}");
    }
}
