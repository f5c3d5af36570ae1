//! A permit is checked again when its holder begins: freezes, roles and policies that changed after
//! it was granted stop the attempt, its locks are released, and the task goes where it belongs.

use ade_engine::command::installation_freeze;
use ade_testkit::Database;
use serde_json::{Value, json};

use crate::executions::{claim, permit, runner, say};
use crate::previews::{change, target};
use crate::world::{Answer, Person, World, id};

const LOCK: &str = "/v1/locks/database/orders";

struct Stage {
    world: World,
    bob: Person,
    rea: Person,
    bot: Person,
}

impl Stage {
    async fn new() -> Self {
        let world = World::new().await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let bot = runner(&world, "infra-bot", &bob).await;
        Self { world, bob, rea, bot }
    }

    /// Returns a permit for a new task that is approved.
    async fn permit(&self) -> Value {
        self.world.approved(&self.bob, &self.rea, "Add a currency").await;
        let held = permit(&self.world, &self.bot).await;
        self.world.get(&self.bob.token, LOCK).await.expect(200);
        held
    }

    async fn begin(&self, held: &Value) -> Answer {
        say(&self.world, &self.bot, held, "begin", json!({})).await
    }

    /// Checks that the attempt has ended without a beginning, and that the task is in this state.
    async fn assert_withdrawn(&self, held: &Value, why: &str, state: &str) {
        let path = format!("/v1/executions/{}", held["execution_id"].as_str().unwrap());
        let ended = self.world.get(&self.bob.token, &path).await.expect(200);
        assert_eq!((&ended["outcome"], &ended["begun_at"]), (&json!("lost"), &Value::Null));
        assert_eq!(ended["left_behind"], "nothing");
        assert!(ended["error"].as_str().unwrap().contains(why), "{ended}");
        assert_eq!(self.world.task(&self.bob, &held["task"]).await["state"], state);
        for verb in ["begin", "heartbeat", "finish"] {
            let late = say(&self.world, &self.bot, held, verb, json!({})).await;
            late.refused(409, "lease_lost");
        }
        // A lock that is neither held nor wanted does not exist.
        let lock = self.world.get(&self.bob.token, LOCK).await;
        lock.refused(404, "not_found");
        let path = format!("/v1/audit?object={}", id(&held["task"]));
        let entries = self.world.get(&self.world.admin.token, &path).await.expect(200);
        let last = &entries["items"][0]["leaf"];
        assert_eq!(last["what"]["action"], "task.withdraw_permit", "{last}");
    }

    async fn voters(&self) -> usize {
        self.world.work("review_opener").await;
        let pending = self.world.get(&self.rea.token, "/v1/approvals").await.expect(200);
        pending["items"].as_array().unwrap().len()
    }
}

#[tokio::test]
async fn begin_during_a_freeze_waits_for_the_thaw() {
    let stage = Stage::new().await;
    let world = &stage.world;
    let entry = json!({ "criticality": 50, "environment": "prod", "owner_id": world.admin.id });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    let mut held = stage.permit().await;
    for scope in [
        json!({ "scope": "tenant" }),
        json!({ "scope": "environment", "target": "prod" }),
        json!({ "scope": "resources", "target": "database:*" }),
    ] {
        let mut body = scope.clone();
        body["reason"] = json!("INC-7");
        let freeze = world.post(&world.admin.token, "/v1/freezes", body).await.expect(201);
        let refused = stage.begin(&held).await.refused(409, "frozen");
        assert_eq!(refused["reason"], "INC-7", "{scope}: {refused}");
        stage.assert_withdrawn(&held, "INC-7", "APPROVED").await;
        let path = format!("/v1/freezes/{}", id(&freeze));
        world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
        held = permit(world, &stage.bot).await;
        assert_eq!(held["attempt"], 1, "a freeze is no failed attempt");
    }
    stage.begin(&held).await.expect(200);
    say(world, &stage.bot, &held, "finish", json!({})).await.expect(200);
}

#[tokio::test]
async fn begin_during_an_installation_freeze_is_refused() {
    let stage = Stage::new().await;
    let held = stage.permit().await;
    let url = stage.world.database.url();
    installation_freeze::freeze(&url, "Ops", "INC-9: all of it").await.unwrap();
    let refused = stage.begin(&held).await.refused(409, "frozen");
    assert_eq!(refused["scope"], "installation", "{refused}");
    stage.assert_withdrawn(&held, "INC-9: all of it", "APPROVED").await;
    installation_freeze::thaw(&url, "Ops", "it is over").await.unwrap();
    let held = permit(&stage.world, &stage.bot).await;
    stage.begin(&held).await.expect(200);
}

#[tokio::test]
async fn begin_after_a_voter_lost_the_role_reopens_the_review() {
    let stage = Stage::new().await;
    let held = stage.permit().await;
    let path = format!("/v1/users/{}/roles", stage.rea.id);
    let none = Some(json!({ "roles": ["author"] }));
    stage.world.send("PUT", &stage.world.admin.token, &path, none, &[]).await.expect(200);
    stage.begin(&held).await.refused(409, "basis_lost");
    stage.assert_withdrawn(&held, "approvals missing", "SUBMITTED").await;
}

#[tokio::test]
async fn begin_under_a_tightened_policy_reopens_the_review() {
    let stage = Stage::new().await;
    let world = &stage.world;
    let second = world.person("Second", &["admin"]).await;
    let held = stage.permit().await;
    let two = "name: two\nrequire: [{roles: [reviewer, admin], min: 2}]\n";
    let draft = json!({ "document": two });
    let draft = world.post(&world.admin.token, "/v1/policies", draft).await.expect(201);
    let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
    world.send("POST", &second.token, &path, None, &[]).await.expect(200);
    stage.begin(&held).await.refused(409, "basis_lost");
    stage.assert_withdrawn(&held, "approvals missing", "SUBMITTED").await;
    world.work("review_opener").await;
    let task = world.task(&stage.bob, &held["task"]).await;
    assert_eq!(task["state"], "REVIEWING", "one more vote is needed");
}

/// A permit for a script whose effect the server observes on `orders`.
async fn observed(stage: &Stage) -> (Database, Value) {
    let orders = target(&stage.world).await;
    let script = change("orders", "UPDATE sale SET amount = amount + 1 WHERE id <= 3");
    let task = stage.world.post(&stage.bob.token, "/v1/tasks", script).await.expect(201);
    stage.world.submit(&stage.bob, &task).await;
    stage.world.work("review_opener").await;
    let task = stage.world.task(&stage.bob, &task).await;
    stage.world.approve(&stage.rea, &task).await;
    (orders, permit(&stage.world, &stage.bot).await)
}

#[tokio::test]
async fn begin_on_a_table_with_a_new_trigger_is_drift() {
    let stage = Stage::new().await;
    let (orders, held) = observed(&stage).await;
    orders
        .run(
            "CREATE FUNCTION shop.nothing() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN NEW.amount := 0; RETURN NEW; END';
             CREATE TRIGGER takes_all BEFORE UPDATE ON shop.sale
                 FOR EACH ROW EXECUTE FUNCTION shop.nothing()",
        )
        .await;
    let refused = stage.begin(&held).await.refused(409, "effect_drifted");
    let of = |name: &str| refused[name].clone();
    assert_eq!((of("approved"), of("moved")), (of("found"), json!(["database:orders"])));
    let path = format!("/v1/executions/{}", held["execution_id"].as_str().unwrap());
    let ended = stage.world.get(&stage.bob.token, &path).await.expect(200);
    assert_eq!(ended["outcome"], "drifted");
    assert!(ended["error"].as_str().unwrap().contains("`database:orders` changed"), "{ended}");
    assert_eq!(stage.voters().await, 1, "the vote was about another table");
    let task = stage.world.task(&stage.rea, &held["task"]).await;
    assert_eq!((&task["state"], &task["revision"]), (&json!("REVIEWING"), &json!(2)));
    assert_eq!(task["digest"], held["task"]["digest"]);
    stage.world.approve(&stage.rea, &task).await;
    let held = claim(&stage.world, &stage.bot, json!({})).await.expect(200)["permit"].clone();
    stage.begin(&held).await.expect(200);
}

#[tokio::test]
async fn begin_on_unchanged_tables_is_no_drift() {
    let stage = Stage::new().await;
    let (_orders, held) = observed(&stage).await;
    stage.begin(&held).await.expect(200);
}
