//! Tasks are named by their id or by their number, which belongs to the tenant of the caller.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, seen};

cases! {
    task_number_names_the_task_on_every_route:
        Happy "GET /v1/tasks/{id}",
        Happy "POST /v1/tasks/{id}/comments",
        Happy "GET /v1/tasks/{id}/revisions/{revision}",
        Happy "POST /v1/tasks/{id}/approve",
        Happy "POST /v1/tasks/{id}/cancel";
    task_number_of_another_tenant_is_not_found:
        Denied "GET /v1/tasks/{id}";
}

async fn task_number_names_the_task_on_every_route(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    world.draft(&bob, "First").await;
    let task = world.reviewing(&bob, "Second").await;
    let number = task["number"].as_i64().unwrap();
    let forms = [format!("T-{number}"), format!("t-{number}"), number.to_string()];
    for form in &forms {
        let found = world.get(&bob.token, &format!("/v1/tasks/{form}")).await.expect(200);
        assert_eq!(found["id"], task["id"], "{form}");
        let rest = ["/explain", "/approvals", "/risk", "/comments", "/executions", "/revisions/1"];
        for rest in rest {
            world.get(&bob.token, &format!("/v1/tasks/{form}{rest}")).await.expect(200);
        }
    }
    let path = format!("/v1/tasks/T-{number}");
    world
        .post(&bob.token, &format!("{path}/comments"), json!({ "text": "hello" }))
        .await
        .expect(201);
    world.post(&rea.token, &format!("{path}/approve"), seen(&task)).await.expect(200);
    assert_eq!(world.task(&bob, &task).await["state"], "APPROVED");
    world.post(&bob.token, &format!("{path}/cancel"), json!({})).await.expect(200);
    assert_eq!(world.task(&bob, &task).await["state"], "CANCELLED");

    let by_id = audited(world, &world.admin, id(&task)).await;
    assert!(by_id.iter().any(|action| action == "task.cancel"), "{by_id:?}");
    for form in &forms {
        assert_eq!(audited(world, &world.admin, form).await, by_id, "{form}");
        // Others read the entries of a task that they took part in, and of no other.
        assert_eq!(audited(world, &bob, form).await, by_id, "{form}");
        let asked = format!("/v1/delegations/resolve?task_id={form}");
        world.get(&bob.token, &asked).await.expect(200);
    }
    let other = format!("/v1/audit?object=T-{}", number + 1);
    world.get(&world.admin.token, &other).await.refused(404, "not_found");
}

async fn audited(world: &World, who: &Person, object: &str) -> Vec<String> {
    let found = world.get(&who.token, &format!("/v1/audit?object={object}")).await.expect(200);
    let items = found["items"].as_array().unwrap().iter();
    items.map(|item| item["leaf"]["what"]["action"].as_str().unwrap().to_owned()).collect()
}

async fn task_number_of_another_tenant_is_not_found(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "Only").await;
    let (_, stranger) = world.tenant("stranger").await;
    let path = format!("/v1/tasks/T-{}", task["number"]);
    world.get(&stranger.token, &path).await.refused(404, "not_found");
    let own = world.draft(&stranger, "Theirs").await;
    assert_eq!(own["number"], task["number"], "each tenant counts from 1");
    let found = world.get(&stranger.token, &path).await.expect(200);
    assert_eq!(found["id"], own["id"]);
    world.get(&stranger.token, &path_of(&task)).await.refused(404, "not_found");
    let cancelled = world.post(&stranger.token, &format!("{path}/cancel"), json!({})).await;
    cancelled.expect(200);
    assert_eq!(world.task(&bob, &task).await["state"], "DRAFT");

    for unknown in ["T-99", "t-99", "99", "T-0", "0", "-1", "T", "T-", "T8", "T-1x", "task_1"] {
        let path = format!("/v1/tasks/{unknown}");
        let missing = world.get(&bob.token, &path).await.refused(404, "not_found");
        assert_ne!(missing["detail"], Value::Null);
    }
    // A person who may not read the task does not learn that its number is taken.
    let eve = world.person("Eve", &[]).await;
    let hidden = world.get(&eve.token, &path).await;
    let unknown = world.get(&eve.token, "/v1/tasks/T-99").await;
    if hidden.status != 200 {
        let details =
            [hidden, unknown].map(|answer| answer.refused(404, "not_found")["detail"].clone());
        assert_eq!(details[0], details[1]);
    }
}
