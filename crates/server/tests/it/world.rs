//! A whole installation for one test: its own database, the server over it, a tenant with an
//! admin, and people and agents as the test asks for them. Workers run when the test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ade_core::flag::Switches;
use ade_core::ids::{TenantId, UserId};
use ade_core::policy::Pattern;
use ade_core::step_up::Rule;
use ade_core::time::Timestamp;
use ade_engine::blobs::Blobs;
use ade_engine::execute::{Executor, Executors, SqlPreview, Target};
use ade_engine::export::Sink;
use ade_engine::identity::{self, Passkeys, Provider, Providers};
use ade_engine::limiter::{self, Limiter};
use ade_engine::live::Live;
use ade_engine::locks::{self, Keeper, Rate};
use ade_engine::notify::{Mailer, Notify, Slack};
use ade_engine::outbound::{Reach, SystemLookup};
use ade_engine::receipts::Receipts;
use ade_engine::secret::Pepper;
use ade_engine::webhooks::Webhooks;
use ade_engine::{App, Class, Nodes, Parts, Pool, PoolSettings, Pools, setup, work};
use ade_server::http::state::Shared;
use ade_server::{config, telemetry};
use ade_testkit::{Cluster, Database};
use reqwest::Response;
use serde_json::{Value, json};

use crate::rig::{Rig, settings};

/// Where people find every installation that has no other page.
const PAGE: &str = "https://ade.example.org";

pub const ALL_SCOPES: [&str; 6] = ["read", "propose", "execute", "decide", "operate", "administer"];

/// Where locks stand in line, and how they are limited.
#[derive(Debug, Clone)]
pub enum Line {
    Off,
    Rows(locks::Settings),
    /// By the addresses of its nodes.
    Redis(Vec<String>, locks::Settings),
}

impl Line {
    /// Short, so that a test can wait for it; and as much as a test can ask for.
    pub const SETTINGS: locks::Settings = locks::Settings {
        lock_delay: Duration::from_millis(300),
        rate: Rate { per_minute: 60_000, burst: 10_000 },
    };

    /// On the cluster that the whole test run shares.
    pub async fn redis(settings: locks::Settings) -> Self {
        Self::Redis(Cluster::shared().await.urls(), settings)
    }

    /// Events go over the same Redis.
    fn live(&self) -> Live {
        match self {
            Self::Redis(urls, _) => Live::over_redis(&urls.clone().into()).unwrap(),
            Self::Off | Self::Rows(_) => Live::default(),
        }
    }

    /// And callers are counted there.
    fn limiter(&self, rates: &limiter::Settings) -> Limiter {
        let nodes = match self {
            Self::Redis(urls, _) => urls.clone().into(),
            Self::Off | Self::Rows(_) => Nodes::default(),
        };
        Limiter::open(&nodes, rates.clone()).unwrap()
    }

    fn keeper(&self, pool: &Pool) -> Option<Keeper> {
        match self {
            Self::Off => None,
            Self::Rows(settings) => Some(Keeper::postgres(pool.clone(), *settings)),
            Self::Redis(urls, settings) => {
                Some(Keeper::redis(&urls.clone().into(), pool.clone(), "test", *settings).unwrap())
            }
        }
    }
}

/// What one installation has that another has not.
#[derive(Debug, Clone)]
pub struct Fittings {
    pub line: Line,
    /// Beside the one that previews SQL.
    pub executors: Vec<(Pattern, Arc<dyn Executor>)>,
    /// Signs receipts, with the issuer that targets know; one of its own if there is none.
    pub key: Option<(String, Vec<u8>)>,
    /// A directory for whole logs.
    pub blobs: Option<String>,
    /// Where events go.
    pub sink: Option<String>,
    /// A mail server, and the methods of Slack.
    pub mail: Option<String>,
    pub slack: Option<String>,
    /// The issuer of an identity provider.
    pub provider: Option<String>,
    pub rates: limiter::Settings,
    /// What is on for tenants that have not said.
    pub flags: Switches,
    /// Who is asked for a passkey, and where people find the installation.
    pub step_up: Rule,
    pub page: String,
}

impl From<Line> for Fittings {
    fn from(line: Line) -> Self {
        Self {
            line,
            executors: Vec::new(),
            key: None,
            blobs: None,
            sink: None,
            mail: None,
            slack: None,
            provider: None,
            rates: unlimited(),
            flags: Switches::default(),
            step_up: Rule::default(),
            page: PAGE.to_owned(),
        }
    }
}

/// One caller stands for many in most tests.
pub fn unlimited() -> limiter::Settings {
    let rate = Rate { per_minute: 60_000_000, burst: 10_000_000 };
    limiter::Settings {
        token: rate,
        tenant: rate,
        endpoint: rate,
        endpoints: BTreeMap::new(),
        submit: rate,
        submit_owner: rate,
        submit_tenant: rate,
        open: rate,
        refused: rate,
    }
}

pub struct World {
    fittings: Fittings,
    pub database: Database,
    pub rig: Rig,
    pub app: Arc<App>,
    pub admin: Person,
    pub tenant: String,
    exchanges: Mutex<Vec<Exchange>>,
}

/// What was asked and how it was answered.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub method: String,
    pub path: String,
    pub status: u16,
    pub code: Option<String>,
    pub is_repeated: bool,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: Option<String>,
    pub event: String,
    pub data: Value,
}

/// Somebody with a token.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: String,
    pub token: String,
}

pub struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    pub is_repeated: bool,
    pub body: Value,
}

impl World {
    /// Its locks stand in line in PostgreSQL: no Redis is started for it.
    pub async fn new() -> Self {
        let database = fresh().await;
        let port = database.server().port();
        Self::through(database, port).await
    }

    pub async fn locking(line: Line) -> Self {
        Self::fitted(line.into()).await
    }

    pub async fn fitted(fittings: Fittings) -> Self {
        let database = fresh().await;
        let port = database.server().port();
        Self::reached(database, port, None, fittings).await
    }

    /// Whose server reaches PostgreSQL by this port: a proxy's, for one.
    pub async fn through(database: Database, port: u16) -> Self {
        Self::reached(database, port, None, Line::Rows(Line::SETTINGS).into()).await
    }

    /// `replica` is the port of a server that follows the database's.
    pub async fn over(database: Database, replica: Option<u16>) -> Self {
        let port = database.server().port();
        Self::reached(database, port, replica, Line::Rows(Line::SETTINGS).into()).await
    }

    async fn reached(
        database: Database,
        port: u16,
        replica: Option<u16>,
        fittings: Fittings,
    ) -> Self {
        // Only a test that fails is read; then what the server said of it is worth having.
        let level = std::env::var("ADE_TEST_LOG").unwrap_or_else(|_| "error".to_owned());
        let lines = config::Log { format: config::LogFormat::Text, level };
        let _ = telemetry::log(&lines);
        let app = app_over(&database, port, replica, &fittings).await;
        let shared = Shared::new(Arc::clone(&app), settings(&[]), telemetry::metrics().unwrap());
        let rig = Rig::over(shared).await;
        let mut world = Self {
            fittings,
            admin: Person { id: String::new(), token: String::new() },
            tenant: String::new(),
            database,
            rig,
            app,
            exchanges: Mutex::default(),
        };
        (world.tenant, world.admin) = world.tenant("acme").await;
        world.switch_on_batches().await;
        world
    }

    /// Off for a new tenant; the tests of batches are about what they do when they are on.
    async fn switch_on_batches(&self) {
        let [tenant, admin] = [
            self.tenant.parse::<TenantId>().unwrap().uuid(),
            self.admin.id.parse::<UserId>().unwrap().uuid(),
        ];
        let sql = "INSERT INTO feature_flag VALUES";
        let row = format!("('{tenant}', 'batch_approvals', true, '{admin}', now())");
        self.database.run(&format!("{sql} {row}")).await;
    }

    /// Another process over the same database.
    pub fn another_app(&self) -> Arc<App> {
        let urls = ["app", "work"].map(|login| self.database.url_as(login));
        app_at(&self.database, urls, None, &self.fittings)
    }

    /// Another process over the same database, that answers too.
    pub async fn beside(&self) -> Rig {
        self.beside_with(settings(&[])).await
    }

    /// The same, set up in another way.
    pub async fn beside_with(&self, settings: config::Server) -> Rig {
        let metrics = telemetry::metrics().unwrap();
        Rig::over(Shared::new(self.another_app(), settings, metrics)).await
    }

    /// A tenant with its first admin, by the way every installation takes.
    pub async fn tenant(&self, name: &str) -> (String, Person) {
        let way_in = self.bootstrap(name).await;
        let first = way_in.token.reveal();
        let made = self.post(&first, "/v1/tokens", json!({ "scopes": ALL_SCOPES })).await;
        let token = made.expect(201)["token"].as_str().unwrap().to_owned();
        (way_in.tenant.to_string(), Person { id: way_in.admin.to_string(), token })
    }

    async fn bootstrap(&self, name: &str) -> setup::WayIn {
        setup::bootstrap(&self.database.url(), &pepper(), name).await.unwrap()
    }

    /// A token of the first admin that works once.
    pub async fn way_in(&self, name: &str) -> String {
        self.bootstrap(name).await.token.reveal()
    }

    pub async fn person(&self, name: &str, roles: &[&str]) -> Person {
        self.person_of(&self.admin, name, roles).await
    }

    pub async fn person_of(&self, admin: &Person, name: &str, roles: &[&str]) -> Person {
        let asked = json!({ "name": name, "roles": roles });
        let user = self.post(&admin.token, "/v1/users", asked).await.expect(201);
        let id = user["id"].as_str().unwrap().to_owned();
        let asked = json!({ "user": id, "scopes": ALL_SCOPES });
        let token = self.post(&admin.token, "/v1/tokens", asked).await.expect(201);
        Person { id, token: token["token"].as_str().unwrap().to_owned() }
    }

    pub async fn agent(&self, name: &str, owner: &Person) -> Person {
        self.agent_of(&self.admin, name, owner).await
    }

    pub async fn agent_of(&self, admin: &Person, name: &str, owner: &Person) -> Person {
        let asked = json!({ "name": name, "owner": owner.id });
        let agent = self.post(&admin.token, "/v1/agents", asked).await.expect(201);
        let id = agent["id"].as_str().unwrap().to_owned();
        let asked = json!({ "agent": id, "scopes": ["read", "propose", "execute"] });
        let token = self.post(&admin.token, "/v1/tokens", asked).await.expect(201);
        Person { id, token: token["token"].as_str().unwrap().to_owned() }
    }

    pub async fn get(&self, token: &str, path: &str) -> Answer {
        self.send("GET", token, path, None, &[]).await
    }

    pub async fn post(&self, token: &str, path: &str, body: Value) -> Answer {
        self.send("POST", token, path, Some(body), &[]).await
    }

    pub async fn send(
        &self,
        method: &str,
        token: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.rig.request(method, path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = Answer::of(request.send().await.unwrap()).await;
        self.exchanges.lock().unwrap().push(Exchange {
            method: method.to_owned(),
            path: path.to_owned(),
            status: answer.status,
            code: answer.body["code"].as_str().map(str::to_owned),
            is_repeated: answer.is_repeated,
        });
        answer
    }

    /// What a stream says until it ends, block by block.
    pub async fn streamed(
        &self,
        token: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Vec<Message> {
        let request = self.rig.get(path).header("authorization", format!("Bearer {token}"));
        let response =
            headers.iter().fold(request, |asked, (name, value)| asked.header(*name, *value));
        let response = response.send().await.unwrap();
        self.note("GET", path, response.status().as_u16());
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = response.text().await.unwrap();
        let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
        let field = |block: &str, name: &str| {
            block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
        };
        let read = |block| Message {
            id: field(block, "id: "),
            event: field(block, "event: ").unwrap(),
            data: serde_json::from_str(&field(block, "data: ").unwrap()).unwrap(),
        };
        blocks.map(read).collect()
    }

    /// For what is not asked by [`World::send`].
    pub fn note(&self, method: &str, path: &str, status: u16) {
        self.exchanges.lock().unwrap().push(Exchange {
            method: method.to_owned(),
            path: path.to_owned(),
            status,
            code: None,
            is_repeated: false,
        });
    }

    /// All that was asked over this world so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }

    /// With the version that the caller has read.
    pub async fn matching(
        &self,
        method: &str,
        token: &str,
        path: &str,
        body: Option<Value>,
        task: &Value,
    ) -> Answer {
        self.send(method, token, path, body, &[("if-match", &quoted(task))]).await
    }

    /// The same key for two bodies: the second is a conflict.
    pub async fn twice(&self, method: &str, token: &str, path: &str, bodies: [Value; 2]) {
        let key = [("idempotency-key", "same")];
        let [one, other] = bodies;
        let first = self.send(method, token, path, Some(one.clone()), &key).await;
        assert!((200..300).contains(&first.status), "{}", first.body);
        let again = self.send(method, token, path, Some(one), &key).await;
        assert!(again.is_repeated, "{}", again.body);
        let reused = self.send(method, token, path, Some(other), &key).await;
        reused.refused(422, "idempotency_key_reused");
    }

    /// How often the audit says that this was refused.
    pub async fn refusals(&self, object: &str, action: &str) -> usize {
        let path = format!("/v1/audit?object={object}");
        let leaves = self.get(&self.admin.token, &path).await.expect(200);
        let is_one = |item: &&Value| {
            item["leaf"]["kind"] == "refusal" && item["leaf"]["what"]["action"] == action
        };
        leaves["items"].as_array().unwrap().iter().filter(is_one).count()
    }

    /// So much time has passed for every process over this database, since the test began.
    pub async fn pass(&self, by: Duration) {
        self.database.advance_clock(by).await;
        self.database.run("SELECT make_partitions(interval '7 days', moment())").await;
    }

    /// A policy in force from now on, as two admins would have published it.
    pub async fn policy(&self, yaml: &str) {
        let document = ade_core::policy::Document::parse_yaml(yaml).unwrap();
        let (name, document) = (document.name.clone(), document.to_json().unwrap());
        let tenant: TenantId = self.tenant.parse().unwrap();
        let admin: UserId = self.admin.id.parse().unwrap();
        let second: UserId = self.person("Second admin", &[]).await.id.parse().unwrap();
        let (one, two) = (admin.uuid(), second.uuid());
        self.database
            .run(&format!(
                "WITH head AS (
                     INSERT INTO policy (tenant_id, id, name, enabled, current_version)
                     VALUES ('{tenant}', uuid_v7(), '{name}', true, 1) RETURNING id)
                 INSERT INTO policy_version
                 SELECT '{tenant}', id, 1, $json${document}$json$, '{one}', '{two}', now()
                   FROM head",
                tenant = tenant.uuid(),
            ))
            .await;
    }

    /// As an apply that went wrong would leave it: nothing applies over HTTP yet.
    pub async fn fail(&self, title: &str) {
        let sql = "UPDATE task SET state = 'FAILED', attempts = 1 WHERE state = 'APPROVED'";
        self.database.run(&format!("{sql} AND title = '{title}'")).await;
    }

    pub async fn task(&self, who: &Person, task: &Value) -> Value {
        self.get(&who.token, &path_of(task)).await.expect(200)
    }

    /// A task that its reviewer has approved.
    pub async fn approved(&self, author: &Person, reviewer: &Person, title: &str) -> Value {
        let task = self.reviewing(author, title).await;
        let request = self.request(reviewer, &task).await;
        self.approve(reviewer, &task, &request).await;
        self.task(author, &task).await
    }

    pub async fn approve(&self, reviewer: &Person, task: &Value, request: &str) {
        let path = format!("/v1/approvals/{request}/approve");
        let voted = self.post(&reviewer.token, &path, seen(task)).await.expect(200);
        assert_eq!(voted["state"], "APPROVED", "{voted}");
    }

    /// A draft that states one change of `database:orders`.
    pub async fn draft(&self, author: &Person, title: &str) -> Value {
        self.post(&author.token, "/v1/tasks", plan(title)).await.expect(201)
    }

    pub async fn submit(&self, author: &Person, task: &Value) -> Value {
        let path = format!("/v1/tasks/{}/submit", id(task));
        let version = quoted(task);
        self.send("POST", &author.token, &path, None, &[("if-match", &version)]).await.expect(202)
    }

    /// Runs a worker once, as its process would.
    pub async fn work(&self, name: &str) -> work::Done {
        work::run_once(&self.app, name).await.unwrap().unwrap()
    }

    /// The same, of a worker that may fail now.
    pub async fn try_work(&self, name: &str) -> Option<work::Done> {
        work::run_once(&self.app, name).await.unwrap().ok()
    }

    /// A task that waits for its reviewers.
    pub async fn reviewing(&self, author: &Person, title: &str) -> Value {
        let task = self.draft(author, title).await;
        self.submit(author, &task).await;
        self.work("review_opener").await;
        let task = self.get(&author.token, &format!("/v1/tasks/{}", id(&task))).await.expect(200);
        assert_eq!(task["state"], "REVIEWING", "{task}");
        task
    }

    /// The request that waits for this reviewer on this task.
    pub async fn request(&self, reviewer: &Person, task: &Value) -> String {
        let inbox = self.get(&reviewer.token, "/v1/approvals?page_size=200").await.expect(200);
        let items = inbox["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["task"]["id"] == task["id"]);
        found.unwrap_or_else(|| panic!("nothing waits: {inbox}"))["id"].as_str().unwrap().to_owned()
    }
}

impl Answer {
    pub async fn of(response: Response) -> Self {
        let header = |name: &str| {
            response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
        };
        Self {
            status: response.status().as_u16(),
            etag: header("etag"),
            is_repeated: header("idempotency-replayed").is_some(),
            body: response.json().await.unwrap_or(Value::Null),
        }
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// A problem with this code.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        assert_eq!(
            (self.status, self.body["code"].as_str()),
            (status, Some(code)),
            "{}",
            self.body
        );
        self.body
    }
}

pub fn id(of: &Value) -> &str {
    of["id"].as_str().unwrap()
}

pub fn path_of(task: &Value) -> String {
    format!("/v1/tasks/{}", id(task))
}

/// The version of a task as `If-Match` takes it.
pub fn quoted(task: &Value) -> String {
    format!("\"{}\"", task["version"])
}

/// The part of an answer that two callers can compare.
pub fn without_request_id(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.remove("request_id");
    }
    body
}

/// What a reviewer sends who has this task on screen.
pub fn seen(task: &Value) -> Value {
    json!({ "revision": task["revision"], "digest": task["digest"] })
}

/// So many days after the task came where it is.
pub fn days_later(task: &Value, days: u64) -> String {
    let since: Timestamp = task["since"].as_str().unwrap().parse().unwrap();
    since.plus(Duration::from_hours(24 * days)).to_string()
}

pub fn plan(title: &str) -> Value {
    json!({
        "title": title,
        "type": "db.change",
        "parameters": { "for": title },
        "resources": [{ "resource": "database:orders", "mode": "exclusive" }],
        "plan": { "changes": [{
            "resource": "database:orders", "action": "add", "irreversible": false,
            "summary": "one column"
        }] }
    })
}

async fn fresh() -> Database {
    Database::fresh("server", async |url: String| setup::migrate(&url).await).await
}

fn pepper() -> Pepper {
    Pepper::new(vec![7; 32]).unwrap()
}

async fn app_over(
    database: &Database,
    port: u16,
    replica: Option<u16>,
    fittings: &Fittings,
) -> Arc<App> {
    database.login("app", "ade_app").await;
    database.login("work", "ade_app, ade_worker").await;
    let urls = ["app", "work"].map(|login| database.url_as_through(port, login));
    app_at(database, urls, replica, fittings)
}

pub const SLACK_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn notify(fittings: &Fittings) -> Notify {
    let from = "ADE <ade@example.org>";
    let slack = fittings.slack.as_deref();
    Notify {
        mail: fittings.mail.as_deref().map(|url| Mailer::new(url, from).unwrap()),
        slack: slack.map(|api| Slack::new(api, "xoxb-test", SLACK_SECRET).unwrap()),
        page: fittings.page.clone(),
    }
}

fn providers(fittings: &Fittings) -> Providers {
    let settings = fittings.provider.iter().map(|issuer| identity::Settings {
        name: "company".to_owned(),
        title: "The company".to_owned(),
        issuer: issuer.clone(),
        client_id: "ade".to_owned(),
        client_secret: Some("a secret of the client".to_owned()),
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        groups_claim: "groups".to_owned(),
        allow_loopback: true,
    });
    let all = settings.map(|settings| Provider::new(settings).unwrap()).collect();
    Providers::new(all, &fittings.page)
}

/// The target of previews is the database `orders` on the same server, if the test makes it.
fn app_at(
    database: &Database,
    [app, work]: [String; 2],
    replica: Option<u16>,
    fittings: &Fittings,
) -> Arc<App> {
    let settings = |url: &str| PoolSettings { api_max: 8, worker_max: 4, ..PoolSettings::new(url) };
    let pools = Pools {
        api: Pool::new(&settings(&app), Class::Api).unwrap(),
        worker: Pool::new(&settings(&work), Class::Worker).unwrap(),
        reserved: Pool::new(&settings(&app), Class::Reserved).unwrap(),
    };
    let port = database.server().port();
    let replica = replica.map(|at| {
        let url = app.replace(&format!(":{port}/"), &format!(":{at}/"));
        Pool::new(&settings(&url), Class::Api).unwrap()
    });
    let name = database.name();
    let target =
        format!("postgres://{name}_preview:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    let targets = BTreeMap::from([("orders".to_owned(), Target(target))]);
    let sql: Arc<dyn Executor> = Arc::new(SqlPreview::new(targets));
    let mut by_type = fittings.executors.clone();
    by_type.push(("sql.*".parse().unwrap(), sql));
    let receipts = match &fittings.key {
        Some((issuer, key)) => Receipts::new(issuer, key, &[]),
        None => Receipts::made_up("ade"),
    };
    let parts = Parts {
        receipts: Some(receipts.unwrap()),
        blobs: fittings.blobs.as_deref().map(|url| Blobs::open(url).unwrap()),
        locks: fittings.line.keeper(&pools.api),
        pools,
        replica,
        pepper: pepper(),
        limiter: fittings.line.limiter(&fittings.rates),
        executors: Executors::new(by_type, 8),
        risk: ade_core::risk::Settings::default(),
        times: ade_core::times::Times::default(),
        flags: fittings.flags,
        live: fittings.line.live(),
        webhooks: Webhooks::new(Reach::Loopback, Vec::new(), SystemLookup).unwrap(),
        sink: fittings.sink.as_deref().map(|sink| Sink::open(sink).unwrap()),
        notify: notify(fittings),
        providers: providers(fittings),
        passkeys: Passkeys::new(fittings.step_up, &fittings.page).unwrap(),
        service: "test".to_owned(),
    };
    App::new(parts).unwrap()
}
