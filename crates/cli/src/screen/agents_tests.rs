//! The agents as they are drawn, and what keys ask for.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::ids::UserId;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyModifiers;

use super::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(1_000_000 + seconds))
}

fn agent(number: u128, name: &str, status: Status, load: u32) -> Agent {
    Agent {
        id: AgentId::from_u128(number),
        name: name.to_owned(),
        owner: UserId::from_u128(1),
        status,
        seen_at: (status != Status::Offline).then(|| at(40)),
        load: Some(load),
        config_version: 3,
        capabilities: BTreeSet::from(["sql.*".to_owned()]),
        max_tasks: 4,
        registered_at: at(0),
        revoked_at: None,
    }
}

fn some() -> Vec<Agent> {
    vec![
        agent(1, "billing", Status::Active, 1),
        agent(2, "infra\u{1b}[2J", Status::Active, 4),
        agent(3, "night", Status::Offline, 0),
        agent(4, "search", Status::Late, 2),
    ]
}

fn top() -> Top {
    let mut top = Top::default();
    top.update(some());
    top
}

fn screen(top: &mut Top) -> String {
    let mut terminal = Terminal::new(TestBackend::new(96, 18)).unwrap();
    terminal.draw(|frame| top.draw(frame, &Link::Live(at(100)), at(100))).unwrap();
    terminal.backend().to_string()
}

fn press(top: &mut Top, key: KeyCode) -> Step<Order> {
    top.key(KeyEvent::new(key, KeyModifiers::NONE))
}

fn names(top: &Top) -> Vec<&str> {
    top.shown().iter().map(|agent| agent.name.split('\u{1b}').next().unwrap()).collect()
}

#[test]
fn they_are_told_with_status_load_and_time_and_no_escape() {
    let drawn = screen(&mut top());
    for part in [
        "Agents  2 of 4 active · 7 task(s) in hand · by trouble",
        "▲ late",
        "■ offline",
        "infra‹U+001B›[2J",
        "4/4",
        "1m ago",
        "never",
    ] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
    assert!(screen(&mut Top::default()).contains("No agents yet."));
}

#[test]
fn trouble_comes_first_then_load_then_names() {
    let mut top = top();
    assert_eq!(names(&top), ["search", "night", "billing", "infra"]);
    press(&mut top, KeyCode::Char('s'));
    assert_eq!(names(&top), ["infra", "search", "billing", "night"]);
    press(&mut top, KeyCode::Char('s'));
    assert_eq!(names(&top), ["billing", "infra", "night", "search"]);
}

#[test]
fn an_order_is_for_the_one_that_was_chosen_and_has_a_reason() {
    let mut top = top();
    press(&mut top, KeyCode::Char('p'));
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Stay);
    assert!(screen(&mut top).contains("nobody was paused: a reason is needed"));

    press(&mut top, KeyCode::Char('p'));
    // Another one comes to the first row while the reason is typed.
    top.update(vec![agent(5, "afar", Status::Late, 0), agent(4, "search", Status::Late, 2)]);
    assert_eq!(press(&mut top, KeyCode::Char('q')), Step::Stay, "a letter, not an end");
    assert!(screen(&mut top).contains("pause search, because: q_"));
    let order = Order::Pause { agent: AgentId::from_u128(4), reason: "q".to_owned() };
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Do(order));

    press(&mut top, KeyCode::Char('p'));
    press(&mut top, KeyCode::Esc);
    assert_eq!(press(&mut top, KeyCode::Char('r')), Step::Do(Order::Resume(AgentId::from_u128(4))));
    assert_eq!(press(&mut top, KeyCode::Char('q')), Step::Quit);
}

#[test]
fn nobody_else_is_paused_when_the_chosen_one_goes() {
    let mut top = top();
    press(&mut top, KeyCode::Char('p'));
    press(&mut top, KeyCode::Char('x'));
    top.update(vec![agent(1, "billing", Status::Active, 1)]);
    let drawn = screen(&mut top);
    assert!(drawn.contains("nobody was paused: the agent is gone"), "{drawn}");
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Stay);
}

#[test]
fn details_say_what_to_look_at_next() {
    let mut top = top();
    press(&mut top, KeyCode::Enter);
    let drawn = screen(&mut top);
    assert!(drawn.contains("config   version 3"), "{drawn}");
    assert!(drawn.contains("next     ade tasks list --agent agt_"), "{drawn}");
    assert_eq!(press(&mut top, KeyCode::Esc), Step::Stay);
    assert!(!screen(&mut top).contains("config   version 3"));
}
