//! `ade login` without a token: the login is confirmed or denied in a browser.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::installation::{Ended, Installation, SOON, ended};
use crate::terminal::{CTRL_C, Terminal};

const CONFIG: &str = ".config/ade/config.toml";

/// A login that has shown its code and is waiting.
struct Login {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    asked: Value,
}

impl Login {
    async fn begin(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(SOON, lines.next_line()).await.expect("no line is shown").unwrap();
        let asked = serde_json::from_str(&line.expect("the login ended early")).unwrap();
        Self { child, lines, asked }
    }

    fn path(&self, verb: &str) -> String {
        format!("/v1/device/{}{verb}", self.asked["user_code"].as_str().unwrap())
    }

    /// Returns the remaining output and the exit status.
    async fn end(mut self) -> Ended {
        let rest = timeout(SOON, self.lines.next_line()).await.expect("no line follows").unwrap();
        let output = timeout(SOON, self.child.wait_with_output()).await;
        let mut ended = Ended::from(output.expect("the login does not end").unwrap());
        ended.out = rest.unwrap_or_default();
        ended
    }
}

fn token_in(config: &Path) -> String {
    let text = fs::read_to_string(config).unwrap();
    let token = text.lines().find_map(|line| line.strip_prefix("token = \""));
    token.unwrap().trim_end_matches('"').to_owned()
}

async fn status_of(at: &Installation, token: &str) -> u16 {
    let asked = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = asked.get(format!("{}/v1/me", at.url)).bearer_auth(token);
    asked.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn device_login_approved_then_logout_leaves_nothing() {
    let at = Installation::start().await;
    let login = Login::begin(at.bare(&["login", "--server", &at.url, "-o", "json"])).await;
    assert!(login.asked["device_code"].is_null(), "never shown: {}", login.asked);
    let page = login.asked["verification_uri"].as_str().unwrap();
    assert!(page.ends_with("/device"), "{page}");
    let seen = at.call(Method::GET, &at.admin, &login.path(""), None).await;
    assert!(seen["client_name"].as_str().unwrap().starts_with("ade"), "{seen}");
    at.post(&at.admin, &login.path("/approve"), json!({})).await;
    let output = login.end().await.with(0);
    let me: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(me["actor"]["kind"], "user");
    assert_eq!(output.err, "", "JSON output comes without messages");

    let config = at.home().join(CONFIG);
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    ended(at.bare(&["whoami"])).await.with(0);
    let token = token_in(&config);
    assert_eq!(status_of(&at, &token).await, 200);
    let out = ended(at.bare(&["logout", "--json"])).await.with(0).out;
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["is_revoked"], true);
    assert_eq!(status_of(&at, &token).await, 401, "the token is revoked");
    assert!(!fs::read_to_string(&config).unwrap().contains(&token));
    ended(at.bare(&["whoami"])).await.with(77);
    // A second logout succeeds, and the server stays in the settings.
    ended(at.bare(&["logout"])).await.with(0);
    ended(at.bare(&["profiles", "list", "--jq", ".[].server"])).await.with(0).prints(&at.url);
}

#[tokio::test]
async fn device_login_rejected_stores_nothing() {
    let at = Installation::start().await;
    let opened = at.home().join("opened");
    let browser = at.home().join("browser");
    fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display())).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = at.bare(&["login", "--server", &at.url, "--browser", "--json"]);
    command.env("BROWSER", &browser);
    let login = Login::begin(command).await;
    let page = login.asked["verification_uri_complete"].as_str().unwrap().to_owned();
    assert!(page.ends_with(login.asked["user_code"].as_str().unwrap()), "{page}");
    at.call(Method::POST, &at.reviewer, &login.path("/deny"), None).await;
    let output = login.end().await.with(77);
    let error: Value = serde_json::from_str(&output.err).unwrap();
    assert_eq!(error["code"], "access_denied");
    assert!(!at.home().join(CONFIG).exists());
    assert_eq!(fs::read_to_string(&opened).unwrap().trim(), page);
}

#[tokio::test]
async fn device_logout_revokes_a_token_that_can_only_read() {
    let at = Installation::start().await;
    let login = Login::begin(at.bare(&["login", "--server", &at.url, "-o", "jsonl"])).await;
    at.post(&at.reviewer, &login.path("/approve"), json!({ "scopes": ["read"] })).await;
    let output = login.end().await.with(0);
    assert_eq!(serde_json::from_str::<Value>(&output.out).unwrap()["name"], "Rea");
    let token = token_in(&at.home().join(CONFIG));
    ended(at.bare(&["logout"])).await.with(0);
    assert_eq!(status_of(&at, &token).await, 401);
}

/// Without the server, the token stays valid, and `ade logout` says so.
#[tokio::test]
async fn device_logout_that_cannot_revoke_names_the_command() {
    let at = Installation::start().await;
    let args = ["login", "--server", &at.url, "--token", &at.agent];
    ended(at.bare(&args)).await.with(0);
    let config = at.home().join(CONFIG);
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace(&at.url, "http://127.0.0.1:1")).unwrap();
    let key_id = at.agent.split('_').nth(2).unwrap();
    ended(at.bare(&["logout"])).await.with(0).says(&format!("ade tokens revoke {key_id}"));
    assert_eq!(status_of(&at, &at.agent).await, 200);
}

/// Without a keyring, a token that decides is neither stored nor left valid.
#[tokio::test]
async fn device_login_that_decides_without_a_keyring_is_revoked() {
    let at = Installation::start().await;
    let login = Login::begin(at.bare(&["login", "--server", &at.url, "-o", "jsonl"])).await;
    let asked = json!({ "scopes": ["read", "propose", "decide"] });
    at.post(&at.reviewer, &login.path("/approve"), asked).await;
    let output = login.end().await.with(1);
    output.says("the token was not stored");
    assert!(!at.home().join(CONFIG).exists());
    let tokens = at.call(Method::GET, &at.reviewer, "/v1/tokens", None).await;
    let newest = &tokens["items"][0];
    assert!(newest["label"].as_str().unwrap().starts_with("ade"), "{tokens}");
    assert!(newest["revoked_at"].is_string(), "{tokens}");
}

#[tokio::test]
async fn device_login_interrupted_stores_nothing() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.bare(&["login", "--server", &at.url]));
    terminal.until("/device").await;
    terminal.until("waiting").await;
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(130), "{screen}");
    assert!(screen.contains("no token was stored"), "{screen}");
    assert!(!at.home().join(CONFIG).exists());
}
