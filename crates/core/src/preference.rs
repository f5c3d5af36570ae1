//! A person's notification preferences: which kinds of events on which channel, quiet hours, and a
//! minimum interval. A flood becomes one message, because everything within the interval is
//! combined. Urgent events are sent immediately.

use std::time::Duration;

use thiserror::Error;

use crate::event::EventKind;
use crate::limits::{DIGEST_DEFAULT, DIGEST_MAX, SLACK_MEMBER_MAX_BYTES};
use crate::policy::Hours;
use crate::time::Timestamp;
use crate::webhook::Subscription;

const MINUTE: Duration = Duration::from_mins(1);
/// The maximum length of a quiet window: shorter than a day, plus a change of the clock.
const QUIET_MAX_MINUTES: u32 = 25 * 60;

/// The events that are sent by mail by default.
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

/// Events that need a quick reaction, whose outcome is unknown, or that override rules.
const URGENT: [EventKind; 5] = [
    EventKind::ApprovalEscalated,
    EventKind::TaskUnknown,
    EventKind::OverrideAsked,
    EventKind::OverrideConfirmed,
    EventKind::OverrideReviewOverdue,
];

/// Events that are sent to the person who proposed the task.
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

/// Events that are sent to the people who are asked, or whom the decision names.
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

/// Changes to an account, or to the rules of the tenant. The recipient is notified immediately and
/// on every channel, whatever their preferences say, because someone else may have made the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountNotice {
    PasskeyAdded,
    PasskeysReset,
    /// A change to the rules of the tenant was proposed that makes approvals easier.
    ChangeProposed,
    /// The recipient is invited to join. The message contains the link, so it is sent by mail only.
    Invited,
}

impl AccountNotice {
    pub const ALL: [Self; 4] =
        [Self::PasskeyAdded, Self::PasskeysReset, Self::ChangeProposed, Self::Invited];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PasskeyAdded => "passkey.added",
            Self::PasskeysReset => "passkey.reset",
            Self::ChangeProposed => "change.proposed",
            Self::Invited => "user.invited",
        }
    }
}

fn is_urgent(kind: &str) -> bool {
    URGENT.iter().any(|urgent| urgent.as_str() == kind)
        || AccountNotice::ALL.iter().any(|notice| notice.as_str() == kind)
}

pub fn is_for_author(kind: &str) -> bool {
    FOR_AUTHORS.iter().any(|known| known.as_str() == kind)
}

/// Returns whether events of this kind cause notifications at all.
pub fn is_notified(kind: &str) -> bool {
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
    #[error("must be at most {} minutes", DIGEST_MAX.as_secs() / 60)]
    Digest,
    #[error("a Slack member id consists of letters and digits, like U012AB3CD")]
    Member,
    #[error("set your Slack member id to be notified in Slack")]
    NoMember,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preference {
    /// The events sent by mail; `None` sends nothing by mail.
    pub mail: Option<Subscription>,
    pub slack: Option<Subscription>,
    /// The member id that Slack messages are addressed to.
    pub slack_member: Option<String>,
    /// The daily window in which nothing is sent.
    pub quiet: Option<Hours>,
    /// The minimum time between two messages on one channel.
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

    /// Returns when a message about this event is sent, given the time of the last message.
    pub fn goes_at(&self, kind: &str, now: Timestamp, last: Option<Timestamp>) -> Timestamp {
        if is_urgent(kind) {
            return now;
        }
        let earliest = last.map_or(now, |last| now.max(last.plus(self.digest)));
        self.loud_from(earliest)
    }

    /// Returns the first minute from then on that is not quiet.
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
    fn preference_sends_the_first_at_once_and_bundles_the_rest() {
        let noon = at("2026-11-16T12:00:00Z");
        let preference = quiet();
        assert_eq!(preference.goes_at("approval.requested", noon, None), noon);
        let next = noon.plus(Duration::from_mins(10));
        for seconds in [0, 1, 60, 599] {
            let now = noon.plus(Duration::from_secs(seconds));
            assert_eq!(preference.goes_at("approval.requested", now, Some(noon)), next);
        }
        let later = noon.plus(Duration::from_mins(11));
        assert_eq!(preference.goes_at("approval.requested", later, Some(noon)), later);
    }

    #[test]
    fn preference_quiet_hours_delay_all_but_urgent_messages() {
        let night = at("2026-11-16T23:30:00Z");
        let morning = at("2026-11-17T06:00:00Z");
        let preference = quiet();
        assert_eq!(preference.goes_at("approval.requested", night, None), morning);
        let events = URGENT.iter().map(|urgent| urgent.as_str());
        for urgent in events.chain(AccountNotice::ALL.map(AccountNotice::as_str)) {
            assert_eq!(preference.goes_at(urgent, night, Some(night)), night);
        }
    }

    #[test]
    fn preference_quiet_window_without_end_delays_nothing() {
        let always = Hours::new("UTC", [], "00:00", "24:00").unwrap();
        let preference = Preference { quiet: Some(always), ..Preference::default() };
        let noon = at("2026-11-16T12:00:00Z");
        assert_eq!(preference.goes_at("approval.requested", noon, None), noon);
    }

    #[test]
    fn preference_is_validated() {
        let slack = Subscription::new(["approval.*"]).ok();
        let without_member = Preference { slack: slack.clone(), ..Preference::default() };
        assert_eq!(without_member.check(), Err(PreferenceError::NoMember));
        for wrong in ["", "#general", "U1 U2", "<!channel>", &"U".repeat(65)] {
            let member = Some(wrong.to_owned());
            let preference = Preference { slack_member: member, ..Preference::default() };
            assert_eq!(preference.check(), Err(PreferenceError::Member), "{wrong}");
        }
        let member = Some("U012AB3CD".to_owned());
        let preference = Preference { slack, slack_member: member, ..Preference::default() };
        assert_eq!(preference.check(), Ok(()));
        assert!(preference.wants(Channel::Slack, "approval.voted"));
        assert!(!preference.wants(Channel::Mail, "approval.voted"));
        let digest = DIGEST_MAX + MINUTE;
        let late = Preference { digest, ..Preference::default() };
        assert_eq!(late.check(), Err(PreferenceError::Digest));
    }

    #[test]
    fn preference_default_sends_overrides_in_quiet_hours() {
        let night = at("2026-11-16T23:30:00Z");
        let preference = quiet();
        let overrides = EventKind::ALL.iter().map(|kind| kind.as_str());
        for kind in overrides.filter(|kind| kind.starts_with("override.")) {
            assert!(is_notified(kind) && preference.wants(Channel::Mail, kind), "{kind}");
            // Otherwise the acting admin would be notified as the author too.
            assert!(!is_for_author(kind), "{kind}");
            let is_at_once = preference.goes_at(kind, night, Some(night)) == night;
            assert_eq!(is_at_once, kind != "override.lapsed", "{kind}: a lapse is not urgent");
        }
    }

    #[test]
    fn preference_defaults_are_notifiable_events() {
        assert!(Preference::default().mail.is_some());
        assert!(MAIL_DEFAULT.iter().all(|kind| is_notified(kind)));
        assert!(URGENT.iter().all(|kind| is_notified(kind.as_str())));
        assert!(!is_notified("lock.acquired") && !is_notified("task.created"));
    }
}
