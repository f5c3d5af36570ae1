//! Events and live screens across disconnects: no event is lost, and a lost connection is visible.

use std::time::{Duration, Instant};

use ade_testkit::{Proxy, eventually};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use crate::installation::{Installation, SOON, ended};
use crate::terminal::Terminal;

#[tokio::test]
async fn events_after_a_reconnect_are_neither_lost_nor_repeated() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command =
        at.ade_as(&at.admin, &["events", "follow", "--topics", "task", "-o", "jsonl"]);
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let mut following = command.spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let log = at.home().join("log");
    eventually("the command listens", SOON, async || {
        let text = std::fs::read_to_string(&log).unwrap();
        if text.contains(r#""route":"/v1/events""#) { Ok(()) } else { Err("not yet") }
    })
    .await;
    let mut made = Vec::new();
    let mut heard = Vec::new();
    for round in 0..3 {
        made.push(at.reviewing(&format!("Round {round}")).await);
        if round == 0 {
            // The first event arrives before the connection is cut.
            let line = timeout(SOON, lines.next_line()).await.unwrap().unwrap().unwrap();
            heard.push(serde_json::from_str::<Value>(&line).unwrap());
            proxy.cut().await;
        }
        if round == 1 {
            proxy.heal();
        }
    }
    let is_last =
        |event: &Value| event["object"] == made[2].as_str() && event["type"] == "task.reviewing";
    while !heard.last().is_some_and(is_last) {
        let line = timeout(SOON, lines.next_line()).await.unwrap().unwrap().unwrap();
        heard.push(serde_json::from_str(&line).unwrap());
    }
    let seqs: Vec<u64> = heard.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|one, other| one < other), "{seqs:?}");
    for id in &made {
        for kind in ["task.created", "task.submitted", "task.reviewing"] {
            let is_it = |event: &&Value| event["object"] == id.as_str() && event["type"] == kind;
            assert_eq!(heard.iter().filter(is_it).count(), 1, "{kind} of {id}");
        }
    }
    following.kill().await.unwrap();
    let one = ended(at.ade_as(&at.admin, &["events", "follow", "--since", "0", "-n", "1"])).await;
    one.with(0).says("following events after");
}

/// Far below the wait of 55 seconds.
const AT_ONCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn stopping_server_answers_its_waits_and_exits() {
    let mut at = Installation::start().await;
    let id = at.reviewing("Wait").await;
    let send = |path: &str| {
        let request = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = request.post(format!("{}{path}", at.url)).bearer_auth(&at.agent);
        tokio::spawn(request.header("content-type", "application/json").body("{}").send())
    };
    let claim = send(&format!("/v1/agents/{}/claim?wait=55s", at.agent_id));
    // A waiting agent passes the gate for capacity.
    eventually("the claim waits", SOON, async || {
        let explained = at.get(&format!("/v1/tasks/{id}/explain")).await;
        let gates = explained["gates"].as_array().unwrap();
        let capacity = gates.iter().find(|gate| gate["name"] == "capacity").unwrap();
        if capacity["passed"] == true { Ok(()) } else { Err(explained.to_string()) }
    })
    .await;
    let began = Instant::now();
    at.stop().await;
    let answer: Value = claim.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!((&answer["timed_out"], &answer["permit"]), (&Value::Bool(true), &Value::Null));
    assert!(at.stopped().await.success());
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn inbox_screen_shows_new_requests() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade_as(&at.reviewer, &["inbox", "--watch"]));
    // The screen skips blanks with cursor moves, so the test looks for single words.
    terminal.until("live").await;
    let id = at.reviewing("Look \u{1b}[2Jat me").await;
    terminal.until("‹U+001B›[2Jat").await;
    terminal.press(b"\r").await;
    terminal.until("approve").await;
    terminal.press(b"q").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.contains(&id), "the last list stays: {screen}");
}
