//! `ade tasks`: tables for people, JSON for programs, and states that end a wait.

use std::time::Duration;

use ade_testkit::{Direction, Proxy};
use serde_json::{Value, json};

use crate::installation::{Installation, SOON, ended};
use crate::terminal::Terminal;

/// Submitted by the agent; its title would clear a screen.
async fn proposed(at: &Installation, title: &str) -> String {
    let body = json!({
        "title": title, "type": "command.run", "parameters": {},
        "resources": [{ "resource": "host:a", "mode": "shared" }], "ticket": "OPS-1",
        "plan": { "changes": [{
            "resource": "host:a", "action": "remove", "irreversible": true, "summary": "all of it"
        }], "warnings": ["slow"] }
    });
    let task = at.post(&at.agent, "/v1/tasks", body).await;
    task["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_is_shown_whole_to_people_and_to_programs() {
    let at = Installation::start().await;
    let id = proposed(&at, "Wipe \u{1b}[2Jhost a").await;
    let shown = ended(at.ade(&["tasks", "get", &id])).await.with(0);
    shown.prints("Wipe ‹U+001B›[2Jhost a");
    for part in [
        "○ DRAFT",
        "host:a (shared)",
        "- host:a  all of it (cannot be undone)",
        "OPS-1",
        "0 to add, 0 to change, 1 to remove; 1 cannot be undone",
        "warning  slow",
    ] {
        assert!(shown.out.contains(part), "`{part}` is not in\n{}", shown.out);
    }
    assert!(!shown.out.contains('\u{1b}'), "{:?}", shown.out);
    let told = ended(at.ade(&["tasks", "get", &id, "--json"])).await.with(0);
    let task: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&task["id"], &task["state"]), (&json!(id), &json!("DRAFT")));

    let other = "task_00000000000000000000000000";
    let missing = ended(at.ade(&["tasks", "get", other])).await.with(68);
    missing.says("error[not_found]").says("next     ade tasks list");
    let missing = ended(at.ade(&["tasks", "get", other, "--json"])).await.with(68);
    let told: Value = serde_json::from_str(&missing.err).unwrap();
    assert_eq!((&told["code"], &told["exit"]), (&json!("not_found"), &json!(68)));
    ended(at.ade(&["tasks", "get", "48"])).await.with(64).says("task_");
}

#[tokio::test]
async fn a_list_is_a_table_that_can_be_narrowed() {
    let at = Installation::start().await;
    ended(at.ade(&["tasks", "list"])).await.with(0).prints("ade run --resource");
    let first = proposed(&at, "First").await;
    let second = proposed(&at, "Second").await;
    let all = ended(at.ade(&["tasks", "list"])).await.with(0);
    let lines: Vec<&str> = all.out.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines.len() == 3, "{}", all.out);
    assert!(lines[1].contains(&second) && lines[2].contains(&first), "newest first: {}", all.out);
    let one = ended(at.ade(&["tasks", "list", "--limit", "1"])).await.with(0);
    assert!(one.out.contains(&second) && !one.out.contains(&first), "{}", one.out);
    assert!(one.err.contains("There are more"), "{}", one.err);
    ended(at.ade(&["tasks", "cancel", &first])).await.with(0).prints("CANCELLED");
    let args = ["tasks", "list", "--state", "cancelled", "--state", "failed", "--json"];
    let told = ended(at.ade(&args)).await.with(0);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    let none = ended(at.ade(&["tasks", "list", "--state", "failed"])).await.with(0);
    assert!(none.out.starts_with("No task is FAILED."), "{}", none.out);
    ended(at.ade(&["tasks", "list", "--state", "gone"])).await.with(64).says("draft, submitted");
}

#[tokio::test]
async fn a_terminal_shows_colour_unless_it_is_forbidden_and_never_an_escape_of_a_title() {
    let at = Installation::start().await;
    proposed(&at, "Wipe \u{1b}[2Jhost a").await;
    let (status, screen) = Terminal::start(&at.ade(&["tasks", "list"])).end().await;
    assert!(status.success(), "{screen}");
    assert!(screen.contains("\u{1b}[1m"), "a bold head: {screen:?}");
    assert!(screen.contains("‹U+001B›[2J") && !screen.contains("\u{1b}[2J"), "{screen:?}");
    let mut plain = at.ade(&["tasks", "list"]);
    plain.env("NO_COLOR", "1");
    let (_, screen) = Terminal::start(&plain).end().await;
    assert!(screen.contains("‹U+001B›[2J") && !screen.contains('\u{1b}'), "{screen:?}");
}

#[tokio::test]
async fn a_wait_ends_with_the_state_it_is_for_or_with_another_end() {
    let at = Installation::start().await;
    let id = proposed(&at, "One").await;
    let in_time = ended(at.ade(&["tasks", "wait", &id, "--for", "draft"])).await.with(0);
    assert!(in_time.out.contains("DRAFT"), "{}", in_time.out);
    let args = ["tasks", "wait", &id, "--timeout", "1s"];
    ended(at.ade(&args)).await.with(75).says("is still DRAFT").says("next     ade tasks wait");
    let mut command = at.ade(&["tasks", "wait", &id]);
    let waiting = command.spawn().unwrap();
    let reason = ["tasks", "cancel", &id, "--reason", "no need"];
    ended(at.ade(&reason)).await.with(0);
    let output = tokio::time::timeout(SOON, waiting.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(66));
}

#[tokio::test]
async fn a_wait_outlives_a_server_that_is_away_for_a_moment() {
    let at = Installation::start().await;
    let id = proposed(&at, "One").await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&["tasks", "wait", &id, "--for", "cancelled"]);
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    // Only its second question names a version: then it has read the answer to the first one. That
    // the server has given that answer would not say so.
    let second = proxy.cut_after(Direction::ToServer, b"since_version", 1);
    let waiting = command.spawn().unwrap();
    second.wait(SOON).await;
    proxy.cut().await;
    ended(at.ade(&["tasks", "cancel", &id])).await.with(0);
    // Longer than all tries of one call.
    tokio::time::sleep(Duration::from_secs(6)).await;
    proxy.heal();
    let output = tokio::time::timeout(SOON, waiting.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
