//! Callers who wait for a task to move, here or by another process.

use std::time::{Duration, Instant};

use ade_engine::work::{Driver, Plan};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::world::{Line, World, path_of, quoted};

#[tokio::test]
async fn a_wait_ends_when_another_process_moves_the_task() {
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

/// Far below what the slow look at the record would take for so many in a row.
const MOVES: u64 = 6;
const BY_EVENTS: Duration = Duration::from_secs(4);

async fn events_wake_those_who_wait_in_time(world: &World) {
    let other = world.beside().await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let first = task["version"].as_u64().unwrap();
    let watching = Driver::watch(&world.app);
    let (period, lease) = (Duration::from_mins(1), Duration::from_secs(30));
    let relay = Plan { run: vec!["relay".to_owned()], period, lease };
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
async fn events_of_another_process_wake_those_who_wait_in_time() {
    events_wake_those_who_wait_in_time(&World::locking(Line::redis(Line::SETTINGS).await).await)
        .await;
}

#[tokio::test]
async fn events_wake_those_who_wait_in_time_without_redis_too() {
    events_wake_those_who_wait_in_time(&World::new().await).await;
}

#[tokio::test]
async fn a_wait_in_the_process_that_moves_it_needs_no_look_at_the_record() {
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
async fn a_wait_in_vain_says_so_and_one_for_the_past_ends_at_once() {
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
    for bad in ["56s", "1", "-1s", "1.5s", "s", "99999999999999999999s"] {
        let told = world.get(&bob.token, &format!("{path}?wait={bad}")).await;
        told.refused(400, "invalid_query");
    }
    let eve = world.person("Eve", &["author"]).await;
    let bot = world.agent("eves", &eve).await;
    let hidden = world.get(&bot.token, &format!("{path}?wait=1s&since_version=1")).await;
    hidden.refused(404, "not_found");
    watching.stop().await;
}

/// Everything of a list in pages of two, by what tells the items apart.
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

/// In pages of two there is the same as in one.
async fn assert_walked(world: &World, token: &str, path: &str, key: &str, count: usize) {
    let whole = world.get(token, path).await.expect(200);
    assert_eq!(whole["next_page_token"], Value::Null);
    let whole = whole["items"].as_array().unwrap().iter().map(|item| item[key].clone());
    let whole: Vec<Value> = whole.collect();
    assert_eq!(whole.len(), count, "{path}: {whole:?}");
    assert_eq!(walk(world, token, path, key).await, whole, "{path}");
}

#[tokio::test]
async fn every_list_gives_everything_once_in_pages_of_two() {
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
async fn a_page_token_continues_only_its_own_list() {
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

/// Tokens, roles by groups, delegations and owed reviews: five of each for one who asks.
async fn five_of_each(world: &World) -> [(String, &'static str); 4] {
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    for number in 0..5 {
        world.draft(&bob, &format!("task {number}")).await;
        let later = format!("210{number}-01-01T00:00:00Z");
        let asked = json!({ "delegate_to": bob.id, "kind": "transfer", "expires_at": later });
        world.post(&rea.token, "/v1/delegations", asked).await.expect(201);
    }
    // All in one moment, as far as their order goes by it.
    let owed = "INSERT INTO after_review (tenant_id, task_id, opened_at, due_at)
                SELECT tenant_id, id, now(), now() FROM task";
    world.database.run(owed).await;
    for _ in 0..4 {
        let asked = json!({ "user": bob.id, "scopes": ["read"] });
        let made = world.post(admin, "/v1/tokens", asked).await.expect(201);
        let revoke = format!("/v1/tokens/{}", made["key_id"].as_str().unwrap());
        world.send("DELETE", admin, &revoke, None, &[]).await.expect(200);
    }
    // Whose order depends on who sorts.
    for issuer in ["https://a", "https://B", "https://c\u{1}", "https://C", "https://é"] {
        let body = json!({ "issuer": issuer, "groups": { "dba": ["a", "b"], "ops": ["c"] } });
        let told = world.send("PUT", admin, "/v1/group-roles", Some(body.clone()), &[]).await;
        assert_eq!(told.expect(200), body);
    }
    [
        (format!("/v1/tokens?user={}", bob.id), "key_id"),
        ("/v1/group-roles".to_owned(), "issuer"),
        (format!("/v1/delegations?owner={}", rea.id), "id"),
        ("/v1/after-reviews".to_owned(), "id"),
    ]
}

#[tokio::test]
async fn what_people_have_is_given_once_in_pages_of_two() {
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
    // Nothing of these lists is another tenant's.
    let (_, stranger) = world.tenant("other").await;
    for path in ["/v1/group-roles", "/v1/after-reviews", "/v1/delegations"] {
        assert_walked(&world, &stranger.token, path, "id", 0).await;
    }
}

#[tokio::test]
async fn a_page_of_what_people_have_continues_only_its_own_list() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let lists = five_of_each(&world).await;
    let mut others: Vec<String> = lists.iter().map(|(path, _)| path.clone()).collect();
    // The same list of somebody else is another one.
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

/// Whoever forges where a page begins skips a part of their own list, and breaks nothing.
#[tokio::test]
async fn a_page_that_begins_with_what_no_text_holds_is_refused() {
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
