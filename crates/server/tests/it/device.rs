//! Device login: a terminal requests access and a person approves it in a browser. The tests cover
//! what the person sees, who may decide, and that a code works once, in time, at its polling rate.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::authenticator::enrol;
use crate::coverage::cases;
use crate::signing_in::{Browser, ada, home};
use crate::world::{ALL_SCOPES, Answer, Person, World, without_request_id};

cases! {
    device_login_approved_by_a_person_gets_a_token:
        Happy "POST /auth/device", Happy "POST /auth/device/token",
        Happy "GET /v1/device/{user_code}", Happy "POST /v1/device/{user_code}/approve",
        Conflict "POST /v1/device/{user_code}/approve";
    device_login_denied_by_a_person_gets_no_token:
        Happy "POST /v1/device/{user_code}/deny", Conflict "POST /v1/device/{user_code}/deny";
    device_login_decision_by_agent_or_stranger_is_refused:
        Denied "GET /v1/device/{user_code}", Denied "POST /v1/device/{user_code}/approve",
        Denied "POST /v1/device/{user_code}/deny";
}

/// A terminal that has requested access.
struct Terminal {
    secret: String,
    code: String,
    response: Value,
}

async fn terminal(world: &World) -> Terminal {
    let agent = [("user-agent", "ade/1")];
    let body = Some(json!({ "client_name": "ade on laptop" }));
    let response = world.send("POST", "", "/auth/device", body, &agent).await.expect(200);
    let text = |name: &str| response[name].as_str().unwrap().to_owned();
    Terminal { secret: text("device_code"), code: text("user_code"), response }
}

impl Terminal {
    fn path(&self, verb: &str) -> String {
        format!("/v1/device/{}{verb}", self.code)
    }

    /// Polls for the token right away, faster than allowed.
    async fn asks_at_once(&self, world: &World) -> Answer {
        let body = json!({ "device_code": self.secret });
        world.post("", "/auth/device/token", body).await
    }

    /// Polls for the token after a sufficient pause.
    async fn asks(&self, world: &World) -> Answer {
        rested(world, 3_600).await;
        self.asks_at_once(world).await
    }

    async fn is_let_in(&self, world: &World, who: &Person, with: Value) -> Answer {
        world.post(&who.token, &self.path("/approve"), with).await
    }
}

/// Moves the last poll of every terminal back by so many seconds.
async fn rested(world: &World, seconds: u32) {
    let sql = "UPDATE device_login SET polled_at = polled_at - make_interval(secs => ";
    world.database.run(&format!("{sql}{seconds})")).await;
}

async fn actions(world: &World, object: &str) -> Vec<Value> {
    let object = object.replace(' ', "%20");
    let found = world.get(&world.admin.token, &format!("/v1/audit?object={object}")).await;
    found.expect(200)["items"].as_array().unwrap().iter().map(|item| item["leaf"].clone()).collect()
}

async fn device_login_approved_by_a_person_gets_a_token(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(world).await;
    let (code, response) = (asking.code.as_str(), &asking.response);
    let letters = code.replace('-', "");
    assert_eq!((letters.len(), code.find('-')), (8, Some(4)), "{code}");
    assert!(letters.chars().all(|c| "BCDFGHJKLMNPQRSTVWXZ".contains(c)), "{code}");
    let page = response["verification_uri"].as_str().unwrap();
    assert!(page.ends_with("/device"), "{page}");
    assert_eq!(response["verification_uri_complete"], format!("{page}?code={code}"));
    assert_eq!((&response["expires_in"], &response["interval"]), (&json!(600), &json!(5)));
    let waits = asking.asks(world).await.refused(400, "authorization_pending");
    assert_eq!(waits["interval"], 5);

    let shown = world.get(&bob.token, &asking.path("")).await.expect(200);
    assert_eq!(shown["client_name"], "ade on laptop");
    assert_eq!(shown["address"], "127.0.0.1");
    assert_eq!(shown["address_differs"], false);
    assert_eq!(shown["user_agent"], "ade/1");
    assert_eq!((&shown["status"], &shown["user_code"]), (&json!("pending"), &json!(code)));
    let typed = format!("/v1/device/{}", letters.to_lowercase());
    assert_eq!(
        world.get(&bob.token, &typed).await.expect(200),
        shown,
        "case and dash do not matter"
    );

    let with = json!({ "scopes": ["read", "decide"], "days": 7 });
    let yes = asking.is_let_in(world, &bob, with).await.expect(200);
    assert_eq!(yes["status"], "approved");
    asking.is_let_in(world, &bob, json!({})).await.refused(409, "closed");
    world.post(&bob.token, &asking.path("/deny"), json!({})).await.refused(409, "closed");
    // From now on other people cannot see or change the request.
    let rea = world.person("Rea", &["reviewer"]).await;
    for path in ["", "/approve", "/deny"] {
        let method = if path.is_empty() { "GET" } else { "POST" };
        let body = (path == "/approve").then(|| json!({}));
        let foreign = world.send(method, &rea.token, &asking.path(path), body, &[]).await;
        foreign.refused(404, "not_found");
    }

    let token = asking.asks(world).await.expect(200);
    assert_eq!((&token["token_type"], &token["scope"]), (&json!("Bearer"), &json!("read decide")));
    assert_eq!(token["expires_in"], 8 * 3_600, "a token that decides is valid for 8 hours");
    let me = world.get(token["access_token"].as_str().unwrap(), "/v1/me").await.expect(200);
    assert_eq!(me["name"], "Bob");
    assert_eq!(me["scopes"], json!(["read", "decide"]));
    asking.asks(world).await.refused(400, "expired_token");
    let listed = world.get(&bob.token, "/v1/tokens").await.expect(200);
    let mine = &listed["items"][0];
    assert_eq!((&mine["key_id"], &mine["label"]), (&token["key_id"], &json!("ade on laptop")));

    let decided = actions(world, &format!("device {code}")).await;
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert_eq!(decided[0]["what"]["action"], "device.approve");
    assert_eq!(decided[0]["why"]["reason"], "`ade on laptop` at 127.0.0.1");
    let key_id = token["key_id"].as_str().unwrap();
    let made = actions(world, &format!("token {key_id}")).await;
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(made[0]["what"]["action"], "token.create");
}

async fn device_login_denied_by_a_person_gets_no_token(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(world).await;
    let key = [("idempotency-key", "no")];
    let path = asking.path("/deny");
    let no = world.send("POST", &bob.token, &path, None, &key).await.expect(200);
    assert_eq!(no["status"], "denied");
    let again = world.send("POST", &bob.token, &path, None, &key).await;
    assert!(again.is_repeated, "{}", again.body);
    world.send("POST", &bob.token, &path, None, &[]).await.refused(409, "closed");
    asking.is_let_in(world, &bob, json!({})).await.refused(409, "closed");
    asking.asks(world).await.refused(400, "access_denied");
    asking.asks(world).await.refused(400, "expired_token");
    let decided = actions(world, &format!("device {}", asking.code)).await;
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert_eq!(decided[0]["what"]["action"], "device.deny");
    assert_eq!(world.database.number("SELECT count(*) FROM device_login").await, 0);
}

async fn device_login_decision_by_agent_or_stranger_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let scopes = ALL_SCOPES.map(|scope| format!("'{scope}'")).join(", ");
    let sql = format!("UPDATE token SET scopes = ARRAY[{scopes}] WHERE agent_id IS NOT NULL");
    world.database.run(&sql).await;
    let asking = terminal(world).await;
    for (method, verb) in [("GET", ""), ("POST", "/approve"), ("POST", "/deny")] {
        let body = || (verb == "/approve").then(|| json!({}));
        let path = asking.path(verb);
        let by_agent = world.send(method, &bot.token, &path, body(), &[]).await;
        by_agent.refused(403, "insufficient_scope");
        world.send(method, "", &path, body(), &[]).await.refused(401, "unauthenticated");
        let nowhere = format!("/v1/device/ZZZZ-ZZZZ{verb}");
        world.send(method, &bob.token, &nowhere, body(), &[]).await.refused(404, "not_found");
    }
    asking.asks(world).await.refused(400, "authorization_pending");
}

#[tokio::test]
async fn device_login_is_confirmed_with_the_terms_of_its_token() {
    let world = World::new().await;
    let ada = world.person("Ada", &["reviewer"]).await;
    let mut key = enrol(&world, &ada).await;
    let asking = terminal(&world).await;
    let with = || json!({ "scopes": ["read", "decide"], "days": 7 });
    let problem = asking.is_let_in(&world, &ada, with()).await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"]["purpose"], "approve_device");
    let page = problem["page"].as_str().unwrap();
    assert!(page.ends_with(&format!("/device?code={}", asking.code)), "{page}");
    let about = problem["step_up"]["about"].as_array().unwrap();
    let about: Vec<&str> = about.iter().map(|thing| thing["id"].as_str().unwrap()).collect();
    let terminal_is = format!("terminal:{}", asking.code);
    assert_eq!(about, ["label", "lifetime:28800s", "scope:decide", "scope:read", &terminal_is]);
    key.confirm(&world, &ada.token, &problem["step_up"]).await.expect(200);
    // The confirmation is not valid for another terminal or for a longer token.
    let other = terminal(&world).await;
    other.is_let_in(&world, &ada, with()).await.refused(403, "step_up_required");
    let more = json!({ "scopes": ["read", "decide", "administer"], "days": 7 });
    asking.is_let_in(&world, &ada, more).await.refused(403, "step_up_required");
    asking.is_let_in(&world, &ada, with()).await.expect(200);
    let token = asking.asks(&world).await.expect(200);
    assert_eq!((&token["scope"], &token["expires_in"]), (&json!("read decide"), &json!(28_800)));
    // Denying needs no confirmation.
    let deny = other.path("/deny");
    world.post(&ada.token, &deny, json!({})).await.expect(200);
}

#[tokio::test]
async fn device_login_defaults_to_reading_and_proposing() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author", "reviewer"]).await;
    let asking = terminal(&world).await;
    asking.is_let_in(&world, &bob, json!({})).await.expect(200);
    let token = asking.asks(&world).await.expect(200);
    assert_eq!(token["scope"], "read propose");
    assert_eq!(token["expires_in"], 30 * 86_400);
    let strange = terminal(&world).await;
    world.database.run("UPDATE device_login SET address = '192.0.2.1'").await;
    let shown = world.get(&bob.token, &strange.path("")).await.expect(200);
    assert_eq!(shown["address_differs"], true, "{shown}");
}

#[tokio::test]
async fn device_poll_too_early_is_slowed_down_and_reveals_nothing() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(&world).await;
    asking.asks_at_once(&world).await.refused(400, "authorization_pending");
    let slow = asking.asks_at_once(&world).await.refused(400, "slow_down");
    assert_eq!(slow["interval"], 10);
    rested(&world, 6).await;
    let slower = asking.asks_at_once(&world).await.refused(400, "slow_down");
    assert_eq!(slower["interval"], 15, "the interval has grown to more than six seconds");
    rested(&world, 16).await;
    let waits = asking.asks_at_once(&world).await.refused(400, "authorization_pending");
    assert_eq!(waits["interval"], 15);
    // An early poll does not reveal the approval, and it does not use up the code.
    asking.is_let_in(&world, &bob, json!({})).await.expect(200);
    asking.asks_at_once(&world).await.refused(400, "slow_down");
    asking.asks(&world).await.expect(200);
}

#[tokio::test]
async fn device_login_that_expired_looks_like_an_unknown_one() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let (asking, granted) = (terminal(&world).await, terminal(&world).await);
    granted.is_let_in(&world, &bob, json!({})).await.expect(200);
    world.database.run("UPDATE device_login SET expires_at = now()").await;
    world.get(&bob.token, &asking.path("")).await.refused(404, "not_found");
    asking.is_let_in(&world, &bob, json!({})).await.refused(404, "not_found");
    let never = json!({ "device_code": "0".repeat(43) });
    let never = world.post("", "/auth/device/token", never).await.refused(400, "expired_token");
    for late in [asking, granted] {
        let expired = late.asks(&world).await.refused(400, "expired_token");
        assert_eq!(without_request_id(expired), without_request_id(never.clone()));
    }
    // The next request of a terminal deletes expired ones.
    terminal(&world).await;
    assert_eq!(world.database.number("SELECT count(*) FROM device_login").await, 1);
}

#[tokio::test]
async fn device_polls_made_concurrently_get_one_token() {
    let world = World::new().await;
    world.database.be_patient().await;
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(&world).await;
    asking.is_let_in(&world, &bob, json!({})).await.expect(200);
    // Without a minimum interval, all polls see the approval, including one that began before
    // another poll that was served first.
    world.database.run("UPDATE device_login SET pace = -60").await;
    let all = (0..16).map(|_| asking.asks_at_once(&world));
    let mut issued = 0;
    for answer in futures_util::future::join_all(all).await {
        match answer.status {
            200 => issued += 1,
            _ => drop(answer.refused(400, "expired_token")),
        }
    }
    assert_eq!(issued, 1);
    let made = "SELECT count(*) FROM token WHERE label = 'ade on laptop'";
    assert_eq!(world.database.number(made).await, 1);
}

#[tokio::test]
async fn device_logins_of_one_address_are_limited() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let mut codes = BTreeSet::new();
    let mut last = None;
    for _ in 0..100 {
        let asking = terminal(&world).await;
        assert!(codes.insert(asking.code.clone()), "{} twice", asking.code);
        last = Some(asking);
    }
    let crowded = world.post("", "/auth/device", json!({})).await.refused(429, "rate_limited");
    assert_eq!(crowded["retry_after_ms"], 60_000);
    // A decision on a request frees its place.
    world.send("POST", &bob.token, &last.unwrap().path("/deny"), None, &[]).await.expect(200);
    terminal(&world).await;
    world.post("", "/auth/device", json!({})).await.refused(429, "rate_limited");
}

#[tokio::test]
async fn device_login_over_the_token_limit_is_refused() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(&world).await;
    asking.is_let_in(&world, &bob, json!({})).await.expect(200);
    let more = json!({ "scopes": ["read"] });
    let second = world.post(&bob.token, "/v1/tokens", more).await.expect(201);
    let refused = asking.asks(&world).await.refused(409, "too_many_tokens");
    assert!(refused["detail"].as_str().unwrap().contains("revoke one"), "{refused}");
    let other = terminal(&world).await;
    other.is_let_in(&world, &bob, json!({})).await.refused(409, "too_many_tokens");
    world.get(&bob.token, &other.path("")).await.expect(200);
    // Once a token is revoked, the approval takes effect.
    let path = format!("/v1/tokens/{}", second["key_id"].as_str().unwrap());
    world.send("DELETE", &bob.token, &path, None, &[]).await.expect(200);
    asking.asks(&world).await.expect(200);
}

#[tokio::test]
async fn device_login_approved_by_a_deactivated_person_is_denied() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let asking = terminal(&world).await;
    asking.is_let_in(&world, &bob, json!({})).await.expect(200);
    let path = format!("/v1/users/{}", bob.id);
    let closed = Some(json!({ "active": false }));
    world.send("PATCH", &world.admin.token, &path, closed, &[]).await.expect(200);
    asking.asks(&world).await.refused(400, "access_denied");
    let made = "SELECT count(*) FROM token WHERE label = 'ade on laptop'";
    assert_eq!(world.database.number(made).await, 0);
}

#[tokio::test]
async fn device_token_never_exceeds_the_approving_token() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let narrow = json!({ "scopes": ["read", "decide"] });
    let narrow = world.post(&bob.token, "/v1/tokens", narrow).await.expect(201);
    let narrow = Person { token: narrow["token"].as_str().unwrap().to_owned(), ..bob.clone() };
    let path = format!("/v1/tokens/{}", bob.token.split('_').nth(2).unwrap());
    let asking = terminal(&world).await;
    for bad in [
        json!({ "scopes": ["read", "administer"] }),
        json!({ "scopes": [] }),
        json!({ "scopes": ["all"] }),
        json!({ "days": 0 }),
        json!({ "days": 31 }),
        json!({ "user_id": world.admin.id }),
    ] {
        asking.is_let_in(&world, &narrow, bad).await.refused(422, "invalid_body");
    }
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    asking.is_let_in(&world, &narrow, json!({})).await.expect(200);
    let token = asking.asks(&world).await.expect(200);
    assert_eq!(token["scope"], "read", "no more than the approving token has");
    assert_eq!(token["expires_in"], 30 * 86_400);
    let long = json!({ "client_name": "x".repeat(129) });
    world.post("", "/auth/device", long).await.refused(422, "invalid_body");
}

/// A page of another site must not approve its own terminal.
#[tokio::test]
async fn device_approval_from_another_site_is_refused() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let asking = terminal(&world).await;
    let path = asking.path("/approve");
    let (foreign, _) = browser.ask("POST", &path, Some(json!({})), &[]).await;
    foreign.refused(403, "cross_site");
    assert_eq!(browser.get(&asking.path("")).await.expect(200)["status"], "pending");
    browser.change("POST", &path, Some(json!({}))).await.expect(200);
    let token = asking.asks(&world).await.expect(200);
    let me = world.get(token["access_token"].as_str().unwrap(), "/v1/me").await.expect(200);
    assert_eq!(me["name"], "Ada");
    assert_eq!(me["scopes"], json!(["read", "propose"]), "{me}");
}

#[tokio::test]
async fn device_code_is_not_stored() {
    let world = World::new().await;
    let asking = terminal(&world).await;
    let holds = format!(
        "SELECT count(*) FROM device_login d WHERE d::text LIKE '%{}%'
             OR encode(d.hash, 'escape') LIKE '%{}%'",
        asking.secret, asking.secret
    );
    assert_eq!(world.database.number(&holds).await, 0);
    assert_eq!(world.database.number("SELECT count(*) FROM device_login").await, 1);
}
