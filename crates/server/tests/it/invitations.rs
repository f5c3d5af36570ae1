//! Invitations: who can be invited, what an invitation allows, and that it is accepted only once.

use ade_core::limits::INVITATION_TTL;
use ade_engine::services::locks::Rate;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::authenticator::{Authenticator, enrol};
use crate::coverage::cases;
use crate::world::{
    Answer, LockBackend, OWN_PAGE, TestServerOptions, World, id, unlimited, without_request_id,
};

cases! {
    invitation_accepted_opens_a_session:
        Happy "POST /v1/users/{id}/invitations", Happy "POST /v1/invitations/accept";
    invitation_by_another_than_an_admin_is_refused: Denied "POST /v1/users/{id}/invitations";
    invitation_repeated_reveals_no_secret: Conflict "POST /v1/users/{id}/invitations";
}

const ACCEPT: &str = "/v1/invitations/accept";

/// Creates a person who has never signed in.
async fn newcomer(world: &World, name: &str) -> String {
    let asked = json!({ "name": name, "roles": ["reviewer"] });
    id(&world.post(&world.admin.token, "/v1/users", asked).await.expect(201)).to_owned()
}

fn path_of(user: &str) -> String {
    format!("/v1/users/{user}/invitations")
}

async fn asked(world: &World, token: &str, user: &str) -> Answer {
    world.send("POST", token, &path_of(user), None, &[]).await
}

/// Makes a call with the session of a browser, from a page of the server.
async fn browse(
    world: &World,
    session: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Answer {
    let headers = [&[("cookie", session)], OWN_PAGE.as_slice()].concat();
    world.send(method, "", path, body, &headers).await
}

async fn refused(world: &World, invitation: &str) -> Value {
    let (answer, cookie) = world.accept(invitation).await;
    assert_eq!(cookie, None, "{}", answer.body);
    without_request_id(answer.refused(400, "invitation_not_valid"))
}

/// The audited changes of a person, in alphabetical order.
async fn changes(world: &World, user: &str) -> Vec<String> {
    let found = world.get(&world.admin.token, &format!("/v1/audit?object={user}")).await;
    let found = found.expect(200);
    let items = found["items"].as_array().unwrap().iter().map(|item| &item["leaf"]);
    let mut changes: Vec<String> = items
        .filter(|entry| entry["kind"] == "change")
        .map(|entry| entry["what"]["action"].as_str().unwrap().to_owned())
        .collect();
    changes.sort_unstable();
    changes
}

async fn invitation_accepted_opens_a_session(world: &World) {
    let rea = newcomer(world, "Rea").await;
    let made = asked(world, &world.admin.token, &rea).await.expect(201);
    assert_eq!(made["user_id"], json!(rea));
    let invitation = made["invitation"].as_str().unwrap();
    assert!(invitation.starts_with("ade_inv_"), "{invitation}");
    assert_eq!(made["url"], json!(format!("https://ade.example.org/join#{invitation}")));
    let (answer, session) = world.accept(invitation).await;
    answer.expect(204);
    let session = session.unwrap();

    let me = browse(world, &session, "GET", "/v1/session", None).await.expect(200);
    assert_eq!(me["user"], json!({ "id": rea, "name": "Rea" }));
    // The session enrols the first passkey, and creates a token of the person's own.
    let offer = Some(json!({ "name": "ring" }));
    let offer = browse(world, &session, "POST", "/v1/passkeys", offer).await.expect(201);
    let path = format!("/v1/passkeys/{}", id(&offer));
    let key = Authenticator::new();
    let created = key.created(&offer["options"]);
    browse(world, &session, "POST", &path, Some(created)).await.expect(201);
    let token = Some(json!({ "scopes": ["read", "propose"] }));
    let token = browse(world, &session, "POST", "/v1/tokens", token).await.expect(201);
    let deciding = Some(json!({ "scopes": ["read", "decide"] }));
    let unconfirmed = browse(world, &session, "POST", "/v1/tokens", deciding).await;
    unconfirmed.refused(403, "step_up_required");
    let me = world.get(token["token"].as_str().unwrap(), "/v1/me").await.expect(200);
    assert_eq!(me["actor"]["id"], json!(rea));

    let wanted = ["invitation.accept", "invitation.create", "session.begin", "user.create"];
    assert_eq!(changes(world, &rea).await, wanted);
    refused(world, invitation).await;
}

async fn invitation_by_another_than_an_admin_is_refused(world: &World) {
    let rea = newcomer(world, "Rea").await;
    let eve = world.person("Eve", &["author", "reviewer"]).await;
    let bot = world.agent("bot", &eve).await;
    asked(world, &eve.token, &rea).await.refused(403, "not_allowed");
    asked(world, &bot.token, &rea).await.refused(403, "insufficient_scope");
    asked(world, "", &rea).await.refused(401, "unauthenticated");
    let (_, stranger) = world.tenant("other").await;
    asked(world, &stranger.token, &rea).await.refused(404, "not_found");
    assert_eq!(world.database.number("SELECT count(*) FROM invitation").await, 0);
}

async fn invitation_repeated_reveals_no_secret(world: &World) {
    let rea = newcomer(world, "Rea").await;
    let key = [("idempotency-key", "same")];
    let path = path_of(&rea);
    let first = world.send("POST", &world.admin.token, &path, None, &key).await.expect(201);
    let again = world.send("POST", &world.admin.token, &path, None, &key).await;
    assert!(again.is_repeated);
    let again = again.expect(201);
    assert_eq!((&again["invitation"], &again["url"]), (&Value::Null, &Value::Null));
    assert_eq!(again["expires_at"], first["expires_at"]);
    world.accept(first["invitation"].as_str().unwrap()).await.0.expect(204);
}

#[tokio::test]
async fn invitation_unknown_used_or_expired_gets_one_answer() {
    let world = World::new().await;
    let [rea, sam] = [newcomer(&world, "Rea").await, newcomer(&world, "Sam").await];
    let used = world.invite(&world.admin, &rea).await;
    world.accept(&used).await.0.expect(204);
    let expired = world.invite(&world.admin, &sam).await;
    let sql = format!(
        "UPDATE invitation SET created_at = created_at - interval '{0} s',
                expires_at = expires_at - interval '{0} s'",
        INVITATION_TTL.as_secs()
    );
    world.database.run(&sql).await;
    // This invitation is well-formed, but its key id and secret do not exist.
    let unknown = ade_engine::services::secrets::issue(ade_core::token::TokenKind::Invitation)
        .unwrap()
        .reveal();
    let answer = refused(&world, &used).await;
    for other in [&*expired, &unknown, "none", "", &world.admin.token] {
        assert_eq!(refused(&world, other).await, answer);
    }
    assert_eq!(changes(&world, &sam).await, ["invitation.create", "user.create"]);
}

#[tokio::test]
async fn invitation_replaced_by_a_newer_one_is_refused() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let first = world.invite(&world.admin, &rea).await;
    let second = world.invite(&world.admin, &rea).await;
    refused(&world, &first).await;
    world.accept(&second).await.0.expect(204);
}

#[tokio::test]
async fn invitation_of_a_deactivated_person_is_refused() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let invitation = world.invite(&world.admin, &rea).await;
    let path = format!("/v1/users/{rea}");
    let off = Some(json!({ "active": false }));
    world.send("PATCH", &world.admin.token, &path, off, &[]).await.expect(200);
    refused(&world, &invitation).await;
    let problem = asked(&world, &world.admin.token, &rea).await.refused(409, "not_invitable");
    assert!(problem["detail"].as_str().unwrap().contains("deactivated"), "{problem}");
}

#[tokio::test]
async fn invitation_of_a_person_with_a_passkey_is_refused() {
    let world = World::new().await;
    let ada = world.person("Ada", &["reviewer"]).await;
    // Without an open session the person can be invited; the token then enrols a passkey.
    world.database.run("UPDATE token SET revoked_at = now() WHERE idle_until IS NOT NULL").await;
    let invitation = world.invite(&world.admin, &ada.id).await;
    enrol(&world, &ada).await;
    refused(&world, &invitation).await;
    let problem = asked(&world, &world.admin.token, &ada.id).await.refused(409, "not_invitable");
    assert!(problem["detail"].as_str().unwrap().contains("reset"), "{problem}");
}

#[tokio::test]
async fn invitation_of_a_person_who_is_signed_in_is_refused() {
    let world = World::new().await;
    let ada = world.person("Ada", &["reviewer"]).await;
    let problem = asked(&world, &world.admin.token, &ada.id).await.refused(409, "not_invitable");
    assert!(problem["detail"].as_str().unwrap().contains("signed in"), "{problem}");
}

#[tokio::test]
async fn invitation_of_a_person_with_a_provider_is_refused() {
    let world = World::new().await;
    let asks = json!({ "name": "Ivo", "issuer": "https://id.example.org", "subject": "ivo" });
    let ivo = world.post(&world.admin.token, "/v1/users", asks).await.expect(201);
    let problem = asked(&world, &world.admin.token, id(&ivo)).await.refused(409, "not_invitable");
    assert!(problem["detail"].as_str().unwrap().contains("identity provider"), "{problem}");
}

#[tokio::test]
async fn invitation_as_bearer_or_cookie_is_refused() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let invitation = world.invite(&world.admin, &rea).await;
    world.get(&invitation, "/v1/me").await.refused(401, "unauthenticated");
    let offer = json!({ "name": "ring" });
    let as_bearer = world.post(&invitation, "/v1/passkeys", offer).await;
    as_bearer.refused(401, "unauthenticated");
    let cookie = format!("__Host-ade_s={invitation}");
    browse(&world, &cookie, "GET", "/v1/me", None).await.refused(401, "unauthenticated");
    world.accept(&invitation).await.0.expect(204);
}

#[tokio::test]
async fn invitation_accepted_from_another_site_is_refused() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let invitation = world.invite(&world.admin, &rea).await;
    for headers in [&[][..], &[("x-ade-request", "1"), ("sec-fetch-site", "cross-site")]] {
        let body = Some(json!({ "invitation": invitation }));
        world.send("POST", "", ACCEPT, body, headers).await.refused(403, "cross_site");
    }
    world.accept(&invitation).await.0.expect(204);
}

#[tokio::test]
async fn invitation_accepted_at_the_same_time_opens_one_session() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let invitation = world.invite(&world.admin, &rea).await;
    let answers = join_all((0..8).map(|_| world.accept(&invitation))).await;
    let opened = answers.iter().filter(|(_, cookie)| cookie.is_some()).count();
    assert_eq!(opened, 1);
    for (answer, cookie) in answers {
        match cookie {
            Some(_) => drop(answer.expect(204)),
            None => drop(answer.refused(400, "invitation_not_valid")),
        }
    }
    let sql = "SELECT count(*) FROM token WHERE idle_until IS NOT NULL";
    assert_eq!(world.database.number(sql).await, 1);
}

#[tokio::test]
async fn invitation_reported_as_leaked_is_refused() {
    let world = World::new().await;
    let rea = newcomer(&world, "Rea").await;
    let invitation = world.invite(&world.admin, &rea).await;
    let reported = world.post("", "/v1/tokens/report-leak", json!({ "token": invitation })).await;
    assert_eq!(reported.status, 204);
    refused(&world, &invitation).await;
}

#[tokio::test]
async fn invitation_guessed_too_often_is_rate_limited() {
    let open = Rate { per_minute: 1, burst: 3 };
    let rates = ade_engine::services::rate_limiter::RateLimitSettings { open, ..unlimited() };
    let world = World::fitted(TestServerOptions { rates, ..LockBackend::Off.into() }).await;
    for _ in 0..3 {
        refused(&world, "none").await;
    }
    world.accept("none").await.0.refused(429, "rate_limited");
}
