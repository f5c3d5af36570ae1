//! Live events: delivered in order and without a gap to callers who may see them, over streams and
//! sockets that end when the permission to listen does.

use std::time::{Duration, Instant};

use ade_core::event::EventKind;
use ade_core::limits::{EVENT_SHARDS, LIVE_PER_PRINCIPAL_MAX};
use ade_engine::workers::Driver;
use ade_server::serve::ShutdownOutcome;
use ade_testkit::within;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::coverage::cases;
use crate::test_server::{TestServer, settings};
use crate::world::{LockBackend, Person, World, id, path_of};

pub const SOON: Duration = Duration::from_mins(1);

cases! {
    event_stream_delivers_events_in_order:
        Happy "GET /v1/events", Denied "GET /v1/events";
    socket_ticket_works_once_before_it_expires:
        Happy "POST /v1/ws/tickets", Denied "POST /v1/ws/tickets", Happy "GET /v1/ws";
}

/// The client end of a socket.
pub struct Socket(WebSocketStream<TcpStream>);

#[derive(Debug)]
pub enum Said {
    Message(Value),
    Closed(u16),
}

impl Socket {
    /// Opens a socket. The error is the status of a refusal.
    pub async fn open(rig: &TestServer, query: &str, origin: Option<&str>) -> Result<Self, u16> {
        let url = rig.url(&format!("/v1/ws?{query}")).replacen("http", "ws", 1);
        let mut request = url.into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().unwrap());
        }
        let stream = TcpStream::connect(rig.address).await.map_err(|_| 0_u16)?;
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    pub async fn of(world: &World, who: &Person, query: &str) -> Self {
        let ticket = ticket(world, who).await;
        let socket = Self::open(&world.rig, &format!("ticket={ticket}&{query}"), None).await;
        let mut socket = socket.unwrap();
        let Said::Message(ready) = socket.next().await else { panic!("the socket is closed") };
        assert_eq!(ready["frame"], "ready", "{ready}");
        socket
    }

    pub async fn next(&mut self) -> Said {
        tokio::time::timeout(SOON, self.next_ever()).await.expect("no message arrived")
    }

    pub async fn next_ever(&mut self) -> Said {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Said::Message(serde_json::from_str(&text).unwrap());
                }
                Some(Ok(Message::Close(frame))) => {
                    return Said::Closed(frame.map_or(0, |frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Said::Closed(0),
            }
        }
    }

    /// Receives so many events and asserts that, with the skip frames, the numbers have no gap.
    pub async fn events(&mut self, count: usize, mut seq: u64) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            let Said::Message(message) = self.next().await else { panic!("closed at {seq}") };
            let number = message["seq"].as_u64().unwrap();
            if message["frame"] == "skip" {
                assert!(number > seq, "{message} after {seq}");
            } else {
                assert_eq!(number, seq + 1, "{message}");
                events.push(message);
            }
            seq = number;
        }
        events
    }

    pub async fn closed(&mut self) -> u16 {
        loop {
            if let Said::Closed(code) = self.next().await {
                return code;
            }
        }
    }
}

pub async fn ticket(world: &World, who: &Person) -> String {
    let made = world.send("POST", &who.token, "/v1/ws/tickets", None, &[]).await.expect(201);
    made["ticket"].as_str().unwrap().to_owned()
}

/// The messages of a stream that ends at once, as `event` and `data`.
async fn streamed(world: &World, token: &str, query: &str) -> Vec<(String, Value)> {
    let messages = world.streamed(token, &format!("/v1/events?wait=0s&{query}"), &[]).await;
    let messages = messages.into_iter().map(|message| {
        assert_eq!(message.id, Some(message.data["seq"].to_string()));
        (message.event, message.data)
    });
    messages.collect()
}

fn types(messages: &[(String, Value)]) -> Vec<&str> {
    messages.iter().map(|(kind, _)| kind.as_str()).collect()
}

async fn event_stream_delivers_events_in_order(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "Grow").await;
    world.submit(&bob, &task).await;
    world.get("", "/v1/events").await.refused(401, "unauthenticated");
    assert_eq!(types(&streamed(world, &bob.token, "after=0").await), ["ready"]);
    world.work("relay").await;
    let messages = streamed(world, &bob.token, "after=0").await;
    assert_eq!(types(&messages), ["ready", "task.created", "task.submitted"]);
    let (_, event) = &messages[1];
    assert_eq!(
        (&event["object"], &event["actor"], &event["tenant_id"], &event["version"]),
        (&task["id"], &json!(bob.id), &json!(world.tenant), &json!(1)),
    );
    let again = streamed(world, &bob.token, "after=1").await;
    assert_eq!(again[1].1, messages[2].1, "the id is the same as well");
    assert_eq!(types(&streamed(world, &bob.token, "").await), ["ready"], "only new events");
    let path = "/v1/events?wait=0s&topics=";
    world.get(&bob.token, &format!("{path}tasks")).await.refused(400, "invalid_query");
    let future = streamed(world, &bob.token, "after=99").await;
    assert_eq!((types(&future), future[1].1["seq"].as_u64()), (vec!["ready", "reset"], Some(2)));
}

async fn socket_ticket_works_once_before_it_expires(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    world.send("POST", "", "/v1/ws/tickets", None, &[]).await.refused(401, "unauthenticated");
    let first = ticket(world, &bob).await;
    let query = format!("ticket={first}");
    let opened = Socket::open(&world.rig, &query, None).await;
    world.note("GET", "/v1/ws", opened.map_or_else(|status| status, |_| 101));
    assert_eq!(
        Socket::open(&world.rig, &query, None).await.err(),
        Some(401),
        "the ticket was used"
    );
    let mistyped = format!("{query}x");
    assert_eq!(Socket::open(&world.rig, "ticket=", None).await.err(), Some(400));
    for wrong in ["ticket=x", &mistyped, "ticket=ten_x.y"] {
        assert_eq!(Socket::open(&world.rig, wrong, None).await.err(), Some(401), "{wrong}");
    }
    let other = world.tenant("other").await.0;
    let (_, secret) = first.split_once('.').unwrap();
    let moved = format!("ticket={other}.{secret}");
    assert_eq!(Socket::open(&world.rig, &moved, None).await.err(), Some(401));
    let late = ticket(world, &bob).await;
    world.pass(Duration::from_secs(31)).await;
    let late = format!("ticket={late}");
    assert_eq!(
        Socket::open(&world.rig, &late, None).await.err(),
        Some(401),
        "the ticket has expired"
    );
    world.get("", "/v1/ws?ticket=x").await.refused(400, "malformed_request");
}

#[tokio::test]
async fn socket_from_an_unknown_origin_is_refused() {
    let world = World::new().await;
    let listed = settings(&[("origins", "https://ade.example,https://two.example")]);
    let rig = world.beside_with(listed).await;
    let try_from = async |origin| {
        let query = format!("ticket={}", ticket(&world, &world.admin).await);
        Socket::open(&rig, &query, Some(origin)).await.err()
    };
    assert_eq!(try_from("https://two.example").await, None);
    assert_eq!(try_from("https://ade.example.org").await, None, "the public URL of the server");
    for foreign in [
        "https://evil.example",
        "null",
        "https://ade.example.evil",
        "http://ade.example",
        "https://ade.example.or",
        "https:",
        "",
    ] {
        assert_eq!(try_from(foreign).await, Some(403), "{foreign}");
    }
}

/// Asserts that sockets receive events in order, for any source of events.
async fn assert_in_order(world: &World) {
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bob", &["author"]).await;
    let (_, stranger) = world.tenant("stranger").await;
    let mut socket = Socket::of(world, &bob, "").await;
    let mut theirs = Socket::of(world, &stranger, "").await;
    for round in 0..5_u64 {
        let task = world.draft(&bob, "Grow").await;
        world.submit(&bob, &task).await;
        world.work("relay").await;
        let events = socket.events(2, 2 * round).await;
        assert_eq!(events[0]["type"], "task.created");
        assert_eq!(events[1]["object"], task["id"]);
    }
    drop(socket);
    world.draft(&bob, "Meanwhile").await;
    world.work("relay").await;
    let mut again = Socket::of(world, &bob, "after=9").await;
    assert_eq!(again.events(2, 9).await[1]["data"]["title"], Value::Null);
    let quiet = tokio::time::timeout(Duration::from_millis(300), theirs.next_ever()).await;
    assert!(quiet.is_err(), "another tenant received an event: {quiet:?}");
    watching.stop().await;
}

#[tokio::test]
async fn socket_events_without_redis_are_in_order() {
    assert_in_order(&World::new().await).await;
}

#[tokio::test]
async fn socket_events_over_redis_streams_are_in_order() {
    assert_in_order(&World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await).await;
}

#[tokio::test]
async fn socket_events_while_redis_is_down_are_in_order() {
    let nowhere = vec!["redis://127.0.0.1:1".to_owned()];
    assert_in_order(&World::locking(LockBackend::Redis(nowhere, LockBackend::SETTINGS)).await)
        .await;
}

#[tokio::test]
async fn socket_events_lost_by_redis_are_read_from_the_database() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bob", &["author"]).await;
    let mut socket = Socket::of(&world, &bob, "").await;
    let number = format!(
        "SELECT count(*) FROM number_events((SELECT array_agg(shard) FROM
             generate_series(0, {EVENT_SHARDS}) AS all_of (shard)), {EVENT_SHARDS}, 500)"
    );
    for round in 0..3_u64 {
        // A relay that died numbered this event but did not publish it.
        world.draft(&bob, "Lost").await;
        assert_eq!(world.database.number(&number).await, 1);
        world.draft(&bob, "Published").await;
        world.work("relay").await;
        socket.events(2, 2 * round).await;
    }
    watching.stop().await;
}

#[tokio::test]
async fn socket_of_an_agent_skips_events_it_may_not_read() {
    let world = World::new().await;
    let watching = Driver::watch(&world.app);
    let [bob, eve] =
        [world.person("Bob", &["author"]).await, world.person("Eve", &["author"]).await];
    let agent = world.agent("bot", &bob).await;
    let mut socket = Socket::of(&world, &agent, "").await;
    let mut locks = Socket::of(&world, &bob, "topics=lock").await;
    let hidden = world.draft(&eve, "Hers").await;
    world.get(&agent.token, &path_of(&hidden)).await.refused(404, "not_found");
    let own = world.draft(&bob, "His").await;
    world.draft(&eve, "Hers too").await;
    world.work("relay").await;
    let Said::Message(skip) = socket.next().await else { panic!("closed") };
    assert_eq!((&skip["frame"], &skip["seq"]), (&json!("skip"), &json!(1)));
    assert_eq!(socket.events(1, 1).await[0]["object"], own["id"]);
    for (one, seq) in [(&mut socket, 3), (&mut locks, 3)] {
        let Said::Message(skip) = one.next().await else { panic!("closed") };
        assert_eq!((&skip["frame"], &skip["seq"]), (&json!("skip"), &json!(seq)));
    }
    let only = streamed(&world, &bob.token, &format!("after=0&object={}", id(&own))).await;
    assert_eq!(types(&only), ["ready", "skip", EventKind::TaskCreated.as_str()]);
    // A freeze is visible to every caller.
    let stop = json!({ "scope": "tenant", "reason": "month's end" });
    world.post(&world.admin.token, "/v1/freezes", stop).await.expect(201);
    world.work("relay").await;
    assert_eq!(socket.events(1, 3).await[0]["type"], EventKind::FreezeSet.as_str());
    watching.stop().await;
}

#[tokio::test]
async fn socket_closes_within_a_second_of_losing_permission() {
    let world = World::new().await;
    let watching = Driver::watch(&world.app);
    within(Duration::from_secs(1), async || sockets_close(&world).await).await;
    watching.stop().await;
}

/// Returns how long the slower of two sockets stayed open after its permission to listen ended.
async fn sockets_close(world: &World) -> Duration {
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let agent = world.agent(&format!("bot of {}", bob.id), &bob).await;
    let mut sockets = Vec::new();
    for who in [&bob, &eve, &agent] {
        sockets.push(Socket::of(world, who, "").await);
    }
    let key = bob.token.split('_').nth(2).unwrap();
    let path = format!("/v1/tokens/{key}");
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let began = Instant::now();
    assert_eq!(sockets[0].closed().await, 4401);
    let revoked = began.elapsed();
    let path = format!("/v1/users/{}", eve.id);
    let off = Some(json!({ "active": false }));
    world.send("PATCH", &world.admin.token, &path, off, &[]).await.expect(200);
    let began = Instant::now();
    assert_eq!(sockets[1].closed().await, 4403);
    let left = began.elapsed();
    world.draft(&world.admin, "Go on").await;
    let path = format!("/v1/agents/{}", agent.id);
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let code = sockets[2].closed().await;
    assert!([4401, 4403].contains(&code), "{code}");
    revoked.max(left)
}

#[tokio::test]
async fn socket_that_sends_or_exceeds_the_limit_is_refused() {
    let world = World::new().await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bob", &["author"]).await;
    let mut socket = Socket::of(&world, &bob, "").await;
    socket.0.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.closed().await, 1008);
    let mut socket = Socket::of(&world, &bob, "").await;
    let _ = socket.0.send(Message::binary(vec![0; 8 * 1024])).await;
    let code = socket.closed().await;
    assert!([0, 1008, 1009].contains(&code), "{code}");
    ade_testkit::eventually("both sockets are closed", SOON, async || {
        match world.app.live.listeners() {
            0 => Ok(()),
            left => Err(left),
        }
    })
    .await;
    let mut sockets = Vec::new();
    for _ in 0..LIVE_PER_PRINCIPAL_MAX {
        sockets.push(Socket::of(&world, &bob, "").await);
    }
    let query = format!("ticket={}", ticket(&world, &bob).await);
    assert_eq!(Socket::open(&world.rig, &query, None).await.err(), Some(429));
    Socket::of(&world, &world.admin, "").await;
    watching.stop().await;
}

#[tokio::test]
async fn shutdown_closes_sockets_and_streams_properly() {
    let world = World::new().await;
    let mut rig = world.beside_with(settings(&[])).await;
    let query = format!("ticket={}", ticket(&world, &world.admin).await);
    let mut socket = Socket::open(&rig, &query, None).await.unwrap();
    let path = "/v1/events";
    let request = rig.get(path).header("authorization", format!("Bearer {}", world.admin.token));
    let stream = request.send().await.unwrap();
    rig.stop();
    let (ended, code, text) = tokio::join!(rig.ended(), socket.closed(), stream.text());
    assert_eq!((ended, code), (ShutdownOutcome::Drained, 1001));
    assert!(text.unwrap().contains("event: ready"));
}
