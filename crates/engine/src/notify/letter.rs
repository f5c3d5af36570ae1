//! What a message says: a subject, a line for each thing that is told, and where to look. Text that
//! somebody else wrote is cut, on one line, and shows characters that turn it round or hide it.

use std::fmt::Write as _;

use ade_core::ids::TaskId;
use ade_core::limits::{MESSAGE_ITEMS_MAX, MESSAGE_TITLE_MAX_CHARS};
use ade_core::visible::named;
use ade_store::messages::Item;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub subject: String,
    pub lines: Vec<Line>,
    /// Things that it does not list.
    pub more: usize,
    /// Where to look at all of them.
    pub link: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub link: String,
}

impl Letter {
    /// `page` is where the product is found.
    pub fn new(items: &[Item], page: &str) -> Self {
        let most = usize::try_from(MESSAGE_ITEMS_MAX).unwrap_or(usize::MAX);
        let lines: Vec<Line> = items.iter().take(most).map(|item| line(item, page)).collect();
        let subject = match (items, lines.first()) {
            ([_], Some(line)) => line.text.clone(),
            _ => format!("{} things are told to you", items.len()),
        };
        let link = match items {
            [item] => link_to(page, item.task),
            _ => format!("{page}/inbox"),
        };
        Self { subject, more: items.len().saturating_sub(lines.len()), lines, link }
    }

    /// The whole as plain text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = write!(text, "{}\n  {}\n\n", line.text, line.link);
        }
        if self.more > 0 {
            let _ = writeln!(text, "and {} more", self.more);
        }
        let _ = write!(text, "{}\n\nNobody decides by answering this message.\n", self.link);
        text
    }
}

fn line(item: &Item, page: &str) -> Line {
    let what = said(&item.kind);
    let text = format!("{what}: #{} {}", item.number, plain(&item.title));
    Line { text, link: link_to(page, item.task) }
}

fn link_to(page: &str, task: TaskId) -> String {
    format!("{page}/tasks/{task}")
}

fn said(kind: &str) -> &str {
    match kind {
        "approval.requested" => "Your answer is asked for",
        "approval.escalated" => "Nobody has answered yet",
        "task.expiring" => "It expires soon",
        "task.expired" => "It has expired",
        "task.extended" => "It has more time",
        "task.review_reopened" => "It is reviewed again",
        "task.approved" => "It was approved",
        "task.rejected" => "It was rejected",
        "task.changes_requested" => "Changes are asked for",
        "task.completed" => "It is done",
        "task.failed" => "It has failed",
        "task.unknown" => "Nobody knows how it ended",
        "task.drifted" => "Its effect has changed",
        "override.asked" => "An admin asks to let it pass without its reviewers",
        "override.confirmed" => "Two admins let it pass without its reviewers",
        "override.lapsed" => "No second admin let it pass without its reviewers",
        "override.review_overdue" => "Nobody has reviewed its override in time",
        other => other,
    }
}

/// On one line, as it reads, cut where a message ends.
fn plain(text: &str) -> String {
    let shown = named(text);
    let cut: String = shown.chars().take(MESSAGE_TITLE_MAX_CHARS).collect();
    if cut.len() < shown.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use ade_core::event::EventKind;
    use ade_core::preference::is_told;
    use ade_core::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn item(number: i64, title: &str) -> Item {
        Item {
            id: Uuid::nil(),
            kind: "approval.requested".to_owned(),
            task: TaskId::from_u128(7),
            number,
            title: title.to_owned(),
            at: Timestamp::from_micros(0),
        }
    }

    #[test]
    fn a_title_stays_on_its_line_and_hides_nothing() {
        let title = "Drop\r\nBcc: all@example.org\u{202e}txt\u{200b}\u{7}";
        let letter = Letter::new(&[item(3, title)], "https://ade.example.org");
        assert!(!letter.subject.chars().any(char::is_control), "{letter:?}");
        assert_eq!(
            letter.subject,
            "Your answer is asked for: #3 Drop‹U+000D›‹U+000A›Bcc: \
             all@example.org‹U+202E›txt‹U+200B›‹U+0007›"
        );
        let long = Letter::new(&[item(3, &"x".repeat(5_000))], "https://ade.example.org");
        assert!(long.subject.chars().count() < 160);
    }

    #[test]
    fn whatever_is_told_is_told_in_words() {
        for kind in EventKind::ALL.iter().map(|kind| kind.as_str()).filter(|kind| is_told(kind)) {
            assert_ne!(said(kind), kind);
        }
    }

    #[test]
    fn a_flood_is_one_letter_that_says_how_much_there_is() {
        let items: Vec<Item> = (0..500).map(|number| item(number, "Grow")).collect();
        let letter = Letter::new(&items, "https://ade.example.org");
        assert_eq!(letter.subject, "500 things are told to you");
        let most = usize::try_from(MESSAGE_ITEMS_MAX).unwrap();
        assert_eq!((letter.lines.len(), letter.more), (most, 500 - most));
        let text = letter.text();
        assert!(text.contains("#0 Grow") && text.contains("and 480 more"), "{text}");
        assert!(text.contains("https://ade.example.org/inbox"), "{text}");
    }
}
