//! Tests of the lock screen and its keys.

use ade_api::locks::{LeaseState, LockMode};
use ade_core::change::Digest;
use ade_core::ids::{AgentId, TaskId};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyModifiers;

use super::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(1_000_000 + seconds))
}

fn digest(number: u128) -> Digest {
    serde_json::from_value(format!("sha256:{number:064x}").into()).unwrap()
}

fn entry(number: u128, since: u64, expires: u64) -> LockEntry {
    let summary = LeaseSummary {
        lease_hash: digest(number),
        state: LeaseState::Granted,
        fenced: true,
        agent_id: Some(AgentId::from_u128(number)),
        user_id: None,
        task_id: Some(TaskId::from_u128(number)),
        owner_hash: digest(number),
        priority: 0,
        fence: Some(7),
        since: at(since),
        expires_at: at(expires),
    };
    LockEntry { summary, mode: LockMode::Exclusive, capacity: None }
}

fn lock(resource: &str, waiting: usize) -> Lock {
    let queue: Vec<LockEntry> = (0..waiting).map(|_| entry(9, 40, 200)).collect();
    Lock {
        resource: resource.parse().unwrap(),
        holding: 1,
        waiting,
        holders: vec![entry(1, 0, 124)],
        queue,
    }
}

fn top() -> Top {
    let locks = vec![lock("database:a", 0), lock("database:b", 2), lock("host:c", 1)];
    Top { locks, ..Top::default() }
}

fn press(top: &mut Top, keys: &[KeyCode]) -> Step<Break> {
    let mut last = Step::Stay;
    for key in keys {
        last = top.key(KeyEvent::new(*key, KeyModifiers::NONE));
    }
    last
}

fn screen(top: &mut Top, link: &Link) -> String {
    let mut terminal = Terminal::new(TestBackend::new(90, 12)).unwrap();
    terminal.draw(|frame| top.draw(frame, link, at(100))).unwrap();
    let lines = terminal.backend().to_string();
    lines.lines().flat_map(|line| [line.trim_matches('"').trim_end(), "\n"]).collect()
}

fn names(top: &Top) -> Vec<String> {
    top.shown().iter().map(|lock| lock.resource.to_string()).collect()
}

#[test]
fn lock_rows_are_sorted_by_queue_length() {
    let drawn = screen(&mut top(), &Link::Live(at(100)));
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].starts_with("Locks  3 held · 3 waiting · sorted by waiters"), "{drawn}");
    assert!(lines[0].contains("● live"), "{drawn}");
    assert!(lines[2].starts_with("database:b") && lines[2].contains("0:24"), "{drawn}");
    assert!(lines[2].ends_with("2      1m"), "{drawn}");
    assert!(drawn.contains(KEYS), "{drawn}");
}

#[test]
fn lock_screen_keeps_rows_when_the_connection_is_lost() {
    let error = ade_client::Error::Unreachable { server: "x".to_owned(), why: "y".to_owned() };
    let link = Link::Live(at(100)).lost(&error);
    let drawn = screen(&mut top(), &link);
    assert!(drawn.contains("■ offline, data of") && drawn.contains("database:a"), "{drawn}");
    assert!(drawn.contains("cannot reach the server"), "{drawn}");
}

#[test]
fn lock_selection_stays_when_rows_move() {
    let mut top = top();
    press(&mut top, &[KeyCode::Down]);
    assert_eq!(top.chosen().unwrap().resource.to_string(), "host:c");
    top.update(vec![lock("host:c", 9), lock("database:a", 0)]);
    assert_eq!(top.chosen().unwrap().resource.to_string(), "host:c");
    assert_eq!(top.place(), 0);
}

#[test]
fn lock_filter_narrows_and_escape_clears_it() {
    let mut top = top();
    press(&mut top, &[KeyCode::Char('/'), KeyCode::Char('h'), KeyCode::Char('o')]);
    assert_eq!(names(&top), ["host:c"]);
    press(&mut top, &[KeyCode::Esc]);
    assert_eq!(names(&top).len(), 3);
}

#[test]
fn lock_break_requires_a_reason() {
    let mut top = top();
    assert_eq!(press(&mut top, &[KeyCode::Char('b'), KeyCode::Enter]), Step::Stay);
    assert!(top.notice.as_deref().unwrap().contains("a reason is required"));
    let keys = [KeyCode::Char('b'), KeyCode::Char('x'), KeyCode::Char('q'), KeyCode::Enter];
    let resource: ResourceRef = "database:b".parse().unwrap();
    let holder = Some(digest(1));
    let expected = Step::Do(Break { resource, holder, reason: "xq".to_owned() });
    assert_eq!(press(&mut top, &keys), expected);
    let left = [KeyCode::Char('b'), KeyCode::Char('x'), KeyCode::Esc];
    assert_eq!(press(&mut top, &left), Step::Stay);
    assert_eq!(press(&mut top, &[KeyCode::Char('q')]), Step::Quit);
}

#[test]
fn lock_break_applies_only_to_the_lease_that_was_shown() {
    let begin = [KeyCode::Char('b'), KeyCode::Char('x')];
    let mut top = top();
    press(&mut top, &begin);
    top.update(vec![lock("host:c", 9), lock("database:b", 2)]);
    let Step::Do(done) = press(&mut top, &[KeyCode::Enter]) else { panic!() };
    assert_eq!(done.resource.to_string(), "database:b", "rows have moved");

    let other = Lock { holders: vec![entry(2, 0, 124)], ..lock("database:b", 2) };
    for now in [vec![lock("host:c", 9)], vec![other, lock("host:c", 1)]] {
        top.update(vec![lock("database:b", 2)]);
        press(&mut top, &begin);
        top.update(now);
        assert!(screen(&mut top, &Link::Live(at(100))).contains("the holder has changed"));
        assert_eq!(press(&mut top, &[KeyCode::Enter]), Step::Stay);
    }
}

#[test]
fn lock_details_list_the_waiters() {
    let mut top = top();
    press(&mut top, &[KeyCode::Enter]);
    let mut terminal = Terminal::new(TestBackend::new(90, 20)).unwrap();
    terminal.draw(|frame| top.draw(frame, &Link::Connecting, at(100))).unwrap();
    let drawn = terminal.backend().to_string();
    assert!(drawn.contains("held by task_") && drawn.contains("fenced, token 7"), "{drawn}");
    assert!(drawn.contains("#2 task_"), "{drawn}");
}

#[test]
fn lock_screen_without_locks_says_so() {
    let drawn = screen(&mut Top::default(), &Link::Connecting);
    assert!(drawn.contains("No locks are held.") && drawn.contains("◌ connecting"), "{drawn}");
}
