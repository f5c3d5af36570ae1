//! Authority that is new: roles that were just granted, passkeys that were enrolled after a reset,
//! and people whom only one admin knows. None of them decides alone about a task of high risk.

use std::time::Duration;

use ade_core::ids::UserId;
use serde_json::{Value, json};

use crate::authenticator::{Authenticator, add, enrol};
use crate::coverage::cases;
use crate::executions::{claim, runner};
use crate::rule_changes::{end_setup, publish};
use crate::world::{Answer, LockBackend, Person, TestServerOptions, World, id, path_of, seen};

cases! {
    person_is_confirmed_by_an_admin_who_did_not_invite_them:
        Happy "POST /v1/users/{id}/confirm",
        Denied "POST /v1/users/{id}/confirm",
        Conflict "POST /v1/users/{id}/confirm";
}

const DAY: Duration = Duration::from_hours(24);

async fn approve(world: &World, who: &Person, task: &Value) -> Answer {
    world.post(&who.token, &format!("{}/approve", path_of(task)), seen(task)).await
}

/// Approves with a passkey.
async fn approve_with(
    world: &World,
    who: &Person,
    key: &mut Authenticator,
    task: &Value,
) -> Answer {
    let asked = approve(world, who, task).await.refused(403, "step_up_required");
    key.confirm(world, &who.token, &asked["step_up"]).await.expect(200);
    approve(world, who, task).await
}

/// Sets the time at which this person was granted all their roles.
async fn granted(world: &World, who: &Person, ago: &str) {
    let user = who.id.parse::<UserId>().unwrap().uuid();
    let sql = format!("UPDATE user_role SET granted_at = moment() - interval '{ago}'");
    world.database.run(&format!("{sql} WHERE user_id = '{user}'")).await;
}

async fn marks(world: &World, who: &Person, task: &Value) -> Value {
    let path = format!("{}/approvals", path_of(task));
    let found = world.get(&who.token, &path).await.expect(200);
    found["votes"][0]["marks"].clone()
}

/// The marks that the audit entry of the approval has.
async fn audited(world: &World, task: &Value) -> Value {
    let path = format!("/v1/audit?object={}", id(task));
    let found = world.get(&world.admin.token, &path).await.expect(200);
    let mut entries = found["items"].as_array().unwrap().iter().map(|item| &item["leaf"]);
    let vote = entries.find(|entry| entry["what"]["action"] == "task.approve").unwrap();
    vote["marks"].clone()
}

async fn two_reviewers(world: &World) -> (Person, Person) {
    world.policy("name: one\nrequire: [{roles: [reviewer], min: 1}]\n").await;
    let author = world.person("Bob", &["author"]).await;
    (author, world.person("Rea", &["reviewer"]).await)
}

#[tokio::test]
async fn new_role_does_not_decide_about_high_risk() {
    let world = World::new().await;
    let (author, rea) = two_reviewers(&world).await;
    end_setup(&world).await;
    granted(&world, &rea, "1 hour").await;
    let task = world.reviewing(&author, "this").await;
    assert_eq!(task["risk"]["level"], "high", "{task}");
    let refused = approve(&world, &rea, &task).await.refused(403, "role_too_new");
    assert_eq!(refused["role"], "reviewer");
    assert!(refused["counts_from"].is_string(), "{refused}");
    assert_eq!(world.refusals(id(&task), "task.approve").await, 1);
    world.pass(DAY).await;
    assert_eq!(approve(&world, &rea, &task).await.expect(200)["state"], "APPROVED");
    assert_eq!(marks(&world, &author, &task).await, json!([]));
}

#[tokio::test]
async fn new_role_in_setup_decides_and_marks_the_vote() {
    let world = World::new().await;
    let (author, rea) = two_reviewers(&world).await;
    granted(&world, &rea, "1 hour").await;
    let task = world.reviewing(&author, "this").await;
    approve(&world, &rea, &task).await.expect(200);
    assert_eq!(marks(&world, &author, &task).await, json!(["new_role"]));
    assert_eq!(audited(&world, &task).await, json!(["new_role"]));
}

#[tokio::test]
async fn permit_for_high_risk_is_refused_for_new_roles() {
    let world = World::new().await;
    let (author, rea) = two_reviewers(&world).await;
    let bot = runner(&world, "infra-bot", &author).await;
    end_setup(&world).await;
    let task = world.approved(&author, &rea, "this").await;
    // A role that was revoked and granted again is new.
    granted(&world, &rea, "1 hour").await;
    let claimed = claim(&world, &bot, json!({})).await.expect(200);
    assert_eq!(claimed["permit"], Value::Null, "{claimed}");
    assert_eq!(world.task(&author, &task).await["state"], "SUBMITTED");
}

#[tokio::test]
async fn passkey_after_a_reset_does_not_decide_about_high_risk() {
    let world = World::new().await;
    let (author, rea) = two_reviewers(&world).await;
    let second = world.person("Second", &["admin"]).await;
    enrol(&world, &rea).await;
    let mut admin = enrol(&world, &world.admin).await;
    let mut other = enrol(&world, &second).await;
    end_setup(&world).await;
    let path = format!("/v1/users/{}/passkeys", rea.id);
    let reset = async || world.send("DELETE", &world.admin.token, &path, None, &[]).await;
    let asked = reset().await.refused(403, "step_up_required");
    admin.confirm(&world, &world.admin.token, &asked["step_up"]).await.expect(200);
    let pending = reset().await.expect(202);
    let path = format!("/v1/pending-changes/{}/publish", id(&pending));
    let asked = world.post(&second.token, &path, Value::Null).await;
    let asked = asked.refused(403, "step_up_required");
    other.confirm(&world, &second.token, &asked["step_up"]).await.expect(200);
    world.post(&second.token, &path, Value::Null).await.expect(200);

    let mut new = enrol(&world, &rea).await;
    let task = world.reviewing(&author, "this").await;
    let refused = approve_with(&world, &rea, &mut new, &task).await;
    let refused = refused.refused(403, "passkey_too_new");
    assert!(refused["counts_from"].is_string(), "{refused}");
    assert_eq!(world.refusals(id(&task), "task.approve").await, 1, "the refusal is recorded");

    // A passkey that the new one confirms waits as long.
    let offer = world.post(&rea.token, "/v1/passkeys", json!({ "name": "later" })).await;
    let asked = offer.refused(403, "step_up_required");
    new.confirm(&world, &rea.token, &asked["step_up"]).await.expect(200);
    let mut later = Authenticator::new();
    add(&world, &rea.token, &later).await.expect(201);
    let refused = approve_with(&world, &rea, &mut later, &task).await;
    refused.refused(403, "passkey_too_new");

    world.pass(DAY).await;
    let voted = approve_with(&world, &rea, &mut later, &task).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
}

#[tokio::test]
async fn passkey_after_a_reset_in_setup_marks_the_vote() {
    let world = World::new().await;
    let (author, rea) = two_reviewers(&world).await;
    enrol(&world, &rea).await;
    let mut admin = enrol(&world, &world.admin).await;
    let path = format!("/v1/users/{}/passkeys", rea.id);
    let reset = async || world.send("DELETE", &world.admin.token, &path, None, &[]).await;
    let asked = reset().await.refused(403, "step_up_required");
    admin.confirm(&world, &world.admin.token, &asked["step_up"]).await.expect(200);
    reset().await.expect(200);
    let mut new = enrol(&world, &rea).await;
    let task = world.reviewing(&author, "this").await;
    approve_with(&world, &rea, &mut new, &task).await.expect(200);
    assert_eq!(marks(&world, &author, &task).await, json!(["new_passkey"]));
}

/// Creates a person with a role as if a second admin had published that, who then joins by an
/// invitation that the first admin could read.
async fn joined(world: &World, name: &str, roles: &[&str]) -> Person {
    let person = world.person(name, roles).await;
    let user = person.id.parse::<UserId>().unwrap().uuid();
    // The person joins again, with an invitation of the admin.
    let ended = format!("UPDATE token SET revoked_at = moment() WHERE user_id = '{user}'");
    world.database.run(&ended).await;
    let invitation = world.invite(&world.admin, &person.id).await;
    let (answer, cookie) = world.accept(&invitation).await;
    answer.expect(204);
    let headers = [&[("cookie", cookie.as_deref().unwrap())], crate::world::OWN_PAGE.as_slice()];
    let asked = Some(json!({ "scopes": crate::world::NO_AUTHORITY }));
    let token = world.send("POST", "", "/v1/tokens", asked, &headers.concat()).await.expect(201);
    let token = token["token"].as_str().unwrap().to_owned();
    world.widen(&token).await;
    Person { id: person.id, token }
}

#[tokio::test]
async fn unconfirmed_person_counts_as_the_admin_who_invited_them() {
    let world = World::new().await;
    world.policy("name: two\nrequire: [{roles: [reviewer, admin], min: 2}]\n").await;
    let author = world.person("Bob", &["author"]).await;
    let second = world.person("Second", &["admin"]).await;
    end_setup(&world).await;
    let rea = joined(&world, "Rea", &["reviewer"]).await;
    let task = world.reviewing(&author, "this").await;
    approve(&world, &rea, &task).await.expect(200);
    let voted = approve(&world, &world.admin, &task).await.expect(200);
    assert_eq!(voted["state"], "REVIEWING", "both votes are those of one person");
    assert_eq!(marks(&world, &author, &task).await, json!(["unconfirmed"]));
    assert_eq!(audited(&world, &task).await, json!([]), "of the admin");

    // What the admin proposes cannot be approved with the account either.
    let own = world.reviewing(&world.admin, "own").await;
    approve(&world, &rea, &own).await.refused(403, "self_approval");

    let path = format!("/v1/users/{}/confirm", rea.id);
    world.post(&second.token, &path, Value::Null).await.expect(200);
    let task = world.reviewing(&author, "that").await;
    approve(&world, &rea, &task).await.expect(200);
    let voted = approve(&world, &world.admin, &task).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
}

#[tokio::test]
async fn unconfirmed_person_in_setup_votes_with_a_mark() {
    let world = World::new().await;
    let (author, _) = two_reviewers(&world).await;
    let sam = joined(&world, "Sam", &["reviewer"]).await;
    let task = world.reviewing(&author, "this").await;
    assert_eq!(approve(&world, &sam, &task).await.expect(200)["state"], "APPROVED");
    assert_eq!(marks(&world, &author, &task).await, json!(["unconfirmed"]));
    assert_eq!(audited(&world, &task).await, json!(["unconfirmed"]));
    let shown = world.get(&author.token, &format!("/v1/users/{}", sam.id)).await.expect(200);
    assert_eq!(shown["unconfirmed"]["invited_by"], json!(world.admin.id));
    // One admin cannot confirm whom they invited, not even in setup.
    let path = format!("/v1/users/{}/confirm", sam.id);
    let pending = world.post(&world.admin.token, &path, Value::Null).await.expect(202);
    assert_eq!(pending["kind"], "user.confirm");
    assert!(pending["takes_effect_at"].is_string(), "there is one admin: {pending}");
}

/// The setup is over once a second admin has joined, even before the next change to the rules.
#[tokio::test]
async fn person_who_joins_after_a_second_admin_is_linked() {
    let world = World::new().await;
    world.person("Second", &["admin"]).await;
    enrol(&world, &world.admin).await;
    let rea = joined(&world, "Rea", &["reviewer"]).await;
    let shown = world.get(&rea.token, &format!("/v1/users/{}", rea.id)).await.expect(200);
    assert_eq!(shown["alias_ids"], json!([world.admin.id]));
}

async fn person_is_confirmed_by_an_admin_who_did_not_invite_them(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    end_setup(world).await;
    let rea = joined(world, "Rea", &["reviewer", "admin"]).await;
    let path = format!("/v1/users/{}/confirm", rea.id);
    let bot = world.agent("bot", &second).await;
    world.post(&bot.token, &path, Value::Null).await.refused(403, "insufficient_scope");
    let eve = world.person("Eve", &["reviewer"]).await;
    world.post(&eve.token, &path, Value::Null).await.refused(403, "not_allowed");
    // Neither the person nor the admin who invited them confirms at once.
    for involved in [&rea, &world.admin] {
        let pending = world.post(&involved.token, &path, Value::Null).await.expect(202);
        assert!(pending["findings"].to_string().contains("count as two people"), "{pending}");
        let publish = format!("/v1/pending-changes/{}/publish", id(&pending));
        for other in [&rea, &world.admin] {
            world.post(&other.token, &publish, Value::Null).await.refused(403, "not_allowed");
        }
    }
    let mut key = enrol(world, &second).await;
    let asked = world.post(&second.token, &path, Value::Null).await;
    let asked = asked.refused(403, "step_up_required");
    assert_eq!(asked["step_up"]["purpose"], "confirm_person");
    key.confirm(world, &second.token, &asked["step_up"]).await.expect(200);
    let confirmed = world.post(&second.token, &path, Value::Null).await.expect(200);
    assert_eq!(confirmed["unconfirmed"], Value::Null);
    assert_eq!(confirmed["alias_ids"], json!([]));
    key.confirm(
        world,
        &second.token,
        &json!({
            "purpose": "confirm_person", "about": [{ "id": rea.id }]
        }),
    )
    .await
    .expect(200);
    world.post(&second.token, &path, Value::Null).await.refused(409, "closed");
}

#[tokio::test]
async fn person_confirmed_by_publication_counts_on_their_own() {
    let world = World::new().await;
    let second = world.person("Second", &["admin"]).await;
    end_setup(&world).await;
    let rea = joined(&world, "Rea", &["reviewer"]).await;
    let path = format!("/v1/users/{}/confirm", rea.id);
    let pending = world.post(&world.admin.token, &path, Value::Null).await.expect(202);
    publish(&world, &second, &pending).await.expect(200);
    let shown = world.get(&second.token, &format!("/v1/users/{}", rea.id)).await.expect(200);
    assert_eq!((&shown["unconfirmed"], &shown["alias_ids"]), (&Value::Null, &json!([])));
}

/// Accounts that belong together for another reason stay linked after the confirmation.
#[tokio::test]
async fn person_confirmed_keeps_a_link_of_another_kind() {
    let world = World::new().await;
    let second = world.person("Second", &["admin"]).await;
    end_setup(&world).await;
    let rea = joined(&world, "Rea", &["reviewer"]).await;
    let aliases = format!("/v1/users/{}/aliases", rea.id);
    let alias = json!({ "alias_id": world.admin.id });
    world.post(&second.token, &aliases, alias).await.expect(200);
    let path = format!("/v1/users/{}/confirm", rea.id);
    let pending = world.post(&second.token, &path, Value::Null).await;
    let confirmed = pending.expect(200);
    assert_eq!(confirmed["alias_ids"], json!([world.admin.id]));
}

/// The admin cannot read an invitation that is sent by mail.
#[tokio::test]
async fn invitation_by_mail_is_not_shown_and_needs_no_confirmation() {
    let mail = crate::messages::MailServer::start().await;
    let options = TestServerOptions { mail: Some(mail.url.clone()), ..LockBackend::Off.into() };
    let world = World::fitted(options).await;
    end_setup(&world).await;
    let asked = json!({ "name": "Rea", "email": "rea@example.org" });
    let rea = world.post(&world.admin.token, "/v1/users", asked).await.expect(201);
    let path = format!("/v1/users/{}/invitations", id(&rea));
    let made = world.send("POST", &world.admin.token, &path, None, &[]).await.expect(201);
    assert_eq!((&made["invitation"], &made["url"]), (&Value::Null, &Value::Null));
    assert_eq!(made["sent_to"], "rea@example.org");
    world.work("message_sender").await;
    let invitation = mail.invitation("rea@example.org");
    let (answer, cookie) = world.accept(&invitation).await;
    answer.expect(204);
    assert!(cookie.is_some());
    let shown = world.get(&world.admin.token, &format!("/v1/users/{}", id(&rea))).await;
    let shown = shown.expect(200);
    assert_eq!((&shown["unconfirmed"], &shown["alias_ids"]), (&Value::Null, &json!([])));

    let sam = world.post(&world.admin.token, "/v1/users", json!({ "name": "Sam" })).await;
    let path = format!("/v1/users/{}/invitations", id(&sam.expect(201)));
    let refused = world.send("POST", &world.admin.token, &path, None, &[]).await;
    let refused = refused.refused(409, "not_invitable");
    assert!(refused["detail"].as_str().unwrap().contains("no mail address"), "{refused}");
}

#[tokio::test]
async fn invitation_by_mail_that_was_replaced_is_not_sent() {
    let mail = crate::messages::MailServer::start().await;
    let options = TestServerOptions { mail: Some(mail.url.clone()), ..LockBackend::Off.into() };
    let world = World::fitted(options).await;
    let asked = json!({ "name": "Rea", "email": "rea@example.org" });
    let rea = world.post(&world.admin.token, "/v1/users", asked).await.expect(201);
    let path = format!("/v1/users/{}/invitations", id(&rea));
    world.send("POST", &world.admin.token, &path, None, &[]).await.expect(201);
    let accepted = world.mailed_invitation(id(&rea)).await;
    world.accept(&accepted).await.0.expect(204);
    world.work("message_sender").await;
    assert_eq!(mail.count(), 0, "the invitation was accepted before the message was sent");
}
