//! `ade tasks`: tables, JSON, and waiting for states.

use std::time::Duration;

use ade_testkit::{Direction, Proxy};
use serde_json::{Value, json};

use crate::installation::{Installation, SOON, ended};
use crate::terminal::Terminal;

/// Submits a task as the agent, with a title that contains a clear-screen sequence.
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
async fn task_get_shows_everything_as_text_and_json() {
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
    let output = ended(at.ade(&["tasks", "get", &id, "--json"])).await.with(0);
    let task: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!((&task["id"], &task["state"]), (&json!(id), &json!("DRAFT")));

    let other = "task_00000000000000000000000000";
    let missing = ended(at.ade(&["tasks", "get", other])).await.with(68);
    missing.says("error[not_found]").says("next     ade tasks list");
    let missing = ended(at.ade(&["tasks", "get", other, "--json"])).await.with(68);
    let error: Value = serde_json::from_str(&missing.err).unwrap();
    assert_eq!((&error["code"], &error["exit"]), (&json!("not_found"), &json!(68)));
    ended(at.ade(&["tasks", "get", "orders"])).await.with(64).says("`T-8`");
    ended(at.ade(&["tasks", "get", "T-48"])).await.with(68);
}

#[tokio::test]
async fn task_list_is_a_table_with_filters() {
    let at = Installation::start().await;
    ended(at.ade(&["tasks", "list"])).await.with(0).prints("ade run --resource");
    let first = proposed(&at, "First").await;
    let second = proposed(&at, "Second").await;
    let all = ended(at.ade(&["tasks", "list"])).await.with(0);
    let lines: Vec<&str> = all.out.lines().collect();
    assert!(lines[0].starts_with("NUMBER ") && lines.len() == 3, "{}", all.out);
    assert!(lines[1].contains(&second) && lines[2].contains(&first), "newest first: {}", all.out);
    assert!(lines[1].starts_with("T-2 ") && lines[2].starts_with("T-1 "), "{}", all.out);
    for number in ["T-2", "t-2", "2"] {
        ended(at.ade(&["tasks", "get", number])).await.with(0).prints(&second).prints("T-2");
        ended(at.ade(&["audit", "list", "--object", number])).await.with(0).prints(&second);
    }
    let one = ended(at.ade(&["tasks", "list", "--limit", "1"])).await.with(0);
    assert!(one.out.contains(&second) && !one.out.contains(&first), "{}", one.out);
    assert!(one.err.contains("More items exist"), "{}", one.err);
    ended(at.ade(&["tasks", "cancel", &first])).await.with(0).prints("CANCELLED");
    let args = ["tasks", "list", "--state", "cancelled", "--state", "failed", "--json"];
    let output = ended(at.ade(&args)).await.with(0);
    let listed: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let none = ended(at.ade(&["tasks", "list", "--state", "failed"])).await.with(0);
    assert!(none.out.starts_with("No tasks in state FAILED."), "{}", none.out);
    ended(at.ade(&["tasks", "list", "--state", "gone"])).await.with(64).says("draft, submitted");
}

#[tokio::test]
async fn terminal_colour_can_be_disabled_and_titles_are_escaped() {
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
async fn task_wait_ends_in_the_awaited_or_another_final_state() {
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
async fn task_wait_survives_a_short_server_outage() {
    let at = Installation::start().await;
    let id = proposed(&at, "One").await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&["tasks", "wait", &id, "--for", "cancelled"]);
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    // Only the second request names a version, which proves that the first response was read. A
    // response sent by the server would not prove that.
    let second = proxy.cut_after(Direction::ToServer, b"since_version", 1);
    let waiting = command.spawn().unwrap();
    second.wait(SOON).await;
    proxy.cut().await;
    ended(at.ade(&["tasks", "cancel", &id])).await.with(0);
    // Longer than all attempts of one call.
    tokio::time::sleep(Duration::from_secs(6)).await;
    proxy.heal();
    let output = tokio::time::timeout(SOON, waiting.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
