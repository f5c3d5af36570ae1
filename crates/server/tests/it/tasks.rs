//! Tasks can be read by the people of the tenant and the agents involved, and by no one else.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{World, path_of, plan};

cases! {
    task_is_read_through_every_route:
        Happy "GET /v1/tasks/{id}",
        Happy "GET /v1/tasks/{id}/revisions",
        Happy "GET /v1/tasks/{id}/revisions/{revision}",
        Happy "GET /v1/tasks/{id}/risk",
        Happy "GET /v1/tasks/{id}/explain",
        Happy "GET /v1/tasks/{id}/approvals";
    task_is_hidden_from_agents_of_other_owners:
        Denied "GET /v1/tasks/{id}",
        Denied "GET /v1/tasks/{id}/revisions",
        Denied "GET /v1/tasks/{id}/revisions/{revision}",
        Denied "GET /v1/tasks/{id}/risk",
        Denied "GET /v1/tasks/{id}/explain",
        Denied "GET /v1/tasks/{id}/approvals";
    tasks_are_filtered_by_their_attributes: Happy "GET /v1/tasks";
    task_list_needs_the_read_scope: Denied "GET /v1/tasks";
}

const SIDES: [&str; 6] = ["", "/revisions", "/revisions/1", "/risk", "/explain", "/approvals"];

async fn task_is_read_through_every_route(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let path = path_of(&task);
    let read = async |side: &str| world.get(&rea.token, &format!("{path}{side}")).await.expect(200);
    assert_eq!(read("").await["timed_out"], false);
    let revisions = read("/revisions").await;
    assert_eq!(revisions["items"].as_array().unwrap().len(), 1);
    let one = read("/revisions/1").await;
    assert_eq!(one["digest"], task["digest"]);
    assert_eq!(revisions["items"][0]["digest"], task["digest"]);
    assert_eq!(one["effect"], task["effect"]);
    let risk = read("/risk").await;
    assert_eq!((&risk["score"], &risk["level"]), (&task["risk"]["score"], &task["risk"]["level"]));
    let shares = risk["factors"].as_array().unwrap().iter();
    assert!(shares.clone().all(|factor| factor["sentence"].is_string()), "{risk}");
    let weights: u64 = shares.map(|factor| factor["weight_bp"].as_u64().unwrap()).sum();
    assert_eq!(weights, 10_000, "{risk}");
    let explained = read("/explain").await;
    assert_eq!(
        (&explained["state"], &explained["approvals_missing"]),
        (&json!("REVIEWING"), &json!(1))
    );
    let asked = read("/approvals").await;
    let asked: Vec<&Value> = asked["approvals"].as_array().unwrap().iter().collect();
    assert!(asked.iter().any(|request| request["reviewer_id"] == json!(rea.id)), "{asked:?}");
    assert!(asked.iter().all(|request| request["status"] == "PENDING"), "{asked:?}");
    let gone = world.get(&rea.token, &format!("{path}/revisions/2")).await;
    gone.refused(404, "not_found");
}

async fn task_is_hidden_from_agents_of_other_owners(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = world.agent("reas-bot", &rea).await;
    let task = world.reviewing(&bob, "x").await;
    for side in SIDES {
        let path = format!("{}{side}", path_of(&task));
        world.get(&bot.token, &path).await.refused(404, "not_found");
        world.get("", &path).await.refused(401, "unauthenticated");
    }
    let seen = world.get(&bot.token, "/v1/tasks").await.expect(200);
    assert_eq!(seen["items"], json!([]));
    let seen = world.get(&bot.token, &format!("/v1/tasks?author_id={}", bob.id)).await.expect(200);
    assert_eq!(seen["items"], json!([]));
}

async fn tasks_are_filtered_by_their_attributes(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bobs-bot", &bob).await;
    let eve = world.person("Eve", &["author"]).await;
    let mut tagged = plan("tagged");
    tagged["tags"] = json!(["night"]);
    tagged["type"] = json!("dns.change");
    tagged["resources"] = json!([{ "resource": "dns:example" }]);
    tagged["plan"]["changes"][0]["resource"] = json!("dns:example");
    world.post(&bot.token, "/v1/tasks", tagged).await.expect(201);
    world.draft(&bob, "bobs").await;
    let eves = world.draft(&eve, "eves").await;
    world.submit(&eve, &eves).await;
    let found = async |query: &str| {
        let list = world.get(&bob.token, &format!("/v1/tasks?{query}")).await.expect(200);
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("").await, ["eves", "bobs", "tagged"], "newest first");
    assert_eq!(found("state=DRAFT").await, ["bobs", "tagged"]);
    assert_eq!(found(&format!("author_id={}", bob.id)).await, ["bobs", "tagged"]);
    assert_eq!(found(&format!("agent_id={}", bot.id)).await, ["tagged"]);
    assert_eq!(found("tag=night").await, ["tagged"]);
    assert_eq!(found("type=dns.change").await, ["tagged"]);
    assert_eq!(found("resource=dns:example").await, ["tagged"]);
    assert_eq!(found("state=SUBMITTED&resource=database:orders").await, ["eves"]);
    assert_eq!(found("level=Critical").await, [""; 0]);
    for bad in ["state=NONE", "author_id=bob", "colour=red", "page_size=0", "page_size=201"] {
        let response = world.get(&bob.token, &format!("/v1/tasks?{bad}")).await;
        response.refused(400, "invalid_query");
    }
    // The database stores versions in 63 bits, so this one is out of range.
    for counts in ["/v1/approvals?since_version", "/v1/events?after"] {
        let response = world.get(&bob.token, &format!("{counts}=9223372036854775808")).await;
        response.refused(400, "invalid_query");
    }
}

async fn task_list_needs_the_read_scope(world: &World) {
    let asked = json!({ "scopes": ["propose"] });
    let made = world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201);
    let token = made["token"].as_str().unwrap();
    let problem = world.get(token, "/v1/tasks").await.refused(403, "insufficient_scope");
    assert_eq!(problem["required_scope"], "read");
}
