//! Requests that wait for a task to change, in the same or another process; and lists in pages.

use std::time::{Duration, Instant};

use ade_engine::workers::{Driver, WorkerPlan};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::world::{LockBackend, World, path_of, quoted};

#[tokio::test]
async fn wait_ends_when_another_process_changes_the_task() {
    let world = World::new().await;
    let other = world.beside().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "x").await;
    let watching = Driver::watch(&world.app);
    let began = Instant::now();
    let waits = async {
        let path = format!("{}?wait=55s&since_version=1", path_of(&task));
        world.get(&bob.token, &path).await
    };
    let moves = async {
        while world.app.watch.wanted().is_empty() {
            tokio::task::yield_now().await;
        }
        let asked = other.request("POST", &format!("{}/submit", path_of(&task)));
        let asked = asked.header("authorization", format!("Bearer {}", bob.token));
        let moved = asked.header("if-match", quoted(&task)).send().await.unwrap();
        assert_eq!(moved.status(), 202);
    };
    let (answer, ()) = tokio::join!(waits, moves);
    assert_eq!(answer.etag.as_deref(), Some("\"2\""));
    let seen = answer.expect(200);
    assert_eq!((&seen["state"], &seen["timed_out"]), (&json!("SUBMITTED"), &json!(false)));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    watching.stop().await;
}

#[tokio::test]
async fn wait_until_decided_passes_over_other_changes() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.draft(&bob, "x").await;
    world.submit(&bob, &task).await;
    let watching = Driver::watch(&world.app);
    let waits = async {
        let path = format!("{}?wait=55s&until=decided", path_of(&task));
        world.get(&bob.token, &path).await.expect(200)
    };
    let moves = async {
        while world.app.watch.wanted().is_empty() {
            tokio::task::yield_now().await;
        }
        world.work("review_opener").await;
        let task = world.task(&bob, &task).await;
        assert_eq!(task["state"], "REVIEWING");
        world.approve(&rea, &task).await;
    };
    let (decided, ()) = tokio::join!(waits, moves);
    assert_eq!((&decided["state"], &decided["timed_out"]), (&json!("APPROVED"), &json!(false)));
    assert_eq!((&decided["is_decided"], &decided["is_final"]), (&json!(true), &json!(false)));
    let path = format!("{}?wait=1s&until=ended", path_of(&task));
    let open = world.get(&bob.token, &path).await.expect(200);
    assert_eq!((&open["state"], &open["timed_out"]), (&json!("APPROVED"), &json!(true)));
    let path = format!("{}?wait=1s&until=later", path_of(&task));
    world.get(&bob.token, &path).await.refused(400, "invalid_query");
    watching.stop().await;
}

/// Far below the time that polling the database would take for this number of changes.
const MOVES: u64 = 6;
const BY_EVENTS: Duration = Duration::from_secs(4);

async fn events_end_waits_in_time(world: &World) {
    let other = world.beside().await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let first = task["version"].as_u64().unwrap();
    let watching = Driver::watch(&world.app);
    let (period, lease) = (Duration::from_mins(1), Duration::from_secs(30));
    let relay = WorkerPlan { run: vec!["relay".to_owned()], period, lease };
    let relaying = Driver::start(&world.another_app(), &relay);
    let mut took = Duration::ZERO;
    for version in first..first + MOVES {
        let waits = async {
            let path = format!("{}?wait=55s&since_version={version}", path_of(&task));
            world.get(&bob.token, &path).await.expect(200)
        };
        let moves = async {
            while world.app.watch.wanted().is_empty() {
                tokio::task::yield_now().await;
            }
            let asked = other.json(&format!("{}/comments", path_of(&task)), r#"{"text":"x"}"#);
            let asked = asked.header("authorization", format!("Bearer {}", bob.token));
            assert_eq!(asked.send().await.unwrap().status(), 201);
            Instant::now()
        };
        let (seen, moved_at) = tokio::join!(waits, moves);
        took += moved_at.elapsed();
        assert_eq!((&seen["version"], &seen["timed_out"]), (&json!(version + 1), &json!(false)));
        while !world.app.watch.wanted().is_empty() {
            tokio::task::yield_now().await;
        }
    }
    assert!(took < BY_EVENTS, "{took:?}");
    relaying.stop().await;
    watching.stop().await;
}

#[tokio::test]
async fn events_from_another_process_end_waits_in_time() {
    events_end_waits_in_time(
        &World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await,
    )
    .await;
}

#[tokio::test]
async fn events_without_redis_end_waits_in_time() {
    events_end_waits_in_time(&World::new().await).await;
}

#[tokio::test]
async fn wait_in_the_changing_process_needs_no_polling() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "x").await;
    let waits =
        async { world.get(&bob.token, &format!("{}?wait=55s", path_of(&task))).await.expect(200) };
    let moves = async {
        while world.app.watch.wanted().is_empty() {
            tokio::task::yield_now().await;
        }
        world.submit(&bob, &task).await;
    };
    let (seen, ()) = tokio::join!(waits, moves);
    assert_eq!((&seen["version"], &seen["timed_out"]), (&json!(2), &json!(false)));
}

#[tokio::test]
async fn wait_times_out_and_an_old_version_returns_at_once() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "x").await;
    let watching = Driver::watch(&world.app);
    let path = path_of(&task);
    let began = Instant::now();
    let seen = world.get(&bob.token, &format!("{path}?wait=1s")).await.expect(200);
    assert_eq!((&seen["timed_out"], &seen["version"]), (&json!(true), &json!(1)));
    assert!(began.elapsed() >= Duration::from_secs(1));
    let began = Instant::now();
    let past = format!("{path}?wait=55s&since_version=0");
    let seen = world.get(&bob.token, &past).await.expect(200);
    assert_eq!(seen["timed_out"], false);
    assert!(began.elapsed() < Duration::from_secs(20));
    for bad in
        ["56s", "1m", "0m", "007", "0000ms", "56", "-1s", "1.5s", "s", "99999999999999999999s"]
    {
        let response = world.get(&bob.token, &format!("{path}?wait={bad}")).await;
        response.refused(400, "invalid_query");
    }
    let eve = world.person("Eve", &["author"]).await;
    let bot = world.agent("eves", &eve).await;
    let hidden = world.get(&bot.token, &format!("{path}?wait=1s&since_version=1")).await;
    hidden.refused(404, "not_found");
    watching.stop().await;
}

/// Reads a list in pages of two and returns the field `key` of each item.
async fn walk(world: &World, token: &str, path: &str, key: &str) -> Vec<Value> {
    let mut walked = Vec::new();
    let mut next = String::new();
    let join = if path.contains('?') { '&' } else { '?' };
    loop {
        let page = format!("{path}{join}page_size=2{next}");
        let page = world.get(token, &page).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2, "{page}");
        walked.extend(items.iter().map(|item| item[key].clone()));
        match page["next_page_token"].as_str() {
            Some(token) => {
                assert_eq!(items.len(), 2, "only the last page is short: {page}");
                next = format!("&page_token={token}");
            }
            None => return walked,
        }
    }
}

/// Asserts that a list in pages of two has the same items as in one page.
async fn assert_walked(world: &World, token: &str, path: &str, key: &str, count: usize) {
    let whole = world.get(token, path).await.expect(200);
    assert_eq!(whole["next_page_token"], Value::Null);
    let whole = whole["items"].as_array().unwrap().iter().map(|item| item[key].clone());
    let whole: Vec<Value> = whole.collect();
    assert_eq!(whole.len(), count, "{path}: {whole:?}");
    assert_eq!(walk(world, token, path, key).await, whole, "{path}");
}

#[tokio::test]
async fn lists_return_every_item_once_in_pages() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    world.person("Eve", &["author"]).await;
    let admin = &world.admin.token;
    let mut last = Value::Null;
    for number in 0..5 {
        world.agent(&format!("bot {number}"), &bob).await;
        let path = format!("/v1/resources/database/d{number}");
        world.send("PUT", admin, &path, Some(json!({})), &[]).await.expect(200);
        last = world.reviewing(&bob, &format!("task {number}")).await;
    }
    let comments = format!("{}/comments", path_of(&last));
    for text in ["a", "b", "c", "d", "e"] {
        world.post(&rea.token, &comments, json!({ "text": text })).await.expect(201);
    }
    for (path, key, count) in [
        ("/v1/tasks", "id", 5),
        ("/v1/tasks?state=REVIEWING", "id", 5),
        ("/v1/tasks?resource=database:orders", "id", 5),
        ("/v1/users", "id", 4),
        ("/v1/agents", "id", 5),
        ("/v1/resources", "resource", 5),
        (&*comments, "text", 5),
        ("/v1/approvals", "id", 5),
        ("/v1/audit?object=none", "id", 0),
    ] {
        let token = if path.starts_with("/v1/approvals") { &rea.token } else { admin };
        assert_walked(&world, token, path, key, count).await;
    }
    let audit = walk(&world, admin, "/v1/audit", "id").await;
    let unique: std::collections::BTreeSet<String> = audit.iter().map(Value::to_string).collect();
    assert_eq!(unique.len(), audit.len());
    assert!(audit.len() > 30, "{}", audit.len());
}

#[tokio::test]
async fn page_token_continues_only_its_own_list() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..3 {
        world.draft(&bob, &format!("task {number}")).await;
    }
    let (_, stranger) = world.tenant("other").await;
    let page = world.get(&bob.token, "/v1/tasks?page_size=2").await.expect(200);
    let token = page["next_page_token"].as_str().unwrap();
    let asked = |filter: &str| format!("/v1/tasks?page_size=2&page_token={token}{filter}");
    world.get(&bob.token, &asked("")).await.expect(200);
    for (who, path) in [
        (&bob, asked("&state=DRAFT")),
        (&bob, asked("&tag=x")),
        (&stranger, asked("")),
        (&bob, format!("/v1/users?page_token={token}")),
        (&bob, "/v1/tasks?page_token=x".to_owned()),
    ] {
        world.get(&who.token, &path).await.refused(400, "invalid_page_token");
    }
}

/// Creates five tokens, group role mappings, delegations and after-reviews, and returns the paths
/// of their lists with the fields that identify an item.
async fn five_of_each(world: &World) -> [(String, &'static str); 4] {
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    for number in 0..5 {
        world.draft(&bob, &format!("task {number}")).await;
        let later = format!("210{number}-01-01T00:00:00Z");
        let asked = json!({ "delegate_id": bob.id, "kind": "transfer", "expires_at": later });
        world.post(&rea.token, "/v1/delegations", asked).await.expect(201);
    }
    // All have the same time, so the order cannot depend on it.
    let owed = "INSERT INTO after_review (tenant_id, task_id, opened_at, due_at)
                SELECT tenant_id, id, now(), now() FROM task";
    world.database.run(owed).await;
    for _ in 0..4 {
        let asked = json!({ "user_id": bob.id, "scopes": ["read"] });
        let made = world.post(admin, "/v1/tokens", asked).await.expect(201);
        let revoke = format!("/v1/tokens/{}", made["key_id"].as_str().unwrap());
        world.send("DELETE", admin, &revoke, None, &[]).await.expect(200);
    }
    // The order of these issuers depends on the collation.
    for issuer in ["https://a", "https://B", "https://c\u{1}", "https://C", "https://é"] {
        let body = json!({ "issuer": issuer, "groups": { "dba": ["a", "b"], "ops": ["c"] } });
        let response = world.send("PUT", admin, "/v1/group-roles", Some(body.clone()), &[]).await;
        assert_eq!(response.expect(200), body);
    }
    [
        (format!("/v1/tokens?user_id={}", bob.id), "key_id"),
        ("/v1/group-roles".to_owned(), "issuer"),
        (format!("/v1/delegations?owner_id={}", rea.id), "id"),
        ("/v1/after-reviews".to_owned(), "id"),
    ]
}

#[tokio::test]
async fn user_lists_return_every_item_once_in_pages() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let lists = five_of_each(&world).await;
    for (path, key) in &lists {
        assert_walked(&world, admin, path, key, 5).await;
        let join = if path.contains('?') { '&' } else { '?' };
        for size in [0, 201] {
            let asked = format!("{path}{join}page_size={size}");
            world.get(admin, &asked).await.refused(400, "invalid_query");
        }
    }
    // The lists of another tenant are empty.
    let (_, stranger) = world.tenant("other").await;
    for path in ["/v1/group-roles", "/v1/after-reviews", "/v1/delegations"] {
        assert_walked(&world, &stranger.token, path, "id", 0).await;
    }
}

#[tokio::test]
async fn user_list_page_token_continues_only_its_own_list() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let lists = five_of_each(&world).await;
    let mut others: Vec<String> = lists.iter().map(|(path, _)| path.clone()).collect();
    // The same list of another user is a different list.
    others.extend(["/v1/tokens", "/v1/delegations"].map(str::to_owned));
    let at = |path: &str, asked: &str| {
        let join = if path.contains('?') { '&' } else { '?' };
        format!("{path}{join}{asked}")
    };
    for (path, _) in &lists {
        let page = world.get(admin, &at(path, "page_size=2")).await.expect(200);
        let token = page["next_page_token"].as_str().unwrap();
        let next = format!("page_token={token}");
        for other in &others {
            let answer = world.get(admin, &at(other, &next)).await;
            if other == path {
                assert_eq!(answer.expect(200)["items"].as_array().unwrap().len(), 3);
            } else {
                answer.refused(400, "invalid_page_token");
            }
        }
    }
}

/// A caller with a forged page token skips a part of their own list and breaks nothing.
#[tokio::test]
async fn page_token_with_a_nul_character_is_refused() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let lists = five_of_each(&world).await;
    for (path, _) in &lists[..2] {
        let join = if path.contains('?') { '&' } else { '?' };
        let page = world.get(admin, &format!("{path}{join}page_size=2")).await.expect(200);
        let token = page["next_page_token"].as_str().unwrap();
        let mut place: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        for (text, status) in [("\\u0000", 200), ("\0", 400)] {
            let key = if place["k"].is_object() { &mut place["k"]["id"] } else { &mut place["k"] };
            *key = json!(text);
            let forged = URL_SAFE_NO_PAD.encode(place.to_string());
            let asked = format!("{path}{join}page_token={forged}");
            assert_eq!(world.get(admin, &asked).await.status, status, "{path} {text:?}");
        }
    }
}
