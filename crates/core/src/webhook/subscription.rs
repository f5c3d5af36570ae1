//! The event types that an endpoint subscribes to. A pattern that matches no known type is refused
//! as a typing error.

use thiserror::Error;

use crate::event::EventKind;
use crate::limits::WEBHOOK_EVENTS_MAX;
use crate::policy::{Pattern, PatternError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubscriptionError {
    #[error("list 1 to {WEBHOOK_EVENTS_MAX} event types or patterns, got {given}")]
    Count { given: usize },
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("`{pattern}` matches no event type: see the reference for the list")]
    Unknown { pattern: String },
}

impl Subscription {
    pub fn new<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self, SubscriptionError> {
        let mut patterns = Vec::new();
        for text in texts {
            if patterns.len() >= WEBHOOK_EVENTS_MAX {
                return Err(SubscriptionError::Count { given: patterns.len().saturating_add(1) });
            }
            patterns.push(Pattern::new(text.as_ref())?);
        }
        if patterns.is_empty() {
            return Err(SubscriptionError::Count { given: 0 });
        }
        patterns.sort();
        patterns.dedup();
        let fits = |pattern: &Pattern| {
            EventKind::ALL.iter().any(|kind| pattern.matches_text(kind.as_str()))
        };
        match patterns.iter().find(|pattern| !fits(pattern)) {
            Some(pattern) => Err(SubscriptionError::Unknown { pattern: pattern.to_string() }),
            None => Ok(Self(patterns)),
        }
    }

    /// Returns whether the endpoint subscribes to this type, which may be unknown to this process.
    pub fn wants(&self, kind: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches_text(kind))
    }

    /// Returns the patterns in their order.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscription_receives_matching_events_only() {
        let some = Subscription::new(["task.app*", "approval.voted"]).unwrap();
        for (kind, wanted) in [
            ("task.approved", true),
            ("task.applying", true),
            ("approval.voted", true),
            ("task.created", false),
            ("approval.requested", false),
            ("lock.acquired", false),
        ] {
            assert_eq!(some.wants(kind), wanted, "{kind}");
        }
        let all = Subscription::new(["*"]).unwrap();
        assert!(EventKind::ALL.iter().all(|kind| all.wants(kind.as_str())));
    }

    #[test]
    fn subscription_pattern_that_matches_nothing_is_refused() {
        for wrong in ["tasks.*", "task.agreed", "TASK.APPROVED", "x"] {
            let refused = Subscription::new([wrong]).unwrap_err();
            assert_eq!(refused, SubscriptionError::Unknown { pattern: wrong.to_owned() });
        }
        assert!(matches!(Subscription::new(["task.[*"]), Err(SubscriptionError::Pattern(_))));
    }

    #[test]
    fn subscription_has_one_to_the_maximum_of_patterns() {
        let nothing: [&str; 0] = [];
        assert!(matches!(Subscription::new(nothing), Err(SubscriptionError::Count { given: 0 })));
        let many: Vec<String> =
            (0..=WEBHOOK_EVENTS_MAX).map(|at| format!("task.{}", "*".repeat(at + 1))).collect();
        assert!(matches!(Subscription::new(many), Err(SubscriptionError::Count { .. })));
        let twice = Subscription::new(["task.*", "task.*"]).unwrap();
        assert_eq!(twice.texts(), ["task.*"]);
    }
}
