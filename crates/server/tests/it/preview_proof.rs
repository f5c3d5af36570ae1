//! What a preview proves: an opaque script is declared on a copy and refused on a live target, no
//! text of the database reaches the author, rows weigh in the risk, and previews on a live target
//! are in the audit log.

use ade_engine::services::executors::{TargetKind, login_problems};
use ade_testkit::Database;
use serde_json::{Value, json};

use crate::inbound::{SOURCES, Sender, source};
use crate::previews::{change, target};
use crate::world::{LockBackend, Person, TestServerOptions, World};

const OPAQUE: &str = "DO $$ BEGIN DELETE FROM shop.sale WHERE id = 4; END $$";

async fn propose(world: &World, author: &Person, sql: &str) -> Value {
    world.post(&author.token, "/v1/tasks", change("orders", sql)).await.expect(201)
}

fn errors(task: &Value) -> String {
    task["effect"]["errors"].to_string()
}

#[tokio::test]
async fn opaque_script_on_a_copy_counts_as_declared() {
    let world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let task = propose(&world, &bob, OPAQUE).await;
    let effect = &task["effect"];
    assert_eq!((&effect["origin"], &effect["errors"]), (&json!("declared"), &json!([])));
    assert!(effect["warnings"].to_string().contains("DO is not a plain statement"), "{effect}");
    assert_eq!(effect["changes"][0]["summary"], "delete 1 row(s) of shop.sale");
    let plain = propose(&world, &bob, "DELETE FROM sale WHERE id = 4").await;
    assert_eq!(plain["effect"]["origin"], "observed");
    let score = |task: &Value| task["risk"]["score"].as_u64().unwrap();
    assert!(score(&plain) < score(&task), "{} {}", plain["risk"], task["risk"]);
    // The server previews it again: the effect is not taken from the revision.
    let submitted = world.submit(&bob, &task).await;
    assert_eq!((&submitted["revision"], &submitted["digest"]), (&json!(1), &task["digest"]));
    let nothing = propose(&world, &bob, "SELECT count(*) FROM sale").await;
    assert_eq!(nothing["effect"]["origin"], "declared", "an empty effect proves nothing");
}

#[tokio::test]
async fn preview_texts_never_reach_the_author() {
    let world = World::new().await;
    let target = target(&world).await;
    target.run("UPDATE shop.sale SET item = '4111-1111' WHERE id = 1").await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for sql in [
        "DO $$ BEGIN RAISE NOTICE '%', (SELECT item FROM shop.sale WHERE id = 1); END $$",
        "DO $$ BEGIN RAISE EXCEPTION '%', (SELECT item FROM shop.sale WHERE id = 1); END $$",
        "SELECT (SELECT string_agg(item, ',') FROM sale)::int",
        "CREATE UNIQUE INDEX i ON sale ((item = '')); INSERT INTO sale SELECT 100, item FROM sale",
        "DO $$ BEGIN EXECUTE format('CREATE TABLE %I ()', (SELECT item FROM shop.sale LIMIT 1));
             END $$",
    ] {
        let body = change("orders", sql);
        let evaluated = world.post(&bot.token, "/v1/tasks/evaluate", body).await.expect(200);
        assert!(!evaluated.to_string().contains("4111"), "{sql}: {evaluated}");
        let task = propose(&world, &bob, sql).await;
        assert!(!task.to_string().contains("4111"), "{sql}: {task}");
    }
    let task = propose(&world, &bob, "SELECT 1; SELECT item::int FROM sale").await;
    assert_eq!(errors(&task), r#"["SQLSTATE 22P02: a text is not a valid value of its type"]"#);
    let task = propose(&world, &bob, "SELECT nothing FROM sale").await;
    assert_eq!(errors(&task), r#"["SQLSTATE 42703 at character 8: the column does not exist"]"#);
}

#[tokio::test]
async fn live_preview_is_audited_and_executes_plain_scripts() {
    let fittings = TestServerOptions {
        target_kind: TargetKind::Live,
        ..LockBackend::Rows(LockBackend::SETTINGS).into()
    };
    let world = World::fitted(fittings).await;
    let target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let previews = async || {
        let path = "/v1/audit?object=database:orders";
        let entries = world.get(&world.admin.token, path).await.expect(200);
        let entries = entries["items"].as_array().unwrap().clone();
        let is_one = |item: &&Value| item["leaf"]["what"]["action"] == "preview.run";
        entries.iter().filter(is_one).cloned().collect::<Vec<Value>>()
    };
    let unsuitable = world.post(&bob.token, "/v1/tasks", change("orders", "SELECT 1")).await;
    unsuitable.refused(503, "preview_unavailable");
    make_suitable(&world, &target).await;
    let before = previews().await.len();
    let task = propose(&world, &bob, "DELETE FROM sale WHERE id = 4").await;
    assert_eq!(task["effect"]["origin"], "observed");
    let recorded = previews().await;
    assert_eq!(recorded.len(), before + 1);
    let leaf = &recorded[0]["leaf"];
    assert_eq!(leaf["kind"], "disclosure");
    assert!(
        leaf["who"].to_string().contains(&bob.id) && leaf["what"]["digest"].is_string(),
        "{leaf}"
    );
    let refused = propose(&world, &bob, &format!("SELECT 1; {OPAQUE}")).await;
    assert!(errors(&refused).contains("SQLSTATE 0A000 at character 11: DO"), "{refused}");
    assert_eq!(refused["effect"]["changes"], json!([]));
}

async fn make_suitable(world: &World, target: &Database) {
    let (port, name) = (world.database.server().port(), world.database.name());
    let url = format!("postgres://{name}_preview:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    for problem in login_problems(&url, TargetKind::Live).await.unwrap() {
        target.run(&problem.fix).await;
    }
}

#[tokio::test]
async fn preview_of_most_rows_of_a_critical_table_is_high() {
    let world = World::new().await;
    let target = target(&world).await;
    target.run("INSERT INTO shop.sale SELECT n, 'x' FROM generate_series(11, 1000) n").await;
    target.run("ANALYZE shop.sale").await;
    let bob = world.person("Bob", &["author"]).await;
    let (path, entry) = ("/v1/resources/database/orders", json!({ "criticality": 70 }));
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await;
    let level = async |sql: &str| {
        let task = propose(&world, &bob, sql).await;
        (task["risk"]["level"].as_str().unwrap().to_owned(), task["effect"]["changes"][0].clone())
    };
    let (few, change) = level("DELETE FROM sale WHERE id <= 20").await;
    assert_eq!((few.as_str(), &change["rows"]), ("medium", &json!({ "count": 20, "percent": 2 })));
    for (sql, rows) in [
        ("UPDATE sale SET amount = 0", json!({ "count": 1000, "percent": 100 })),
        ("DELETE FROM sale WHERE id > 500", json!({ "count": 500, "percent": 50 })),
        ("TRUNCATE sale", json!({ "count": 1000, "percent": 100 })),
    ] {
        let (level, change) = level(sql).await;
        assert_eq!((level.as_str(), &change["rows"]), ("high", &rows), "{sql}");
        assert_eq!(change["irreversible"], true, "{sql}");
    }
    let (level, _) = level("DROP TABLE sale").await;
    assert_eq!(level, "high");
}

#[tokio::test]
async fn inbound_message_cannot_propose_a_script() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let agent = world.agent("alerts", &bob).await;
    let mut scripted = source(&agent.id);
    scripted["template"]["type"] = json!("sql.change");
    let refused = world.post(&world.admin.token, SOURCES, scripted.clone()).await;
    assert_eq!(refused.refused(422, "invalid_body")["path"], "template");
    // A source that was created under other settings is refused when a message arrives.
    let made = world.post(&world.admin.token, SOURCES, source(&agent.id)).await.expect(201);
    let scripted = "UPDATE inbound_source
        SET template = jsonb_set(template::jsonb, '{type}', '\"sql.x\"')::json";
    world.database.run(scripted).await;
    let sender = Sender::of(&made);
    let event = json!({ "host": "web-1", "load": 1 });
    let arrived = sender.send_to(made["path"].as_str().unwrap(), &world, "one", event).await;
    assert_eq!(arrived.refused(422, "invalid_body")["path"], "body");
}
