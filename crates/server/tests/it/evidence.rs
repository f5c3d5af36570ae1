//! The audit log over HTTP. Admins and auditors read all of it, other callers only the entries of
//! tasks that they took part in.

use std::time::Duration;

use ade_core::change::Digest;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id};

cases! {
    audit_log_shows_who_did_what: Happy "GET /v1/audit";
    audit_log_for_others_has_only_their_own_tasks: Denied "GET /v1/audit";
}

async fn audit_log_shows_who_did_what(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let ann = world.person("Ann", &["auditor"]).await;
    let task = world.draft(&bob, "x").await;
    let read = async |query: &str| {
        let path = format!("/v1/audit?{query}");
        world.get(&ann.token, &path).await.expect(200)["items"].as_array().unwrap().clone()
    };
    let leaves = read(&format!("object={}", id(&task))).await;
    assert_eq!(leaves.len(), 1);
    let leaf = &leaves[0]["leaf"];
    assert_eq!(leaf["what"]["action"], "task.create");
    assert!(leaf["who"].to_string().contains(&bob.id), "{leaf}");
    assert_eq!(leaf["where"]["service"], "http", "{leaf}");
    let origin = &leaves[0]["origin"];
    assert_eq!(origin["address"], "127.0.0.1", "{origin}");
    let bytes = serde_json_canonicalizer::to_vec(origin).unwrap();
    assert_eq!(leaf["where"]["origin"], Digest::of(&bytes).to_string(), "the entry hashes it");
    assert!(!leaf.to_string().contains("127.0.0.1"), "the address can be erased: {leaf}");
    let by_bob = read(&format!("user_id={}", bob.id)).await;
    assert_eq!(by_bob[0], leaves[0]);
    let mut actions: Vec<&Value> =
        by_bob.iter().map(|item| &item["leaf"]["what"]["action"]).collect();
    actions.sort_by_key(ToString::to_string);
    // The person signed in through an invitation, and created a token of their own.
    assert_eq!(actions, ["invitation.accept", "session.begin", "task.create", "token.create"]);
    let all = read("").await;
    let is_before =
        |pair: &[Value]| pair[0]["leaf"]["when"].as_str() >= pair[1]["leaf"]["when"].as_str();
    assert!(all.len() > 4 && all.windows(2).all(is_before), "newest first");
    let when = leaf["when"].as_str().unwrap();
    let later = read(&format!("from={}", when.replace(':', "%3A"))).await;
    assert!(later.contains(&leaves[0]) && later.len() < all.len());
    let earlier = read(&format!("to={}", when.replace(':', "%3A"))).await;
    assert!(!earlier.contains(&leaves[0]) && earlier.len() < all.len());
    // A refusal has an audit entry as well, and refusals can be listed alone.
    let freeze = json!({ "scope": "tenant", "reason": "x" });
    world.post(&bob.token, "/v1/freezes", freeze).await.refused(403, "not_allowed");
    let refused = read("kind=refusal").await;
    let actions: Vec<_> = refused.iter().map(|one| &one["leaf"]["what"]["action"]).collect();
    assert_eq!(actions, ["freeze.set"]);
    assert!(refused[0]["leaf"]["why"]["reason"].is_string(), "{refused:?}");
    let changes = read("kind=change").await;
    assert!(changes.contains(&leaves[0]) && !changes.contains(&refused[0]));
    let wrong = "kind=success".to_owned();
    for bad in [format!("user_id={}&agent_id=x", bob.id), "from=yesterday".to_owned(), wrong] {
        let response = world.get(&ann.token, &format!("/v1/audit?{bad}")).await;
        response.refused(400, "invalid_query");
    }
}

#[tokio::test]
async fn audit_log_records_who_read_it() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let ann = world.person("Ann", &["auditor"]).await;
    let task = world.draft(&bob, "x").await;
    let read = async |who: &Person, query: &str| {
        world.get(&who.token, &format!("/v1/audit?{query}")).await.expect(200)
    };
    let reads = async || {
        let found = read(&ann, "kind=disclosure").await;
        let items = found["items"].as_array().unwrap();
        items.iter().map(|item| item["leaf"]["who"].clone()).collect::<Vec<Value>>()
    };
    // The entries of one object are not the log.
    read(&ann, &format!("object={}", id(&task))).await;
    read(&bob, &format!("object={}", id(&task))).await;
    let first = read(&ann, "page_size=2").await;
    assert_eq!(reads().await.len(), 1);
    // Further pages and reads within the hour are the same disclosure.
    let next = first["next_page_token"].as_str().unwrap();
    read(&ann, &format!("page_size=2&page_token={next}")).await;
    read(&ann, "").await;
    let found = reads().await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains(&ann.id), "{found:?}");
    read(&world.admin, "").await;
    assert_eq!(reads().await.len(), 2, "each reader leaves an entry");
    world.pass(Duration::from_hours(2)).await;
    read(&ann, "").await;
    assert_eq!(reads().await.len(), 3);
}

async fn audit_log_for_others_has_only_their_own_tasks(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let task = world.reviewing(&bot, "x").await;
    let path = format!("/v1/audit?object={}", id(&task));
    for who in [&bob, &bot, &rea] {
        let leaves = world.get(&who.token, &path).await.expect(200);
        assert_eq!(leaves["items"].as_array().unwrap().len(), 3, "{leaves}");
    }
    world.get(&eve.token, &path).await.refused(403, "not_allowed");
    for who in [&bob, &bot, &rea, &eve] {
        world.get(&who.token, "/v1/audit").await.refused(403, "not_allowed");
        let others = format!("/v1/audit?user_id={}", bob.id);
        world.get(&who.token, &others).await.refused(403, "not_allowed");
    }
    let nothing = "/v1/audit?object=task_00000000000000000000000000";
    world.get(&eve.token, nothing).await.refused(404, "not_found");
    assert_eq!(world.get(&world.admin.token, nothing).await.expect(200)["items"], json!([]));
}
