//! People sign in with an identity provider: which account and roles they get, what a session
//! allows, and that forged or replayed responses are refused.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_core::limits::{
    ACCOUNTS_OF_ADDRESS_MAX, GROUP_ROLE_PROVIDERS_MAX, PROVIDER_WAITERS_MAX, TENANTS_OF_PERSON_MAX,
    USER_ALIASES_MAX,
};
use ade_core::token::Token;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::workers::Driver;
use ade_testkit::{eventually, within};
use futures_util::future::join_all;
use reqwest::header::{LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::authenticator::Authenticator;
use crate::coverage::cases;
use crate::live::{Said, Socket};
use crate::provider::FakeProvider;
use crate::test_server::{TestServer, settings};
use crate::world::{Answer, LockBackend, TestProvider, TestServerOptions, World, id};

cases! {
    sign_in_follows_groups_and_is_revoked_within_a_second:
        Happy "GET /v1/auth", Happy "GET /auth/login", Happy "GET /auth/callback",
        Happy "GET /v1/session", Denied "GET /v1/session";
    session_is_listed_and_ended_within_a_second:
        Happy "GET /v1/sessions", Denied "GET /v1/sessions", Happy "DELETE /v1/sessions/{id}",
        Denied "DELETE /v1/sessions/{id}", Happy "POST /auth/logout", Denied "POST /auth/logout";
    session_switches_to_another_tenant:
        Happy "POST /v1/session/tenant", Denied "POST /v1/session/tenant";
    group_roles_are_set_by_admins:
        Happy "GET /v1/group-roles", Denied "GET /v1/group-roles", Happy "PUT /v1/group-roles",
        Denied "PUT /v1/group-roles", Conflict "PUT /v1/group-roles";
}

const SOON: Duration = Duration::from_mins(1);
const AT_ONCE: Duration = Duration::from_secs(1);

/// A minimal browser: it stores cookies and does not follow redirects.
pub struct Browser<'a> {
    /// The world that records the requests.
    noted: &'a World,
    rig: &'a TestServer,
    client: Client,
    pub cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub fn new(noted: &'a World, rig: &'a TestServer) -> Self {
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { noted, rig, client, cookies: BTreeMap::new() }
    }

    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> (Answer, Option<String>) {
        let mut request = self.client.request(method.parse().unwrap(), self.rig.url(path));
        let held: Vec<String> = self.cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
        if !held.is_empty() {
            request = request.header("cookie", held.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        for cookie in response.headers().get_all(SET_COOKIE) {
            self.keep(cookie.to_str().unwrap());
        }
        let location = response.headers().get(LOCATION);
        let location = location.map(|value| value.to_str().unwrap().to_owned());
        let answer = Answer::of(response).await;
        // A redirect counts as success.
        let status = if answer.status == 303 { 200 } else { answer.status };
        self.noted.note(method, path, status);
        (answer, location)
    }

    fn keep(&mut self, cookie: &str) {
        let mut parts = cookie.split("; ");
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let rest: Vec<&str> = parts.collect();
        for needed in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
            assert!(rest.contains(&needed), "{cookie}");
        }
        assert!(name.starts_with("__Host-"), "{cookie}");
        if rest.contains(&"Max-Age=0") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Sends a GET request as a page of the server would.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, None, &[]).await.0
    }

    pub async fn change(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let headers = [("sec-fetch-site", "same-origin"), ("x-ade-request", "1")];
        self.ask(method, path, body, &headers).await.0
    }

    /// Starts a sign-in and returns the link to the provider.
    async fn leave(&mut self, return_to: &str) -> String {
        let path = format!("/auth/login?provider=company&return_to={return_to}");
        let (answer, link) = self.ask("GET", &path, None, &[]).await;
        assert_eq!(answer.status, 303);
        link.unwrap()
    }

    /// Returns from the provider with its response, and returns the location of the redirect.
    async fn return_with(&mut self, query: &str) -> String {
        let (answer, to) = self.ask("GET", &format!("/auth/callback?{query}"), None, &[]).await;
        assert_eq!(answer.status, 303);
        to.unwrap()
    }

    /// Signs in to join a tenant, from the page of this server that says so.
    pub async fn join(&mut self, provider: &FakeProvider, claims: &Value, tenant: &str) -> String {
        self.join_through("company", provider, claims, tenant).await
    }

    /// Like [`Browser::join`], through the provider that the settings give this name.
    pub async fn join_through(
        &mut self,
        name: &str,
        provider: &FakeProvider,
        claims: &Value,
        tenant: &str,
    ) -> String {
        let path = format!("/auth/login?provider={name}&return_to=/inbox&tenant={tenant}");
        let own = [("sec-fetch-site", "same-origin")];
        let (_, link) = self.ask("GET", &path, None, &own).await;
        self.return_with(&provider.agree(&link.unwrap(), claims)).await
    }

    pub async fn sign_in(&mut self, provider: &FakeProvider, claims: &Value) -> String {
        let link = self.leave("/inbox").await;
        self.return_with(&provider.agree(&link, claims)).await
    }
}

pub async fn home() -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    let providers = vec![TestProvider::company(&provider.issuer, TenantBinding::Every)];
    let fittings = TestServerOptions { providers, ..LockBackend::Off.into() };
    let world = World::fitted(fittings).await;
    give(&world, &world.admin.token, &provider, json!({ "dba": ["reviewer"] })).await;
    (world, provider)
}

pub async fn give(world: &World, admin: &str, provider: &FakeProvider, groups: Value) {
    let body = json!({ "issuer": provider.issuer, "groups": groups });
    world.send("PUT", admin, "/v1/group-roles", Some(body), &[]).await.expect(200);
}

pub fn ada(groups: &[&str]) -> Value {
    json!({ "sub": "ada", "name": "Ada", "groups": groups })
}

async fn sign_in_follows_groups_and_is_revoked_within_a_second(noted: &World) {
    within(AT_ONCE, async || sign_in_and_revoke(noted).await).await;
}

/// Returns the time until the deactivated user was refused.
async fn sign_in_and_revoke(noted: &World) -> Duration {
    let (world, provider) = home().await;
    let mut browser = Browser::new(noted, &world.rig);
    let methods = browser.get("/v1/auth").await.expect(200);
    assert_eq!(methods["providers"], json!([{ "name": "company", "title": "The company" }]));
    browser.get("/v1/session").await.refused(401, "unauthenticated");

    assert_eq!(browser.sign_in(&provider, &ada(&["dba", "staff"])).await, "/inbox");
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), ["__Host-ade_s"]);
    let session = browser.get("/v1/session").await.expect(200);
    assert_eq!(session["user"]["name"], "Ada");
    assert_eq!(session["tenant"]["id"], world.tenant.as_str());
    let me = browser.get("/v1/me").await.expect(200);
    assert_eq!(me["roles"], json!(["reviewer"]));

    let user = session["user"]["id"].as_str().unwrap();
    let audit = format!("/v1/audit?object={user}");
    let found = world.get(&world.admin.token, &audit).await.expect(200);
    let actions =
        found["items"].as_array().unwrap().iter().map(|item| &item["leaf"]["what"]["action"]);
    let actions: Vec<&Value> = actions.collect();
    assert_eq!(actions, ["session.begin", "user.create"], "{found}");

    // The same person signs in again after losing a group and being given a role by an admin.
    let roles = json!({ "roles": ["reviewer", "lead"] });
    let path = format!("/v1/users/{user}/roles");
    world.send("PUT", &world.admin.token, &path, Some(roles), &[]).await.expect(200);
    let mut other = Browser::new(noted, &world.rig);
    other.sign_in(&provider, &ada(&["staff"])).await;
    assert_eq!(other.get("/v1/session").await.expect(200)["user"]["id"], user);
    assert_eq!(other.get("/v1/me").await.expect(200)["roles"], json!(["lead"]));
    assert_eq!(
        browser.get("/v1/me").await.expect(200)["roles"],
        json!(["lead"]),
        "in every session"
    );

    // Neither a group without roles nor a deactivated account can sign in.
    let stranger = json!({ "sub": "eve", "groups": ["staff"] });
    assert_eq!(other.sign_in(&provider, &stranger).await, "/sign-in?problem=no_tenant");
    let body = Some(json!({ "active": false }));
    let path = format!("/v1/users/{user}");
    world.send("PATCH", &world.admin.token, &path, body, &[]).await.expect(200);
    let back = Browser::new(noted, &world.rig).sign_in(&provider, &ada(&["dba"])).await;
    assert_eq!(back, "/sign-in?problem=no_tenant");
    refused_after(&mut browser).await
}

/// Returns the time until the browser's session is refused.
async fn refused_after(browser: &mut Browser<'_>) -> Duration {
    let began = Instant::now();
    while browser.get("/v1/me").await.status != 401 {
        assert!(began.elapsed() < 5 * AT_ONCE, "the session still works");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

#[tokio::test]
async fn passkey_confirmation_invalidates_a_copied_cookie() {
    let (world, provider) = home().await;
    let beside = world.beside().await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let mut key = Authenticator::new();
    let name = Some(json!({ "name": "mine" }));
    let offer = browser.change("POST", "/v1/passkeys", name).await.expect(201);
    let path = format!("/v1/passkeys/{}", id(&offer));
    browser.change("POST", &path, Some(key.created(&offer["options"]))).await.expect(201);
    let ticket = browser.change("POST", "/v1/ws/tickets", None).await.expect(201);
    let query = format!("ticket={}", ticket["ticket"].as_str().unwrap());

    // A thief has copied the cookie, and both processes have cached the session.
    let [mut thief, mut elsewhere] = [&world.rig, &beside].map(|rig| Browser::new(&world, rig));
    for copy in [&mut thief, &mut elsewhere] {
        copy.cookies = browser.cookies.clone();
        copy.get("/v1/me").await.expect(200);
    }
    let before = browser.get("/v1/session").await.expect(200);
    let about = Some(json!({ "purpose": "add_passkey", "about": [] }));
    let question = browser.change("POST", "/v1/step-up", about).await.expect(201);
    let path = format!("/v1/step-up/{}", id(&question));
    let mut wrong = key.word(&question["options"]);
    wrong["signature"] = json!("AA");
    browser.change("POST", &path, Some(wrong)).await.refused(422, "passkey_refused");
    assert_eq!(browser.cookies, thief.cookies, "the confirmation was refused");
    let right = key.word(&question["options"]);
    browser.change("POST", &path, Some(right)).await.expect(200);

    assert_ne!(browser.cookies, thief.cookies);
    thief.get("/v1/me").await.refused(401, "unauthenticated");
    // The session stays the same in every process, with everything that was bound to it.
    assert_eq!(browser.get("/v1/session").await.expect(200)["id"], before["id"]);
    Socket::open(&world.rig, &query, None).await.unwrap();
    eventually("the other process refuses the copied cookie", SOON, async || {
        match elsewhere.get("/v1/me").await.status {
            401 => Ok(()),
            other => Err(other.to_string()),
        }
    })
    .await;
    elsewhere.cookies = browser.cookies.clone();
    elsewhere.get("/v1/me").await.expect(200);
}

#[tokio::test]
async fn sign_in_response_works_once_in_the_browser_that_asked() {
    let (world, provider) = home().await;
    let not_begun = "/sign-in?problem=not_begun";
    let mut browser = Browser::new(&world, &world.rig);
    let link = browser.leave("/inbox").await;
    let answer = provider.agree(&link, &ada(&["dba"]));

    // The response is sent to a victim, who would be signed in as another person.
    let mut victim = Browser::new(&world, &world.rig);
    assert_eq!(victim.return_with(&answer).await, not_begun);
    victim.leave("/inbox").await;
    assert_eq!(victim.return_with(&answer).await, not_begun);
    // The victim's own sign-in is not consumed by it.
    let own = victim.leave("/").await;
    assert_eq!(victim.return_with(&answer).await, not_begun);
    assert_eq!(victim.return_with(&provider.agree(&own, &ada(&["dba"]))).await, "/");

    let held = browser.cookies.clone();
    for changed in [
        answer.replace("state=", "state=x"),
        answer.split("&state").next().unwrap().to_owned(),
        answer.replace("code=", "kode="),
    ] {
        browser.cookies = held.clone();
        assert_eq!(browser.return_with(&changed).await, not_begun, "{changed}");
        let link = browser.leave("/inbox").await;
        drop(link);
    }
    browser.cookies = held;
    assert_eq!(
        browser.return_with(&answer).await,
        not_begun,
        "consumed by the response without a code"
    );

    let link = browser.leave("/inbox").await;
    let (held, answer) = (browser.cookies.clone(), provider.agree(&link, &ada(&["dba"])));
    assert_eq!(browser.return_with(&answer).await, "/inbox");
    browser.cookies = held;
    assert_eq!(browser.return_with(&answer).await, not_begun, "used twice");
}

#[tokio::test]
async fn sign_in_response_that_expired_is_refused() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    let link = browser.leave("/inbox").await;
    let answer = provider.agree(&link, &ada(&["dba"]));
    let past = "UPDATE sign_in SET expires_at = now()";
    world.database.session().await.run(past).await;
    assert_eq!(browser.return_with(&answer).await, "/sign-in?problem=not_begun");
}

#[tokio::test]
async fn sign_in_response_that_does_not_match_is_refused() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    let not_believed = "/sign-in?problem=not_believed";
    for forged in [
        json!({ "sub": "ada", "groups": ["dba"], "nonce": "another" }),
        json!({ "sub": "ada", "groups": ["dba"], "aud": "another" }),
        json!({ "sub": "ada", "groups": ["dba"], "iss": "https://evil.example" }),
        json!({ "sub": "ada", "groups": ["dba"], "exp": 1 }),
        json!({ "sub": "", "groups": ["dba"] }),
    ] {
        assert_eq!(browser.sign_in(&provider, &forged).await, not_believed, "{forged}");
    }
    // The response names another issuer, or none although this provider always sends one.
    for mixed in [
        |query: &str| query.split("&iss").next().unwrap().to_owned(),
        |query: &str| query.replace("&iss=http", "&iss=evil"),
    ] {
        let link = browser.leave("/").await;
        let answer = mixed(&provider.agree(&link, &ada(&["dba"])));
        assert_eq!(browser.return_with(&answer).await, not_believed, "{answer}");
    }
    let link = browser.leave("/").await;
    let asked: BTreeMap<String, String> =
        Url::parse(&link).unwrap().query_pairs().into_owned().collect();
    let state = &asked["state"];
    // Providers also send empty parameters.
    let refused = format!("error=access_denied&error_uri=&state={state}&iss={}", provider.issuer);
    assert_eq!(browser.return_with(&refused).await, "/sign-in?problem=refused");
    assert!(!browser.cookies.contains_key("__Host-ade_s"), "{:?}", browser.cookies);

    let (answer, to) = browser.ask("GET", "/auth/login?provider=unknown", None, &[]).await;
    assert_eq!((answer.status, to.as_deref()), (303, Some("/sign-in?problem=no_provider")));
    for elsewhere in ["https://evil.example", "//evil.example", "/%5Cevil.example"] {
        let link = browser.leave(elsewhere).await;
        assert_eq!(browser.return_with(&provider.agree(&link, &ada(&["dba"]))).await, "/");
    }
}

#[tokio::test]
async fn provider_key_rotation_works_and_key_requests_are_limited() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    assert_eq!(browser.sign_in(&provider, &ada(&["dba"])).await, "/inbox");
    assert_eq!(provider.asked_for_keys(), 1);
    provider.change_keys();
    assert_eq!(browser.sign_in(&provider, &ada(&["dba"])).await, "/inbox");
    assert_eq!(provider.asked_for_keys(), 2);
    provider.sign_with_strange_keys();
    for _ in 0..5 {
        let to = browser.sign_in(&provider, &ada(&["dba"])).await;
        assert_eq!(to, "/sign-in?problem=not_believed");
    }
    assert_eq!(provider.asked_for_keys(), 2, "unknown keys cause no requests");
}

async fn session_is_listed_and_ended_within_a_second(noted: &World) {
    within(AT_ONCE, async || list_and_end_session(noted).await).await;
}

/// Returns the time until both the socket and the session had ended.
async fn list_and_end_session(noted: &World) -> Duration {
    let (world, provider) = home().await;
    let (beside, watching) = (world.beside().await, Driver::watch(&world.app));
    let [mut one, mut two] = [&beside, &world.rig].map(|rig| Browser::new(noted, rig));
    one.get("/v1/sessions").await.refused(401, "unauthenticated");
    one.change("POST", "/auth/logout", None).await.refused(401, "unauthenticated");
    for browser in [&mut one, &mut two] {
        browser.sign_in(&provider, &ada(&["dba"])).await;
    }
    let listed = one.get("/v1/sessions").await.expect(200);
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{listed}");
    let of = |current: bool| items.iter().find(|item| item["current"] == current).unwrap();
    let (own, other) = (id(of(true)), id(of(false)));
    assert_eq!(two.get("/v1/session").await.expect(200)["id"], other);

    // A session of another person is not found.
    let mut eve = Browser::new(noted, &world.rig);
    eve.sign_in(&provider, &json!({ "sub": "eve", "groups": ["dba"] })).await;
    let path = format!("/v1/sessions/{own}");
    eve.change("DELETE", &path, None).await.refused(404, "not_found");
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.refused(404, "not_found");

    // The socket of a session that is ended by another process is closed.
    let ticket = two.change("POST", "/v1/ws/tickets", None).await.expect(201);
    let query = format!("ticket={}", ticket["ticket"].as_str().unwrap());
    let mut socket = Socket::open(&world.rig, &query, None).await.unwrap();
    assert!(matches!(socket.next().await, Said::Message(_)));
    let ended = one.change("DELETE", &format!("/v1/sessions/{other}"), None).await.expect(200);
    assert_eq!(ended["id"], other);
    let began = Instant::now();
    assert_eq!(socket.closed().await, 4401);
    let closed = began.elapsed();
    watching.stop().await;
    let refused = refused_after(&mut two).await;

    let held = one.cookies.clone();
    assert_eq!(one.change("POST", "/auth/logout", None).await.status, 204);
    assert_eq!(one.cookies.len(), 0, "the cookie is gone");
    one.cookies = held;
    one.get("/v1/session").await.refused(401, "unauthenticated");
    closed.max(refused)
}

/// Requests that wait for the provider take no capacity from other requests. They are redirected
/// with an error once the provider has been silent for the timeout of one request.
#[tokio::test]
async fn silent_provider_affects_only_those_who_sign_in() {
    const AT_FIRST: usize = 40;
    let (world, provider) = home().await;
    let mut known = Browser::new(&world, &world.rig);
    assert_eq!(known.sign_in(&provider, &ada(&["dba"])).await, "/inbox");
    provider.be_silent(true);
    // This process has not contacted the provider yet, and has capacity for a few requests more
    // than those that arrive at once.
    let beside = world.beside_with(settings(&[("requests_max", "45")])).await;
    let mut stays = Browser::new(&world, &beside);
    stays.cookies = known.cookies.clone();
    let login = "/auth/login?provider=company&return_to=/inbox";
    let redirected = AtomicUsize::new(0);
    let comes = async || {
        let (answer, to) = Browser::new(&world, &beside).ask("GET", login, None, &[]).await;
        let redirect = (answer.status, to.as_deref());
        assert_eq!(redirect, (303, Some("/sign-in?problem=provider_unavailable")));
        redirected.fetch_add(1, Ordering::Relaxed);
    };
    let others = async {
        eventually("the callers beyond the limit are redirected", SOON, async || {
            let count = redirected.load(Ordering::Relaxed);
            if count + PROVIDER_WAITERS_MAX >= AT_FIRST { Ok(()) } else { Err(count) }
        })
        .await;
        assert!(redirected.load(Ordering::Relaxed) < AT_FIRST, "the others are still waiting");
        for _ in 0..40 {
            comes().await;
            stays.get("/v1/me").await.expect(200);
        }
    };
    tokio::join!(join_all((0..AT_FIRST).map(|_| comes())), others);
    provider.be_silent(false);
    eventually("the provider is contacted again", SOON, async || {
        let (_, to) = Browser::new(&world, &beside).ask("GET", login, None, &[]).await;
        let to = to.unwrap();
        if to.starts_with(&provider.issuer) { Ok(()) } else { Err(to) }
    })
    .await;
}

/// Threat T2: accounts with the same verified address count as one person.
#[tokio::test]
async fn accounts_with_one_verified_address_are_linked() {
    let (world, provider) = home().await;
    let entered = json!({ "name": "Ada", "roles": ["author"], "email": "Ada@Example.org" });
    let entered = world.post(&world.admin.token, "/v1/users", entered).await.expect(201);
    let comes = async |subject: &str, is_verified: bool| {
        let mut claims = ada(&["dba"]);
        claims["sub"] = json!(subject);
        claims["email"] = json!("ada@example.org");
        claims["email_verified"] = json!(is_verified);
        let mut browser = Browser::new(&world, &world.rig);
        assert_eq!(browser.sign_in(&provider, &claims).await, "/inbox");
        let session = browser.get("/v1/session").await.expect(200);
        let path = format!("/v1/users/{}", session["user"]["id"].as_str().unwrap());
        world.get(&world.admin.token, &path).await.expect(200)
    };
    let claimed = comes("says-so", false).await;
    assert_eq!(claimed["alias_ids"], json!([]), "the address is not verified");
    let joined = comes("ada", true).await;
    assert_eq!(joined["alias_ids"], json!([entered["id"]]));
    let audit = format!("/v1/audit?object={}", id(&joined));
    let entries = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    assert!(
        entries.contains("user.add_alias") && entries.contains("same verified email address"),
        "{entries}"
    );

    // An admin sets the address on another account later. The account is linked at the next
    // sign-in, which verifies the address.
    let later = json!({ "name": "Ada's other", "roles": ["author"] });
    let later = world.post(&world.admin.token, "/v1/users", later).await.expect(201);
    let path = format!("/v1/users/{}", id(&later));
    let body = Some(json!({ "email": "ADA@example.org" }));
    let changed = world.send("PATCH", &world.admin.token, &path, body, &[]).await.expect(200);
    assert_eq!(changed["alias_ids"], json!([]), "an admin may have mistyped the address");
    let again = comes("ada", true).await;
    assert_eq!(again["id"], joined["id"]);
    let aliases = again["alias_ids"].as_array().unwrap();
    assert!([&entered, &later].iter().all(|one| aliases.contains(&one["id"])), "{again}");
    let updated = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    let count = |text: &str| text.matches("user.add_alias").count();
    assert_eq!(count(&updated), count(&entries) + 1, "{updated}");
    comes("ada", true).await;
    let updated = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    assert_eq!(count(&updated), count(&entries) + 1, "linked once: {updated}");
}

#[tokio::test]
async fn session_is_not_accepted_as_a_bearer_token() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let session = browser.cookies["__Host-ade_s"].clone();
    assert!(Token::parse(&session).is_ok());
    world.get(&session, "/v1/me").await.refused(401, "unauthenticated");
    browser.cookies.insert("__Host-ade_s".to_owned(), world.admin.token.clone());
    browser.get("/v1/me").await.refused(401, "unauthenticated");
    browser.cookies.insert("__Host-ade_s".to_owned(), session);
    browser.get("/v1/me").await.expect(200);
    // Sessions are not listed as tokens.
    let tokens = browser.get("/v1/tokens").await.expect(200);
    assert_eq!(tokens["items"], json!([]));
}

#[tokio::test]
async fn cross_site_requests_change_nothing() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let own = format!("http://{}", world.rig.address);
    let marked = ("x-ade-request", "1");
    let others: [&[(&str, &str)]; 8] = [
        &[],
        &[marked],
        &[("sec-fetch-site", "same-origin")],
        &[marked, ("sec-fetch-site", "cross-site")],
        &[marked, ("sec-fetch-site", "same-site")],
        &[marked, ("origin", "https://evil.example")],
        &[marked, ("origin", "null")],
        &[marked, ("sec-fetch-site", "cross-site"), ("origin", &own)],
    ];
    for headers in others {
        let (answer, _) = browser.ask("POST", "/v1/ws/tickets", None, headers).await;
        answer.refused(403, "cross_site");
    }
    for headers in [&[marked, ("sec-fetch-site", "same-origin")], &[marked, ("origin", &*own)]] {
        let (answer, _) = browser.ask("POST", "/v1/ws/tickets", None, headers).await;
        answer.expect(201);
    }
    // A link on another site may lead here, because it only reads.
    let (answer, _) = browser.ask("GET", "/v1/me", None, &[("sec-fetch-site", "cross-site")]).await;
    answer.expect(200);
}

#[tokio::test]
async fn session_ends_when_idle_and_after_twelve_hours() {
    let (world, provider) = home().await;
    let mut sql = world.database.session().await;
    for over in [
        "UPDATE token SET idle_until = now() WHERE idle_until IS NOT NULL",
        "UPDATE token SET signed_in_at = signed_in_at - interval '12 hours',
             created_at = created_at - interval '12 hours',
             expires_at = expires_at - interval '12 hours' WHERE idle_until IS NOT NULL",
    ] {
        let mut browser = Browser::new(&world, &world.rig);
        browser.sign_in(&provider, &ada(&["dba"])).await;
        sql.run(over).await;
        browser.get("/v1/session").await.refused(401, "unauthenticated");
    }
    // Each use extends the session; the extension is stored once a minute.
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    sql.run("UPDATE token SET idle_until = now() + interval '1 minute' WHERE idle_until > now()")
        .await;
    browser.get("/v1/me").await.expect(200);
    let left = "SELECT extract(epoch FROM max(idle_until) - now())::bigint FROM token";
    assert!(world.database.number(left).await > 29 * 60);
}

async fn session_switches_to_another_tenant(noted: &World) {
    let (world, provider) = home().await;
    let (other, admin) = world.tenant("other").await;
    let (strange, _) = world.tenant("strange").await;
    give(&world, &admin.token, &provider, json!({ "dba": ["author"] })).await;
    let mut browser = Browser::new(noted, &world.rig);
    for tenant in ["acme", "other"] {
        assert_eq!(browser.join(&provider, &ada(&["dba"]), tenant).await, "/inbox");
        let session = browser.get("/v1/session").await.expect(200);
        assert_eq!(session["tenant"]["name"], tenant, "the tenant that was joined");
    }
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let session = browser.get("/v1/session").await.expect(200);
    let names = session["tenants"].as_array().unwrap().iter().map(|tenant| &tenant["id"]);
    let mut names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
    names.sort_unstable();
    let mut wanted = [world.tenant.as_str(), &other];
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    let there = if session["tenant"]["id"] == *other { &world.tenant } else { &other };

    let refused =
        browser.change("POST", "/v1/session/tenant", Some(json!({ "tenant_id": strange })));
    refused.await.refused(404, "not_found");
    let before = browser.cookies.clone();
    let switched =
        browser.change("POST", "/v1/session/tenant", Some(json!({ "tenant_id": there })));
    assert_eq!(switched.await.status, 204);
    let now = browser.get("/v1/session").await.expect(200);
    assert_eq!(now["tenant"]["id"], there.as_str());
    assert_ne!(now["user"]["id"], session["user"]["id"], "there is an account in each tenant");
    // Switching does not extend the session.
    let [was, is] = [&session, &now].map(|one| one["expires_at"].as_str().unwrap());
    assert_eq!(was, is);
    browser.cookies = before;
    browser.get("/v1/session").await.refused(401, "unauthenticated");
}

/// A tenant that the sign-in did not update may still have roles that the person has lost.
#[tokio::test]
async fn session_cannot_switch_to_a_tenant_not_signed_in_to() {
    let (world, provider) = home().await;
    let mut far = Vec::new();
    for number in 0..=TENANTS_OF_PERSON_MAX {
        far.push(world.tenant(&format!("aaa-{number:02}")).await.0);
    }
    let known = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         SELECT tenant_id, gen_random_uuid(), '{}', 'ada', 'Ada' FROM tenant
          WHERE name LIKE 'aaa-%'",
        provider.issuer
    );
    world.database.run(&known).await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.join(&provider, &ada(&["dba"]), "acme").await;
    let session = browser.get("/v1/session").await.expect(200);
    let tenants = session["tenants"].as_array().unwrap();
    assert_eq!(tenants.len(), TENANTS_OF_PERSON_MAX, "{session}");
    // The joined tenant comes before all others, so the sign-in left out the last two.
    assert_eq!(tenants.last().unwrap()["name"], "acme", "sorted by name");
    let near = &far[0];
    for last in &far[TENANTS_OF_PERSON_MAX - 1..] {
        let wanted = Some(json!({ "tenant_id": last }));
        let refused = browser.change("POST", "/v1/session/tenant", wanted).await;
        refused.refused(404, "not_found");
    }
    let wanted = Some(json!({ "tenant_id": near }));
    assert_eq!(browser.change("POST", "/v1/session/tenant", wanted).await.status, 204);
    let now = browser.get("/v1/session").await.expect(200);
    assert_eq!(now["tenant"]["id"], near.as_str());
}

async fn group_roles_are_set_by_admins(world: &World) {
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let body = json!({ "issuer": "https://id.example", "groups": { "dba": ["reviewer"] } });
    let path = "/v1/group-roles";
    world.send("PUT", &bob.token, path, Some(body.clone()), &[]).await.refused(403, "not_allowed");
    world.get(&bob.token, path).await.refused(403, "not_allowed");
    let other = json!({ "issuer": "https://id.example", "groups": {} });
    world.twice("PUT", admin, path, [body.clone(), other.clone()]).await;
    let elsewhere = json!({ "issuer": "https://other.example", "groups": { "ops": ["admin"] } });
    let stored = world.send("PUT", admin, path, Some(elsewhere.clone()), &[]).await.expect(200);
    assert_eq!(stored, elsewhere, "only the groups of this provider");
    let found = world.get(admin, path).await.expect(200);
    assert_eq!(found["items"], json!([body, elsewhere]));
    for bad in [
        json!({ "issuer": "", "groups": {} }),
        json!({ "issuer": "https://id.example", "groups": { "": ["reviewer"] } }),
        json!({ "issuer": "https://id.example", "groups": { "dba": [] } }),
        json!({ "issuer": "https://id.example", "groups": { "dba": [" "] } }),
    ] {
        let response = world.send("PUT", admin, path, Some(bad), &[]).await;
        response.refused(422, "invalid_body");
    }
    let stored = world.send("PUT", admin, path, Some(other.clone()), &[]).await.expect(200);
    assert_eq!(stored, other);
    assert_eq!(world.get(admin, path).await.expect(200)["items"], json!([elsewhere]));
}

#[tokio::test]
async fn group_roles_of_too_many_providers_are_refused() {
    let world = World::new().await;
    let fill = format!(
        "INSERT INTO group_role (tenant_id, issuer, group_name, role)
         SELECT tenant_id, 'https://' || n || '.example', 'dba', 'reviewer'
           FROM tenant, generate_series(1, {GROUP_ROLE_PROVIDERS_MAX}) AS n"
    );
    world.database.run(&fill).await;
    let set = async |issuer: &str, groups: Value| {
        let body = json!({ "issuer": issuer, "groups": groups });
        world.send("PUT", &world.admin.token, "/v1/group-roles", Some(body), &[]).await
    };
    let some = || json!({ "dba": ["author"] });
    let problem = set("https://new.example", some()).await.refused(409, "too_many");
    assert!(problem["detail"].as_str().unwrap().contains("providers"), "{problem}");
    set("https://new.example", json!({})).await.expect(200);
    set("https://1.example", some()).await.expect(200);
    set("https://1.example", json!({})).await.expect(200);
    set("https://new.example", some()).await.expect(200);
}

/// Threat T2: a person who is not linked with all their accounts could approve with one of them.
#[tokio::test]
async fn sign_in_with_too_many_linked_accounts_is_refused() {
    let (world, provider) = home().await;
    let fill = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name, email, email_verified_at)
         SELECT tenant_id, gen_random_uuid(), 'corp', 'ada ' || n, 'Ada', 'ada@example.org', now()
           FROM tenant, generate_series(1, {ACCOUNTS_OF_ADDRESS_MAX}) AS n"
    );
    world.database.run(&fill).await;
    let mut claims = ada(&["dba"]);
    claims["email"] = json!("ada@example.org");
    claims["email_verified"] = json!(true);
    let mut browser = Browser::new(&world, &world.rig);
    let to = browser.sign_in(&provider, &claims).await;
    assert_eq!(to, "/sign-in?problem=unavailable");
    let known = "SELECT count(*) FROM app_user WHERE subject = 'ada'";
    assert_eq!(world.database.number(known).await, 0);
    world.database.run("DELETE FROM app_user WHERE subject = 'ada 1'").await;
    assert_eq!(browser.sign_in(&provider, &claims).await, "/inbox");
    let joined = "SELECT count(*) FROM user_alias a JOIN app_user u
                      ON (u.tenant_id, u.id) = (a.tenant_id, a.user_id) WHERE u.subject = 'ada'";
    let others = i64::try_from(ACCOUNTS_OF_ADDRESS_MAX).unwrap() - 1;
    assert_eq!(world.database.number(joined).await, others, "linked with all of them");
}

/// An admin can enter any address any number of times. That links accounts, so that none of them
/// can approve for another one, but ends no sign-in.
#[tokio::test]
async fn address_that_an_admin_entered_ends_no_sign_in() {
    let (world, provider) = home().await;
    let fill = async |issuer: &str, verified_at: &str, count: usize| {
        let sql = format!(
            "INSERT INTO app_user (tenant_id, id, issuer, subject, name, email, email_verified_at)
             SELECT tenant_id, gen_random_uuid(), '{issuer}', n, 'Crowd', 'ADA@example.org',
                    {verified_at} FROM tenant, generate_series(1, {count}) AS n"
        );
        world.database.run(&sql).await;
    };
    fill("local", "NULL", USER_ALIASES_MAX * 2).await;
    let linked = async |subject: &str| {
        let sql = format!(
            "SELECT count(*) FROM user_alias a JOIN app_user u ON u.tenant_id = a.tenant_id
                AND u.id IN (a.user_id, a.alias_id) WHERE u.subject = '{subject}'"
        );
        usize::try_from(world.database.number(&sql).await).unwrap()
    };
    let comes = async |subject: &str| {
        let mut claims = ada(&["dba"]);
        claims["sub"] = json!(subject);
        claims["email"] = json!("ada@example.org");
        claims["email_verified"] = json!(true);
        Browser::new(&world, &world.rig).sign_in(&provider, &claims).await
    };
    let room = USER_ALIASES_MAX - ACCOUNTS_OF_ADDRESS_MAX;
    for _ in 0..2 {
        assert_eq!(comes("ada").await, "/inbox");
        assert_eq!(linked("ada").await, room, "linked with as many as leave room");
    }
    // Accounts that have verified the address find room later, and all of them are linked.
    fill("corp", "now()", ACCOUNTS_OF_ADDRESS_MAX - 1).await;
    assert_eq!(comes("ada").await, "/inbox");
    assert_eq!(linked("ada").await, room + ACCOUNTS_OF_ADDRESS_MAX - 1);
    assert_eq!(comes("one more").await, "/sign-in?problem=unavailable");
    assert_eq!(comes("ada").await, "/inbox");
}

#[tokio::test]
async fn address_is_verified_by_a_sign_in_until_it_changes() {
    let (world, provider) = home().await;
    let entered = json!({
        "name": "Ada", "roles": [], "email": "Ada@example.org",
        "issuer": provider.issuer, "subject": "ada",
    });
    let entered = world.post(&world.admin.token, "/v1/users", entered).await.expect(201);
    let verified = "SELECT count(*) FROM app_user WHERE num_nulls(email_verified_at) = 0";
    let comes = async |email: &str, is_verified: bool| {
        let mut claims = ada(&["dba"]);
        claims["email"] = json!(email);
        claims["email_verified"] = json!(is_verified);
        let to = Browser::new(&world, &world.rig).sign_in(&provider, &claims).await;
        assert_eq!(to, "/inbox");
        world.database.number(verified).await
    };
    assert_eq!(comes("ada@example.org", false).await, 0, "the provider has not verified it");
    assert_eq!(comes("eve@example.org", true).await, 0, "the account has another address");
    assert_eq!(comes("ada@example.org", true).await, 1);
    comes("ada@example.org", true).await;
    let audit = format!("/v1/audit?object={}", id(&entered));
    let entries = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    assert_eq!(entries.matches("user.verify_email").count(), 1, "{entries}");
    let path = format!("/v1/users/{}", id(&entered));
    for (change, left) in [(json!({ "name": "A." }), 1), (json!({ "email": "a@example.org" }), 0)] {
        world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await.expect(200);
        assert_eq!(world.database.number(verified).await, left);
    }
}
