//! Tests of the agent screen and its keys.

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

fn agent(number: u128, name: &str, status: AgentStatus, load: u32) -> Agent {
    Agent {
        id: AgentId::from_u128(number),
        name: name.to_owned(),
        owner_id: UserId::from_u128(1),
        status,
        seen_at: (status != AgentStatus::Offline).then(|| at(40)),
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
        agent(1, "billing", AgentStatus::Active, 1),
        agent(2, "infra\u{1b}[2J", AgentStatus::Active, 4),
        agent(3, "night", AgentStatus::Offline, 0),
        agent(4, "search", AgentStatus::Late, 2),
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
fn agent_rows_show_status_load_time_and_no_escapes() {
    let drawn = screen(&mut top());
    for part in [
        "Agents  2 of 4 active · 7 task(s) running · sorted by trouble",
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
fn agent_rows_are_sorted_by_trouble_load_and_name() {
    let mut top = top();
    assert_eq!(names(&top), ["search", "night", "billing", "infra"]);
    press(&mut top, KeyCode::Char('s'));
    assert_eq!(names(&top), ["infra", "search", "billing", "night"]);
    press(&mut top, KeyCode::Char('s'));
    assert_eq!(names(&top), ["billing", "infra", "night", "search"]);
}

#[test]
fn agent_order_goes_to_the_chosen_agent_with_a_reason() {
    let mut top = top();
    press(&mut top, KeyCode::Char('p'));
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Stay);
    assert!(screen(&mut top).contains("not paused: a reason is required"));

    press(&mut top, KeyCode::Char('p'));
    // Another agent moves to the first row while the reason is typed.
    top.update(vec![
        agent(5, "afar", AgentStatus::Late, 0),
        agent(4, "search", AgentStatus::Late, 2),
    ]);
    assert_eq!(press(&mut top, KeyCode::Char('q')), Step::Stay, "typing q does not quit");
    assert!(screen(&mut top).contains("pause search, reason: q_"));
    let order = Order::Pause { agent: AgentId::from_u128(4), reason: "q".to_owned() };
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Do(order));

    press(&mut top, KeyCode::Char('p'));
    press(&mut top, KeyCode::Esc);
    assert_eq!(press(&mut top, KeyCode::Char('r')), Step::Do(Order::Resume(AgentId::from_u128(4))));
    assert_eq!(press(&mut top, KeyCode::Char('q')), Step::Quit);
}

#[test]
fn agent_order_is_dropped_when_the_chosen_agent_disappears() {
    let mut top = top();
    press(&mut top, KeyCode::Char('p'));
    press(&mut top, KeyCode::Char('x'));
    top.update(vec![agent(1, "billing", AgentStatus::Active, 1)]);
    let drawn = screen(&mut top);
    assert!(drawn.contains("not paused: the agent no longer exists"), "{drawn}");
    assert_eq!(press(&mut top, KeyCode::Enter), Step::Stay);
}

#[test]
fn agent_details_name_the_next_command() {
    let mut top = top();
    press(&mut top, KeyCode::Enter);
    let drawn = screen(&mut top);
    assert!(drawn.contains("config   version 3"), "{drawn}");
    assert!(drawn.contains("next     ade tasks list --agent agt_"), "{drawn}");
    assert_eq!(press(&mut top, KeyCode::Esc), Step::Stay);
    assert!(!screen(&mut top).contains("config   version 3"));
}
