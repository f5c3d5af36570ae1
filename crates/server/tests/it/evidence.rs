//! The audit over HTTP: whole for admins and auditors, for others that of a task they had a part
//! in.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{World, id};

cases! {
    the_audit_tells_who_did_what: Happy "GET /v1/audit";
    others_read_of_what_they_had_a_part_in: Denied "GET /v1/audit";
}

async fn the_audit_tells_who_did_what(world: &World) {
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
    assert_eq!(leaf["where"]["address"], "127.0.0.1", "{leaf}");
    let by_bob = read(&format!("user={}", bob.id)).await;
    assert_eq!(by_bob, leaves);
    let all = read("").await;
    let is_before =
        |pair: &[Value]| pair[0]["leaf"]["when"].as_str() >= pair[1]["leaf"]["when"].as_str();
    assert!(all.len() > 4 && all.windows(2).all(is_before), "newest first");
    let when = leaf["when"].as_str().unwrap();
    let later = read(&format!("from={}", when.replace(':', "%3A"))).await;
    assert!(later.contains(&leaves[0]) && later.len() < all.len());
    let earlier = read(&format!("to={}", when.replace(':', "%3A"))).await;
    assert!(!earlier.contains(&leaves[0]) && earlier.len() < all.len());
    for bad in [format!("user={}&agent=x", bob.id), "from=yesterday".to_owned()] {
        let told = world.get(&ann.token, &format!("/v1/audit?{bad}")).await;
        told.refused(400, "invalid_query");
    }
}

async fn others_read_of_what_they_had_a_part_in(world: &World) {
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
        let others = format!("/v1/audit?user={}", bob.id);
        world.get(&who.token, &others).await.refused(403, "not_allowed");
    }
    let nothing = "/v1/audit?object=task_00000000000000000000000000";
    world.get(&eve.token, nothing).await.refused(404, "not_found");
    assert_eq!(world.get(&world.admin.token, nothing).await.expect(200)["items"], json!([]));
}
