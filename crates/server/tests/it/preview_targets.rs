//! Preview targets are bound to tenants. A tenant that may not use a target gets the answer that an
//! unknown target gets, at every entry point, and none of its SQL is executed.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use ade_core::ids::TenantId;
use ade_engine::admin::bootstrap;
use ade_engine::services::executors::{TargetKind, login_problems};
use ade_engine::services::secrets::Pepper;
use ade_testkit::Database;
use futures_util::future::{join_all, select_all};
use serde_json::{Value, json};

use crate::executions::{permit, runner, say};
use crate::previews::{change, target};
use crate::program::Program;
use crate::world::{
    Answer, LockBackend, Person, TestServerOptions, World, path_of, without_request_id,
};

/// A sequence does not roll back, so it counts the executions of this script.
const SCRIPT: &str = "SELECT nextval('runs')";
const EXECUTIONS: &str = "SELECT last_value - 1 + is_called::int FROM shop.runs";

fn bound_to(tenants: Option<&[&str]>) -> TestServerOptions {
    let tenants = tenants.map(|listed| listed.iter().map(|entry| (*entry).to_owned()).collect());
    let targets = BTreeMap::from([("orders".to_owned(), tenants)]);
    TestServerOptions { targets, ..LockBackend::Rows(LockBackend::SETTINGS).into() }
}

fn without_targets() -> TestServerOptions {
    TestServerOptions {
        targets: BTreeMap::new(),
        ..LockBackend::Rows(LockBackend::SETTINGS).into()
    }
}

/// An installation whose tenant `acme` has used the target `orders` so far.
struct Scene {
    world: World,
    target: Database,
    bob: Person,
}

impl Scene {
    async fn new(fittings: TestServerOptions) -> Self {
        let world = World::fitted(fittings).await;
        let target = target(&world).await;
        let login = format!("{}_preview", world.database.name());
        target.run(&format!("CREATE SEQUENCE shop.runs; GRANT ALL ON shop.runs TO {login}")).await;
        let bob = world.person("Bob", &["author"]).await;
        Self { world, target, bob }
    }

    async fn executions(&self) -> i64 {
        self.target.number(EXECUTIONS).await
    }

    async fn propose(&self, who: &Person, sql: &str) -> Answer {
        self.world.post(&who.token, "/v1/tasks", change("orders", sql)).await
    }

    /// Sends the call to a process whose `orders` belongs to another tenant, and to a process
    /// without any target. Asserts that both give the same answer and execute nothing.
    async fn assert_denied(&mut self, call: impl AsyncFn(&World) -> Answer) {
        let before = self.executions().await;
        self.world.rig = self.world.beside_fitted(&bound_to(Some(&["other"]))).await;
        let foreign = call(&self.world).await;
        self.world.rig = self.world.beside_fitted(&without_targets()).await;
        let unknown = call(&self.world).await;
        assert_eq!(foreign.status, unknown.status, "{} {}", foreign.body, unknown.body);
        let [foreign, unknown] = [foreign.body, unknown.body].map(without_request_id);
        assert_eq!(foreign, unknown);
        let text = foreign.to_string();
        assert!(text.contains("no preview target named `orders` is available"), "{text}");
        assert_eq!(self.executions().await, before, "SQL was executed");
    }
}

#[tokio::test]
async fn evaluate_on_foreign_target_answers_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let token = scene.bob.token.clone();
    let evaluate = async |world: &World| {
        world.post(&token, "/v1/tasks/evaluate", change("orders", SCRIPT)).await
    };
    evaluate(&scene.world).await.expect(200);
    assert!(scene.executions().await > 0, "a target of the same tenant works");
    scene.assert_denied(evaluate).await;
}

#[tokio::test]
async fn create_on_foreign_target_answers_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let token = scene.bob.token.clone();
    let create = async |world: &World| {
        let answer = world.post(&token, "/v1/tasks", change("orders", SCRIPT)).await;
        assert_eq!((answer.status, &answer.body["path"]), (422, &json!("parameters.target")));
        answer
    };
    scene.assert_denied(create).await;
}

#[tokio::test]
async fn amend_and_submit_on_foreign_target_answer_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let task = scene.propose(&scene.bob, "SELECT 1").await.expect(201);
    let (token, path) = (scene.bob.token.clone(), path_of(&task));
    let amended = json!({ "parameters": { "target": "orders", "sql": SCRIPT } });
    let amend = async |world: &World| {
        world.matching("PATCH", &token, &path, Some(amended.clone()), &task).await
    };
    scene.assert_denied(amend).await;

    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let task = scene.propose(&scene.bob, SCRIPT).await.expect(201);
    let (token, path) = (scene.bob.token.clone(), format!("{}/submit", path_of(&task)));
    let submit = async |world: &World| world.matching("POST", &token, &path, None, &task).await;
    scene.assert_denied(submit).await;
}

#[tokio::test]
async fn resubmit_on_foreign_target_answers_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let task = scene.propose(&scene.bob, SCRIPT).await.expect(201);
    let (token, path) = (scene.bob.token.clone(), path_of(&task));
    let (cancel, empty) = (format!("{path}/cancel"), Some(json!({})));
    let ended = scene.world.matching("POST", &token, &cancel, empty, &task).await.expect(200);
    let path = format!("{path}/resubmit");
    let resubmit = async |world: &World| world.matching("POST", &token, &path, None, &ended).await;
    scene.assert_denied(resubmit).await;
}

#[tokio::test]
async fn begin_on_foreign_target_answers_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let world = &scene.world;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "bot", &scene.bob).await;
    let task = scene.propose(&scene.bob, SCRIPT).await.expect(201);
    world.submit(&scene.bob, &task).await;
    world.work("review_opener").await;
    let task = world.task(&rea, &task).await;
    world.approve(&rea, &task).await;
    let permit = permit(world, &bot).await;
    let begin = async |world: &World| say(world, &bot, &permit, "begin", json!({})).await;
    scene.assert_denied(begin).await;
}

/// A tenant must not find out how busy the target of another one is, nor take its slots.
#[tokio::test]
async fn busy_foreign_target_answers_like_unknown() {
    let scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let (_, other) = scene.world.tenant("other").await;
    let slots = scene.world.app.executors.preview_slots();
    let mut held = Vec::new();
    for number in 0..4 {
        let tenant = TenantId::from_u128(number);
        held.push(slots.enter(tenant, "database:orders".to_owned()).await.unwrap());
    }
    let evaluate = async |who: &Person, target: &str| {
        scene.world.post(&who.token, "/v1/tasks/evaluate", change(target, SCRIPT)).await
    };
    let (own, foreign, unknown) = tokio::join!(
        evaluate(&scene.bob, "orders"),
        evaluate(&other, "orders"),
        evaluate(&other, "absent"),
    );
    own.refused(429, "rate_limited");
    let [foreign, unknown] = [foreign, unknown].map(|answer| {
        (answer.status, without_request_id(answer.body).to_string().replace("absent", "orders"))
    });
    assert_eq!(foreign, unknown);
    drop(held);
    evaluate(&scene.bob, "orders").await.expect(200);
}

#[tokio::test]
async fn mcp_proposal_on_foreign_target_answers_like_unknown() {
    let mut scene = Scene::new(bound_to(Some(&["acme"]))).await;
    let bot = scene.world.agent("bot", &scene.bob).await;
    let params = json!({ "name": "request_approval", "arguments": change("orders", SCRIPT) });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let propose = async |world: &World| {
        let mut answer = world.post(&bot.token, "/mcp", body.clone()).await;
        assert_eq!(answer.body["result"]["isError"], true, "{}", answer.body);
        answer.body = answer.body["result"]["structuredContent"].take();
        answer
    };
    scene.assert_denied(propose).await;
}

#[tokio::test]
async fn target_bound_by_id_serves_only_that_tenant() {
    let mut scene = Scene::new(bound_to(Some(&[]))).await;
    scene.propose(&scene.bob, SCRIPT).await.refused(422, "invalid_body");
    let (other, _) = scene.world.tenant("other").await;
    for (tenant, status) in [(scene.world.tenant.clone(), 201), (other, 422)] {
        let fittings = bound_to(Some(&[&tenant]));
        scene.world.rig = scene.world.beside_fitted(&fittings).await;
        scene.propose(&scene.bob, SCRIPT).await.expect(status);
    }
}

#[tokio::test]
async fn unbound_target_is_disabled_by_a_second_tenant() {
    let scene = Scene::new(bound_to(None)).await;
    scene.propose(&scene.bob, SCRIPT).await.expect(201);
    let before = scene.executions().await;
    assert!(before > 0, "the only tenant may use it");
    // The processes keep running and are not notified.
    let (_, admin) = scene.world.tenant("other").await;
    for who in [&scene.bob, &admin] {
        let refused = scene.propose(who, SCRIPT).await.refused(422, "invalid_body");
        assert_eq!(refused["path"], "parameters.target");
    }
    assert_eq!(scene.executions().await, before, "SQL was executed");
}

fn server(arguments: &[&str], variables: &[(String, String)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ade-server"));
    command.args(arguments).env_clear().envs(variables.iter().cloned()).output().unwrap()
}

fn setting(name: &str, value: &str) -> (String, String) {
    (format!("ADE__{name}"), value.to_owned())
}

#[tokio::test]
async fn live_target_serves_once_enabled_by_name() {
    let record =
        Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await;
    let orders = record.beside("orders").await;
    let login = format!("{}_preview", record.name());
    let create =
        format!("CREATE ROLE {login} LOGIN PASSWORD 'x'; CREATE SCHEMA AUTHORIZATION {login}");
    orders.run(&create).await;
    let (port, name) = (record.server().port(), record.name());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    let mut settings = vec![
        setting("PREVIEW__TARGETS__ORDERS__URL", &url),
        setting("PREVIEW__TARGETS__ORDERS__KIND", "live"),
        setting("PREVIEW__TARGETS__ORDERS__TENANTS", "other,acme"),
    ];
    let pepper = std::env::temp_dir().join(format!("{name}.live-pepper"));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let mut start = settings.clone();
    start.push(setting("DATABASE__URL", "postgres://ade@127.0.0.1:1/none"));
    start.push(setting("DATABASE__WORKER_URL", "postgres://work@127.0.0.1:1/none"));
    start.push(setting("AUTH__PEPPER_FILE", pepper.to_str().unwrap()));
    for subcommand in ["api", "worker", "all", "doctor"] {
        let refused = server(&[subcommand], &start);
        assert!(!refused.status.success(), "{subcommand}");
        let said = [refused.stdout, refused.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        for part in ["preview.targets.orders", "preview.enable_live", "before anyone has approved"]
        {
            assert!(said.contains(part), "{subcommand}: {part} is not in\n{said}");
        }
    }
    std::fs::remove_file(pepper).unwrap();

    settings.push(setting("PREVIEW__ENABLE_LIVE", "orders"));
    let (mut program, address) = Program::serving("info", settings).await;
    let pepper = Pepper::new(vec![7; 32]).unwrap();
    let way_in = bootstrap::bootstrap(&program.database.url(), &pepper, "acme").await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = client.post(format!("http://{address}/v1/tasks/evaluate"));
    let asked = asked.bearer_auth(way_in.token.reveal()).header("content-type", "application/json");
    for problem in login_problems(&url, TargetKind::Live).await.unwrap() {
        orders.run(&problem.fix).await;
    }
    let plain = change("orders", "CREATE TABLE tag (word text)");
    let answer = asked.body(plain.to_string()).send().await.unwrap();
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    assert_eq!((status, &body["effect"]["origin"]), (200, &json!("observed")), "{body}");
    program.signal();
    assert!(program.end().success());
    assert!(program.seen.contains("previews on a live database are enabled"), "{}", program.seen);
}

#[tokio::test]
async fn doctor_reports_unbound_targets_of_several_tenants() {
    let database =
        Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await;
    let pepper = std::env::temp_dir().join(format!("{}.doctor-pepper", database.name()));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let settings = [
        setting("DATABASE__URL", &database.login("app", "ade_app").await),
        setting("DATABASE__WORKER_URL", &database.login("work", "ade_app, ade_worker").await),
        setting("AUTH__PEPPER_FILE", pepper.to_str().unwrap()),
        setting("LOCKS__BACKEND", "postgres"),
        setting("PREVIEW__TARGETS__ORDERS__URL", "postgres://a@127.0.0.1/orders"),
        setting("PREVIEW__TARGETS__ORDERS__KIND", "copy"),
    ];
    let doctor = || String::from_utf8(server(&["doctor"], &settings).stdout).unwrap();
    let wrong = "fail  tenants: `tenants` is not set in every shared table";
    for (tenant, is_wrong) in [("acme", false), ("other", true)] {
        let hashing = Pepper::new(vec![7; 32]).unwrap();
        bootstrap::bootstrap(&database.url(), &hashing, tenant).await.unwrap();
        let said = doctor();
        assert!(said.contains("ok    preview targets"), "{said}");
        assert!(said.contains("fail  login of preview target orders"), "unreachable: {said}");
        assert_eq!(said.contains(wrong), is_wrong, "{said}");
    }
    std::fs::remove_file(pepper).unwrap();
}

#[tokio::test]
async fn previews_of_one_agent_leave_room_for_others() {
    let scene = Scene::new(bound_to(Some(&["acme", "other"]))).await;
    let (_, other) = scene.world.tenant("other").await;
    let (world, path) = (&scene.world, "/v1/tasks/evaluate");
    let evaluate =
        async |who: &Person, sql: &str| world.post(&who.token, path, change("orders", sql)).await;
    // Two run and eight wait; the others are refused while these sleep. On a slow machine, it takes
    // a while until all of them have arrived.
    let calls: Vec<_> =
        (0..12).map(|_| Box::pin(evaluate(&scene.bob, "SELECT pg_sleep(5)"))).collect();
    let (first, _, calls) = select_all(calls).await;
    assert_eq!(first.refused(429, "rate_limited")["retriable"], json!(true));
    let running = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'ade preview'";
    let (running, answer, rest) =
        tokio::join!(scene.target.number(running), evaluate(&other, "SELECT 1"), join_all(calls),);
    assert!(running <= 2, "{running} previews of one tenant run at once");
    answer.expect(200);
    let refused = rest.iter().filter(|answer| answer.status == 429).count();
    assert!(refused < rest.len(), "the first ones are answered");
    evaluate(&scene.bob, "SELECT 1").await.expect(200);
}

#[tokio::test]
async fn doctor_prints_statements_for_a_preview_login() {
    let database =
        Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await;
    let login = format!("{}_wide", database.name());
    database.run(&format!("CREATE ROLE {login} LOGIN CREATEROLE PASSWORD 'x'")).await;
    let (port, name) = (database.server().port(), database.name());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    let pepper = std::env::temp_dir().join(format!("{name}.login-pepper"));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let settings = [
        setting("DATABASE__URL", &database.login("app", "ade_app").await),
        setting("DATABASE__WORKER_URL", &database.login("work", "ade_app, ade_worker").await),
        setting("AUTH__PEPPER_FILE", pepper.to_str().unwrap()),
        setting("LOCKS__BACKEND", "postgres"),
        setting("PREVIEW__TARGETS__ORDERS__URL", &url),
        setting("PREVIEW__TARGETS__ORDERS__KIND", "copy"),
    ];
    let doctor = || String::from_utf8(server(&["doctor"], &settings).stdout).unwrap();
    let said = doctor();
    let fix = format!("ALTER ROLE {login} NOCREATEROLE");
    assert!(said.contains("fail  login of preview target orders"), "{said}");
    assert!(said.contains(&format!("{fix}; -- has CREATEROLE")), "{said}");
    database.run(&fix).await;
    let said = doctor();
    assert!(said.contains("ok    login of preview target orders"), "{said}");
    std::fs::remove_file(pepper).unwrap();
}
