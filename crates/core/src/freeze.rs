//! A stop for applies: of a tenant, of an environment, of the resources a pattern names, or of the
//! whole installation.
//! What an author writes into a task cannot lead around it: environments come from the
//! resource registry, never from the task's own tags.

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::{FreezeId, UserId};
use crate::policy::Pattern;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Tenant,
    Environment(String),
    Resources(Pattern),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    pub id: FreezeId,
    pub scope: Scope,
    pub reason: String,
    pub set_by: UserId,
    pub ends_at: Option<Timestamp>,
}

/// A stop of applies in all tenants at once, by whoever runs the server. Nothing leads around it,
/// and it ends when they say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationFreeze {
    /// Counts up.
    pub number: i64,
    pub reason: String,
    /// What they are called where they sat; no account of any tenant.
    pub set_by: String,
    pub since: Timestamp,
}

impl fmt::Display for InstallationFreeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, reason, set_by, since } = self;
        write!(
            f,
            "the whole installation is frozen since {since} by {set_by} (number {number}): "
        )?;
        f.write_str(reason)
    }
}

impl Freeze {
    pub fn stops(
        &self,
        resources: &BTreeSet<ResourceRef>,
        environments: &BTreeSet<String>,
        now: Timestamp,
    ) -> bool {
        let is_over = self.ends_at.is_some_and(|end| end <= now);
        let is_in_scope = match &self.scope {
            Scope::Tenant => true,
            Scope::Environment(name) => environments.contains(name),
            Scope::Resources(pattern) => {
                resources.iter().any(|resource| pattern.matches_resource(resource))
            }
        };
        !is_over && is_in_scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freeze(scope: Scope, ends_at: Option<i64>) -> Freeze {
        Freeze {
            id: FreezeId::from_u128(1),
            scope,
            reason: "incident 42".to_owned(),
            set_by: UserId::from_u128(1),
            ends_at: ends_at.map(Timestamp::from_micros),
        }
    }

    fn stops(freeze: &Freeze, resource: &str, environment: &str, now: i64) -> bool {
        let resources = BTreeSet::from([resource.parse().unwrap()]);
        let environments = BTreeSet::from([environment.to_owned()]);
        freeze.stops(&resources, &environments, Timestamp::from_micros(now))
    }

    #[test]
    fn a_freeze_ends_at_its_end_and_not_before() {
        let freeze = freeze(Scope::Tenant, Some(10));
        assert!(stops(&freeze, "db:a", "prod", 9));
        assert!(!stops(&freeze, "db:a", "prod", 10));
    }

    #[test]
    fn a_freeze_stops_its_scope_only() {
        let environment = freeze(Scope::Environment("prod".to_owned()), None);
        assert!(stops(&environment, "db:a", "prod", 0));
        assert!(!stops(&environment, "db:a", "test", 0));
        let pattern = freeze(Scope::Resources(Pattern::new("db:prod-*").unwrap()), None);
        assert!(stops(&pattern, "db:prod-1", "test", 0));
        assert!(!stops(&pattern, "db:test-1", "prod", 0));
    }
}
