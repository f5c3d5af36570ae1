//! Why events could not be exported.

use std::fmt;

use ade_core::consumer::ConsumerFault;

/// Why events were not exported, with a message for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub fault: ConsumerFault,
    pub problem: String,
}

impl Trouble {
    /// Creates a failure that would affect every event.
    pub fn away(problem: impl fmt::Display) -> Self {
        Self { fault: ConsumerFault::Away, problem: problem.to_string() }
    }

    /// Creates a failure that is caused by the event.
    pub fn of_event(problem: impl fmt::Display) -> Self {
        Self { fault: ConsumerFault::Event, problem: problem.to_string() }
    }
}

/// Temporary errors mean that the dependency is unavailable; all other database errors are about
/// the event.
impl From<ade_store::StoreError> for Trouble {
    fn from(error: ade_store::StoreError) -> Self {
        use ade_store::StoreError::{CommitUnknown, Forbidden};
        let is_of_all = matches!(error, CommitUnknown(_) | Forbidden { .. });
        if error.is_retriable() || is_of_all { Self::away(error) } else { Self::of_event(error) }
    }
}
