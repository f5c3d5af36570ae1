//! A server for one test: the built program with a fresh database, an admin, a reviewer and an
//! agent, and `ade` with its own home directory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Output, Stdio};
use std::time::Duration;

use ade_testkit::{Database, eventually};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::process::Command;

pub const SOON: Duration = Duration::from_mins(1);
const PEPPER: [u8; 32] = [7; 32];

pub struct Installation {
    server: Child,
    /// The database; it is dropped after the server that uses it.
    database: Database,
    folder: PathBuf,
    http: Client,
    pub url: String,
    pub admin: String,
    pub reviewer: String,
    pub agent: String,
    pub agent_id: String,
}

/// The server program, which is built next to the program under test.
fn server_program() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_ade")).with_file_name("ade-server");
    assert!(path.exists(), "build it first: cargo build --bin ade-server");
    path
}

async fn migrate(url: &str, pepper: &PathBuf, more: &[&str]) -> Result<String, String> {
    let done = Command::new(server_program())
        .arg("migrate")
        .args(more)
        .env_clear()
        .env("ADE__DATABASE__OWNER_URL", url)
        .env("ADE__AUTH__PEPPER_FILE", pepper)
        .output()
        .await
        .map_err(|error| error.to_string())?;
    let [out, err] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
    if done.status.success() { Ok(out.into_owned()) } else { Err(format!("{out}{err}")) }
}

impl Installation {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts a server with further settings.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("ade-cli-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&folder).unwrap();
        let pepper = folder.join("pepper");
        fs::write(&pepper, PEPPER).unwrap();
        let fresh = async |url: String| migrate(&url, &pepper, &[]).await.map(|_| ());
        let database = Database::fresh("cli", fresh).await;
        let printed = migrate(&database.url(), &pepper, &["--bootstrap", "acme"]).await.unwrap();
        let once = printed.split_whitespace().find(|word| word.starts_with("ade_usr_")).unwrap();
        let app = database.login("app", "ade_app").await;
        let work = database.login("work", "ade_app, ade_worker").await;
        let key = folder.join("key");
        let made = Command::new(server_program()).args(["keys", "new"]).arg(&key).output().await;
        assert!(made.unwrap().status.success(), "cannot create the key for receipts");
        let log = folder.join("log");
        let server = std::process::Command::new(server_program())
            .arg("all")
            .env_clear()
            .env("ADE__SERVER__LISTEN", "127.0.0.1:0")
            .env("ADE__DATABASE__URL", app)
            .env("ADE__DATABASE__WORKER_URL", work)
            .env("ADE__AUTH__PEPPER_FILE", &pepper)
            .env("ADE__LOCKS__BACKEND", "postgres")
            .env("ADE__RECEIPTS__KEY_FILES", &key)
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let address = eventually("the server listens", SOON, async || {
            let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
            let mut lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
            let started = lines.find(|line: &Value| line["message"] == "HTTP server started");
            started.and_then(|line| Some(line.get("address")?.as_str()?.to_owned())).ok_or(text)
        })
        .await;
        let http = Client::builder().no_proxy().build().unwrap();
        let mut made = Self {
            server,
            database,
            folder,
            http,
            url: format!("http://{address}"),
            admin: String::new(),
            reviewer: String::new(),
            agent: String::new(),
            agent_id: String::new(),
        };
        made.people(once).await;
        made
    }

    /// Asks the server to stop, as a supervisor does.
    pub async fn stop(&self) {
        let id = self.server.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().await.unwrap();
        assert!(sent.success(), "the server has ended before");
    }

    /// Waits until the server has ended.
    pub async fn stopped(&mut self) -> ExitStatus {
        eventually("the server ends", SOON, async || {
            self.server.try_wait().unwrap().ok_or("it still runs")
        })
        .await
    }

    /// Sets the clock of the server to this time after the start of the test.
    pub async fn pass(&self, by: Duration) {
        self.database.advance_clock(by).await;
        self.database.run("SELECT make_partitions(interval '7 days', moment())").await;
    }

    /// Ends the setup of the tenant, in which changes to the rules do not wait.
    pub async fn end_setup(&self) {
        self.database.run("UPDATE tenant SET setup_ended_at = moment()").await;
    }

    /// Runs a command of the server program as the owner of the tables.
    pub async fn operate(&self, args: &[&str]) -> Output {
        let mut command = Command::new(server_program());
        command.args(args).env_clear().env("ADE__DATABASE__OWNER_URL", self.database.url());
        tokio::time::timeout(SOON, command.output()).await.unwrap().unwrap()
    }

    async fn people(&mut self, once: &str) {
        let all = ["read", "propose", "execute", "decide", "operate", "administer"];
        let token = self.post(once, "/v1/tokens", json!({ "scopes": all })).await;
        self.admin = token["token"].as_str().unwrap().to_owned();
        let bob = json!({ "name": "Bob", "roles": ["author"] });
        let bob = self.post(&self.admin, "/v1/users", bob).await;
        let rea = json!({ "name": "Rea", "roles": ["reviewer"] });
        let rea = self.post(&self.admin, "/v1/users", rea).await;
        self.reviewer =
            self.join(rea["id"].as_str().unwrap(), &["read", "propose", "decide"]).await;
        let asked = json!({
            "name": "infra-bot", "owner_id": bob["id"], "capabilities": ["command.run"]
        });
        let agent = self.post(&self.admin, "/v1/agents", asked).await;
        self.agent_id = agent["id"].as_str().unwrap().to_owned();
        let asked = json!({ "agent_id": agent["id"], "scopes": ["read", "propose", "execute"] });
        // The owner issues it: an admin who did could not approve what the agent proposes.
        let scopes = ["read", "propose", "execute", "administer"];
        let owner = self.join(bob["id"].as_str().unwrap(), &scopes).await;
        let token = self.post(&owner, "/v1/tokens", asked).await;
        self.agent = token["token"].as_str().unwrap().to_owned();
        // The roles count for tasks of high risk as well, when the setup has ended.
        self.database.run("UPDATE user_role SET granted_at = moment() - interval '2 days'").await;
    }

    /// Invites a person, signs in as they would, and creates a token of their own.
    pub async fn join(&self, user: &str, scopes: &[&str]) -> String {
        let path = format!("/v1/users/{user}/invitations");
        let made = self.call(Method::POST, &self.admin, &path, None).await;
        let body = json!({ "invitation": made["invitation"] });
        let answer = self.post_as_page("/v1/invitations/accept", &body).send().await.unwrap();
        assert_eq!(answer.status(), 204);
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        let session = cookie.split(';').next().unwrap().to_owned();
        let asked = self.post_as_page("/v1/tokens", &json!({ "scopes": scopes }));
        let answer = asked.header("cookie", session).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let token: Value = answer.json().await.unwrap();
        token["token"].as_str().unwrap().to_owned()
    }

    /// Builds a request as a browser sends it from a page of the server.
    fn post_as_page(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.url));
        let request = request.header("sec-fetch-site", "same-origin").header("x-ade-request", "1");
        request.header("content-type", "application/json").body(body.to_string())
    }

    pub async fn call(
        &self,
        method: Method,
        token: &str,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        let key = uuid::Uuid::now_v7().to_string();
        // A busy machine may exceed the server's timeouts; the server then asks to retry.
        eventually(path, SOON, async || {
            let mut request = self.http.request(method.clone(), format!("{}{path}", self.url));
            request = request.bearer_auth(token).header("idempotency-key", &key);
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            let answer = request.send().await.unwrap();
            let status = answer.status();
            let body: Value = answer.json().await.unwrap();
            let is_retriable = status == 503 && body["retriable"] == true;
            assert!(status.is_success() || is_retriable, "{path}: {status} {body}");
            if is_retriable { Err(body.to_string()) } else { Ok(body) }
        })
        .await
    }

    pub async fn post(&self, token: &str, path: &str, body: Value) -> Value {
        self.call(Method::POST, token, path, Some(body)).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, &self.admin, path, None).await
    }

    /// Returns a task as the admin sees it.
    pub async fn task(&self, id: &str) -> Value {
        self.get(&format!("/v1/tasks/{id}")).await
    }

    /// Creates a token of the agent's owner.
    pub async fn author(&self) -> String {
        let agent = self.get(&format!("/v1/agents/{}", self.agent_id)).await;
        let asked = json!({ "user_id": agent["owner_id"], "scopes": ["read", "propose"] });
        let token = self.post(&self.admin, "/v1/tokens", asked).await;
        token["token"].as_str().unwrap().to_owned()
    }

    /// Creates a token with which the reviewer reads and proposes, but cannot vote.
    pub async fn reader(&self) -> String {
        let me = self.call(Method::GET, &self.reviewer, "/v1/me", None).await;
        let asked = json!({ "user_id": me["actor"]["id"], "scopes": ["read", "propose"] });
        let token = self.post(&self.admin, "/v1/tokens", asked).await;
        token["token"].as_str().unwrap().to_owned()
    }

    /// Waits until the newest task is in this state and returns it.
    pub async fn task_in(&self, state: &str) -> Value {
        eventually(&format!("a task is {state}"), SOON, async || {
            let list = self.get("/v1/tasks").await;
            let found = list["items"][0].clone();
            if found["state"] == state { Ok(found) } else { Err(list.to_string()) }
        })
        .await
    }

    /// Waits until the newest task is under review and votes as the reviewer.
    pub async fn answer(&self, verb: &str, reason: &str) -> Value {
        let task = self.task_in("REVIEWING").await;
        let path = format!("/v1/tasks/{}/{verb}", task["id"].as_str().unwrap());
        let body = json!({
            "revision": task["revision"], "digest": task["digest"], "reason": reason
        });
        self.post(&self.reviewer, &path, body).await;
        task
    }

    /// Returns `ade` as the agent, with an empty home and a clean environment.
    pub fn ade(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.env("ADE_SERVER", &self.url).env("ADE_TOKEN", &self.agent);
        command
    }

    /// Returns `ade` with another token.
    pub fn ade_as(&self, token: &str, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.env("ADE_SERVER", &self.url).env("ADE_TOKEN", token);
        command
    }

    /// Changes the risk settings so that hardly any task is HIGH.
    pub async fn calm(&self) {
        let levels = r#"{"thresholds":{"medium":97,"high":98,"critical":99}}"#;
        let args = ["api", "PUT", "/v1/risk/settings", "--if-match", "0", "-d", levels];
        ended(self.ade_as(&self.admin, &args)).await.with(0);
    }

    /// Creates a task of the agent that is in review.
    pub async fn reviewing(&self, title: &str) -> String {
        self.reviewing_with(title, json!({ "n": 1 })).await
    }

    pub async fn reviewing_with(&self, title: &str, parameters: Value) -> String {
        let body = json!({
            "title": title, "type": "command.run", "parameters": parameters,
            "resources": [{ "resource": "host:a", "mode": "shared" }],
            "plan": { "changes": [{
                "resource": "host:a", "action": "add", "irreversible": false, "summary": "a file"
            }] }
        });
        let task = self.post(&self.agent, "/v1/tasks", body).await;
        let id = task["id"].as_str().unwrap().to_owned();
        let version = task["version"].to_string();
        let args = ["api", "POST", &format!("/v1/tasks/{id}/submit"), "--if-match", &version];
        ended(self.ade(&args)).await.with(0);
        eventually("the task is in review", SOON, async || {
            let state = self.task(&id).await["state"].clone();
            if state == "REVIEWING" { Ok(()) } else { Err(state.to_string()) }
        })
        .await;
        id
    }

    /// Returns `ade` without a token.
    pub fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ade"));
        command
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", env!("PATH"))
            .env("HOME", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub fn home(&self) -> &PathBuf {
        &self.folder
    }

    pub fn port(&self) -> u16 {
        self.url.rsplit(':').next().unwrap().parse().unwrap()
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let _ = fs::remove_dir_all(&self.folder);
        ade_testkit::leak::assert_none("the log", &log);
    }
}

/// The exit code and output of a run in a pipe.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ended {
    #[track_caller]
    pub fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.err.contains(text), "`{text}` is not in\n{}", self.err);
        self
    }

    #[track_caller]
    pub fn prints(&self, text: &str) -> &Self {
        assert!(self.out.contains(text), "`{text}` is not in\n{}", self.out);
        self
    }
}

/// Runs a command to its end, with a timeout.
pub async fn ended(mut command: Command) -> Ended {
    let output = tokio::time::timeout(SOON, command.output()).await;
    output.expect("the command does not end").unwrap().into()
}
