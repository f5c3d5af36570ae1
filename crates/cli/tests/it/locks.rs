//! `ade locks`: listing, acquiring, breaking and incident holds.

use ade_testkit::eventually;
use serde_json::Value;

use crate::installation::{Installation, SOON, ended};
use crate::terminal::Terminal;

async fn acquire(at: &Installation, more: &[&str]) -> Value {
    let args = ["locks", "acquire", "host:a", "--ttl", "60s", "-o", "json"];
    let args = [&args[..], more].concat();
    serde_json::from_str(&ended(at.ade(&args)).await.with(0).out).unwrap()
}

#[tokio::test]
async fn locks_acquire_get_extend_and_release() {
    let at = Installation::start().await;
    ended(at.ade(&["locks", "list"])).await.with(0).prints("No locks are held.");
    let lease = acquire(&at, &["--fenced", "--purpose", "a test"]).await;
    let id = lease["lease_id"].as_str().unwrap();
    let listed = ended(at.ade(&["locks", "list"])).await.with(0);
    listed.prints("host:a").prints(&at.agent_id);
    assert!(!listed.out.contains(id), "a lease is its holder's secret");
    let one = ended(at.ade(&["locks", "explain", "host:a"])).await.with(0);
    one.prints("held by  agt_").prints("exclusive, fenced").prints("next     ade locks break");
    let second = ended(at.ade(&["locks", "acquire", "host:a"])).await.with(72);
    second.says("error[lock_held]").says("request  ");
    ended(at.ade(&["locks", "extend", id])).await.with(0).prints("GRANTED");
    ended(at.ade(&["locks", "leases"])).await.with(0).prints("host:a");
    ended(at.ade(&["locks", "graph"])).await.with(0).prints("No one is waiting for a lock.");
    ended(at.ade(&["locks", "graph", "--dot"])).await.with(0).prints("digraph locks");
    ended(at.ade(&["locks", "deadlocks"])).await.with(0);
    ended(at.ade(&["locks", "release", id])).await.with(0).prints("RELEASED");
    ended(at.ade(&["locks", "get", "host:a"])).await.with(0).prints("not held");
    ended(at.ade(&["locks", "extend", id])).await.with(70);
}

#[tokio::test]
async fn locks_break_and_take_are_allowed_to_operators_only() {
    let at = Installation::start().await;
    acquire(&at, &["--fenced"]).await;
    let args = ["locks", "break", "host:a", "--reason", "an incident"];
    ended(at.ade(&[&args[..], &["--yes"]].concat())).await.with(77);
    ended(at.ade_as(&at.admin, &args)).await.with(64).says("will no longer be able to commit");
    let mut terminal = Terminal::start(&at.ade_as(&at.admin, &args));
    terminal.until("Break the lock on host:a? [y/N]").await;
    terminal.press(b"y\r").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    let take = ["locks", "take", "host:a", "--reason", "INC-1", "--until", "1h"];
    ended(at.ade_as(&at.admin, &take)).await.with(0).prints("Held for the incident until");
    ended(at.ade(&["locks", "acquire", "host:a"])).await.with(72);
}

#[tokio::test]
async fn locks_break_spares_a_holder_that_came_after_the_question() {
    let at = Installation::start().await;
    let first = acquire(&at, &["--fenced"]).await;
    let args = ["locks", "break", "host:a", "--reason", "an incident"];
    let mut terminal = Terminal::start(&at.ade_as(&at.admin, &args));
    terminal.until("Break the lock on host:a? [y/N]").await;
    ended(at.ade(&["locks", "release", first["lease_id"].as_str().unwrap()])).await.with(0);
    let next = acquire(&at, &["--fenced"]).await;
    terminal.press(b"y\r").await;
    let (status, screen) = terminal.end().await;
    assert_ne!(status.code(), Some(0), "{screen}");
    let extended = ended(at.ade(&["locks", "extend", next["lease_id"].as_str().unwrap()])).await;
    extended.with(0).prints("GRANTED");
}

#[tokio::test]
async fn locks_screen_shows_new_locks_and_breaks_with_a_reason() {
    let at = Installation::start().await;
    let piped = ended(at.ade_as(&at.admin, &["locks", "top"])).await.with(64);
    piped.says("needs a terminal");
    let mut terminal = Terminal::start(&at.ade_as(&at.admin, &["locks", "top"]));
    // The screen skips blanks with cursor moves, so the test looks for single words.
    terminal.until("live").await;
    acquire(&at, &["--fenced"]).await;
    terminal.until("host:a").await;
    terminal.press(b"b").await;
    terminal.until("break host:a,").await;
    terminal.press(b"stuck\r").await;
    let free = async || {
        let output = ended(at.ade(&["locks", "get", "host:a"])).await.with(0);
        if output.out.contains("not held") { Ok(()) } else { Err(output.out) }
    };
    eventually("the lock is broken", SOON, free).await;
    terminal.press(b"q").await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.contains("\u{1b}[?1049l"), "the terminal is restored");
}
