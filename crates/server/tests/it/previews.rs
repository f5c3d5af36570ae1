//! Previews on a real database: they report the observed effect, leave no trace, and are repeated
//! when a task is submitted.

use ade_testkit::Database;
use serde_json::{Value, json};

use crate::world::{Answer, Person, World, path_of, plan};

const TABLES: &str = "CREATE TABLE shop.sale (
         id int PRIMARY KEY, item text NOT NULL, amount numeric NOT NULL DEFAULT 1);
     INSERT INTO shop.sale SELECT n, 'item ' || n FROM generate_series(1, 10) n;";

const SCRIPT: &str = "ALTER TABLE sale ADD COLUMN currency text NOT NULL DEFAULT 'EUR';
    INSERT INTO sale (id, item) VALUES (11, 'a'), (12, 'b');
    UPDATE sale SET currency = 'USD' WHERE id <= 3;
    DELETE FROM sale WHERE id = 4";

/// Creates the preview target, with a login that owns only its tables.
pub async fn target(world: &World) -> Database {
    let target = world.database.beside("orders").await;
    let login = format!("{}_preview", world.database.name());
    target
        .run(&format!(
            "CREATE ROLE {login} LOGIN PASSWORD 'x';
             CREATE SCHEMA shop AUTHORIZATION {login};
             SET ROLE {login};
             {TABLES}
             RESET ROLE;
             ALTER ROLE {login} SET search_path = shop"
        ))
        .await;
    target
}

pub async fn fingerprint(target: &Database) -> i64 {
    target
        .number(
            "SELECT hashtextextended(concat_ws(' ',
                 (SELECT string_agg(s::text, ',' ORDER BY id) FROM shop.sale s),
                 (SELECT string_agg(concat_ws(' ', c.oid, c.relname, c.relfilenode), ','
                         ORDER BY c.oid) FROM pg_class c
                   WHERE c.relnamespace = 'shop'::regnamespace),
                 (SELECT string_agg(concat_ws(' ', a.attrelid, a.attname, a.atttypid), ','
                         ORDER BY a.attrelid, a.attnum) FROM pg_attribute a
                    JOIN pg_class c ON c.oid = a.attrelid
                   WHERE c.relnamespace = 'shop'::regnamespace)), 0)",
        )
        .await
}

pub fn change(target: &str, sql: &str) -> Value {
    json!({
        "title": "Change sales", "type": "sql.change",
        "parameters": { "target": target, "sql": sql },
        "resources": [{ "resource": "database:orders", "mode": "exclusive" }],
    })
}

async fn propose(world: &World, author: &Person, sql: &str) -> Answer {
    world.post(&author.token, "/v1/tasks", change("orders", sql)).await
}

fn summaries(task: &Value) -> Vec<&str> {
    let changes = task["effect"]["changes"].as_array().unwrap().iter();
    let mut summaries: Vec<&str> = changes.map(|it| it["summary"].as_str().unwrap()).collect();
    summaries.sort_unstable();
    summaries
}

#[tokio::test]
async fn preview_reports_effects_and_leaves_no_trace() {
    let world = World::new().await;
    let target = target(&world).await;
    let before = fingerprint(&target).await;
    let bob = world.person("Bob", &["author"]).await;
    let task = propose(&world, &bob, SCRIPT).await.expect(201);
    assert_eq!(fingerprint(&target).await, before);
    let effect = &task["effect"];
    assert_eq!((&effect["origin"], &effect["errors"]), (&json!("observed"), &json!([])));
    let found = summaries(&task);
    for expected in ["delete 1 row(s)", "insert 2 row(s)", "update 3 row(s)", "column"] {
        assert!(found.iter().any(|it| it.contains(expected)), "{expected}: {found:?}");
    }
    let irreversible = effect["counts"]["irreversible"].as_u64().unwrap();
    assert_eq!(irreversible, 2, "the updated and the deleted rows: {effect}");
    assert_eq!(effect["counts"]["removes"], 1, "{effect}");
    let submitted = world.submit(&bob, &task).await;
    assert_eq!((&submitted["revision"], &submitted["digest"]), (&json!(1), &task["digest"]));
    assert_eq!(fingerprint(&target).await, before);
}

#[tokio::test]
async fn preview_of_a_failing_script_reports_the_error() {
    let world = World::new().await;
    let target = target(&world).await;
    let before = fingerprint(&target).await;
    let bob = world.person("Bob", &["author"]).await;
    let sql = "DELETE FROM sale; INSERT INTO sale VALUES (1, NULL, 1)";
    let task = propose(&world, &bob, sql).await.expect(201);
    let errors = task["effect"]["errors"].as_array().unwrap();
    assert!(errors[0].as_str().unwrap().contains("SQLSTATE 23502"), "{errors:?}");
    assert_eq!(task["effect"]["changes"], json!([]), "a failed script has no effect");
    let sql = "SELECTED 1; COMMIT";
    let task = propose(&world, &bob, sql).await.expect(201);
    assert!(!task["effect"]["errors"].as_array().unwrap().is_empty());
    assert_eq!(fingerprint(&target).await, before);
}

#[tokio::test]
async fn preview_needs_a_known_target_named_as_a_resource() {
    let world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let post = async |body: Value| world.post(&bob.token, "/v1/tasks", body).await;
    let problem = post(change("elsewhere", "SELECT 1")).await.refused(422, "invalid_body");
    assert_eq!(problem["path"], "parameters.target");
    let mut unnamed = change("orders", "SELECT 1");
    unnamed["resources"] = json!([{ "resource": "database:other" }]);
    assert_eq!(post(unnamed).await.refused(422, "invalid_body")["path"], "resources");
    let mut stated = change("orders", "SELECT 1");
    stated["plan"] = plan("x")["plan"].clone();
    assert_eq!(post(stated).await.refused(422, "invalid_body")["path"], "plan");
    let mut wrong = change("orders", "SELECT 1");
    wrong["parameters"] = json!({ "target": "orders", "sql": "SELECT 1", "host": "evil" });
    assert_eq!(post(wrong).await.refused(422, "invalid_body")["path"], "parameters");
}

#[tokio::test]
async fn preview_without_its_target_fails_and_hides_the_address() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let problem = propose(&world, &bob, "SELECT 1").await.refused(503, "preview_unavailable");
    assert_eq!(problem["executor"], "sql_preview");
    for secret in ["127.0.0.1", "_preview", world.database.name()] {
        assert!(!problem.to_string().replace("sql_preview", "").contains(secret), "{problem}");
    }
}

#[tokio::test]
async fn preview_observed_change_is_rated_below_a_declared_one() {
    let world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let sql = "ALTER TABLE sale ADD COLUMN note text";
    let observed = propose(&world, &bob, sql).await.expect(201);
    let declared = world.draft(&bob, "one column").await;
    assert_eq!(observed["effect"]["counts"]["adds"], declared["effect"]["counts"]["adds"]);
    let score = |task: &Value| task["risk"]["score"].as_u64().unwrap();
    assert!(score(&observed) < score(&declared), "{} {}", observed["risk"], declared["risk"]);
}

#[tokio::test]
async fn preview_is_repeated_when_a_task_is_submitted() {
    let world = World::new().await;
    let target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let sql = "UPDATE sale SET amount = 2";
    let task = propose(&world, &bob, sql).await.expect(201);
    assert_eq!(summaries(&task), ["update 10 row(s) of shop.sale"]);
    target.run("INSERT INTO shop.sale SELECT n, 'more' FROM generate_series(11, 15) n").await;
    let submitted = world.submit(&bob, &task).await;
    assert_eq!(summaries(&submitted), ["update 15 row(s) of shop.sale"]);
    assert_eq!((&submitted["revision"], &submitted["state"]), (&json!(2), &json!("SUBMITTED")));
    assert_ne!(submitted["digest"], task["digest"]);
    let first = world.get(&bob.token, &format!("{}/revisions/1", path_of(&task))).await;
    assert_eq!(first.expect(200)["digest"], task["digest"]);
}

/// A script runs with the permissions of the server's login, so a caller who may not propose must
/// not be able to run one.
#[tokio::test]
async fn preview_by_unauthorized_callers_runs_no_script() {
    let world = World::new().await;
    let target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let login = format!("{}_preview", world.database.name());
    target.run(&format!("CREATE SEQUENCE shop.runs; GRANT ALL ON shop.runs TO {login}")).await;
    // A sequence does not roll back, so it counts the executions.
    let ran = "SELECT last_value - 1 + is_called::int FROM shop.runs";
    let sql = "SELECT nextval('runs')";
    propose(&world, &rea, sql).await.refused(403, "not_allowed");
    assert_eq!(target.number(ran).await, 0);
    assert_eq!(world.refusals(&world.tenant, "task.create").await, 1);
    let task = propose(&world, &bob, "SELECT 1").await.expect(201);
    let other = json!({ "parameters": { "target": "orders", "sql": sql } });
    let path = path_of(&task);
    let response = world.matching("PATCH", &rea.token, &path, Some(other.clone()), &task).await;
    response.refused(403, "not_allowed");
    assert_eq!(target.number(ran).await, 0);
    let task = world.matching("PATCH", &bob.token, &path, Some(other), &task).await.expect(200);
    let after = target.number(ran).await;
    assert!(after > 0, "an authorized caller runs the script");
    let submit = format!("{path}/submit");
    world.matching("POST", &rea.token, &submit, None, &task).await.refused(403, "not_allowed");
    assert_eq!(target.number(ran).await, after);
}
