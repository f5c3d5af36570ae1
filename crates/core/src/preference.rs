//! How a person wants to be told: of which kinds of events on which channel, when not, and how
//! often at most. A flood becomes one message, since whatever comes within the interval of the last
//! one waits and goes together. What cannot wait is told at once.

use std::time::Duration;

use thiserror::Error;

use crate::event::EventKind;
use crate::limits::{DIGEST_DEFAULT, DIGEST_MAX, SLACK_MEMBER_MAX_BYTES};
use crate::policy::Hours;
use crate::time::Timestamp;
use crate::webhook::Subscription;

const MINUTE: Duration = Duration::from_mins(1);
/// A window of quiet is shorter than a day; a change of the clock may add to it.
const QUIET_MAX_MINUTES: u32 = 25 * 60;

/// What everybody hears of by mail who has said nothing else.
const MAIL_DEFAULT: [&str; 8] = [
    "approval.requested",
    "approval.escalated",
    "task.expiring",
    "task.unknown",
    "override.asked",
    "override.confirmed",
    "override.lapsed",
    "override.review_overdue",
];

/// Somebody has to act soon, nobody knows what happened, or rules are being passed by.
const URGENT: [EventKind; 5] = [
    EventKind::ApprovalEscalated,
    EventKind::TaskUnknown,
    EventKind::OverrideAsked,
    EventKind::OverrideConfirmed,
    EventKind::OverrideReviewOverdue,
];

/// Told to whoever proposed the task.
const FOR_AUTHORS: [EventKind; 8] = [
    EventKind::TaskApproved,
    EventKind::TaskRejected,
    EventKind::TaskChangesRequested,
    EventKind::TaskExpired,
    EventKind::TaskCompleted,
    EventKind::TaskFailed,
    EventKind::TaskUnknown,
    EventKind::TaskDrifted,
];

/// Told to those whom it asks, or whom the decision names.
const FOR_OTHERS: [EventKind; 9] = [
    EventKind::ApprovalRequested,
    EventKind::ApprovalEscalated,
    EventKind::TaskExpiring,
    EventKind::TaskExtended,
    EventKind::TaskReviewReopened,
    EventKind::OverrideAsked,
    EventKind::OverrideConfirmed,
    EventKind::OverrideLapsed,
    EventKind::OverrideReviewOverdue,
];

pub fn is_for_author(kind: &str) -> bool {
    FOR_AUTHORS.iter().any(|known| known.as_str() == kind)
}

/// Whether anybody is told of such an event at all.
pub fn is_told(kind: &str) -> bool {
    is_for_author(kind) || FOR_OTHERS.iter().any(|known| known.as_str() == kind)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    Mail,
    Slack,
}

impl Channel {
    pub const ALL: [Self; 2] = [Self::Mail, Self::Slack];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Slack => "slack",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PreferenceError {
    #[error("at most {} minutes", DIGEST_MAX.as_secs() / 60)]
    Digest,
    #[error("the id of a member of Slack, like U012AB3CD, is letters and digits")]
    Member,
    #[error("say who you are in Slack to be told there")]
    NoMember,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// Nothing by mail, if there is none.
    pub mail: Option<Subscription>,
    pub slack: Option<Subscription>,
    /// Whom messages in Slack are for.
    pub slack_member: Option<String>,
    /// Nothing is sent in this window of the day.
    pub quiet: Option<Hours>,
    /// Between two messages on one channel.
    pub digest: Duration,
}

impl Default for Preference {
    fn default() -> Self {
        Self {
            mail: Subscription::new(MAIL_DEFAULT).ok(),
            slack: None,
            slack_member: None,
            quiet: None,
            digest: DIGEST_DEFAULT,
        }
    }
}

impl Preference {
    pub fn check(&self) -> Result<(), PreferenceError> {
        if self.digest > DIGEST_MAX {
            return Err(PreferenceError::Digest);
        }
        let is_member = |member: &String| {
            (1..=SLACK_MEMBER_MAX_BYTES).contains(&member.len())
                && member.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        match &self.slack_member {
            Some(member) if !is_member(member) => Err(PreferenceError::Member),
            None if self.slack.is_some() => Err(PreferenceError::NoMember),
            Some(_) | None => Ok(()),
        }
    }

    pub fn wants(&self, channel: Channel, kind: &str) -> bool {
        let wanted = match channel {
            Channel::Mail => &self.mail,
            Channel::Slack => &self.slack,
        };
        wanted.as_ref().is_some_and(|wanted| wanted.wants(kind))
    }

    /// When a message that tells of this goes out, if the last one went then.
    pub fn goes_at(&self, kind: &str, now: Timestamp, last: Option<Timestamp>) -> Timestamp {
        if URGENT.iter().any(|urgent| urgent.as_str() == kind) {
            return now;
        }
        let earliest = last.map_or(now, |last| now.max(last.plus(self.digest)));
        self.loud_from(earliest)
    }

    /// The first minute from then on that is not quiet.
    fn loud_from(&self, at: Timestamp) -> Timestamp {
        let Some(quiet) = &self.quiet else { return at };
        let mut minute = at;
        for _ in 0..QUIET_MAX_MINUTES {
            if !quiet.holds(minute) {
                return minute;
            }
            minute = minute.plus(MINUTE);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn quiet() -> Preference {
        let quiet = Hours::new("Europe/Vienna", [], "22:00", "07:00").unwrap();
        Preference { quiet: Some(quiet), digest: Duration::from_mins(10), ..Preference::default() }
    }

    #[test]
    fn the_first_of_a_flood_goes_at_once_and_the_rest_together() {
        let noon = at("2026-11-16T12:00:00Z");
        let told = quiet();
        assert_eq!(told.goes_at("approval.requested", noon, None), noon);
        let next = noon.plus(Duration::from_mins(10));
        for seconds in [0, 1, 60, 599] {
            let now = noon.plus(Duration::from_secs(seconds));
            assert_eq!(told.goes_at("approval.requested", now, Some(noon)), next);
        }
        let later = noon.plus(Duration::from_mins(11));
        assert_eq!(told.goes_at("approval.requested", later, Some(noon)), later);
    }

    #[test]
    fn nothing_is_sent_in_quiet_hours_but_what_cannot_wait() {
        let night = at("2026-11-16T23:30:00Z");
        let morning = at("2026-11-17T06:00:00Z");
        let told = quiet();
        assert_eq!(told.goes_at("approval.requested", night, None), morning);
        for urgent in URGENT {
            assert_eq!(told.goes_at(urgent.as_str(), night, Some(night)), night);
        }
    }

    #[test]
    fn a_window_that_never_ends_holds_nothing_back_for_ever() {
        let always = Hours::new("UTC", [], "00:00", "24:00").unwrap();
        let told = Preference { quiet: Some(always), ..Preference::default() };
        let noon = at("2026-11-16T12:00:00Z");
        assert_eq!(told.goes_at("approval.requested", noon, None), noon);
    }

    #[test]
    fn what_is_asked_for_is_checked() {
        let slack = Subscription::new(["approval.*"]).ok();
        let nobody = Preference { slack: slack.clone(), ..Preference::default() };
        assert_eq!(nobody.check(), Err(PreferenceError::NoMember));
        for wrong in ["", "#general", "U1 U2", "<!channel>", &"U".repeat(65)] {
            let member = Some(wrong.to_owned());
            let told = Preference { slack_member: member, ..Preference::default() };
            assert_eq!(told.check(), Err(PreferenceError::Member), "{wrong}");
        }
        let member = Some("U012AB3CD".to_owned());
        let told = Preference { slack, slack_member: member, ..Preference::default() };
        assert_eq!(told.check(), Ok(()));
        assert!(told.wants(Channel::Slack, "approval.voted"));
        assert!(!told.wants(Channel::Mail, "approval.voted"));
        let digest = DIGEST_MAX + MINUTE;
        let late = Preference { digest, ..Preference::default() };
        assert_eq!(late.check(), Err(PreferenceError::Digest));
    }

    #[test]
    fn overrides_wake_people_who_have_said_nothing() {
        let night = at("2026-11-16T23:30:00Z");
        let told = quiet();
        let overrides = EventKind::ALL.iter().map(|kind| kind.as_str());
        for kind in overrides.filter(|kind| kind.starts_with("override.")) {
            assert!(is_told(kind) && told.wants(Channel::Mail, kind), "{kind}");
            // Whoever acts would be told as the author too.
            assert!(!is_for_author(kind), "{kind}");
            let is_at_once = told.goes_at(kind, night, Some(night)) == night;
            assert_eq!(is_at_once, kind != "override.lapsed", "{kind}: nothing came of it");
        }
    }

    #[test]
    fn what_is_told_by_default_is_told_at_all() {
        assert!(Preference::default().mail.is_some());
        assert!(MAIL_DEFAULT.iter().all(|kind| is_told(kind)));
        assert!(URGENT.iter().all(|kind| is_told(kind.as_str())));
        assert!(!is_told("lock.acquired") && !is_told("task.created"));
    }
}
