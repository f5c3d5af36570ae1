//! Decisions from a terminal and from a script: bound to what was shown, confirmed, and never made
//! by an agent.

use serde_json::{Value, json};

use crate::installation::{Installation, ended};
use crate::terminal::Terminal;

#[tokio::test]
async fn decide_approves_what_was_shown() {
    let at = Installation::start().await;
    at.calm().await;
    let id = at.reviewing("Add \u{1b}[2Ja file").await;
    let inbox = ended(at.ade_as(&at.reviewer, &["inbox"])).await.with(0);
    inbox.prints("Add ‹U+001B›[2Ja file").prints(&id);
    ended(at.ade_as(&at.reviewer, &["can-i", "approve", &id])).await.with(0).prints("yes\n");

    let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["approve", &id]));
    terminal.until("Approve revision 1?").await;
    let shown = terminal.screen();
    assert!(shown.contains("1 to add") && shown.contains("sha256:"), "{shown}");
    terminal.press(b"\r").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(1), "the default is no: {screen}");
    assert_eq!(at.task(&id).await["state"], "REVIEWING");

    let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["approve", &id]));
    terminal.until("Approve revision 1?").await;
    terminal.press(b"y\r").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.contains("receipt"), "{screen}");
    assert_eq!(at.task(&id).await["state"], "APPROVED");
    ended(at.ade(&["can-i", "apply", &id])).await;
    // The task is already decided.
    let late = ended(at.ade_as(&at.reviewer, &["approve", &id, "--yes"])).await;
    assert!([Some(71), Some(77)].contains(&late.code), "{}", late.err);
}

/// Keys of a word that was typed into this window before the command had asked anything.
#[tokio::test]
async fn decide_ignores_keys_pressed_before_the_question() {
    let at = Installation::start().await;
    at.calm().await;
    let id = at.reviewing("Add a file").await;
    for typed in [&b"y\r"[..], b"yes\ryes\ry\r"] {
        let approve = at.ade_as(&at.reviewer, &["approve", &id]);
        let mut terminal = Terminal::start_after(typed, &approve);
        terminal.until("Approve revision 1?").await;
        terminal.press(b"\r").await;
        let (status, screen) = terminal.end().await;
        assert_eq!(status.code(), Some(1), "{screen}");
        assert_eq!(at.task(&id).await["state"], "REVIEWING");
    }
}

/// The digest covers parameters and values, so a vote without them would be a vote on something
/// that was not shown.
#[tokio::test]
async fn decide_shows_parameters_and_every_change() {
    let at = Installation::start().await;
    at.calm().await;
    let changes: Vec<Value> = (0..30)
        .map(|n| {
            json!({
                "resource": "host:a", "action": "change", "irreversible": false,
                "summary": format!("refresh statistics {n}"), "before": format!("old {n}"),
                "after": { "new": n }
            })
        })
        .collect();
    let body = json!({
        "title": "Refresh planner statistics", "type": "command.run",
        "parameters": { "sql": "ANALYZE;\nDROP TABLE customer; GRANT ALL TO PUBLIC" },
        "resources": [{ "resource": "host:a", "mode": "shared" }], "submit": true,
        "plan": { "changes": changes }
    });
    let id = at.post(&at.agent, "/v1/tasks", body).await["id"].as_str().unwrap().to_owned();
    at.task_in("REVIEWING").await;
    let got = ended(at.ade(&["tasks", "get", &id])).await.with(0).out;
    let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["approve", &id]));
    terminal.until("Page 1 of 2").await;
    terminal.press(b"\r").await;
    terminal.until("Approve revision 1?").await;
    let screen = terminal.screen();
    for shown in [&got, &screen] {
        assert!(shown.contains("│ DROP TABLE customer; GRANT ALL TO PUBLIC"), "{shown}");
        assert!(shown.contains("host:a (shared)"), "{shown}");
        for n in 0..30 {
            assert!(shown.contains(&format!("refresh statistics {n}")), "{n}: {shown}");
            assert!(shown.contains(&format!("before: old {n}")), "{n}: {shown}");
            assert!(shown.contains(&format!("\"new\": {n}")), "{n}: {shown}");
        }
    }
    terminal.press(b"\r").await;
    assert_eq!(terminal.end().await.0.code(), Some(1));
    // Who stops reading does not vote.
    let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["approve", &id]));
    terminal.until("Page 1 of 2").await;
    terminal.press(b"q\r").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(1), "{screen}");
    assert_eq!(at.task(&id).await["state"], "REVIEWING");
}

#[tokio::test]
async fn decide_without_a_terminal_needs_yes_and_a_person() {
    let at = Installation::start().await;
    at.calm().await;
    let id = at.reviewing("One").await;
    let alone = ended(at.ade_as(&at.reviewer, &["approve", &id])).await.with(64);
    alone.says("cannot ask for confirmation");
    let agent = ended(at.ade(&["approve", &id, "--yes"])).await.with(77);
    agent.says("only people can decide");
    let mut hosted = at.ade_as(&at.reviewer, &["approve", &id, "--yes"]);
    hosted.env("AI_AGENT", "1");
    ended(hosted).await.with(77).says("this shell seems to have been started by an agent");
    let other = ended(at.ade_as(&at.reviewer, &["approve", &id, "--rev", "2", "--yes"])).await;
    other.with(71).says("is at revision 1, not 2");
    let dry = ended(at.ade_as(&at.reviewer, &["approve", &id, "--dry-run"])).await.with(0);
    dry.prints("nothing was saved");
    assert_eq!(at.task(&id).await["state"], "REVIEWING", "nothing was saved so far");
    let output = ended(at.ade_as(&at.reviewer, &["approve", &id, "--yes", "--json"])).await.with(0);
    let voted: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!((&voted["answer"], &voted["counted"]), (&json!("approve"), &json!(true)));
    assert_eq!(at.task(&id).await["state"], "APPROVED");
}

#[tokio::test]
async fn decide_high_risk_task_requires_its_typed_number() {
    let at = Installation::start().await;
    let critical = json!({ "criticality": 100 });
    at.call(reqwest::Method::PUT, &at.admin, "/v1/resources/database/all", Some(critical)).await;
    let changes: Vec<Value> = (0..60)
        .map(|n| {
            json!({
                "resource": "database:all", "action": "remove", "irreversible": true,
                "summary": format!("table {n}")
            })
        })
        .collect();
    let body = json!({
        "title": "Drop all", "type": "command.run", "parameters": {},
        "resources": [{ "resource": "database:all" }], "plan": { "changes": changes }
    });
    let file = at.home().join("task.json");
    std::fs::write(&file, body.to_string()).unwrap();
    let made = ended(at.ade(&["tasks", "create", "-f", "task.json", "--submit", "-o", "name"]));
    let id = made.await.with(0).out.trim().to_owned();
    at.task_in("REVIEWING").await;
    let level = at.task(&id).await["risk"]["level"].clone();
    assert!([json!("high"), json!("critical")].contains(&level), "{level}");
    let refused = ended(at.ade_as(&at.reviewer, &["approve", &id, "--yes"])).await.with(77);
    refused.says("--yes is not allowed");
    for (typed, code) in [("y\r", 1), ("1\r", 0)] {
        let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["approve", &id]));
        terminal.until("Type the task number T-1").await;
        terminal.press(typed.as_bytes()).await;
        let (status, screen) = terminal.end().await;
        assert_eq!(status.code(), Some(code), "{screen}");
    }
    let risk = ended(at.ade(&["risk", "explain", &id])).await.with(0);
    risk.prints("WEIGHT").prints("resource criticality");
}

#[tokio::test]
async fn decide_several_with_reasons_that_reach_the_author() {
    let at = Installation::start().await;
    at.calm().await;
    let first = at.reviewing("First").await;
    ended(at.ade_as(&at.reviewer, &["reject", &first])).await.with(64).says("--reason");
    let args = ["request-changes", &first, "--reason", "name the host"];
    ended(at.ade_as(&at.reviewer, &args)).await.with(0).prints("Requested changes to task_");
    let said = ended(at.ade(&["tasks", "approvals", &first])).await.with(0);
    said.prints("name the host");
    let on = ["api", "PUT", "/v1/flags/batch_approvals", "-d", r#"{"enabled":true}"#];
    ended(at.ade_as(&at.admin, &on)).await.with(0);
    let (second, third) = (at.reviewing("Second").await, at.reviewing("Third").await);
    let other = at.reviewing_with("Other", json!({ "n": 2 })).await;
    let args = ["approve", &second, &other, "--yes"];
    ended(at.ade_as(&at.reviewer, &args)).await.with(77).says("makes another change");
    let args = ["reject", &other, "--reason", "not this one"];
    ended(at.ade_as(&at.reviewer, &args)).await.with(0);
    let args = ["approve", &second, &third, "--yes"];
    let both = ended(at.ade_as(&at.reviewer, &args)).await.with(0);
    both.prints("saved: ").says("n: 1\n");
    for id in [&second, &third] {
        assert_eq!(at.task(id).await["state"], "APPROVED");
    }
    let fourth = at.reviewing("Fourth").await;
    let args = ["reject", &fourth, "--reason", "not today"];
    let output = ended(at.ade_as(&at.reviewer, &args)).await.with(0);
    output.prints("Rejected task_").prints("receipt  leaf_");
    let waited = ended(at.ade(&["watch", &fourth])).await;
    waited.with(65).prints("REJECTED");
    let empty = ended(at.ade_as(&at.reviewer, &["inbox"])).await.with(0);
    empty.prints("No requests are waiting for you.");
}
