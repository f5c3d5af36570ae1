//! Freezes of applies: of a tenant, of an environment, of resources matching a pattern, or of the
//! whole installation. An author cannot bypass a freeze with the content of a task: environments
//! come from the resource registry, never from the tags of the task.

use std::collections::BTreeSet;
use std::fmt;

use crate::ids::{FreezeId, UserId};
use crate::policy::Pattern;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreezeExtent {
    Tenant,
    Environment(String),
    Resources(Pattern),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    pub id: FreezeId,
    pub scope: FreezeExtent,
    pub reason: String,
    pub set_by: UserId,
    pub ends_at: Option<Timestamp>,
}

/// A freeze of applies in all tenants at once, set by an operator of the server. It cannot be
/// bypassed and lasts until the operator lifts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationFreeze {
    /// The number of the freeze; numbers increase.
    pub number: i64,
    pub reason: String,
    /// The name of the operator on the server; not an account of any tenant.
    pub set_by: String,
    pub since: Timestamp,
}

impl fmt::Display for InstallationFreeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, reason, set_by, since } = self;
        write!(
            f,
            "the whole installation has been frozen since {since} by {set_by} (number {number}): "
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
            FreezeExtent::Tenant => true,
            FreezeExtent::Environment(name) => environments.contains(name),
            FreezeExtent::Resources(pattern) => {
                resources.iter().any(|resource| pattern.matches_resource(resource))
            }
        };
        !is_over && is_in_scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freeze(scope: FreezeExtent, ends_at: Option<i64>) -> Freeze {
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
    fn freeze_ends_exactly_at_its_end() {
        let freeze = freeze(FreezeExtent::Tenant, Some(10));
        assert!(stops(&freeze, "db:a", "prod", 9));
        assert!(!stops(&freeze, "db:a", "prod", 10));
    }

    #[test]
    fn freeze_stops_its_scope_only() {
        let environment = freeze(FreezeExtent::Environment("prod".to_owned()), None);
        assert!(stops(&environment, "db:a", "prod", 0));
        assert!(!stops(&environment, "db:a", "test", 0));
        let pattern = freeze(FreezeExtent::Resources(Pattern::new("db:prod-*").unwrap()), None);
        assert!(stops(&pattern, "db:prod-1", "test", 0));
        assert!(!stops(&pattern, "db:test-1", "prod", 0));
    }
}
