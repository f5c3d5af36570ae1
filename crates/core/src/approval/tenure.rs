//! The minimum time that a role must have been held to count. A role granted just before a vote
//! gives no slot, and neither does one held for an unknown time.

use std::fmt;
use std::time::Duration;

use crate::actor::{Person, Role};
use crate::policy::{Requirement, period_text};
use crate::time::Timestamp;

/// The minimum role age of a requirement, evaluated at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Tenure {
    min: Option<Duration>,
    now: Timestamp,
}

/// A role that does not count yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooNew {
    pub role: Role,
    pub min: Duration,
    /// When the role starts to count. `None` if it is unknown since when it is held.
    pub counts_from: Option<Timestamp>,
}

impl fmt::Display for TooNew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, min, .. } = self;
        write!(f, "the role {role} counts once it has been held for {}", period_text(*min))?;
        match self.counts_from {
            Some(at) => write!(f, ", at {at}"),
            None => f.write_str(", but it is unknown since when it has been held"),
        }
    }
}

impl Tenure {
    /// Combines the age that the policies require with the one that the risk of the task requires.
    pub fn of(requirement: &Requirement, of_risk: Option<Duration>, now: Timestamp) -> Self {
        Self { min: requirement.role_age_min.max(of_risk), now }
    }

    pub fn of_risk(min: Option<Duration>, now: Timestamp) -> Self {
        Self { min, now }
    }

    /// Returns whether a person has this role and has held it for long enough.
    pub fn counts(&self, person: &Person, role: &str) -> bool {
        let Some(min) = self.min else { return person.has_role(role) };
        person.role_since(role).is_some_and(|since| since.plus(min) <= self.now)
    }

    /// Returns the role if a person holds it and it does not count yet.
    pub fn too_new(&self, person: &Person, role: &Role) -> Option<TooNew> {
        let min = self.min?;
        let name = role.as_str();
        (person.has_role(name) && !self.counts(person, name)).then(|| TooNew {
            role: role.clone(),
            min,
            counts_from: person.role_since(name).map(|since| since.plus(min)),
        })
    }
}

#[cfg(test)]
#[path = "tenure_tests.rs"]
mod tests;
