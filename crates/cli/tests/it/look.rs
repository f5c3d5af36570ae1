//! Snapshots of help, tables, machine formats and errors, on a terminal and in a pipe; and exit
//! codes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::installation::{Installation, ended};
use crate::snapshots::same;
use crate::terminal::Terminal;

const GONE: &str = "task_00000000000000000000000000";

async fn one_task(at: &Installation) -> String {
    let body = json!({
        "title": "Wipe \u{1b}[2Jhost, \"a\"", "type": "command.run", "parameters": {},
        "resources": [{ "resource": "host:a" }], "ticket": "OPS-1",
        "plan": { "changes": [{
            "resource": "host:a", "action": "remove", "irreversible": true, "summary": "all of it"
        }], "warnings": ["slow"] }
    });
    let task = at.post(&at.agent, "/v1/tasks", body).await;
    task["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn help_matches_its_snapshots() {
    let at = Installation::start().await;
    for (name, args) in [
        ("help", vec!["--help"]),
        ("help-login", vec!["login", "--help"]),
        ("help-tasks", vec!["tasks", "--help"]),
        ("help-approve", vec!["approve", "--help"]),
        ("help-locks", vec!["locks", "--help"]),
        ("help-policies-test", vec!["policies", "test", "--help"]),
    ] {
        let output = ended(at.bare(&args)).await.with(0);
        same(name, &output.out);
    }
    let wrong = ended(at.bare(&["tasks", "lst"])).await.with(64);
    same("wrong-command", &wrong.err);
}

#[tokio::test]
async fn output_formats_match_their_snapshots() {
    let at = Installation::start().await;
    let id = one_task(&at).await;
    let columns = ["--columns", "id,state,title,risk.score"];
    for (name, args) in [
        ("list-table", vec!["tasks", "list"]),
        ("list-wide", vec!["tasks", "list", "-o", "wide"]),
        ("list-columns", [&["tasks", "list"][..], &columns[..]].concat()),
        ("list-json", [&["tasks", "list", "-o", "json"][..], &columns[..]].concat()),
        ("list-jsonl", [&["tasks", "list", "-o", "jsonl"][..], &columns[..]].concat()),
        ("list-yaml", [&["tasks", "list", "-o", "yaml"][..], &columns[..]].concat()),
        ("list-csv", [&["tasks", "list", "-o", "csv"][..], &columns[..]].concat()),
        ("list-name", vec!["tasks", "list", "-o", "name"]),
        ("get", vec!["tasks", "get", &id]),
    ] {
        let output = ended(at.ade(&args)).await.with(0);
        assert!(!output.out.contains('\u{1b}'), "{name}: {:?}", output.out);
        same(name, &output.out);
    }
    let args = ["tasks", "list", "--jq", ".[] | select(.state == \"DRAFT\") | .id"];
    let found = ended(at.ade(&args)).await.with(0);
    assert_eq!(found.out, format!("{id}\n"));
    let wrong = ended(at.ade(&["tasks", "list", "--jq", ".["])).await.with(64);
    wrong.says("cannot parse");
    let bare = ended(at.ade(&["tasks", "list", "--no-headers"])).await.with(0);
    assert_eq!(bare.out.lines().count(), 1, "{}", bare.out);
    let whole = ended(at.ade(&["tasks", "get", &id, "-o", "yaml"])).await.with(0);
    whole.prints("title: \"Wipe \\u001b[2Jhost, \\\"a\\\"\"");
}

#[tokio::test]
async fn errors_match_their_snapshots() {
    let at = Installation::start().await;
    let missing = ended(at.ade(&["tasks", "get", GONE])).await.with(68);
    same("error-not-found", &missing.err);
    let missing = ended(at.ade(&["tasks", "get", GONE, "-o", "json"])).await.with(68);
    let error: Value = serde_json::from_str(&missing.err).unwrap();
    for field in ["code", "error", "detail", "facts", "retriable", "request_id", "next", "exit"] {
        assert!(error.get(field).is_some(), "{field}: {error}");
    }
    let signed_out = ended(at.bare(&["tasks", "list"])).await.with(77);
    same("error-signed-out", &signed_out.err.replace(&at.home().display().to_string(), "HOME"));
    let closed = ended(at.ade(&["agents", "pause", &at.agent_id])).await.with(77);
    same("error-closed", &closed.err);
    let mut away = at.ade(&["tasks", "list"]);
    away.env("ADE_SERVER", "http://127.0.0.1:9");
    ended(away).await.with(69).says("cannot reach the server").says("next     ade doctor");
}

/// Checks every exit code with a command that ends with it.
#[tokio::test]
async fn exit_codes_match_their_outcomes() {
    let at = Installation::start().await;
    let draft = one_task(&at).await;
    let other = at.reviewing("Other").await;
    for (code, token, args) in [
        (0, &at.agent, vec!["tasks", "list"]),
        (0, &at.agent, vec!["whoami"]),
        (1, &at.agent, vec!["can-i", "approve", &draft]),
        (64, &at.agent, vec!["tasks", "nothing"]),
        (64, &at.agent, vec!["tasks", "list", "-o", "xml"]),
        (68, &at.agent, vec!["tasks", "get", GONE]),
        (68, &at.admin, vec!["unfreeze", "--reason", "over", "--yes"]),
        (71, &at.agent, vec!["tasks", "retry", &draft]),
        (72, &at.agent, vec!["locks", "acquire", "host:z"]),
        (75, &at.agent, vec!["tasks", "wait", &other, "--timeout", "1s"]),
        (77, &at.agent, vec!["freeze", "--reason", "x"]),
    ] {
        if code == 72 {
            // Another process of the same agent holds the lock.
            ended(at.ade(&["locks", "acquire", "host:z"])).await.with(0);
        }
        let output = ended(at.ade_as(token, &args)).await;
        assert_eq!(output.code, Some(code), "{args:?}\n{}{}", output.out, output.err);
    }
}

#[tokio::test]
async fn output_without_colour_has_no_escapes() {
    let at = Installation::start().await;
    let id = one_task(&at).await;
    let commands: [&[&str]; 12] = [
        &["tasks", "list"],
        &["tasks", "get", &id],
        &["tasks", "explain", &id],
        &["tasks", "get", GONE],
        &["agents", "list"],
        &["agents", "get", &at.agent_id],
        &["locks", "list"],
        &["risk", "explain", &id],
        &["doctor"],
        &["whoami"],
        &["freezes", "list"],
        &["--help"],
    ];
    let mut coloured = 0;
    for args in commands {
        let (_, screen) = Terminal::start(&at.ade(args)).end().await;
        coloured += usize::from(screen.contains('\u{1b}'));
        let mut plain = at.ade(args);
        plain.env("NO_COLOR", "1");
        let (_, screen) = Terminal::start(&plain).end().await;
        assert!(!screen.contains('\u{1b}'), "{args:?}: {screen:?}");
        let piped = ended(at.ade(args)).await;
        assert!(!piped.out.contains('\u{1b}') && !piped.err.contains('\u{1b}'), "{args:?}");
    }
    assert!(coloured >= 8, "a terminal has colour: {coloured}");
    let mut forced = at.ade(&["tasks", "list"]);
    forced.env("CLICOLOR_FORCE", "1");
    assert!(ended(forced).await.with(0).out.contains('\u{1b}'));
}

/// Measures the best of several attempts, because the machine may be busy. Even a debug build must
/// be fast enough.
#[tokio::test]
async fn startup_and_completion_finish_in_time() {
    let at = Installation::start().await;
    let id = one_task(&at).await;
    let mut best = [Duration::MAX; 2];
    for _ in 0..5 {
        let began = Instant::now();
        ended(at.bare(&["--version"])).await.with(0);
        best[0] = began.elapsed().min(best[0]);
        let mut asked = at.ade(&["--", "ade", "tasks", "get", ""]);
        asked.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3").env("_CLAP_IFS", "\n");
        asked.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
        let began = Instant::now();
        let output = ended(asked).await.with(0);
        // Completion gives up instead of making the user wait.
        if output.out.contains(&id) {
            best[1] = began.elapsed().min(best[1]);
        }
    }
    println!("started in {:?}, completed in {:?}", best[0], best[1]);
    assert!(best[0] <= Duration::from_millis(50), "{:?}", best[0]);
    assert!(best[1] <= Duration::from_millis(300), "{:?}", best[1]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = ended(at.bare(&["completion", shell])).await.with(0);
        assert!(output.out.contains("COMPLETE"), "{shell}: {}", output.out);
        let fixed = ended(at.bare(&["completion", shell, "--static"])).await.with(0);
        assert!(fixed.out.contains("request-changes"), "{shell}");
    }
}
