//! How things look: help, tables, forms for programs, errors; on a terminal and in a pipe; and
//! which code each ending has.

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
async fn help_looks_as_it_did() {
    let at = Installation::start().await;
    for (name, args) in [
        ("help", vec!["--help"]),
        ("help-login", vec!["login", "--help"]),
        ("help-tasks", vec!["tasks", "--help"]),
        ("help-approve", vec!["approve", "--help"]),
        ("help-locks", vec!["locks", "--help"]),
        ("help-policies-test", vec!["policies", "test", "--help"]),
    ] {
        let told = ended(at.bare(&args)).await.with(0);
        same(name, &told.out);
    }
    let wrong = ended(at.bare(&["tasks", "lst"])).await.with(64);
    same("wrong-command", &wrong.err);
}

#[tokio::test]
async fn one_answer_has_seven_forms() {
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
        let told = ended(at.ade(&args)).await.with(0);
        assert!(!told.out.contains('\u{1b}'), "{name}: {:?}", told.out);
        same(name, &told.out);
    }
    let args = ["tasks", "list", "--jq", ".[] | select(.state == \"DRAFT\") | .id"];
    let found = ended(at.ade(&args)).await.with(0);
    assert_eq!(found.out, format!("{id}\n"));
    let wrong = ended(at.ade(&["tasks", "list", "--jq", ".["])).await.with(64);
    wrong.says("cannot be read");
    let bare = ended(at.ade(&["tasks", "list", "--no-headers"])).await.with(0);
    assert_eq!(bare.out.lines().count(), 1, "{}", bare.out);
    let whole = ended(at.ade(&["tasks", "get", &id, "-o", "yaml"])).await.with(0);
    whole.prints("title: \"Wipe \\u001b[2Jhost, \\\"a\\\"\"");
}

#[tokio::test]
async fn errors_look_as_they_did_to_people_and_programs() {
    let at = Installation::start().await;
    let missing = ended(at.ade(&["tasks", "get", GONE])).await.with(68);
    same("error-not-found", &missing.err);
    let missing = ended(at.ade(&["tasks", "get", GONE, "-o", "json"])).await.with(68);
    let told: Value = serde_json::from_str(&missing.err).unwrap();
    for field in ["code", "error", "detail", "facts", "retriable", "request_id", "next", "exit"] {
        assert!(told.get(field).is_some(), "{field}: {told}");
    }
    let nobody = ended(at.bare(&["tasks", "list"])).await.with(77);
    same("error-nobody", &nobody.err.replace(&at.home().display().to_string(), "HOME"));
    let closed = ended(at.ade(&["agents", "pause", &at.agent_id])).await.with(77);
    same("error-closed", &closed.err);
    let mut away = at.ade(&["tasks", "list"]);
    away.env("ADE_SERVER", "http://127.0.0.1:9");
    ended(away).await.with(69).says("cannot be reached").says("next     ade doctor");
}

/// The table of exit codes, each by a command that ends so.
#[tokio::test]
async fn every_ending_has_its_code() {
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
        (68, &at.admin, vec!["unfreeze"]),
        (71, &at.agent, vec!["tasks", "retry", &draft]),
        (72, &at.agent, vec!["locks", "acquire", "host:z"]),
        (75, &at.agent, vec!["tasks", "wait", &other, "--timeout", "1s"]),
        (77, &at.agent, vec!["freeze", "--reason", "x"]),
    ] {
        if code == 72 {
            // Another process of the same agent holds it.
            ended(at.ade(&["locks", "acquire", "host:z"])).await.with(0);
        }
        let told = ended(at.ade_as(token, &args)).await;
        assert_eq!(told.code, Some(code), "{args:?}\n{}{}", told.out, told.err);
    }
}

#[tokio::test]
async fn without_colour_no_escape_is_written_anywhere() {
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

/// Of some tries that told something the best: the machine may be busy, the program may not. A
/// debug build, too, is as quick as people need it.
#[tokio::test]
async fn a_start_and_a_completion_come_in_time() {
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
        let told = ended(asked).await.with(0);
        // It gives up rather than keep somebody waiting.
        if told.out.contains(&id) {
            best[1] = began.elapsed().min(best[1]);
        }
    }
    println!("started in {:?}, completed in {:?}", best[0], best[1]);
    assert!(best[0] <= Duration::from_millis(50), "{:?}", best[0]);
    assert!(best[1] <= Duration::from_millis(300), "{:?}", best[1]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let told = ended(at.bare(&["completion", shell])).await.with(0);
        assert!(told.out.contains("COMPLETE"), "{shell}: {}", told.out);
        let fixed = ended(at.bare(&["completion", shell, "--static"])).await.with(0);
        assert!(fixed.out.contains("request-changes"), "{shell}");
    }
}
