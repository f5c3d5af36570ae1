//! Tests of the inbox screen, including requests that arrive while it is open.

use std::time::Duration;

use ade_api::approvals::AskedTask;
use ade_api::tasks::Risk;
use ade_core::approval::ApprovalStatus;
use ade_core::ids::{TaskId, UserId};
use ade_core::risk::Level;
use ade_core::task::State;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(1_000_000 + seconds))
}

fn asked(number: u128, title: &str) -> Approval {
    Approval {
        id: ApprovalId::from_u128(number),
        reviewer_id: UserId::from_u128(1),
        status: ApprovalStatus::Pending,
        revision: 3,
        requested_at: at(0),
        due_at: at(160),
        overdue: false,
        seats: Vec::new(),
        urgency: 1,
        task: AskedTask {
            id: TaskId::from_u128(number),
            number: 48,
            title: title.to_owned(),
            task_type: "sql.change".to_owned(),
            state: State::Reviewing,
            risk: Risk { score: 78, level: Level::High },
            digest: ade_core::change::Digest::of(b""),
            priority: 50,
            author_id: UserId::from_u128(2),
        },
    }
}

fn screen(inbox: &mut Inbox) -> String {
    let mut terminal = Terminal::new(TestBackend::new(90, 16)).unwrap();
    terminal.draw(|frame| inbox.draw(frame, &Link::Live(at(100)), at(100))).unwrap();
    terminal.backend().to_string()
}

fn press(inbox: &mut Inbox, key: KeyCode) {
    inbox.key(KeyEvent::new(key, KeyModifiers::NONE));
}

#[test]
fn inbox_row_shows_risk_title_time_and_no_escapes() {
    let mut inbox = Inbox::default();
    inbox.update(vec![asked(1, "Drop \u{1b}[2Jusers")]);
    let drawn = screen(&mut inbox);
    let title = "Inbox  1 waiting for you";
    for part in [title, "▂▄▆░  78 HIGH", "Drop ‹U+001B›[2Jusers", "in 1m", "1m ago"] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
}

#[test]
fn inbox_arrivals_do_not_move_the_selection() {
    let mut inbox = Inbox::default();
    inbox.update(vec![asked(1, "One"), asked(2, "Two")]);
    press(&mut inbox, KeyCode::Down);
    inbox.update(vec![asked(3, "Three"), asked(1, "One"), asked(2, "Two")]);
    assert_eq!(inbox.chosen().unwrap().task.title, "Two");
    assert!(screen(&mut inbox).contains("· 1 new"));
    press(&mut inbox, KeyCode::Enter);
    let drawn = screen(&mut inbox);
    assert!(!drawn.contains("new") && drawn.contains("next     ade approve task_"), "{drawn}");
}

#[test]
fn inbox_without_requests_says_so() {
    assert!(screen(&mut Inbox::default()).contains("No requests are waiting for you."));
}
