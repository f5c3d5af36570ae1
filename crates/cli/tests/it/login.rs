//! `ade login`, profiles and settings: what is stored, and the errors when nothing is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use ade_testkit::eventually;
use reqwest::Method;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::installation::{Installation, SOON, ended};

const CONFIG: &str = ".config/ade/config.toml";

#[tokio::test]
async fn login_stores_a_valid_token_readable_by_its_owner_only() {
    let at = Installation::start().await;
    let config = at.home().join(CONFIG);
    ended(at.bare(&["tasks", "list"])).await.with(77).says("next     ade login --server URL");
    let output = ended(at.bare(&["config", "get"])).await.with(0);
    output.prints("default (from default)").prints(" (from default)").prints("token    not set");

    let args = ["login", "--server", &at.url, "--token", &at.agent];
    let output = ended(at.bare(&args)).await.with(0);
    output.prints("infra-bot").prints("(agent)");
    assert!(!output.out.contains(&at.agent), "the token is never shown");
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    ended(at.bare(&["tasks", "list"])).await.with(0).prints("No tasks yet.");

    // A well-formed token that the server does not know is not stored.
    let before = fs::read_to_string(&config).unwrap();
    let strange = "ade_agt_0000000000000000_0000000000000000000000000000000000000000000";
    let wrong = ended(at.bare(&["login", "--token", strange])).await.with(64);
    assert!(!wrong.err.contains(strange), "{}", wrong.err);
    assert_eq!(fs::read_to_string(&config).unwrap(), before);

    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    ended(at.bare(&["tasks", "list"])).await.with(77).says("next     chmod 600 ");
}

#[tokio::test]
async fn login_environment_overrides_the_file() {
    let at = Installation::start().await;
    let args = ["login", "--server", &at.url, "--token", &at.agent, "--json"];
    let output = ended(at.bare(&args)).await.with(0);
    let me: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(me["name"], "infra-bot");

    let mut nowhere = at.bare(&["tasks", "list"]);
    nowhere.env("ADE_SERVER", "http://127.0.0.1:1");
    ended(nowhere).await.with(69).says("next     ade doctor");
    let mut reviewer = at.bare(&["run", "--resource", "host:a", "--", "true"]);
    reviewer.env("ADE_TOKEN", &at.reviewer);
    ended(reviewer).await.with(77).says("only agents can run commands").says("Rea");
}

#[tokio::test]
async fn login_reads_the_token_from_a_pipe() {
    let at = Installation::start().await;
    let mut command = at.bare(&["login", "--server", &at.url, "--token", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", at.agent).as_bytes()).await.unwrap();
    drop(stdin);
    assert!(child.wait().await.unwrap().success());
    assert!(fs::read_to_string(at.home().join(CONFIG)).unwrap().contains(&at.agent));
    // After a revocation, the error comes from the server and names the next command.
    let path = format!("/v1/tokens/{}", at.agent.split('_').nth(2).unwrap());
    at.call(Method::DELETE, &at.admin, &path, None).await;
    let refused = eventually("the token is revoked", SOON, async || {
        let output = ended(at.bare(&["tasks", "list"])).await;
        if output.code == Some(0) { Err("it still works") } else { Ok(output) }
    })
    .await;
    refused.with(77).says("error[unauthenticated]").says("request ").says("next     ade login");
}

#[tokio::test]
async fn login_with_several_profiles_uses_one() {
    let at = Installation::start().await;
    let login = async |name: &str, token: &str| {
        let args = ["login", "--profile", name, "--server", &at.url, "--token", token];
        ended(at.bare(&args)).await.with(0);
    };
    login("bot", &at.agent).await;
    let reader = at.reader().await;
    login("me", &reader).await;
    let listed = ended(at.bare(&["profiles", "list"])).await.with(0);
    assert_eq!(listed.out.lines().count(), 3, "{}", listed.out);
    assert!(!listed.out.contains(&at.agent), "the list contains a token");
    let name = async |args: &[&str]| {
        let all = [args, &["whoami", "--jq", ".name"]].concat();
        ended(at.bare(&all)).await.with(0).out
    };
    assert_eq!(name(&[]).await, "infra-bot\n", "the first profile is the default");
    assert_eq!(name(&["--profile", "me"]).await, "Rea\n");
    ended(at.bare(&["profiles", "use", "me"])).await.with(0);
    assert_eq!(name(&[]).await, "Rea\n");
    // A project file can name a profile and nothing else.
    fs::write(at.home().join(".ade.toml"), "profile = \"bot\"\n").unwrap();
    assert_eq!(name(&[]).await, "infra-bot\n");
    fs::write(at.home().join(".ade.toml"), "server = \"http://127.0.0.1:1\"\n").unwrap();
    assert_eq!(name(&[]).await, "Rea\n", "a project file cannot set the server");
    // An explicit profile takes precedence over the environment.
    let mut both = at.bare(&["--profile", "me", "whoami", "--jq", ".name"]);
    both.env("ADE_TOKEN", &at.agent);
    assert_eq!(ended(both).await.with(0).out, "Rea\n");
    ended(at.bare(&["--profile", "none", "whoami"])).await.with(68).says("bot, me");
    // `config get` shows the source of each value, and a token stays with its server.
    let output = ended(at.bare(&["config", "get"])).await.with(0);
    output.prints("me (from ade profiles use)").prints("from the file").prints("in the file");
    assert!(!output.out.contains(&reader), "{}", output.out);
    let other = ["config", "set", "server", "http://127.0.0.1:1"];
    ended(at.bare(&other)).await.with(64).says("next     ade login --server http://127.0.0.1:1");
    assert_eq!(name(&[]).await, "Rea\n");
    ended(at.bare(&["config", "set", "profile", "bot"])).await.with(0);
    assert_eq!(name(&[]).await, "infra-bot\n");
    ended(at.bare(&["config", "set", "profile", "me"])).await.with(0);
    ended(at.bare(&["config", "path"])).await.with(0).prints(CONFIG);
    let mut from = at.bare(&["config", "get", "--jq", ".server_by"]);
    from.env("ADE_SERVER", "http://127.0.0.1:1");
    assert_eq!(ended(from).await.with(0).out, "ADE_SERVER\n");
    ended(at.bare(&["logout"])).await.with(0);
    ended(at.bare(&["whoami"])).await.with(77);
    ended(at.bare(&["profiles", "rm", "me"])).await.with(0);
    ended(at.bare(&["--profile", "me", "whoami"])).await.with(68);
}
