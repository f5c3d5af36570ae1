//! Filters, orders and pages of the list of tasks, and how large lists are sent.

use ade_core::time::Timestamp;
use serde_json::Value;

use crate::world::{Person, World, id};

/// Returns the titles of all pages of a list.
async fn titles(world: &World, who: &Person, query: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut path = format!("/v1/tasks?page_size=2{query}");
    loop {
        let page = world.get(&who.token, &path).await.expect(200);
        for task in page["items"].as_array().unwrap() {
            found.push(task["title"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next_page_token"].as_str() else { return found };
        path = format!("/v1/tasks?page_size=2{query}&page_token={next}");
    }
}

async fn created_at(world: &World, task: &Value) -> Timestamp {
    let path = format!("/v1/tasks/{}", id(task));
    let shown = world.get(&world.admin.token, &path).await.expect(200);
    shown["created_at"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn task_list_combines_filters_and_orders() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let first = world.draft(&bob, "Deploy the shop").await;
    let second = world.draft(&eve, "Deploy the cart").await;
    let third = world.draft(&bot, "Restart the shop").await;
    world.submit(&bob, &first).await;
    let admin = &world.admin;

    let all = ["Restart the shop", "Deploy the cart", "Deploy the shop"];
    assert_eq!(titles(&world, admin, "").await, all);
    let oldest: Vec<&str> = all.into_iter().rev().collect();
    assert_eq!(titles(&world, admin, "&sort=oldest").await, oldest);
    assert_eq!(titles(&world, admin, "&state=DRAFT").await, all[..2]);
    let both = titles(&world, admin, "&state=draft&state=SUBMITTED&sort=oldest").await;
    assert_eq!(both, oldest, "a parameter can be repeated, in any case");
    assert_eq!(titles(&world, admin, "&q=SHOP&sort=oldest").await, [oldest[0], oldest[2]]);
    assert_eq!(titles(&world, admin, "&q=%25").await, Vec::<String>::new());
    assert_eq!(titles(&world, &bob, "&mine=true").await, [all[0], all[2]]);
    assert_eq!(titles(&world, &bot, "&mine=true").await, [all[0]]);
    assert_eq!(titles(&world, &eve, "&mine=true&q=shop").await, Vec::<String>::new());

    let at = created_at(&world, &second).await;
    assert_eq!(titles(&world, admin, &format!("&created_from={at}")).await, all[..2]);
    assert_eq!(titles(&world, admin, &format!("&created_before={at}")).await, all[2..]);
    let end = created_at(&world, &third).await;
    let period = format!("&created_from={at}&created_before={end}");
    assert_eq!(titles(&world, admin, &period).await, all[1..2]);
}

#[tokio::test]
async fn task_list_with_contradicting_filters_is_refused() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    for query in [
        &format!("mine=true&author_id={}", bob.id),
        "q=",
        "q=%20",
        &format!("q={}", "x".repeat(201)),
        "sort=risk",
        "state=DRAFT&state=OPEN",
        "mine=true&mine=true",
        "created_from=yesterday",
    ] {
        let answer = world.get(&bob.token, &format!("/v1/tasks?{query}")).await;
        answer.refused(400, "invalid_query");
    }
}

#[tokio::test]
async fn list_response_links_to_its_next_page() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..3 {
        world.draft(&bob, &format!("task {number}")).await;
    }
    let mut path = "/v1/tasks?state=DRAFT&page_size=1".to_owned();
    let mut found = Vec::new();
    loop {
        let request = world.rig.request("GET", &path).bearer_auth(&bob.token);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let link = response.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let page: Value = response.json().await.unwrap();
        let titles = page["items"].as_array().unwrap().iter().map(|task| task["title"].clone());
        found.extend(titles);
        assert_eq!(link.is_some(), page["next_page_token"].is_string(), "{link:?}");
        let Some(link) = link else { break };
        let target = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
        target.clone_into(&mut path);
    }
    assert_eq!(found, ["task 2", "task 1", "task 0"]);
}

#[tokio::test]
async fn large_response_is_compressed_on_request_only() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..20 {
        world.draft(&bob, &format!("task {number}")).await;
    }
    let sent = async |path: &str, accepted: &str| {
        let request = world.rig.request("GET", path).bearer_auth(&bob.token);
        let response = request.header("accept-encoding", accepted).send().await.unwrap();
        let encoding = response.headers().get("content-encoding").cloned();
        (encoding, response.bytes().await.unwrap())
    };
    let (encoding, plain) = sent("/v1/tasks", "identity").await;
    assert!(encoding.is_none() && plain.len() > 8 * 1024, "{} bytes", plain.len());
    let (encoding, packed) = sent("/v1/tasks", "gzip").await;
    assert_eq!(encoding.unwrap(), "gzip");
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() * 3 < plain.len());
    let (encoding, _) = sent("/v1/me", "gzip").await;
    assert!(encoding.is_none(), "small responses are sent as they are");
}
