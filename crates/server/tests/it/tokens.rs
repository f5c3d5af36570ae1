//! The life of tokens: they are shown once, never have more scopes than their issuer, are revoked
//! everywhere within a second, and their secrets are not stored.

use std::time::{Duration, Instant};

use ade_core::ids::UserId;
use ade_core::token::{KeyId, Secret, Token, TokenKind};
use ade_testkit::within;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::test_server::TestServer;
use crate::world::{Person, World, without_request_id};

cases! {
    token_is_rotated_by_issuing_and_revoking:
        Happy "POST /v1/tokens",
        Happy "GET /v1/tokens",
        Happy "DELETE /v1/tokens/{key_id}",
        Conflict "POST /v1/tokens",
        Conflict "DELETE /v1/tokens/{key_id}";
    tokens_of_others_cannot_be_managed:
        Denied "POST /v1/tokens",
        Denied "GET /v1/tokens",
        Denied "DELETE /v1/tokens/{key_id}";
    token_scopes_cannot_exceed_those_of_its_issuer: Denied "POST /v1/tokens";
    leaked_token_is_revoked_when_reported: Happy "POST /v1/tokens/report-leak";
}

const AT_ONCE: Duration = Duration::from_secs(1);

fn text<'a>(made: &'a Value, name: &str) -> &'a str {
    made[name].as_str().unwrap()
}

async fn status_at(rig: &TestServer, token: &str) -> u16 {
    let asked = rig.get("/v1/me").header("authorization", format!("Bearer {token}"));
    asked.send().await.unwrap().status().as_u16()
}

/// Returns the time until this process refuses the token.
async fn refused_after(rig: &TestServer, token: &str) -> Duration {
    let began = Instant::now();
    while status_at(rig, token).await == 200 {
        assert!(began.elapsed() < 5 * AT_ONCE, "the token is still valid");
    }
    let took = began.elapsed();
    assert_eq!(status_at(rig, token).await, 401);
    took
}

async fn token_is_rotated_by_issuing_and_revoking(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let asked = || json!({ "scopes": ["read"], "label": "new", "days": 1 });
    let key = [("idempotency-key", "k")];
    let admin_asks = json!({ "user_id": bob.id, "scopes": ["read"], "label": "new" });
    let path = "/v1/tokens";
    let send = || world.send("POST", &world.admin.token, path, Some(admin_asks.clone()), &key);
    let second = send().await.expect(201);
    let again = send().await;
    assert!(again.is_repeated);
    let again = again.expect(201);
    assert_eq!(again["token"], json!(null), "the secret is returned once");
    assert_eq!(again["key_id"], second["key_id"]);
    for token in [&*bob.token, text(&second, "token")] {
        world.get(token, "/v1/me").await.expect(200);
    }
    let problem = world.post(&bob.token, path, asked()).await.refused(409, "too_many_tokens");
    assert!(problem["detail"].as_str().unwrap().contains("revoke one"), "{problem}");
    let listed = world.get(&bob.token, path).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("\"token\""), "{listed}");
    let first = &listed["items"][1];
    let revoke = format!("/v1/tokens/{}", text(first, "key_id"));
    let bobs = &bob.token;
    let gone = world.send("DELETE", bobs, &revoke, None, &key).await.expect(200);
    assert!(gone["revoked_at"].is_string());
    world.get(bobs, "/v1/me").await.refused(401, "unauthenticated");
    let revoke = format!("/v1/tokens/{}", text(&second, "key_id"));
    let admin = &world.admin.token;
    let first = world.send("DELETE", admin, &revoke, None, &key).await.expect(200);
    let repeated = world.send("DELETE", admin, &revoke, None, &key).await;
    assert!(repeated.is_repeated);
    assert_eq!(repeated.expect(200), first);
    for bad in [json!({ "scopes": [] }), json!({ "scopes": ["all"] })] {
        world.post(admin, path, bad).await.refused(422, "invalid_body");
    }
    for days in [0, 91] {
        let bad = json!({ "scopes": ["read"], "days": days });
        world.post(admin, path, bad).await.refused(422, "invalid_body");
    }
}

async fn tokens_of_others_cannot_be_managed(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author", "reviewer"]).await;
    let bot = world.agent("bot", &bob).await;
    let bobs = format!("/v1/tokens?user_id={}", bob.id);
    let bobs = world.get(&world.admin.token, &bobs).await.expect(200);
    let bobs = text(&bobs["items"][0], "key_id").to_owned();
    let asked = json!({ "user_id": bob.id, "scopes": ["read"] });
    world.post(&eve.token, "/v1/tokens", asked).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "user.administer").await, 1);
    let asked = json!({ "agent_id": bot.id, "scopes": ["read"] });
    world.post(&eve.token, "/v1/tokens", asked).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "agent.administer").await, 1);
    let list = format!("/v1/tokens?user_id={}", bob.id);
    world.get(&eve.token, &list).await.refused(403, "not_allowed");
    world.get(&bot.token, &list).await.refused(404, "not_found");
    let list = format!("/v1/tokens?agent_id={}", bot.id);
    world.get(&eve.token, &list).await.refused(403, "not_allowed");
    world.get(&bob.token, &list).await.expect(200);
    world.get(&bot.token, &list).await.expect(200);
    for path in [format!("/v1/tokens/{bobs}"), "/v1/tokens/0000000000000000".to_owned()] {
        let response = world.send("DELETE", &eve.token, &path, None, &[]).await;
        response.refused(404, "not_found");
    }
    for (action, times) in [("user.administer", 3), ("agent.administer", 2)] {
        assert_eq!(world.refusals(&world.tenant, action).await, times, "{action}");
    }
    world.get(&bob.token, "/v1/me").await.expect(200);
}

async fn token_scopes_cannot_exceed_those_of_its_issuer(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let asked = json!({ "scopes": ["read", "administer"] });
    let narrow = world.post(&bob.token, "/v1/tokens", asked).await.expect(201);
    let narrow = text(&narrow, "token");
    let plan = crate::world::plan("x");
    let problem = world.post(narrow, "/v1/tasks", plan).await.refused(403, "insufficient_scope");
    assert_eq!(problem["required_scope"], "propose", "although its holder may propose");
    let asked = json!({ "agent_id": bot.id, "scopes": ["read", "propose"] });
    let problem = world.post(narrow, "/v1/tokens", asked).await.refused(422, "invalid_body");
    assert_eq!(problem["path"], "scopes");
    for scope in ["decide", "operate", "administer"] {
        let asked = json!({ "agent_id": bot.id, "scopes": [scope] });
        let response = world.post(&world.admin.token, "/v1/tokens", asked).await;
        response.refused(422, "invalid_body");
    }
    let response = world.post(&bot.token, "/v1/tokens", json!({ "scopes": ["read"] })).await;
    response.refused(403, "insufficient_scope");
}

#[tokio::test]
async fn token_is_revoked_everywhere_within_a_second() {
    let world = World::new().await;
    let other = world.beside().await;
    within(AT_ONCE, async || tokens_end(&world, &other).await).await;
}

/// Revokes tokens in every way and returns the time of the slowest one.
async fn tokens_end(world: &World, other: &TestServer) -> Duration {
    let admin = &world.admin.token;
    let keyed = async |who: &str, id: &str| {
        let list = world.get(admin, &format!("/v1/tokens?{who}={id}")).await.expect(200);
        text(&list["items"][0], "key_id").to_owned()
    };
    let send = async |method, path: String, body| {
        world.send(method, admin, &path, body, &[]).await.expect(200);
    };
    let ada = world.person("Ada", &["author"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let agent_of = async |who: &Person| world.agent(&format!("bot of {}", who.id), who).await;
    let (one, two) = (agent_of(&ada).await, agent_of(&bob).await);
    let all = [&ada, &bob, &one, &two];
    for who in all {
        assert_eq!(status_at(other, &who.token).await, 200);
        assert_eq!(status_at(&world.rig, &who.token).await, 200);
    }
    let revoke = format!("/v1/tokens/{}", keyed("user_id", &ada.id).await);
    send("DELETE", revoke, None).await;
    assert_eq!(status_at(&world.rig, &ada.token).await, 401, "refused at once by the same process");
    let mut slowest = refused_after(other, &ada.token).await;
    send("DELETE", format!("/v1/agents/{}", one.id), None).await;
    for rig in [other, &world.rig] {
        slowest = refused_after(rig, &one.token).await.max(slowest);
    }
    assert_eq!(status_at(other, &two.token).await, 200, "the owner is still active");
    send("PATCH", format!("/v1/users/{}", bob.id), Some(json!({ "active": false }))).await;
    slowest = refused_after(other, &bob.token).await.max(slowest);
    // An agent is deactivated with its owner.
    for rig in [other, &world.rig] {
        slowest = refused_after(rig, &two.token).await.max(slowest);
    }
    slowest
}

#[tokio::test]
async fn unknown_and_wrong_tokens_get_the_same_response() {
    let world = World::new().await;
    let other = world.beside().await;
    let eve = world.person("Eve", &["author"]).await;
    let known = Token::parse(&eve.token).unwrap();
    let wrong = Token { secret: Secret::from_bytes([2; 32]), ..known.clone() }.reveal();
    let (key_id, secret) = (KeyId::from_bytes([9; 11]), known.secret.clone());
    let unknown = Token { kind: TokenKind::User, key_id, secret }.reveal();
    let mut bodies = Vec::new();
    for token in [&wrong, &unknown] {
        let asked = other.get("/v1/me").header("authorization", format!("Bearer {token}"));
        let answer = asked.send().await.unwrap();
        assert_eq!(answer.status(), 401);
        bodies.push(without_request_id(answer.json().await.unwrap()));
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(status_at(&other, &eve.token).await, 200, "the valid token still works");
}

#[tokio::test]
async fn first_token_works_once_under_concurrent_use() {
    let world = World::new().await;
    let other = world.beside().await;
    for _ in 0..5 {
        let token = world.way_in("acme").await;
        let tries = (0..8).map(|number| {
            let rig = if number % 2 == 0 { &world.rig } else { &other };
            status_at(rig, &token)
        });
        let mut statuses = futures(tries).await;
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200, "{statuses:?}");
        assert!(statuses[1..].iter().all(|status| *status == 401), "{statuses:?}");
        assert_eq!(status_at(&world.rig, &token).await, 401);
    }
}

/// Runs the futures concurrently and returns their results in order.
async fn futures<T>(all: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (one, done) in &mut all {
            if done.is_none() {
                match one.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

/// An SQL function that counts the rows of all tables that contain a text.
pub const ROWS_WITH: &str = "CREATE FUNCTION public.rows_with(needle text) RETURNS bigint
    LANGUAGE plpgsql AS $$
    DECLARE target regclass; here bigint; total bigint := 0;
    BEGIN
        FOR target IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       WHERE c.relkind = 'r' AND n.nspname = 'public'
        LOOP
            EXECUTE format('SELECT count(*) FROM %s t WHERE position(%L in t::text) > 0',
                           target, needle) INTO here;
            total := total + here;
        END LOOP;
        RETURN total;
    END $$";

#[tokio::test]
async fn token_secrets_are_not_stored_in_the_database() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let key = [("idempotency-key", "kept-key")];
    let asked = Some(json!({ "user_id": bob.id, "scopes": ["read"] }));
    let made = world.send("POST", &world.admin.token, "/v1/tokens", asked, &key).await;
    let made = made.expect(201);
    world.database.run(ROWS_WITH).await;
    let rows =
        async |needle: &str| world.database.number(&format!("SELECT rows_with('{needle}')")).await;
    assert!(rows("kept-key").await > 0, "the search finds a known value");
    assert!(rows(text(&made, "key_id")).await > 0);
    for token in [text(&made, "token"), &bob.token, &world.admin.token] {
        let known = Token::parse(token).unwrap();
        let secret = known.secret.reveal();
        let hex: Vec<String> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let hex = hex.concat();
        for needle in [token, secret, &hex] {
            assert_eq!(rows(needle).await, 0, "{needle}");
        }
    }
}

#[tokio::test]
async fn token_for_another_person_carries_no_authority() {
    let world = World::new().await;
    let bob = world.person("Bob", &["admin"]).await;
    let admin = &world.admin.token;
    for scope in ["read", "propose", "execute"] {
        let asked = json!({ "user_id": bob.id, "scopes": [scope] });
        let made = world.post(admin, "/v1/tokens", asked).await.expect(201);
        let revoke = format!("/v1/tokens/{}", text(&made, "key_id"));
        world.send("DELETE", admin, &revoke, None, &[]).await.expect(200);
    }
    for scopes in [&["decide"][..], &["operate"], &["administer"], &["read", "decide"]] {
        let asked = json!({ "user_id": bob.id, "scopes": scopes });
        let problem = world.post(admin, "/v1/tokens", asked).await.refused(422, "invalid_body");
        assert_eq!(problem["path"], "scopes");
        let detail = problem["detail"].as_str().unwrap();
        let invite = format!("POST /v1/users/{}/invitations", bob.id);
        assert!(detail.contains(scopes.last().unwrap()) && detail.contains(&invite), "{detail}");
    }
    let asked = json!({ "user_id": bob.id, "scopes": ["decide", "operate", "administer"] });
    world.post(&bob.token, "/v1/tokens", asked).await.expect(201);
}

/// The network from which these tests send their requests.
const HERE: &str = "127.0.0.0/8";
const ELSEWHERE: &str = "192.0.2.0/24";

async fn made(world: &World, name: &str, networks: Value) -> Value {
    let bot = world.agent(name, &world.admin).await;
    let asked = json!({ "agent_id": bot.id, "scopes": ["read"], "networks": networks });
    world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201)
}

#[tokio::test]
async fn token_is_refused_outside_its_networks() {
    let world = World::new().await;
    let (here, there) = (
        made(&world, "here", json!([HERE])).await,
        made(&world, "there", json!([ELSEWHERE, "2001:db8::7"])).await,
    );
    assert_eq!(here["networks"], json!([HERE]));
    assert_eq!(world.get(text(&here, "token"), "/v1/me").await.status, 200);
    let refused = world.get(text(&there, "token"), "/v1/me").await;
    let (key_id, secret) = (KeyId::from_bytes([9; 11]), Secret::from_bytes([2; 32]));
    let unknown = Token { kind: TokenKind::Agent, key_id, secret }.reveal();
    let unknown = world.get(&unknown, "/v1/me").await;
    assert_eq!(refused.status, 401);
    // The response does not reveal that the secret was right.
    let unknown = without_request_id(unknown.body);
    assert_eq!(without_request_id(refused.body), unknown);
    let listed = async |made: &Value| {
        let path = format!("/v1/tokens?agent_id={}", text(made, "agent_id"));
        let all = world.get(&world.admin.token, &path).await.expect(200);
        all["items"].as_array().unwrap().iter().find(|one| one["key_id"] == made["key_id"]).cloned()
    };
    let used = listed(&here).await.unwrap();
    assert!(used["last_used_at"].is_string(), "{used}");
    let unused = listed(&there).await.unwrap();
    assert_eq!(unused["last_used_at"], Value::Null, "{unused}");
    assert_eq!(unused["networks"], json!([ELSEWHERE, "2001:db8::7/128"]));
    // Nor does it reveal that the token was revoked.
    let path = format!("/v1/tokens/{}", text(&there, "key_id"));
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let refused = world.get(text(&there, "token"), "/v1/me").await;
    assert_eq!(without_request_id(refused.body), unknown);
}

#[tokio::test]
async fn network_bound_token_cannot_issue_a_wider_one() {
    let world = World::new().await;
    let asked = json!({ "scopes": ["read", "administer"], "networks": [HERE] });
    let bound = world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201);
    let bound = text(&bound, "token");
    let bot = world.agent("bound", &world.admin).await;
    let ask = async |networks: Value| {
        let asked = json!({ "agent_id": bot.id, "scopes": ["read"], "networks": networks });
        world.post(bound, "/v1/tokens", asked).await
    };
    for wider in [json!([]), json!(["0.0.0.0/0"]), json!(["127.0.0.0/16", ELSEWHERE])] {
        let refused = ask(wider.clone()).await;
        assert_eq!((refused.status, &refused.body["path"]), (422, &json!("networks")), "{wider}");
    }
    ask(json!(["127.0.0.1"])).await.expect(201);
    for wrong in [json!(["nowhere"]), json!(["10.1.2.3/8"])] {
        assert_eq!(ask(wrong.clone()).await.status, 422, "{wrong}");
    }
}

async fn leaked_token_is_revoked_when_reported(world: &World) {
    let made = made(world, "found", json!([])).await;
    let (token, key_id) = (text(&made, "token"), text(&made, "key_id"));
    assert_eq!(world.get(token, "/v1/me").await.status, 200);
    let known = Token::parse(token).unwrap();
    let guess = Token { secret: Secret::from_bytes([1; 32]), ..known.clone() }.reveal();
    let found_at = format!("a public page that says {token}");
    let report = async |token: &str| {
        let asked = json!({ "token": token, "found_at": found_at });
        let answer = world.post("", "/v1/tokens/report-leak", asked).await;
        (answer.status, answer.body)
    };
    // Only the complete token is revoked, and the response never says what it was.
    let nothing = report(&guess).await;
    assert_eq!(nothing.0, 204);
    for other in ["", "none", &token[..20], &"x".repeat(500)] {
        assert_eq!(report(other).await, nothing, "{other}");
    }
    assert_eq!(report(&"x".repeat(513)).await.0, 422);
    assert_eq!(world.get(token, "/v1/me").await.status, 200);
    for _ in 0..2 {
        assert_eq!(report(token).await, nothing);
        assert_eq!(world.get(token, "/v1/me").await.status, 401);
    }
    let path = format!("/v1/audit?object=token%20{key_id}");
    let entries = world.get(&world.admin.token, &path).await.expect(200);
    let is_leak = |entry: &&Value| entry["leaf"]["what"]["action"] == "token.leak";
    let entries: Vec<&Value> =
        entries["items"].as_array().unwrap().iter().filter(is_leak).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = entries[0].to_string();
    assert!(entry.contains(key_id) && entry.contains("a public page"), "{entry}");
    assert!(!entry.contains(known.secret.reveal()), "the secret is in the audit");
}

/// The worker prunes old tokens and old sessions of every tenant.
#[tokio::test]
async fn tokens_and_sessions_are_pruned_long_after_they_end() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let (_, stranger) = world.tenant("other").await;
    let plant = async |who: &Person, key: &str, days: u32, more: &str| {
        let sql = format!(
            "INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, created_at,
                                expires_at)
             SELECT tenant_id, '{key}', id, sha256('x'), '{{read}}',
                    moment() - interval '{days} days 1 hour', moment() - interval '{days} days'
               FROM app_user WHERE id = '{id}';
             UPDATE token SET {more} key_id = key_id WHERE key_id = '{key}'",
            id = who.id.parse::<UserId>().unwrap().uuid(),
        );
        world.database.run(&sql).await;
    };
    let session = "idle_until = expires_at, signed_in_at = created_at,";
    for (key, days, more) in [
        ("old", 91, ""),
        ("recent", 89, ""),
        ("old session", 8, session),
        ("recent session", 6, session),
    ] {
        plant(&bob, key, days, more).await;
        plant(&stranger, &format!("{key} of another"), days, more).await;
    }
    let left = "SELECT count(*) FROM token WHERE key_id LIKE ";
    let like = async |pattern: &str| world.database.number(&format!("{left}'{pattern}'")).await;
    let before = like("%").await;
    let done = world.work("token_pruner").await;
    assert_eq!((done.items, done.has_more), (4, false));
    assert_eq!((like("old%").await, like("recent%").await), (0, 4));
    assert_eq!(like("%").await, before - 4, "nothing else is deleted");
    assert_eq!(world.work("token_pruner").await.items, 0);
    let listed = world.get(&bob.token, "/v1/tokens").await.expect(200);
    let keys = listed["items"].as_array().unwrap().iter().map(|token| text(token, "key_id"));
    assert_eq!(keys.filter(|key| *key == "recent").count(), 1, "{listed}");
    world.get(&stranger.token, "/v1/me").await.expect(200);
}
