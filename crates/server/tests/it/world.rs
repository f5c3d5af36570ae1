//! An installation for one test: a database of its own, a server, a tenant with an admin, and the
//! people and agents that the test creates. Workers run only when the test runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ade_core::flag::Switches;
use ade_core::ids::{TenantId, UserId};
use ade_core::step_up::Rule;
use ade_core::time::Timestamp;
use ade_core::token::{KeyId, Token, TokenKind};
use ade_engine::admin::bootstrap;
use ade_engine::services::event_hub::Live;
use ade_engine::services::executors::{
    Executor, ExecutorEntry, Executors, PreviewSlots, PreviewTarget, SqlPreview, TargetKind,
};
use ade_engine::services::export::Sink;
use ade_engine::services::identity::{self, Passkeys, Provider, Providers};
use ade_engine::services::locks::{self, LockService, Rate};
use ade_engine::services::log_store::Blobs;
use ade_engine::services::notify::{Mailer, Notify, Slack};
use ade_engine::services::outbound::{AddressPolicy, SystemLookup};
use ade_engine::services::rate_limiter::{self, Limiter};
use ade_engine::services::receipts::Receipts;
use ade_engine::services::secrets::Pepper;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::services::webhook_client::Webhooks;
use ade_engine::{App, Nodes, Parts, Pool, PoolClass, PoolSettings, Pools, worker, workers};
use ade_server::http::state::Shared;
use ade_server::{config, telemetry};
use ade_testkit::{Cluster, Database};
use reqwest::Response;
use serde_json::{Value, json};

use crate::test_server::{TestServer, settings};

/// The default public address of an installation.
const PAGE: &str = "https://ade.example.org";

/// The number of database connections for the requests of one server.
pub const API_CONNECTIONS: u32 = 8;

/// The scopes that a token for another person may carry.
pub const NO_AUTHORITY: [&str; 3] = ["read", "propose", "execute"];
pub const ALL_SCOPES: [&str; 6] = ["read", "propose", "execute", "decide", "operate", "administer"];

/// The headers that a browser sends with a change from a page of the server itself.
pub const OWN_PAGE: [(&str, &str); 2] = [("sec-fetch-site", "same-origin"), ("x-ade-request", "1")];

/// The lock backend and its settings.
#[derive(Debug, Clone)]
pub enum LockBackend {
    Off,
    Rows(locks::LockSettings),
    /// Redis, with the addresses of its nodes.
    Redis(Vec<String>, locks::LockSettings),
}

impl LockBackend {
    /// A lock delay that a test can wait for, and a rate that no test exceeds.
    pub const SETTINGS: locks::LockSettings = locks::LockSettings {
        lock_delay: Duration::from_millis(300),
        rate: Rate { per_minute: 60_000, burst: 10_000 },
    };

    /// Uses the cluster that all tests of this run share.
    pub async fn redis(settings: locks::LockSettings) -> Self {
        Self::Redis(Cluster::shared().await.urls(), settings)
    }

    /// Live events, which use the same Redis.
    fn live(&self) -> Live {
        match self {
            Self::Redis(urls, _) => Live::over_redis(&urls.clone().into()).unwrap(),
            Self::Off | Self::Rows(_) => Live::default(),
        }
    }

    /// The rate limiter, which uses the same Redis.
    fn limiter(&self, rates: &rate_limiter::RateLimitSettings) -> Limiter {
        let nodes = match self {
            Self::Redis(urls, _) => urls.clone().into(),
            Self::Off | Self::Rows(_) => Nodes::default(),
        };
        Limiter::open(&nodes, rates.clone()).unwrap()
    }

    fn keeper(&self, pool: &Pool) -> Option<LockService> {
        match self {
            Self::Off => None,
            Self::Rows(settings) => Some(LockService::postgres(pool.clone(), *settings)),
            Self::Redis(urls, settings) => Some(
                LockService::redis(&urls.clone().into(), pool.clone(), "test", *settings).unwrap(),
            ),
        }
    }
}

/// The settings of an installation that tests vary.
#[derive(Debug, Clone)]
pub struct TestServerOptions {
    pub line: LockBackend,
    /// The tenants of each preview target. Every target is the database `orders`.
    pub targets: BTreeMap<String, Option<Vec<String>>>,
    pub target_kind: TargetKind,
    /// Executors in addition to the SQL preview.
    pub executors: Vec<ExecutorEntry>,
    /// The issuer of receipts, as targets know it, and its signing key; generated if absent.
    pub key: Option<(String, Vec<u8>)>,
    /// The address of the storage for complete logs.
    pub blobs: Option<String>,
    /// The address to which events are exported, and the tenants whose events are exported.
    pub sink: Option<(String, TenantBinding)>,
    /// The address of the mail server.
    pub mail: Option<String>,
    /// The address of the Slack API.
    pub slack: Option<String>,
    pub providers: Vec<TestProvider>,
    pub rates: rate_limiter::RateLimitSettings,
    /// The default feature flags of tenants.
    pub flags: Switches,
    /// The rule for who must confirm decisions with a passkey.
    pub step_up: Rule,
    /// How old roles must be to count for tasks of high and critical risk.
    pub authority_age: Duration,
    /// The public address of the installation.
    pub page: String,
    /// The longest wait for a database connection. It is long by default, because a busy machine
    /// may take seconds to open one.
    pub acquire_timeout: Duration,
    /// The timeout for one response of PostgreSQL. It is long by default, because some tests let a
    /// statement wait for up to a minute.
    pub answer_timeout: Duration,
}

/// An identity provider in the settings of an installation.
#[derive(Debug, Clone)]
pub struct TestProvider {
    pub name: String,
    pub issuer: String,
    pub tenants: TenantBinding,
}

impl TestProvider {
    /// The provider of installations that have only one.
    pub fn company(issuer: &str, tenants: TenantBinding) -> Self {
        Self { name: "company".to_owned(), issuer: issuer.to_owned(), tenants }
    }
}

impl From<LockBackend> for TestServerOptions {
    fn from(line: LockBackend) -> Self {
        Self {
            line,
            targets: BTreeMap::from([("orders".to_owned(), Some(vec!["acme".to_owned()]))]),
            target_kind: TargetKind::Copy,
            executors: Vec::new(),
            key: None,
            blobs: None,
            sink: None,
            mail: None,
            slack: None,
            providers: Vec::new(),
            rates: unlimited(),
            flags: Switches::default(),
            step_up: Rule::default(),
            authority_age: Duration::from_hours(24),
            page: PAGE.to_owned(),
            acquire_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(90),
        }
    }
}

/// Rates without an effective limit: in most tests one caller stands for many.
pub fn unlimited() -> rate_limiter::RateLimitSettings {
    let rate = Rate { per_minute: 60_000_000, burst: 10_000_000 };
    rate_limiter::RateLimitSettings {
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
    pub fittings: TestServerOptions,
    pub database: Database,
    pub rig: TestServer,
    pub app: Arc<App>,
    pub admin: Person,
    pub tenant: String,
    exchanges: Mutex<Vec<Exchange>>,
}

/// A request and the status of its response.
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

/// A user or agent with its token.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: String,
    pub token: String,
}

pub struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    pub is_repeated: bool,
    /// The cookie that the response sets, as a browser sends it back.
    pub cookie: Option<String>,
    pub body: Value,
}

impl World {
    /// A world with PostgreSQL locks, which needs no Redis.
    pub async fn new() -> Self {
        let database = fresh().await;
        let port = database.server().port();
        Self::through(database, port).await
    }

    pub async fn locking(line: LockBackend) -> Self {
        Self::fitted(line.into()).await
    }

    pub async fn fitted(fittings: TestServerOptions) -> Self {
        let database = fresh().await;
        let port = database.server().port();
        Self::reached(database, port, None, fittings).await
    }

    /// A world whose server connects to PostgreSQL through this port, for example that of a proxy.
    pub async fn through(database: Database, port: u16) -> Self {
        Self::reached(database, port, None, LockBackend::Rows(LockBackend::SETTINGS).into()).await
    }

    /// Like [`World::through`], with settings.
    pub async fn fitted_through(
        database: Database,
        port: u16,
        fittings: TestServerOptions,
    ) -> Self {
        Self::reached(database, port, None, fittings).await
    }

    /// A world over this database. `replica` is the port of its replica, if there is one.
    pub async fn over(database: Database, replica: Option<u16>) -> Self {
        let port = database.server().port();
        Self::reached(database, port, replica, LockBackend::Rows(LockBackend::SETTINGS).into())
            .await
    }

    async fn reached(
        database: Database,
        port: u16,
        replica: Option<u16>,
        fittings: TestServerOptions,
    ) -> Self {
        // The output of a failed test contains the error log of the server.
        let level = std::env::var("ADE_TEST_LOG").unwrap_or_else(|_| "error".to_owned());
        let lines = config::LogConfig { format: config::LogFormat::Text, level };
        let _ = telemetry::log(&lines);
        let app = app_over(&database, port, replica, &fittings).await;
        let shared = Shared::new(Arc::clone(&app), settings(&[]), telemetry::metrics().unwrap());
        let rig = TestServer::over(shared).await;
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

    /// Batches are off for a new tenant, and the tests of batches need them.
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
        self.app_fitted(&self.fittings)
    }

    /// Another process over the same database that also serves requests.
    pub async fn beside(&self) -> TestServer {
        self.beside_with(settings(&[])).await
    }

    /// Like [`World::beside`], with other server settings.
    pub async fn beside_with(&self, settings: config::ServerConfig) -> TestServer {
        let metrics = telemetry::metrics().unwrap();
        TestServer::over(Shared::new(self.another_app(), settings, metrics)).await
    }

    /// Another process over the same database, with settings of its own.
    pub async fn beside_fitted(&self, fittings: &TestServerOptions) -> TestServer {
        let app = self.app_fitted(fittings);
        TestServer::over(Shared::new(app, settings(&[]), telemetry::metrics().unwrap())).await
    }

    /// Like [`World::another_app`], with settings of its own.
    pub fn app_fitted(&self, fittings: &TestServerOptions) -> Arc<App> {
        let urls = ["app", "work"].map(|login| self.database.url_as(login));
        app_at(&self.database, urls, None, fittings)
    }

    /// Creates a tenant and its first admin in the same way as an installation.
    pub async fn tenant(&self, name: &str) -> (String, Person) {
        let way_in = self.bootstrap(name).await;
        let first = way_in.token.reveal();
        let made = self.post(&first, "/v1/tokens", json!({ "scopes": ALL_SCOPES })).await;
        let token = made.expect(201)["token"].as_str().unwrap().to_owned();
        (way_in.tenant.to_string(), Person { id: way_in.admin.to_string(), token })
    }

    async fn bootstrap(&self, name: &str) -> bootstrap::WayIn {
        let way_in = bootstrap::bootstrap(&self.database.url(), &pepper(), name).await.unwrap();
        // The role of the first admin counts for high risk as well, when the setup has ended.
        let sql = "UPDATE user_role SET granted_at = moment() - interval '2 days'";
        self.database.run(sql).await;
        way_in
    }

    /// Creates a tenant and returns the single-use token of its first admin.
    pub async fn way_in(&self, name: &str) -> String {
        self.bootstrap(name).await.token.reveal()
    }

    pub async fn person(&self, name: &str, roles: &[&str]) -> Person {
        self.person_of(&self.admin, name, roles).await
    }

    pub async fn person_of(&self, admin: &Person, name: &str, roles: &[&str]) -> Person {
        let user = self.user_of(admin, name, roles).await;
        let id = user["id"].as_str().unwrap().to_owned();
        let invitation = self.invite_without_mail(admin, &id).await;
        let (answer, session) = self.accept(&invitation).await;
        answer.expect(204);
        self.confirm(&id).await;
        let headers = [&[("cookie", session.as_deref().unwrap())], OWN_PAGE.as_slice()].concat();
        let asked = Some(json!({ "scopes": NO_AUTHORITY }));
        let token = self.send("POST", "", "/v1/tokens", asked, &headers).await.expect(201);
        let token = token["token"].as_str().unwrap().to_owned();
        self.widen(&token).await;
        Person { id, token }
    }

    /// Creates a user and grants the roles as if a second admin had published that two days ago.
    async fn user_of(&self, admin: &Person, name: &str, roles: &[&str]) -> Value {
        let asked = json!({ "name": name, "roles": [] });
        let user = self.post(&admin.token, "/v1/users", asked).await.expect(201);
        if !roles.is_empty() {
            let uuid = id(&user).parse::<UserId>().unwrap().uuid();
            let roles: Vec<String> = roles.iter().map(|role| format!("'{role}'")).collect();
            let sql = format!(
                "INSERT INTO user_role (tenant_id, user_id, role, granted_at)
                 SELECT tenant_id, id, unnest(ARRAY[{}]), moment() - interval '2 days'
                   FROM app_user WHERE id = '{uuid}'",
                roles.join(", ")
            );
            self.database.run(&sql).await;
        }
        user
    }

    /// Confirms a person who has joined, as if a second admin had done it.
    pub async fn confirm(&self, user: &str) {
        let uuid = user.parse::<UserId>().unwrap().uuid();
        let sql = format!(
            "DELETE FROM user_alias WHERE user_id = '{uuid}' AND until_confirmed;
             UPDATE app_user SET invited_by = NULL, unconfirmed_since = NULL WHERE id = '{uuid}'"
        );
        self.database.run(&sql).await;
    }

    /// Gives this new token all scopes. The person themself would have to confirm that with a
    /// passkey once anyone in the tenant has one.
    pub async fn widen(&self, token: &str) {
        let key_id = token.split('_').nth(2).unwrap();
        let scopes = ALL_SCOPES.map(|scope| format!("'{scope}'")).join(", ");
        let sql = format!("UPDATE token SET scopes = ARRAY[{scopes}] WHERE key_id = '{key_id}'");
        self.database.run(&sql).await;
    }

    /// Invites a user without an address, also where invitations are sent by mail.
    async fn invite_without_mail(&self, admin: &Person, user: &str) -> String {
        let uuid = user.parse::<UserId>().unwrap().uuid();
        let set = |email| format!("UPDATE app_user SET email = {email} WHERE id = '{uuid}';");
        self.database.run(&set("'joining@example.org'")).await;
        let invitation = self.invite(admin, user).await;
        let unsent = format!(
            "{} DELETE FROM message_item WHERE user_id = '{uuid}';
             DELETE FROM scheduled_job WHERE kind = 'send_mail' AND object = '{uuid}'",
            set("NULL")
        );
        self.database.run(&unsent).await;
        invitation
    }

    /// Invites this user and returns the secret of the invitation.
    pub async fn invite(&self, admin: &Person, user: &str) -> String {
        let path = format!("/v1/users/{user}/invitations");
        let made = self.send("POST", &admin.token, &path, None, &[]).await.expect(201);
        match made["invitation"].as_str() {
            Some(shown) => shown.to_owned(),
            None => self.mailed_invitation(user).await,
        }
    }

    /// Returns the open invitation of a person, as the message to them contains it.
    pub async fn mailed_invitation(&self, user: &str) -> String {
        let user: UserId = user.parse().unwrap();
        let sql = format!(
            "SELECT tenant_id::text || ' ' || key_id FROM invitation WHERE user_id = '{}'",
            user.uuid()
        );
        let found = self.database.text(&sql).await;
        let (tenant, key_id) = found.split_once(' ').unwrap();
        let tenant = TenantId::from_uuid(tenant.parse().unwrap());
        let key_id = KeyId::parse(key_id).unwrap();
        let secret = pepper().invitation(tenant, user, &key_id).unwrap();
        Token { kind: TokenKind::Invitation, key_id, secret }.reveal()
    }

    /// Accepts an invitation on a page of the server, and returns the session cookie as a browser
    /// sends it back.
    pub async fn accept(&self, invitation: &str) -> (Answer, Option<String>) {
        let path = "/v1/invitations/accept";
        let mut request = self.rig.request("POST", path);
        for (name, value) in OWN_PAGE {
            request = request.header(name, value);
        }
        let body = json!({ "invitation": invitation }).to_string();
        let request = request.header("content-type", "application/json").body(body);
        let answer = Answer::of(request.send().await.unwrap()).await;
        self.note("POST", path, answer.status);
        let cookie = answer.cookie.clone();
        (answer, cookie)
    }

    pub async fn agent(&self, name: &str, owner: &Person) -> Person {
        self.agent_of(&self.admin, name, owner).await
    }

    pub async fn agent_of(&self, admin: &Person, name: &str, owner: &Person) -> Person {
        let asked = json!({ "name": name, "owner_id": owner.id });
        let agent = self.post(&admin.token, "/v1/agents", asked).await.expect(201);
        let id = agent["id"].as_str().unwrap().to_owned();
        // The owner answers for the agent in any case, so its token involves no one else.
        let token = self.agent_token(owner, &id).await;
        Person { id, token }
    }

    /// Issues a token for an agent.
    pub async fn agent_token(&self, issuer: &Person, agent: &str) -> String {
        let asked = json!({ "agent_id": agent, "scopes": ["read", "propose", "execute"] });
        let token = self.post(&issuer.token, "/v1/tokens", asked).await.expect(201);
        token["token"].as_str().unwrap().to_owned()
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

    /// Reads an event stream until it ends.
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

    /// Records a request that was not sent by [`World::send`].
    pub fn note(&self, method: &str, path: &str, status: u16) {
        self.exchanges.lock().unwrap().push(Exchange {
            method: method.to_owned(),
            path: path.to_owned(),
            status,
            code: None,
            is_repeated: false,
        });
    }

    /// Returns all requests of this world so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }

    /// Sends a request with the version of `task` in `If-Match`.
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

    /// Uses one idempotency key for two bodies: the second one is refused.
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

    /// Counts the refusals of this action in the audit log.
    pub async fn refusals(&self, object: &str, action: &str) -> usize {
        let path = format!("/v1/audit?object={object}");
        let entries = self.get(&self.admin.token, &path).await.expect(200);
        let is_one = |item: &&Value| {
            item["leaf"]["kind"] == "refusal" && item["leaf"]["what"]["action"] == action
        };
        entries["items"].as_array().unwrap().iter().filter(is_one).count()
    }

    /// Sets the clock of all processes over this database to this time after the start of the test.
    pub async fn pass(&self, by: Duration) {
        self.database.advance_clock(by).await;
        self.database.run("SELECT make_partitions(interval '7 days', moment())").await;
    }

    /// Publishes a policy as if two admins had done it.
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

    /// Puts approved tasks with this title into the state after a failed apply.
    pub async fn fail(&self, title: &str) {
        let sql = "UPDATE task SET state = 'FAILED', attempts = 1 WHERE state = 'APPROVED'";
        self.database.run(&format!("{sql} AND title = '{title}'")).await;
    }

    pub async fn task(&self, who: &Person, task: &Value) -> Value {
        self.get(&who.token, &path_of(task)).await.expect(200)
    }

    /// Creates a task and lets the reviewer approve it.
    pub async fn approved(&self, author: &Person, reviewer: &Person, title: &str) -> Value {
        let task = self.reviewing(author, title).await;
        self.approve(reviewer, &task).await;
        self.task(author, &task).await
    }

    pub async fn approve(&self, reviewer: &Person, task: &Value) {
        let path = format!("{}/approve", path_of(task));
        let voted = self.post(&reviewer.token, &path, seen(task)).await.expect(200);
        assert_eq!(voted["state"], "APPROVED", "{voted}");
    }

    /// Creates a draft with one declared change of `database:orders`.
    pub async fn draft(&self, author: &Person, title: &str) -> Value {
        self.post(&author.token, "/v1/tasks", plan(title)).await.expect(201)
    }

    pub async fn submit(&self, author: &Person, task: &Value) -> Value {
        let path = format!("/v1/tasks/{}/submit", id(task));
        let version = quoted(task);
        self.send("POST", &author.token, &path, None, &[("if-match", &version)]).await.expect(202)
    }

    /// Runs a worker once.
    pub async fn work(&self, name: &str) -> worker::Done {
        workers::run_once(&self.app, name).await.unwrap().unwrap()
    }

    /// Like [`World::work`], for a worker that may fail.
    pub async fn try_work(&self, name: &str) -> Option<worker::Done> {
        workers::run_once(&self.app, name).await.unwrap().ok()
    }

    /// Creates a task and opens its review.
    pub async fn reviewing(&self, author: &Person, title: &str) -> Value {
        let task = self.draft(author, title).await;
        self.submit(author, &task).await;
        self.work("review_opener").await;
        let task = self.get(&author.token, &format!("/v1/tasks/{}", id(&task))).await.expect(200);
        assert_eq!(task["state"], "REVIEWING", "{task}");
        task
    }

    /// Returns who performed this action on the task, as the audit log names them.
    pub async fn who_did(&self, task: &Value, action: &str) -> Value {
        let path = format!("/v1/audit?object={}&page_size=200", id(task));
        let entries = self.get(&self.admin.token, &path).await.expect(200);
        let mut items = entries["items"].as_array().unwrap().iter();
        let found = items.find(|item| item["leaf"]["what"]["action"] == action);
        found.unwrap_or_else(|| panic!("no {action} in {entries}"))["leaf"]["who"].clone()
    }

    /// Returns the id of the pending approval request of this reviewer for this task.
    pub async fn request(&self, reviewer: &Person, task: &Value) -> String {
        let inbox = self.get(&reviewer.token, "/v1/approvals?page_size=200").await.expect(200);
        let items = inbox["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["task"]["id"] == task["id"]);
        found.unwrap_or_else(|| panic!("no pending request: {inbox}"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
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
            cookie: header("set-cookie").and_then(|set| Some(set.split_once(';')?.0.to_owned())),
            body: response.json().await.unwrap_or(Value::Null),
        }
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// Asserts that the response is a problem with this status and code, and returns its body.
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

/// Formats the version of a task for `If-Match`.
pub fn quoted(task: &Value) -> String {
    format!("\"{}\"", task["version"])
}

/// Removes the request id from a body, so that two bodies can be compared.
pub fn without_request_id(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.remove("request_id");
    }
    body
}

/// The revision and digest that a reviewer of this task sends.
pub fn seen(task: &Value) -> Value {
    json!({ "revision": task["revision"], "digest": task["digest"] })
}

/// The time this many days after the task entered its state.
pub fn days_later(task: &Value, days: u64) -> String {
    let since: Timestamp = task["state_since"].as_str().unwrap().parse().unwrap();
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
    Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await
}

fn pepper() -> Pepper {
    Pepper::new(vec![7; 32]).unwrap()
}

async fn app_over(
    database: &Database,
    port: u16,
    replica: Option<u16>,
    fittings: &TestServerOptions,
) -> Arc<App> {
    database.login("app", "ade_app").await;
    database.login("work", "ade_app, ade_worker").await;
    let urls = ["app", "work"].map(|login| database.url_as_through(port, login));
    app_at(database, urls, replica, fittings)
}

pub const SLACK_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn notify(fittings: &TestServerOptions) -> Notify {
    let from = "ADE <ade@example.org>";
    let slack = fittings.slack.as_deref();
    Notify {
        mail: fittings.mail.as_deref().map(|url| Mailer::new(url, from).unwrap()),
        slack: slack.map(|api| Slack::new(api, "xoxb-test", SLACK_SECRET).unwrap()),
        page: fittings.page.clone(),
    }
}

fn providers(fittings: &TestServerOptions) -> Providers {
    let settings = fittings.providers.iter().map(|provider| identity::ProviderSettings {
        name: provider.name.clone(),
        title: format!("The {}", provider.name),
        issuer: provider.issuer.clone(),
        client_id: "ade".to_owned(),
        client_secret: Some("a secret of the client".to_owned()),
        scopes: vec!["openid".to_owned(), "profile".to_owned()],
        groups_claim: "groups".to_owned(),
        allow_loopback: true,
        tenants: provider.tenants.clone(),
    });
    let all = settings.map(|settings| Provider::new(settings).unwrap()).collect();
    Providers::new(all, &fittings.page)
}

/// The preview target is the database `orders` on the same server, if the test creates it.
fn app_at(
    database: &Database,
    [app, work]: [String; 2],
    replica: Option<u16>,
    fittings: &TestServerOptions,
) -> Arc<App> {
    let settings = |url: &str| PoolSettings {
        api_max: API_CONNECTIONS,
        worker_max: 4,
        acquire_timeout: fittings.acquire_timeout,
        answer_timeout: fittings.answer_timeout,
        ..PoolSettings::new(url)
    };
    let pools = Pools {
        api: Pool::new(&settings(&app), PoolClass::Api).unwrap(),
        worker: Pool::new(&settings(&work), PoolClass::Worker).unwrap(),
        reserved: Pool::new(&settings(&app), PoolClass::Reserved).unwrap(),
    };
    let port = database.server().port();
    let replica = replica.map(|at| {
        let url = app.replace(&format!(":{port}/"), &format!(":{at}/"));
        Pool::new(&settings(&url), PoolClass::Replica).unwrap()
    });
    let name = database.name();
    let target =
        format!("postgres://{name}_preview:x@127.0.0.1:{port}/{name}_orders?sslmode=disable");
    let targets = fittings.targets.iter();
    let kind = fittings.target_kind;
    let new =
        |of: &Option<Vec<String>>| PreviewTarget::new(target.clone(), kind, of.clone().into());
    let targets = targets.map(|(name, of)| (name.clone(), new(of))).collect();
    let sql: Arc<dyn Executor> = Arc::new(SqlPreview::new(targets, pools.api.clone()));
    let executors = fittings.executors.iter().cloned();
    let sql = ExecutorEntry {
        types: "sql.*".parse().unwrap(),
        tenants: TenantBinding::Every,
        executor: sql,
    };
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
        executors: Executors::new(executors.chain([sql]).collect(), 8, PreviewSlots::new(4, 2)),
        risk: ade_core::risk::RiskConfig::default(),
        timeouts: ade_core::timeouts::Timeouts::default(),
        authority_age: fittings.authority_age,
        flags: fittings.flags,
        live: fittings.line.live(),
        webhooks: Webhooks::new(AddressPolicy::Loopback, Vec::new(), SystemLookup).unwrap(),
        sink: (fittings.sink.as_ref())
            .map(|(sink, tenants)| Sink::open(sink, tenants.clone()).unwrap()),
        notify: notify(fittings),
        providers: providers(fittings),
        passkeys: Passkeys::new(fittings.step_up, Duration::from_hours(1), &fittings.page).unwrap(),
        service: "test".to_owned(),
    };
    App::new(parts).unwrap()
}
