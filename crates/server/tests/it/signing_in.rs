//! People sign in with an identity provider: who they become, what a session is worth, and what a
//! forged or repeated answer is worth.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_core::limits::{
    ACCOUNTS_OF_ADDRESS_MAX, GROUP_ROLE_PROVIDERS_MAX, PROVIDER_WAITERS_MAX, TENANTS_OF_PERSON_MAX,
};
use ade_core::token::Token;
use ade_engine::work::Driver;
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
use crate::rig::{Rig, settings};
use crate::world::{Answer, Fittings, Line, World, id};

cases! {
    somebody_signs_in_by_their_groups_and_is_out_within_a_second:
        Happy "GET /v1/auth", Happy "GET /auth/login", Happy "GET /auth/callback",
        Happy "GET /v1/session", Denied "GET /v1/session";
    a_session_is_listed_and_ended_within_a_second:
        Happy "GET /v1/sessions", Denied "GET /v1/sessions", Happy "DELETE /v1/sessions/{id}",
        Denied "DELETE /v1/sessions/{id}", Happy "POST /auth/logout", Denied "POST /auth/logout";
    a_person_goes_on_in_another_tenant:
        Happy "POST /v1/session/tenant", Denied "POST /v1/session/tenant";
    admins_say_which_groups_give_which_roles:
        Happy "GET /v1/group-roles", Denied "GET /v1/group-roles", Happy "PUT /v1/group-roles",
        Denied "PUT /v1/group-roles", Conflict "PUT /v1/group-roles";
}

const SOON: Duration = Duration::from_mins(1);
const AT_ONCE: Duration = Duration::from_secs(1);

/// A browser, as far as it matters: it keeps cookies and follows nothing by itself.
pub struct Browser<'a> {
    /// Takes note of what was asked.
    noted: &'a World,
    rig: &'a Rig,
    client: Client,
    pub cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub fn new(noted: &'a World, rig: &'a Rig) -> Self {
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
        // A page that leads on has done what it is for.
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

    /// As a page of the server's own would.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, None, &[]).await.0
    }

    pub async fn change(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let headers = [("sec-fetch-site", "same-origin"), ("x-ade-request", "1")];
        self.ask(method, path, body, &headers).await.0
    }

    /// To the provider, and where it was sent.
    async fn leave(&mut self, return_to: &str) -> String {
        let path = format!("/auth/login?provider=company&return_to={return_to}");
        let (answer, link) = self.ask("GET", &path, None, &[]).await;
        assert_eq!(answer.status, 303);
        link.unwrap()
    }

    /// Back with the provider's answer, and where that leads.
    async fn return_with(&mut self, query: &str) -> String {
        let (answer, to) = self.ask("GET", &format!("/auth/callback?{query}"), None, &[]).await;
        assert_eq!(answer.status, 303);
        to.unwrap()
    }

    pub async fn sign_in(&mut self, provider: &FakeProvider, claims: &Value) -> String {
        let link = self.leave("/inbox").await;
        self.return_with(&provider.agree(&link, claims)).await
    }
}

pub async fn home() -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    let fittings = Fittings { provider: Some(provider.issuer.clone()), ..Line::Off.into() };
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

async fn somebody_signs_in_by_their_groups_and_is_out_within_a_second(noted: &World) {
    within(AT_ONCE, async || somebody_signs_in_and_is_out(noted).await).await;
}

/// How long it took until they were out.
async fn somebody_signs_in_and_is_out(noted: &World) -> Duration {
    let (world, provider) = home().await;
    let mut browser = Browser::new(noted, &world.rig);
    let told = browser.get("/v1/auth").await.expect(200);
    assert_eq!(told["providers"], json!([{ "name": "company", "title": "The company" }]));
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

    // The same person again, who has lost a group and been given a role by hand.
    let roles = json!({ "roles": ["reviewer", "lead"] });
    let path = format!("/v1/users/{user}/roles");
    world.send("PUT", &world.admin.token, &path, Some(roles), &[]).await.expect(200);
    let mut other = Browser::new(noted, &world.rig);
    other.sign_in(&provider, &ada(&["staff"])).await;
    assert_eq!(other.get("/v1/session").await.expect(200)["user"]["id"], user);
    assert_eq!(other.get("/v1/me").await.expect(200)["roles"], json!(["lead"]));
    assert_eq!(browser.get("/v1/me").await.expect(200)["roles"], json!(["lead"]), "everywhere");

    // A group that gives nothing lets nobody in, and neither does a closed account.
    let stranger = json!({ "sub": "eve", "groups": ["staff"] });
    assert_eq!(other.sign_in(&provider, &stranger).await, "/sign-in?problem=no_tenant");
    let body = Some(json!({ "active": false }));
    let path = format!("/v1/users/{user}");
    world.send("PATCH", &world.admin.token, &path, body, &[]).await.expect(200);
    let back = Browser::new(noted, &world.rig).sign_in(&provider, &ada(&["dba"])).await;
    assert_eq!(back, "/sign-in?problem=no_tenant");
    refused_after(&mut browser).await
}

/// In whatever process.
async fn refused_after(browser: &mut Browser<'_>) -> Duration {
    let began = Instant::now();
    while browser.get("/v1/me").await.status != 401 {
        assert!(began.elapsed() < 5 * AT_ONCE, "it still works");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

#[tokio::test]
async fn the_word_of_a_passkey_leaves_a_copied_cookie_worth_nothing() {
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

    // Somebody has a copy of the cookie, and both processes know it.
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
    assert_eq!(browser.cookies, thief.cookies, "nothing was proved");
    let right = key.word(&question["options"]);
    browser.change("POST", &path, Some(right)).await.expect(200);

    assert_ne!(browser.cookies, thief.cookies);
    thief.get("/v1/me").await.refused(401, "unauthenticated");
    // The session is the same one, in whatever process, with what was bound to it.
    assert_eq!(browser.get("/v1/session").await.expect(200)["id"], before["id"]);
    Socket::open(&world.rig, &query, None).await.unwrap();
    eventually("the copy is refused there too", SOON, async || {
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
async fn an_answer_works_once_in_the_browser_that_asked() {
    let (world, provider) = home().await;
    let not_begun = "/sign-in?problem=not_begun";
    let mut browser = Browser::new(&world, &world.rig);
    let link = browser.leave("/inbox").await;
    let answer = provider.agree(&link, &ada(&["dba"]));

    // Sent to somebody else, who would be signed in as another without noticing.
    let mut victim = Browser::new(&world, &world.rig);
    assert_eq!(victim.return_with(&answer).await, not_begun);
    victim.leave("/inbox").await;
    assert_eq!(victim.return_with(&answer).await, not_begun);
    // Nor is the victim's own sign-in used up by it.
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
    assert_eq!(browser.return_with(&answer).await, not_begun, "used up by the answer without code");

    let link = browser.leave("/inbox").await;
    let (held, answer) = (browser.cookies.clone(), provider.agree(&link, &ada(&["dba"])));
    assert_eq!(browser.return_with(&answer).await, "/inbox");
    browser.cookies = held;
    assert_eq!(browser.return_with(&answer).await, not_begun, "twice");
}

#[tokio::test]
async fn an_answer_that_waits_too_long_is_nobodys() {
    let (world, provider) = home().await;
    let mut browser = Browser::new(&world, &world.rig);
    let link = browser.leave("/inbox").await;
    let answer = provider.agree(&link, &ada(&["dba"]));
    let past = "UPDATE sign_in SET expires_at = now()";
    world.database.session().await.run(past).await;
    assert_eq!(browser.return_with(&answer).await, "/sign-in?problem=not_begun");
}

#[tokio::test]
async fn what_the_provider_says_is_held_against_what_was_asked() {
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
    // The answer of another provider, or of none where this one always says who it is.
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
    let refused = format!("error=access_denied&state={state}&iss={}", provider.issuer);
    assert_eq!(browser.return_with(&refused).await, "/sign-in?problem=refused");
    assert!(!browser.cookies.contains_key("__Host-ade_s"), "{:?}", browser.cookies);

    let (answer, to) = browser.ask("GET", "/auth/login?provider=nobody", None, &[]).await;
    assert_eq!((answer.status, to.as_deref()), (303, Some("/sign-in?problem=no_provider")));
    for elsewhere in ["https://evil.example", "//evil.example", "/%5Cevil.example"] {
        let link = browser.leave(elsewhere).await;
        assert_eq!(browser.return_with(&provider.agree(&link, &ada(&["dba"]))).await, "/");
    }
}

#[tokio::test]
async fn a_provider_may_change_its_keys_and_not_make_us_ask_all_the_time() {
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
    assert_eq!(provider.asked_for_keys(), 2, "asked for strangers");
}

async fn a_session_is_listed_and_ended_within_a_second(noted: &World) {
    within(AT_ONCE, async || a_session_is_listed_and_ended(noted).await).await;
}

/// How long it took until the last of it was over.
async fn a_session_is_listed_and_ended(noted: &World) -> Duration {
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

    // Somebody else's is as good as none.
    let mut eve = Browser::new(noted, &world.rig);
    eve.sign_in(&provider, &json!({ "sub": "eve", "groups": ["dba"] })).await;
    let path = format!("/v1/sessions/{own}");
    eve.change("DELETE", &path, None).await.refused(404, "not_found");
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.refused(404, "not_found");

    // A socket of a session that is ended elsewhere closes, too.
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

/// Those who wait for it take no room from the others, and are told when it has been silent for as
/// long as one question may take.
#[tokio::test]
async fn a_silent_provider_is_noticed_by_nobody_but_those_who_sign_in() {
    const AT_FIRST: usize = 40;
    let (world, provider) = home().await;
    let mut known = Browser::new(&world, &world.rig);
    assert_eq!(known.sign_in(&provider, &ada(&["dba"])).await, "/inbox");
    provider.be_silent(true);
    // Knows nothing of the provider yet, and has room for a few more than those who come at once.
    let beside = world.beside_with(settings(&[("requests_max", "45")])).await;
    let mut stays = Browser::new(&world, &beside);
    stays.cookies = known.cookies.clone();
    let login = "/auth/login?provider=company&return_to=/inbox";
    let told_so_far = AtomicUsize::new(0);
    let comes = async || {
        let (answer, to) = Browser::new(&world, &beside).ask("GET", login, None, &[]).await;
        let told = (answer.status, to.as_deref());
        assert_eq!(told, (303, Some("/sign-in?problem=provider_unavailable")));
        told_so_far.fetch_add(1, Ordering::Relaxed);
    };
    let others = async {
        eventually("those for whom there is no place are told", SOON, async || {
            match told_so_far.load(Ordering::Relaxed) {
                told if told + PROVIDER_WAITERS_MAX >= AT_FIRST => Ok(()),
                told => Err(told),
            }
        })
        .await;
        assert!(told_so_far.load(Ordering::Relaxed) < AT_FIRST, "while the others wait");
        for _ in 0..40 {
            comes().await;
            stays.get("/v1/me").await.expect(200);
        }
    };
    tokio::join!(join_all((0..AT_FIRST).map(|_| comes())), others);
    provider.be_silent(false);
    eventually("it is asked again", SOON, async || {
        let (_, to) = Browser::new(&world, &beside).ask("GET", login, None, &[]).await;
        let to = to.unwrap();
        if to.starts_with(&provider.issuer) { Ok(()) } else { Err(to) }
    })
    .await;
}

/// Threat T2: somebody with two accounts is one human, as far as anybody can know.
#[tokio::test]
async fn an_account_with_the_same_verified_address_is_the_same_human() {
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
    assert_eq!(claimed["aliases"], json!([]), "anybody can say so");
    let joined = comes("ada", true).await;
    assert_eq!(joined["aliases"], json!([entered["id"]]));
    let audit = format!("/v1/audit?object={}", id(&joined));
    let leaves = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    assert!(leaves.contains("user.add_alias") && leaves.contains("verified address"), "{leaves}");

    // One that an admin gives the address later: nobody has verified it there, but here.
    let later = json!({ "name": "Ada's other", "roles": ["author"] });
    let later = world.post(&world.admin.token, "/v1/users", later).await.expect(201);
    let path = format!("/v1/users/{}", id(&later));
    let body = Some(json!({ "email": "ADA@example.org" }));
    let changed = world.send("PATCH", &world.admin.token, &path, body, &[]).await.expect(200);
    assert_eq!(changed["aliases"], json!([]), "an admin may have mistyped it");
    let again = comes("ada", true).await;
    assert_eq!(again["id"], joined["id"]);
    let aliases = again["aliases"].as_array().unwrap();
    assert!([&entered, &later].iter().all(|one| aliases.contains(&one["id"])), "{again}");
    let told = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    let count = |text: &str| text.matches("user.add_alias").count();
    assert_eq!(count(&told), count(&leaves) + 1, "{told}");
    comes("ada", true).await;
    let told = world.get(&world.admin.token, &audit).await.expect(200).to_string();
    assert_eq!(count(&told), count(&leaves) + 1, "once: {told}");
}

#[tokio::test]
async fn a_session_is_worth_nothing_outside_of_its_browser() {
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
    // Tokens and sessions do not show up among each other.
    let tokens = browser.get("/v1/tokens").await.expect(200);
    assert_eq!(tokens["items"], json!([]));
}

#[tokio::test]
async fn a_page_of_others_changes_nothing() {
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
    // A link from elsewhere may lead here; it only shows.
    let (answer, _) = browser.ask("GET", "/v1/me", None, &[("sec-fetch-site", "cross-site")]).await;
    answer.expect(200);
}

#[tokio::test]
async fn a_session_ends_when_nobody_uses_it_and_after_half_a_day() {
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
    // Each use puts the end off again, which is written down once a minute.
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    sql.run("UPDATE token SET idle_until = now() + interval '1 minute' WHERE idle_until > now()")
        .await;
    browser.get("/v1/me").await.expect(200);
    let left = "SELECT extract(epoch FROM max(idle_until) - now())::bigint FROM token";
    assert!(world.database.number(left).await > 29 * 60);
}

async fn a_person_goes_on_in_another_tenant(noted: &World) {
    let (world, provider) = home().await;
    let (other, admin) = world.tenant("other").await;
    let (strange, _) = world.tenant("strange").await;
    give(&world, &admin.token, &provider, json!({ "dba": ["author"] })).await;
    let mut browser = Browser::new(noted, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let session = browser.get("/v1/session").await.expect(200);
    let names = session["tenants"].as_array().unwrap().iter().map(|tenant| &tenant["id"]);
    let mut names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
    names.sort_unstable();
    let mut wanted = [world.tenant.as_str(), &other];
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    let there = if session["tenant"]["id"] == *other { &world.tenant } else { &other };

    let refused = browser.change("POST", "/v1/session/tenant", Some(json!({ "tenant": strange })));
    refused.await.refused(404, "not_found");
    let before = browser.cookies.clone();
    let switched = browser.change("POST", "/v1/session/tenant", Some(json!({ "tenant": there })));
    assert_eq!(switched.await.status, 204);
    let now = browser.get("/v1/session").await.expect(200);
    assert_eq!(now["tenant"]["id"], there.as_str());
    assert_ne!(now["user"]["id"], session["user"]["id"], "an account in each");
    // It does not live longer for that.
    let [was, is] = [&session, &now].map(|one| one["expires_at"].as_str().unwrap());
    assert_eq!(was, is);
    browser.cookies = before;
    browser.get("/v1/session").await.refused(401, "unauthenticated");
}

/// Where it has not, roles may stand that the person has lost since.
#[tokio::test]
async fn nobody_goes_on_in_a_tenant_that_their_sign_in_has_not_reached() {
    let (world, provider) = home().await;
    let mut far = Vec::new();
    for number in 0..=TENANTS_OF_PERSON_MAX {
        far.push(world.tenant(&format!("far-{number:02}")).await.0);
    }
    let known = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         SELECT tenant_id, gen_random_uuid(), '{}', 'ada', 'Ada' FROM tenant
          WHERE name LIKE 'far-%'",
        provider.issuer
    );
    world.database.run(&known).await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.sign_in(&provider, &ada(&["dba"])).await;
    let session = browser.get("/v1/session").await.expect(200);
    let told = session["tenants"].as_array().unwrap();
    assert_eq!(told.len(), TENANTS_OF_PERSON_MAX, "{session}");
    assert_eq!(told[0]["name"], "acme", "by name");
    let [near, last] = [&far[0], &far[TENANTS_OF_PERSON_MAX]];
    let wanted = Some(json!({ "tenant": last }));
    let refused = browser.change("POST", "/v1/session/tenant", wanted).await;
    refused.refused(404, "not_found");
    let wanted = Some(json!({ "tenant": near }));
    assert_eq!(browser.change("POST", "/v1/session/tenant", wanted).await.status, 204);
    let now = browser.get("/v1/session").await.expect(200);
    assert_eq!(now["tenant"]["id"], near.as_str());
}

async fn admins_say_which_groups_give_which_roles(world: &World) {
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let body = json!({ "issuer": "https://id.example", "groups": { "dba": ["reviewer"] } });
    let path = "/v1/group-roles";
    world.send("PUT", &bob.token, path, Some(body.clone()), &[]).await.refused(403, "not_allowed");
    world.get(&bob.token, path).await.refused(403, "not_allowed");
    let other = json!({ "issuer": "https://id.example", "groups": {} });
    world.twice("PUT", admin, path, [body.clone(), other.clone()]).await;
    let elsewhere = json!({ "issuer": "https://other.example", "groups": { "ops": ["admin"] } });
    let told = world.send("PUT", admin, path, Some(elsewhere.clone()), &[]).await.expect(200);
    assert_eq!(told, elsewhere, "those of this provider");
    let found = world.get(admin, path).await.expect(200);
    assert_eq!(found["items"], json!([body, elsewhere]));
    for bad in [
        json!({ "issuer": "", "groups": {} }),
        json!({ "issuer": "https://id.example", "groups": { "": ["reviewer"] } }),
        json!({ "issuer": "https://id.example", "groups": { "dba": [] } }),
        json!({ "issuer": "https://id.example", "groups": { "dba": [" "] } }),
    ] {
        let told = world.send("PUT", admin, path, Some(bad), &[]).await;
        told.refused(422, "invalid_body");
    }
    let told = world.send("PUT", admin, path, Some(other.clone()), &[]).await.expect(200);
    assert_eq!(told, other);
    assert_eq!(world.get(admin, path).await.expect(200)["items"], json!([elsewhere]));
}

#[tokio::test]
async fn so_many_providers_give_roles_and_no_more() {
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
    let told = set("https://new.example", some()).await.refused(409, "too_many");
    assert!(told["detail"].as_str().unwrap().contains("providers"), "{told}");
    set("https://new.example", json!({})).await.expect(200);
    set("https://1.example", some()).await.expect(200);
    set("https://1.example", json!({})).await.expect(200);
    set("https://new.example", some()).await.expect(200);
}

/// Threat T2: whoever could not be joined with all their accounts could agree with one of them.
#[tokio::test]
async fn nobody_comes_in_with_the_address_of_too_many_accounts() {
    let (world, provider) = home().await;
    let fill = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name, email)
         SELECT tenant_id, gen_random_uuid(), 'local', 'ada ' || n, 'Ada', 'ada@example.org'
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
    assert_eq!(world.database.number(joined).await, others, "with every one of them");
}
