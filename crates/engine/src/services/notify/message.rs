//! The content of a message: a subject, a line per notification, and a link. Text written by users
//! is shortened and put on one line, with invisible and direction-changing characters made visible.

use std::fmt::Write as _;

use ade_core::limits::{MESSAGE_ITEMS_MAX, MESSAGE_TITLE_MAX_CHARS};
use ade_core::preference::AccountNotice;
use ade_core::sanitize_display::named;
use ade_store::messages::PendingNotification;
use ade_store::notifications::NotificationSubject;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationMessage {
    pub subject: String,
    pub lines: Vec<MessageLine>,
    /// The number of notifications that are not listed.
    pub more: usize,
    /// The page that lists all of them.
    pub link: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageLine {
    pub text: String,
    pub link: String,
}

impl NotificationMessage {
    /// Creates a message. `page` is the public URL of the product.
    pub fn new(items: &[PendingNotification], page: &str) -> Self {
        Self::with_invitation(items, page, None)
    }

    /// Creates a message in which an invitation leads to this link. Without one, invitations are
    /// left out: they were accepted or replaced, or have expired. `None` if nothing is left.
    pub fn of(items: &[PendingNotification], page: &str, join: Option<&str>) -> Option<Self> {
        let is_left = |item: &&PendingNotification| join.is_some() || !is_invitation(item);
        let left: Vec<PendingNotification> = items.iter().filter(is_left).cloned().collect();
        (!left.is_empty()).then(|| Self::with_invitation(&left, page, join))
    }

    fn with_invitation(items: &[PendingNotification], page: &str, join: Option<&str>) -> Self {
        let most = usize::try_from(MESSAGE_ITEMS_MAX).unwrap_or(usize::MAX);
        let lines: Vec<MessageLine> =
            items.iter().take(most).map(|item| line(item, page, join)).collect();
        let subject = match (items, lines.first()) {
            ([_], Some(line)) => line.text.clone(),
            _ => format!("{} notifications", items.len()),
        };
        let link = match items {
            [item] => link_to(page, item, join),
            _ => format!("{page}/inbox"),
        };
        Self { subject, more: items.len().saturating_sub(lines.len()), lines, link }
    }

    /// Returns the message as plain text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = write!(text, "{}\n  {}\n\n", line.text, line.link);
        }
        if self.more > 0 {
            let _ = writeln!(text, "and {} more", self.more);
        }
        let _ = write!(
            text,
            "{}\n\nReplies to this message are not read; decide on the task's page.\n",
            self.link
        );
        text
    }
}

fn is_invitation(item: &PendingNotification) -> bool {
    item.kind == AccountNotice::Invited.as_str()
}

fn line(item: &PendingNotification, page: &str, join: Option<&str>) -> MessageLine {
    let what = label(&item.kind);
    let text = match &item.subject {
        NotificationSubject::Task { number, title, .. } => {
            format!("{what}: #{number} {}", plain(title))
        }
        NotificationSubject::Account { detail } => format!("{what}: {}", plain(detail)),
    };
    MessageLine { text, link: link_to(page, item, join) }
}

fn link_to(page: &str, item: &PendingNotification, join: Option<&str>) -> String {
    if let Some(join) = join.filter(|_| is_invitation(item)) {
        return join.to_owned();
    }
    match &item.subject {
        NotificationSubject::Task { id, .. } => format!("{page}/tasks/{id}"),
        NotificationSubject::Account { .. } => format!("{page}/settings/passkeys"),
    }
}

fn label(kind: &str) -> &str {
    match kind {
        "approval.requested" => "Approval requested",
        "approval.escalated" => "No answer yet",
        "task.expiring" => "Expiring soon",
        "task.expired" => "Expired",
        "task.extended" => "Review extended",
        "task.review_reopened" => "Review reopened",
        "task.approved" => "Approved",
        "task.rejected" => "Rejected",
        "task.changes_requested" => "Changes requested",
        "task.completed" => "Completed",
        "task.failed" => "Failed",
        "task.unknown" => "Outcome unknown",
        "task.drifted" => "Effect changed since approval",
        "override.asked" => "Override requested",
        "override.confirmed" => "Override confirmed by two admins",
        "override.lapsed" => "Override expired without a second admin",
        "override.review_overdue" => "Override review overdue",
        "passkey.added" => "A passkey was added to your account",
        "passkey.reset" => "The passkeys of your account were removed",
        "change.proposed" => "A change to the rules was proposed",
        "user.invited" => "Accept the invitation within 15 minutes, with this link",
        other => other,
    }
}

/// Returns the text on one line, with control characters made visible, shortened to fit a message.
fn plain(text: &str) -> String {
    let shown = named(text);
    let cut: String = shown.chars().take(MESSAGE_TITLE_MAX_CHARS).collect();
    if cut.len() < shown.len() { format!("{cut}…") } else { cut }
}

/// The recipient of a message, with their address on its channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    pub name: String,
    pub address: String,
}

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsent {
    /// A retry may succeed.
    Later(String),
    /// The message cannot be delivered, so a retry is pointless.
    Never(String),
}

impl Unsent {
    pub fn problem(&self) -> &str {
        match self {
            Self::Later(problem) | Self::Never(problem) => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use ade_core::event::EventKind;
    use ade_core::ids::TaskId;
    use ade_core::preference::{AccountNotice, is_notified};
    use ade_core::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn item(number: i64, title: &str) -> PendingNotification {
        PendingNotification {
            id: Uuid::nil(),
            kind: "approval.requested".to_owned(),
            subject: NotificationSubject::Task {
                id: TaskId::from_u128(7),
                number,
                title: title.to_owned(),
            },
            at: Timestamp::from_micros(0),
        }
    }

    #[test]
    fn message_title_stays_on_one_line_and_is_escaped() {
        let title = "Drop\r\nBcc: all@example.org\u{202e}txt\u{200b}\u{7}";
        let letter = NotificationMessage::new(&[item(3, title)], "https://ade.example.org");
        assert!(!letter.subject.chars().any(char::is_control), "{letter:?}");
        assert_eq!(
            letter.subject,
            "Approval requested: #3 Drop‹U+000D›‹U+000A›Bcc: \
             all@example.org‹U+202E›txt‹U+200B›‹U+0007›"
        );
        let long =
            NotificationMessage::new(&[item(3, &"x".repeat(5_000))], "https://ade.example.org");
        assert!(long.subject.chars().count() < 160);
    }

    #[test]
    fn message_text_exists_for_every_notified_event() {
        for kind in EventKind::ALL.iter().map(|kind| kind.as_str()).filter(|kind| is_notified(kind))
        {
            assert_ne!(label(kind), kind);
        }
        for kind in AccountNotice::ALL.map(AccountNotice::as_str) {
            assert_ne!(label(kind), kind);
        }
    }

    #[test]
    fn message_about_an_account_names_the_change_and_links_to_it() {
        let notice = PendingNotification {
            kind: AccountNotice::PasskeyAdded.as_str().to_owned(),
            subject: NotificationSubject::Account { detail: "Phone\r\nBcc: x".to_owned() },
            ..item(0, "")
        };
        let letter = NotificationMessage::new(&[notice], "https://ade.example.org");
        assert_eq!(
            letter.subject,
            "A passkey was added to your account: Phone‹U+000D›‹U+000A›Bcc: x"
        );
        assert_eq!(letter.link, "https://ade.example.org/settings/passkeys");
    }

    #[test]
    fn message_for_many_items_is_one_summary() {
        let items: Vec<PendingNotification> = (0..500).map(|number| item(number, "Grow")).collect();
        let letter = NotificationMessage::new(&items, "https://ade.example.org");
        assert_eq!(letter.subject, "500 notifications");
        let most = usize::try_from(MESSAGE_ITEMS_MAX).unwrap();
        assert_eq!((letter.lines.len(), letter.more), (most, 500 - most));
        let text = letter.text();
        assert!(text.contains("#0 Grow") && text.contains("and 480 more"), "{text}");
        assert!(text.contains("https://ade.example.org/inbox"), "{text}");
    }
}
