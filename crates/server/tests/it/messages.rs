//! Notifications by mail and Slack, according to the preferences of each person, with many
//! notifications combined into one message. The fake servers keep to the contracts of the real
//! ones: the mail server speaks SMTP and refuses commands out of order, and Slack accepts only
//! documented requests.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ade_core::ids::UserId;
use ade_core::limits::AFTER_REVIEW_WITHIN;
use ade_engine::workers::{Driver, run_once};
use ade_testkit::eventually;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::authenticator::{Authenticator, add, enrol};
use crate::break_glass;
use crate::coverage::cases;
use crate::deadlines::notification_kinds;
use crate::degradations::{detail, status};
use crate::world::{
    LockBackend, Person, SLACK_SECRET, TestServerOptions, World, id, path_of, quoted, seen,
};

cases! {
    notification_preferences_are_validated_and_versioned:
        Happy "GET /v1/notifications/preferences",
        Happy "PUT /v1/notifications/preferences",
        Conflict "PUT /v1/notifications/preferences",
        Denied "GET /v1/notifications/preferences",
        Denied "PUT /v1/notifications/preferences";
    on_call_duty_is_managed_by_operators:
        Happy "GET /v1/on-call",
        Happy "POST /v1/on-call",
        Happy "DELETE /v1/on-call/{id}",
        Conflict "POST /v1/on-call",
        Conflict "DELETE /v1/on-call/{id}",
        Denied "GET /v1/on-call",
        Denied "POST /v1/on-call",
        Denied "DELETE /v1/on-call/{id}";
}

pub const SLACK_CASES: &[crate::coverage::Case] = &[crate::coverage::Case {
    route: "POST /v1/slack/interactions",
    kind: crate::coverage::Kind::Happy,
}];

const PREFERENCES: &str = "/v1/notifications/preferences";
const ON_CALL: &str = "/v1/on-call";

/// A message that the mail server accepted.
#[derive(Debug, Clone)]
struct Mail {
    to: String,
    data: String,
}

/// A mail server with the part of SMTP that a client needs. It refuses commands out of order.
pub struct MailServer {
    pub url: String,
    taken: Arc<Mutex<Vec<Mail>>>,
    /// The response to a recipient; 250 by default.
    answer: Arc<Mutex<Option<&'static str>>>,
}

impl MailServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let (taken, answer): (Arc<Mutex<Vec<Mail>>>, _) = (Arc::default(), Arc::default());
        let server = Self { url, taken: Arc::clone(&taken), answer: Arc::clone(&answer) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (taken, answer) = (Arc::clone(&taken), Arc::clone(&answer));
                tokio::spawn(async move {
                    let _ = converse(stream, &taken, &answer).await;
                });
            }
        });
        server
    }

    fn taken(&self) -> Vec<Mail> {
        self.taken.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.taken.lock().unwrap().len()
    }

    /// Returns the invitation in the latest mail to this address.
    pub fn invitation(&self, to: &str) -> String {
        let mails = self.taken();
        let mail = mails.iter().rfind(|mail| mail.to == to).expect("a mail was sent");
        let text = mail.data.replace("=\r\n", "").replace("=3D", "=");
        let (_, secret) = text.split_once("/join#").expect("the mail has a link");
        secret.split_whitespace().next().unwrap().to_owned()
    }

    /// Removes the accepted mails, asserts that all of them contain `what`, and returns the
    /// recipients.
    fn take_recipients(&self, what: &str) -> Vec<String> {
        let taken = std::mem::take(&mut *self.taken.lock().unwrap());
        for mail in &taken {
            assert!(mail.data.replace("=\r\n", "").contains(what), "{}", mail.data);
        }
        let mut to: Vec<String> = taken.into_iter().map(|mail| mail.to).collect();
        to.sort();
        to
    }
}

async fn converse(
    stream: TcpStream,
    taken: &Mutex<Vec<Mail>>,
    answer: &Mutex<Option<&'static str>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mail.example.org\r\n").await?;
    let (mut is_greeted, mut from, mut to) = (false, None, None);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let line = line.strip_suffix("\r\n").expect("a line ends with CRLF");
        let verb = line.to_ascii_uppercase();
        let reply = match () {
            () if verb.starts_with("EHLO ") => {
                is_greeted = true;
                "250 mail.example.org".to_owned()
            }
            () if verb.starts_with("MAIL FROM:<") && is_greeted => {
                from = Some(line.to_owned());
                "250 yes".to_owned()
            }
            () if verb.starts_with("RCPT TO:<") && from.is_some() => {
                let refused = *answer.lock().unwrap();
                if refused.is_none() {
                    to = Some(line["RCPT TO:<".len()..].trim_end_matches('>').to_owned());
                }
                refused.unwrap_or("250 yes").to_owned()
            }
            () if verb == "DATA" && to.is_some() => {
                stream.write_all(b"354 go on\r\n").await?;
                let data = data(&mut stream).await?;
                taken.lock().unwrap().push(Mail { to: to.take().unwrap(), data });
                from = None;
                "250 taken".to_owned()
            }
            () if verb == "RSET" || verb == "NOOP" => "250 yes".to_owned(),
            () if verb == "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            () => "503 out of order".to_owned(),
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
    }
}

async fn data(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut data = String::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        assert!(line.ends_with("\r\n") && line.len() <= 1000, "{line:?}");
        match line.as_str() {
            ".\r\n" => return Ok(data),
            other => data.push_str(other.strip_prefix('.').unwrap_or(other)),
        }
    }
}

/// Accepts messages and reports errors as Slack's Web API does.
struct FakeSlack {
    api: String,
    taken: Arc<Mutex<Vec<Value>>>,
    error: Arc<Mutex<Option<&'static str>>>,
}

impl FakeSlack {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = format!("http://{}/api", listener.local_addr().unwrap());
        let taken: Arc<Mutex<Vec<Value>>> = Arc::default();
        let error: Arc<Mutex<Option<&'static str>>> = Arc::default();
        let slack = Self { api, taken: Arc::clone(&taken), error: Arc::clone(&error) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let refused = *error.lock().unwrap();
                if let Some(message) = take(stream, refused).await {
                    taken.lock().unwrap().push(message);
                }
            }
        });
        slack
    }

    fn taken(&self) -> Vec<Value> {
        self.taken.lock().unwrap().clone()
    }
}

async fn take(mut stream: TcpStream, refused: Option<&'static str>) -> Option<Value> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_owned();
        let lower = head.to_ascii_lowercase();
        let (_, length) = lower.split_once("content-length: ").unwrap();
        if body.len() >= length.lines().next().unwrap().parse().unwrap() {
            break (head, body.to_owned());
        }
    };
    let message: Value = serde_json::from_str(&body).unwrap();
    let error = if !head.starts_with("POST /api/chat.postMessage ") {
        Some("unknown_method")
    } else if !head.contains("Bearer xoxb-test") {
        Some("invalid_auth")
    } else if !message["channel"].as_str().is_some_and(|channel| channel.starts_with('U')) {
        Some("channel_not_found")
    } else if message["blocks"].as_array().is_none_or(|blocks| blocks.len() > 50) {
        Some("invalid_blocks")
    } else if message["text"].as_str().is_none_or(str::is_empty) {
        Some("no_text")
    } else {
        refused
    };
    let answer = match error {
        Some(error) => json!({ "ok": false, "error": error }),
        None => json!({ "ok": true, "ts": "1503435956.000247" }),
    };
    let answer = answer.to_string();
    let length = answer.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}");
    stream.write_all(head.as_bytes()).await.unwrap();
    error.is_none().then_some(message)
}

async fn deliver(world: &World) {
    while world.work("relay").await.has_more {}
    while world.work("notification_service").await.has_more {}
    while world.work("message_sender").await.items > 0 {}
}

async fn email(world: &World, person: &Person, address: &str) {
    let user = person.id.parse::<UserId>().unwrap().uuid();
    let sql = format!("UPDATE app_user SET email = '{address}' WHERE id = '{user}'");
    world.database.run(&sql).await;
}

async fn prefer(world: &World, person: &Person, wanted: Value) {
    let now = world.get(&person.token, PREFERENCES).await.expect(200);
    let sent = world.matching("PUT", &person.token, PREFERENCES, Some(wanted), &now).await;
    sent.expect(200);
}

async fn with_mail(server: &MailServer) -> World {
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    World::fitted(TestServerOptions { mail: Some(server.url.clone()), ..line.into() }).await
}

async fn with_slack(slack: &FakeSlack) -> World {
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    World::fitted(TestServerOptions { slack: Some(slack.api.clone()), ..line.into() }).await
}

/// A person with a mail address and a Slack member id who wants no messages.
async fn recluse(world: &World) -> Person {
    let ada = world.person("Ada", &["reviewer"]).await;
    email(world, &ada, "ada@example.org").await;
    let nothing = json!({
        "mail": [], "slack": [], "slack_member": "U012AB3CD", "digest_seconds": 86_400,
    });
    prefer(world, &ada, nothing).await;
    ada
}

#[tokio::test]
async fn passkey_changes_notify_on_every_channel() {
    let (mail, slack) = (MailServer::start().await, FakeSlack::start().await);
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let fittings = TestServerOptions {
        mail: Some(mail.url.clone()),
        slack: Some(slack.api.clone()),
        ..line.into()
    };
    let world = World::fitted(fittings).await;
    let ada = recluse(&world).await;
    let mut key = enrol(&world, &ada).await;
    deliver(&world).await;
    assert!(mail.taken().is_empty(), "the first passkey is part of joining");

    let asked = json!({ "purpose": "add_passkey", "about": [] });
    key.confirm(&world, &ada.token, &asked).await.expect(200);
    add(&world, &ada.token, &Authenticator::new()).await.expect(201);
    deliver(&world).await;
    let added = "A passkey was added to your account";
    assert_eq!(mail.take_recipients(added), ["ada@example.org"]);
    let sent = slack.taken();
    assert!(sent.len() == 1 && sent[0].to_string().contains(added), "{sent:?}");

    let mut own = enrol(&world, &world.admin).await;
    let path = format!("/v1/users/{}/passkeys", ada.id);
    let reset = async || world.send("DELETE", &world.admin.token, &path, None, &[]).await;
    let asked = reset().await.refused(403, "step_up_required");
    own.confirm(&world, &world.admin.token, &asked["step_up"]).await.expect(200);
    reset().await.expect(200);
    deliver(&world).await;
    let removed = "The passkeys of your account were removed";
    assert_eq!(mail.take_recipients(removed), ["ada@example.org"]);
    assert_eq!(slack.taken().len(), 2, "the message does not wait for the digest interval");

    let listed = world.get(&ada.token, "/v1/notifications").await.expect(200);
    let items = listed["items"].as_array().unwrap();
    let kinds: Vec<&Value> = items.iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["passkey.reset", "passkey.added"]);
    assert!(items.iter().all(|item| item["task_id"].is_null() && item["title"] != ""), "{listed}");
    let others = world.get(&world.admin.token, "/v1/notifications").await.expect(200);
    assert_eq!(others["items"], json!([]));
}

async fn notification_preferences_are_validated_and_versioned(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let before = world.get(&rea.token, PREFERENCES).await.expect(200);
    assert_eq!((&before["version"], &before["digest_seconds"]), (&json!(0), &json!(300)));
    assert!(before["mail"].as_array().unwrap().contains(&json!("approval.requested")));
    let wanted = json!({
        "mail": [], "slack": ["approval.*"], "slack_member": "U012AB3CD", "digest_seconds": 1800,
        "quiet_hours": { "zone": "Europe/Vienna", "from": "22:00", "to": "07:00" },
    });
    let set = world.matching("PUT", &rea.token, PREFERENCES, Some(wanted.clone()), &before).await;
    let set = set.expect(200);
    assert_eq!((&set["version"], &set["quiet_hours"]), (&json!(1), &wanted["quiet_hours"]));
    let stale = world.matching("PUT", &rea.token, PREFERENCES, Some(wanted.clone()), &before).await;
    stale.refused(412, "version_mismatch");
    for (field, bad) in [
        ("mail", json!({ "mail": ["tasks.*"], "slack": [], "digest_seconds": 300 })),
        ("slack_member", json!({ "mail": [], "slack": ["*"], "digest_seconds": 300 })),
        ("digest_seconds", json!({ "mail": [], "slack": [], "digest_seconds": 86_401 })),
        (
            "quiet_hours",
            json!({ "mail": [], "slack": [], "digest_seconds": 300,
                    "quiet_hours": { "zone": "Mars", "from": "22:00", "to": "07:00" } }),
        ),
    ] {
        let refused = world.matching("PUT", &rea.token, PREFERENCES, Some(bad), &set).await;
        assert_eq!(refused.refused(422, "invalid_body")["path"], field);
    }
    let bob = world.person("Bob", &["author"]).await;
    let agent = world.agent("helper", &bob).await;
    world.get(&agent.token, PREFERENCES).await.refused(403, "person_required");
    let answer = world.matching("PUT", &agent.token, PREFERENCES, Some(wanted), &set).await;
    answer.refused(403, "insufficient_scope");
    let own = world.get(&bob.token, PREFERENCES).await.expect(200);
    assert_eq!(own["version"], 0, "the preferences of others are unchanged");
}

async fn on_call_duty_is_managed_by_operators(world: &World) {
    let oper = world.person("Oper", &["operator"]).await;
    let dba = world.person("Dba", &["dba"]).await;
    let other = world.person("Other", &["dba"]).await;
    let duty = json!({
        "role": "dba", "user_id": dba.id, "starts_at": "2020-01-01T00:00:00Z",
        "ends_at": "2100-01-01T00:00:00Z",
    });
    let mut later = duty.clone();
    later["starts_at"] = json!("2099-01-01T00:00:00Z");
    later["user_id"] = json!(other.id);
    world.twice("POST", &oper.token, ON_CALL, [duty.clone(), later.clone()]).await;
    world.post(&oper.token, ON_CALL, later).await.expect(201);
    let all = world.get(&dba.token, ON_CALL).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all}");
    assert_eq!(all["now"], json!([{ "role": "dba", "user_ids": [dba.id] }]), "{all}");
    let mut wrong = duty.clone();
    wrong["role"] = json!("admin");
    let refused = world.post(&oper.token, ON_CALL, wrong).await.refused(422, "invalid_body");
    assert_eq!(refused["path"], "user_id", "being on call gives no role: {refused}");
    let mut past = duty.clone();
    past["ends_at"] = json!("2021-01-01T00:00:00Z");
    world.post(&oper.token, ON_CALL, past).await.refused(422, "invalid_body");
    world.post(&dba.token, ON_CALL, duty.clone()).await.refused(403, "not_allowed");
    world.get("", ON_CALL).await.refused(401, "unauthenticated");
    let path = format!("{ON_CALL}/{}", id(&all["items"][0]));
    world.send("DELETE", &dba.token, &path, None, &[]).await.refused(403, "not_allowed");
    let key = [("idempotency-key", "off")];
    world.send("DELETE", &oper.token, &path, None, &key).await.expect(200);
    assert!(world.send("DELETE", &oper.token, &path, None, &key).await.is_repeated);
    world.send("DELETE", &oper.token, &path, None, &[]).await.refused(404, "not_found");
    let left = world.get(&dba.token, ON_CALL).await.expect(200);
    let people = left["now"][0]["user_ids"].as_array().unwrap().len();
    assert_eq!(people, 2, "with no one on call, all holders of the role are reached");
}

#[tokio::test]
async fn mail_to_a_reviewer_is_plain_text_and_sent_once() {
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Réa Viewer", &["reviewer"]).await;
    email(&world, &rea, "rea@example.org").await;
    let task = world.reviewing(&bob, "Grow it <b>now</b>").await;
    deliver(&world).await;
    let taken = server.taken();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(taken[0].to, "rea@example.org");
    let data = &taken[0].data;
    assert!(data.contains("Content-Type: text/plain"), "{data}");
    assert!(!data.to_ascii_lowercase().contains("text/html"), "{data}");
    let link = format!("https://ade.example.org/tasks/{}", id(&task));
    assert!(data.replace("=\r\n", "").contains(&link), "{data}");
    deliver(&world).await;
    assert_eq!(server.taken().len(), 1, "sent once");
}

#[tokio::test]
async fn mail_digest_combines_a_flood_of_notifications() {
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    email(&world, &rea, "rea@example.org").await;
    for number in 0..30 {
        world.reviewing(&bob, &format!("task {number}")).await;
        if number == 0 {
            deliver(&world).await;
        }
    }
    deliver(&world).await;
    assert_eq!(server.taken().len(), 1, "the first is sent at once, the others wait");
    world.pass(Duration::from_mins(6)).await;
    deliver(&world).await;
    let taken = server.taken();
    assert_eq!(taken.len(), 2, "{taken:?}");
    assert!(taken[1].data.contains("29 notifications"), "{}", taken[1].data);
    let waiting = "SELECT count(*) FROM message_item WHERE state <> 'sent'";
    assert_eq!(world.database.number(waiting).await, 0);
}

#[tokio::test]
async fn mail_is_retried_when_busy_and_dropped_when_refused() {
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    email(&world, &rea, "rea@example.org").await;
    *server.answer.lock().unwrap() = Some("450 later");
    world.reviewing(&bob, "one").await;
    deliver(&world).await;
    assert_eq!(server.taken().len(), 0);
    *server.answer.lock().unwrap() = None;
    world.pass(Duration::from_mins(2)).await;
    deliver(&world).await;
    assert_eq!(server.taken().len(), 1, "sent once the server accepts it");
    *server.answer.lock().unwrap() = Some("550 no such user");
    world.pass(Duration::from_mins(20)).await;
    world.reviewing(&bob, "two").await;
    deliver(&world).await;
    let dead = "SELECT count(*) FROM message_item WHERE state = 'dead'";
    assert_eq!(world.database.number(dead).await, 1);
}

#[tokio::test]
async fn escalation_notifies_only_people_on_call() {
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    world
        .policy(
            "name: urgent\nmatch: {task_types: [\"db.*\"]}\nrequire:\n  - {roles: [reviewer]}\n\
             escalation:\n  - {after: 1h, notify: {roles: [dba]}}\n",
        )
        .await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let on = world.person("On", &["dba"]).await;
    let off = world.person("Off", &["dba"]).await;
    email(&world, &on, "on@example.org").await;
    email(&world, &off, "off@example.org").await;
    let duty = json!({
        "role": "dba", "user_id": on.id, "starts_at": "2020-01-01T00:00:00Z",
        "ends_at": "2100-01-01T00:00:00Z",
    });
    world.post(&world.admin.token, ON_CALL, duty).await.expect(201);
    world.reviewing(&bob, "one").await;
    world.pass(Duration::from_mins(61)).await;
    world.work("review_escalator").await;
    deliver(&world).await;
    let to: Vec<String> = server.taken().into_iter().map(|mail| mail.to).collect();
    assert_eq!(to, ["on@example.org"]);
    let listed = world.get(&off.token, "/v1/notifications").await.expect(200);
    assert_eq!(listed["items"], json!([]), "people who are off call get no notification");
}

async fn confirm_override(world: &World, admin: &Person, task: &Value) {
    let path = format!("{}/override/confirm", path_of(task));
    world.post(&admin.token, &path, seen(task)).await.expect(200);
}

#[tokio::test]
async fn override_notifies_all_admins_but_the_acting_one() {
    let (server, slack) = (MailServer::start().await, FakeSlack::start().await);
    let (mail, api) = (Some(server.url.clone()), Some(slack.api.clone()));
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let world = World::fitted(TestServerOptions { mail, slack: api, ..line.into() }).await;
    let second = world.person("Second", &["admin"]).await;
    let third = world.person("Third", &["admin"]).await;
    let gone = world.person("Gone", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    email(&world, &gone, "gone@example.org").await;
    let path = format!("/v1/users/{}", gone.id);
    let leaves = Some(json!({ "active": false }));
    world.send("PATCH", &world.admin.token, &path, leaves, &[]).await.expect(200);
    // The owner of the agent counts as the author of the task.
    let bot = world.agent("helper", &bob).await;
    let task = world.reviewing(&bot, "burning").await;
    // No person has an address yet, so the review request is not sent by mail.
    deliver(&world).await;
    for (person, address) in [
        (&world.admin, "admin@example.org"),
        (&second, "second@example.org"),
        (&bob, "bob@example.org"),
        (&rea, "rea@example.org"),
    ] {
        email(&world, person, address).await;
    }
    let wanted = json!({
        "mail": [], "slack": ["override.*"], "slack_member": "U012AB3CD", "digest_seconds": 3600,
    });
    prefer(&world, &third, wanted).await;

    break_glass::ask(&world, &world.admin, &task).await;
    deliver(&world).await;
    let asked = "Override requested: #";
    assert_eq!(server.take_recipients(asked), ["bob@example.org", "second@example.org"]);
    let taken = slack.taken();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert!(taken[0]["text"].as_str().unwrap().starts_with(asked), "{}", taken[0]);

    confirm_override(&world, &second, &task).await;
    deliver(&world).await;
    let confirmed = "Override confirmed by two admins: #";
    assert_eq!(server.take_recipients(confirmed), ["admin@example.org", "bob@example.org"]);
    assert_eq!(slack.taken().len(), 2, "the message does not wait for the digest interval");

    assert_eq!(notification_kinds(&world, &world.admin).await, ["override.confirmed"]);
    assert_eq!(notification_kinds(&world, &second).await, ["override.asked"]);
    for both in [&third, &bob] {
        assert_eq!(
            notification_kinds(&world, both).await,
            ["override.confirmed", "override.asked"]
        );
    }
    assert_eq!(
        notification_kinds(&world, &rea).await,
        [""; 0],
        "a reviewer is notified only when asked to review the override"
    );
}

#[tokio::test]
async fn override_that_expires_notifies_the_same_people() {
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "burning").await;
    break_glass::ask(&world, &world.admin, &task).await;
    deliver(&world).await;
    email(&world, &second, "second@example.org").await;
    email(&world, &bob, "bob@example.org").await;
    world.pass(Duration::from_mins(61)).await;
    assert_eq!(world.work("override_lapser").await.items, 1);
    deliver(&world).await;
    let lapsed = "Override expired without a second admin: #";
    assert_eq!(server.take_recipients(lapsed), ["bob@example.org", "second@example.org"]);
    assert_eq!(
        notification_kinds(&world, &world.admin).await,
        ["override.lapsed"],
        "the requester is notified as well"
    );
}

/// The pending review of this task's override.
async fn owed(world: &World, task: &Value) -> Value {
    let owed = world.get(&world.admin.token, "/v1/after-reviews").await.expect(200);
    let mut items = owed["items"].as_array().unwrap().iter();
    items.find(|review| review["task_id"] == task["id"]).unwrap().clone()
}

async fn close(world: &World, reviewer: &Person, review: &Value) {
    let path = format!("/v1/after-reviews/{}/close", id(review));
    let finding = json!({ "finding": "it was right" });
    world.post(&reviewer.token, &path, finding).await.expect(200);
}

async fn assert_overdue_is_measured(world: &World) {
    let watching = Driver::watch(&world.app);
    eventually("the metrics report it", Duration::from_mins(1), async || {
        let text = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        let is_reported = text.contains("ade_degraded{part=\"after_review\"}")
            && text.contains("ade_after_reviews_overdue");
        if is_reported { Ok(()) } else { Err(text) }
    })
    .await;
    watching.stop().await;
}

#[tokio::test]
async fn override_review_overdue_is_reported_until_it_is_closed() {
    let hour = Duration::from_hours(1);
    let server = MailServer::start().await;
    let world = with_mail(&server).await;
    let second = world.person("Second", &["admin"]).await;
    let third = world.person("Third", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let (_, stranger) = world.tenant("other").await;
    let late = world.reviewing(&bob, "late").await;
    let written = world.reviewing(&bob, "written").await;
    for task in [&late, &written] {
        break_glass::ask(&world, &world.admin, task).await;
        confirm_override(&world, &second, task).await;
    }
    close(&world, &rea, &owed(&world, &written).await).await;
    deliver(&world).await;
    for (person, address) in [
        (&world.admin, "admin@example.org"),
        (&second, "second@example.org"),
        (&third, "third@example.org"),
        (&bob, "bob@example.org"),
    ] {
        email(&world, person, address).await;
    }
    let review = owed(&world, &late).await;

    world.pass(AFTER_REVIEW_WITHIN.saturating_sub(hour)).await;
    assert_eq!(world.work("override_lapser").await.items, 0, "not yet");
    assert_eq!(detail(&status(&world, &rea).await, "after_review"), None);

    world.pass(AFTER_REVIEW_WITHIN + hour).await;
    let other = world.another_app();
    let (one, two) =
        tokio::join!(world.work("override_lapser"), run_once(&other, "override_lapser"));
    assert_eq!(one.items + two.unwrap().unwrap().items, 1, "reported once by one of two processes");
    assert_eq!(world.work("override_lapser").await.items, 0);
    deliver(&world).await;
    let overdue = "Override review overdue: #";
    let admins = ["admin@example.org", "second@example.org", "third@example.org"];
    assert_eq!(server.take_recipients(overdue), admins);
    let kinds = notification_kinds(&world, &third).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "override.review_overdue").count(), 1);
    let audit = format!("/v1/audit?object={}", id(&review));
    let leaves = world.get(&world.admin.token, &audit).await.expect(200);
    let leaf = &leaves["items"][0]["leaf"];
    assert_eq!(leaf["what"]["action"], "after_review.overdue", "{leaves}");
    assert_eq!(leaves["items"].as_array().unwrap().len(), 1, "{leaves}");

    let degraded = status(&world, &rea).await;
    assert!(detail(&degraded, "after_review").unwrap().contains("overdue: 1,"), "{degraded}");
    let elsewhere = status(&world, &stranger).await;
    assert_eq!(detail(&elsewhere, "after_review"), None, "other tenants do not see it");
    let count = "SELECT overdue_after_reviews()";
    assert_eq!(world.database.number(count).await, 1);
    assert_overdue_is_measured(&world).await;

    close(&world, &rea, &review).await;
    assert_eq!(detail(&status(&world, &rea).await, "after_review"), None);
    assert_eq!(world.database.number(count).await, 0);
    world.pass(AFTER_REVIEW_WITHIN * 3).await;
    assert_eq!(world.work("override_lapser").await.items, 0);
    deliver(&world).await;
    assert_eq!(server.take_recipients(overdue), [""; 0], "neither review is reported again");
    let events = "SELECT count(*) FROM outbox WHERE kind = 'override.review_overdue'";
    assert_eq!(world.database.number(events).await, 1);
    let watched = "SELECT count(*) FROM scheduled_job WHERE kind = 'after_review'";
    assert_eq!(world.database.number(watched).await, 0);
}

#[tokio::test]
async fn slack_message_has_text_with_a_link() {
    let slack = FakeSlack::start().await;
    let world = with_slack(&slack).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let wanted = json!({
        "mail": [], "slack": ["approval.requested"], "slack_member": "U012AB3CD",
        "digest_seconds": 0,
    });
    prefer(&world, &rea, wanted).await;
    let task = world.reviewing(&bob, "<!channel> *now*").await;
    deliver(&world).await;
    let taken = slack.taken();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert_eq!(taken[0]["channel"], "U012AB3CD");
    assert!(!taken[0]["text"].as_str().unwrap().contains('<'), "{}", taken[0]);
    let block = &taken[0]["blocks"][0];
    assert_eq!(block["text"]["type"], "plain_text");
    let link = format!("https://ade.example.org/tasks/{}", id(&task));
    assert_eq!(block["accessory"]["url"], json!(link));
    *slack.error.lock().unwrap() = Some("ratelimited");
    world.reviewing(&bob, "two").await;
    deliver(&world).await;
    *slack.error.lock().unwrap() = None;
    world.pass(Duration::from_mins(2)).await;
    deliver(&world).await;
    assert_eq!(slack.taken().len(), 2, "sent once Slack accepts it");
}

fn signed(body: &str, at: u64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SLACK_SECRET.as_bytes()).unwrap();
    mac.update(format!("v0:{at}:{body}").as_bytes());
    let bytes = mac.finalize().into_bytes();
    let mut text = "v0=".to_owned();
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

#[tokio::test]
async fn slack_button_links_to_the_page_and_decides_nothing() {
    let slack = FakeSlack::start().await;
    let world = with_slack(&slack).await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    let press = async |body: &str, at: u64, signature: &str| {
        let path = "/v1/slack/interactions";
        let request = world.rig.request("POST", path);
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .header("x-slack-request-timestamp", at.to_string())
            .header("x-slack-signature", signature)
            .body(body.to_owned());
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        world.note("POST", path, status);
        (status, answer.json::<Value>().await.unwrap())
    };
    let now = ade_engine::services::webhook_client::seconds();
    let action =
        format!("payload=%7B%22actions%22%3A%5B%7B%22value%22%3A%22approve%20{}", id(&task));
    let (status, reply) = press(&action, now, &signed(&action, now)).await;
    assert_eq!(status, 200, "{reply}");
    let link = format!("https://ade.example.org/tasks/{}", id(&task));
    assert!(reply["text"].as_str().unwrap().ends_with(&link), "{reply}");
    assert_eq!(reply["response_type"], "ephemeral");
    crate::coverage::assert_shown(
        &world,
        "POST /v1/slack/interactions",
        crate::coverage::Kind::Happy,
    );
    let after = world.get(&bob.token, &path_of(&task)).await.expect(200);
    assert_eq!((&after["state"], quoted(&after)), (&json!("REVIEWING"), quoted(&task)));
    let large = "x".repeat((1 << 20) + 1);
    for (what, body, at, signature) in [
        ("signed for another body", &*action, now, signed("other", now)),
        ("old", &*action, now - 400, signed(&action, now - 400)),
        ("unsigned", &*action, now, String::new()),
        ("too large", &*large, now, signed(&large, now)),
    ] {
        let (status, problem) = press(body, at, &signature).await;
        assert_eq!((status, problem["code"].as_str()), (401, Some("unauthenticated")), "{what}");
    }
}
