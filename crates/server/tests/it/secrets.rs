//! What the server is given to keep stays inside. Something that occurs nowhere else is planted in
//! every setting that holds a secret and comes with everything that is handed out once; then it is
//! looked for in the log, in all other answers, in the record and in Redis.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ade_core::token::Token;
use ade_engine::limiter;
use ade_engine::locks::Rate;
use ade_engine::secret::Pepper;
use ade_engine::setup;
use ade_testkit::{Cluster, Database, leak};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::locks::{ACQUIRE, want, with};
use crate::program::Program;
use crate::provider::FakeProvider;
use crate::signing_in::{Browser, ada, give};
use crate::tokens::ROWS_WITH;
use crate::world::{Fittings, Line, World, unlimited};

/// Where nothing listens.
const NOWHERE: &str = "127.0.0.1:1";
/// Settings that name a file, and what is in the file: the secret, or an address with it.
const FILES: [(&str, &str); 7] = [
    ("ADE__AUTH__PROVIDERS__CORP__CLIENT_SECRET_FILE", "{}"),
    ("ADE__DATABASE__REPLICA_URL_FILE", "postgres://robot:{}@127.0.0.1:1/ade"),
    ("ADE__REDIS__URLS_FILE", "redis://:{}@127.0.0.1:1"),
    ("ADE__MAIL__URL_FILE", "smtps://robot:{}@127.0.0.1:1"),
    ("ADE__SLACK__TOKEN_FILE", "{}"),
    ("ADE__SLACK__SIGNING_SECRET_FILE", "{}"),
    ("ADE__PREVIEW__TARGETS__MAIN__URL_FILE", "postgres://robot:{}@127.0.0.1:1/shop"),
];

/// A folder of secrets, each of them known.
struct Plants {
    folder: PathBuf,
    secrets: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Plants {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("ade-plants-{}", Uuid::now_v7()));
        fs::create_dir_all(&folder).unwrap();
        let mut plants = Self { folder, secrets: Vec::new(), environment: Vec::new() };
        for (setting, text) in FILES {
            let secret = plants.secret();
            plants.file(setting, &text.replace("{}", &secret));
        }
        for (setting, value) in [
            ("ADE__AUTH__PROVIDERS__CORP__ISSUER", "http://127.0.0.1:1"),
            ("ADE__AUTH__PROVIDERS__CORP__CLIENT_ID", "ade"),
            ("ADE__AUTH__PROVIDERS__CORP__ALLOW_LOOPBACK", "true"),
        ] {
            plants.environment.push((setting.to_owned(), value.to_owned()));
        }
        plants
    }

    fn secret(&mut self) -> String {
        let secret = format!("planted{}", Uuid::new_v4().simple());
        self.secrets.push(secret.clone());
        secret
    }

    fn file(&mut self, setting: &str, text: &str) {
        let path = self.folder.join(setting);
        fs::write(&path, text).unwrap();
        self.environment.push((setting.to_owned(), path.to_str().unwrap().to_owned()));
    }

    /// A key that receipts are signed with, as the program makes it.
    fn key(&mut self) {
        let path = self.folder.join("key.pem");
        let mut made = Command::new(env!("CARGO_BIN_EXE_ade-server"));
        assert!(made.args(["keys", "new"]).arg(&path).env_clear().status().unwrap().success());
        let lines = fs::read_to_string(&path).unwrap();
        let body = lines.lines().filter(|line| !line.starts_with("-----"));
        self.secrets.extend(body.map(str::to_owned));
        let setting = "ADE__RECEIPTS__KEY_FILES".to_owned();
        self.environment.push((setting, path.to_str().unwrap().to_owned()));
    }

    /// The address of the record, with a password in it.
    async fn password(&mut self, database: &Database, setting: &str, login: &str, roles: &str) {
        let url = database.login(login, roles).await;
        let (secret, name) = (self.secret(), database.name());
        database.run(&format!("ALTER ROLE {name}_{login} PASSWORD '{secret}'")).await;
        let planted = url.replacen(":x@", &format!(":{secret}@"), 1);
        assert_ne!(planted, url, "no password to replace");
        self.environment.push((setting.to_owned(), planted));
    }
}

impl Drop for Plants {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// One who asks, and keeps every answer that nobody is to find anything in.
struct Asker {
    client: Client,
    address: String,
    token: String,
    answers: Vec<String>,
}

impl Asker {
    fn request(&self, method: &str, path: &str, body: Option<Value>) -> RequestBuilder {
        let method = method.parse().unwrap();
        let asked = self.client.request(method, format!("http://{}{path}", self.address));
        match body {
            Some(body) => asked
                .header("content-type", "application/json")
                .body(serde_json::to_vec(&body).unwrap()),
            None => asked,
        }
    }

    /// The text and the status of an answer that is looked through later.
    async fn ask(&mut self, request: RequestBuilder) -> (u16, String) {
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let head = format!("{:?}", answer.headers());
        let text = answer.text().await.unwrap();
        self.answers.push(format!("{head}\n{text}"));
        (status, text)
    }

    async fn call(&mut self, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
        let request = self.request(method, path, body).bearer_auth(&self.token);
        self.ask(request).await
    }

    /// An answer that hands something out, and is not looked through.
    async fn issued(&self, path: &str, body: Value) -> Value {
        let request = self.request("POST", path, Some(body)).bearer_auth(&self.token);
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }
}

/// Everything that touches a secret or the place it is used for.
async fn use_all(asker: &mut Asker, plants: &mut Plants) {
    let mut issued = Vec::new();
    let made = asker.issued("/v1/tokens", json!({ "scopes": ["read"] })).await;
    issued.push(made["token"].as_str().unwrap().to_owned());
    let hook = json!({ "url": "https://hooks.example.com/a", "events": ["task.*"] });
    let hook = asker.issued("/v1/webhooks", hook).await;
    issued.push(hook["secret"].as_str().unwrap().to_owned());
    let hook = hook["id"].as_str().unwrap();
    let turned = asker.issued(&format!("/v1/webhooks/{hook}/rotate"), json!({})).await;
    issued.push(turned["secret"].as_str().unwrap().to_owned());
    for path in ["/v1/webhooks", "/v1/tokens", "/v1/status", "/v1/me", "/metrics"] {
        assert_eq!(asker.call("GET", path, None).await.0, 200, "{path}");
    }
    assert_eq!(asker.call("GET", "/v1/audit", None).await.0, 503, "the replica is nowhere");
    let statement = json!({ "database": "main", "statement": "SELECT 1" });
    let task = json!({ "title": "one", "type": "sql.migrate", "parameters": statement,
                       "resources": [{ "resource": "database:shop" }] });
    let (status, _) = asker.call("POST", "/v1/tasks", Some(task)).await;
    assert!(status >= 400, "nobody is there to preview it");
    let (status, _) = asker.call("GET", "/auth/login?provider=corp", None).await;
    assert!((300..600).contains(&status) && status != 401, "{status}");
    let slack = asker.request("POST", "/v1/slack/interactions", Some(json!({})));
    let slack = slack.header("x-slack-signature", format!("v0={}", plants.secret()));
    assert!(asker.ask(slack).await.0 >= 400);
    let real = Token::parse(&issued[0]).unwrap();
    let wrong = asker.request("GET", "/v1/me", None).bearer_auth(format!(
        "ade_usr_{}_{}",
        real.key_id.as_str(),
        plants.secret()
    ));
    assert_eq!(asker.ask(wrong).await.0, 401);
    let session = format!("__Host-ade_session={}", plants.secret());
    let guessed = asker.request("GET", "/v1/me", None).header("cookie", session);
    assert_eq!(asker.ask(guessed).await.0, 401);
    let ticket = format!("/v1/ws?ticket={}", plants.secret());
    let guessed = asker.request("GET", &ticket, None);
    assert!(asker.ask(guessed).await.0 >= 400);
    plants.secrets.push(real.secret.reveal().to_owned());
    plants.secrets.extend(issued);
}

#[tokio::test]
async fn nothing_that_was_planted_comes_out() {
    let database = Database::fresh("server", async |url: String| setup::migrate(&url).await).await;
    let mut plants = Plants::new();
    plants.key();
    plants.password(&database, "ADE__DATABASE__URL", "app", "ade_app").await;
    plants.password(&database, "ADE__DATABASE__WORKER_URL", "work", "ade_app, ade_worker").await;
    let [now, before] = [plants.secret(), plants.secret()];
    plants.file("ADE__AUTH__PEPPER_FILE", &now);
    plants.file("ADE__AUTH__PEPPER_PREVIOUS_FILE", &before);
    // From before the pepper was replaced: it still opens.
    let pepper = Pepper::new(before.into_bytes()).unwrap();
    let first = setup::bootstrap(&database.url(), &pepper, "acme").await.unwrap().token;
    plants.secrets.push(first.secret.reveal().to_owned());

    let (mut program, address) = Program::spawn("all", "trace", &plants.environment, database);
    program.read_on();
    let limits = fs::read_to_string(format!("/proc/{}/limits", program.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let core: Vec<&str> = core.split_whitespace().collect();
    assert_eq!(core[4..6], ["0", "0"], "what is in memory is written nowhere");
    let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    let token = first.reveal();
    let mut asker = Asker { client, address, token, answers: Vec::new() };
    // The first token works once: another for everything else.
    let scopes = json!({ "scopes": ["read", "propose", "decide", "operate", "administer"] });
    let made = asker.issued("/v1/tokens", scopes).await;
    asker.token = made["token"].as_str().unwrap().to_owned();
    plants.secrets.push(Token::parse(&asker.token).unwrap().secret.reveal().to_owned());
    use_all(&mut asker, &mut plants).await;
    program.signal();
    assert!(program.end().success(), "{}", program.seen);

    let log = &program.seen;
    assert!(log.contains("/v1/webhooks/{id}/rotate"), "it tells what was called");
    assert!(log.contains(NOWHERE), "and whom it did not reach");
    program.database.run(ROWS_WITH).await;
    let rows = async |needle: &str| {
        program.database.number(&format!("SELECT rows_with('{needle}')")).await
    };
    assert!(rows("hooks.example.com").await > 0, "the scan finds what is there");
    assert!(asker.answers.iter().any(|answer| answer.contains("hooks.example.com")));
    assert!(plants.secrets.len() > FILES.len() + 8);
    for secret in &plants.secrets {
        let hex: Vec<String> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for needle in [secret, &hex.concat()] {
            assert!(!log.contains(needle), "{needle} is in the log");
            let told = asker.answers.iter().find(|answer| answer.contains(needle));
            assert_eq!(told, None, "{needle} is in an answer");
            assert_eq!(rows(needle).await, 0, "{needle} is in the record");
        }
    }
}

/// Callers are counted there, queue there and are told of events there, by whatever names them.
#[tokio::test]
async fn redis_keeps_no_secret_either() {
    let provider = FakeProvider::start().await;
    let fittings = Fittings {
        provider: Some(provider.issuer.clone()),
        // So slow that whoever was counted still is.
        rates: limiter::Settings { token: Rate { per_minute: 1, burst: 1_000 }, ..unlimited() },
        ..Line::redis(Line::SETTINGS).await.into()
    };
    let world = World::fitted(fittings).await;
    give(&world, &world.admin.token, &provider, json!({ "dba": ["reviewer"] })).await;
    let mut browser = Browser::new(&world, &world.rig);
    assert_eq!(browser.sign_in(&provider, &ada(&["dba"])).await, "/inbox");
    browser.get("/v1/session").await.expect(200);
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    world.reviewing(&bob, "One").await;
    let name = format!("shop-{}", Uuid::new_v4().simple());
    let held =
        world.post(&bot.token, ACQUIRE, with(want(&[&name]), &json!({ "ttl": "60s" }))).await;
    held.expect(200);

    let held = Cluster::shared().await.contents().await;
    let held = String::from_utf8_lossy(&held);
    assert!(held.contains(&name), "the scan finds what is there");
    let known = Token::parse(&bot.token).unwrap();
    assert!(held.contains(known.key_id.as_str()), "and who was counted");
    let tokens = [&world.admin.token, &bob.token, &bot.token];
    assert!(!browser.cookies.is_empty());
    for (nth, secret) in tokens.into_iter().chain(browser.cookies.values()).enumerate() {
        let secret = secret.rsplit('_').next().unwrap();
        assert!(!held.contains(secret), "the secret of {nth}");
    }
    // Nor of any other test that was there before.
    assert_eq!(leak::token_in(&held), None);
}
