//! Agents that may have locks, as the rules said less than a second ago. A lease that no record
//! protects then costs the record nothing: whoever takes ten thousand a second is asked once.

use ade_core::ids::{AgentId, TenantId};
use ade_core::limits::{LOCK_ADMITTED_FOR, LOCK_ADMITTED_MAX};
use ade_core::time::Timestamp;
use moka::sync::Cache;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Admitted {
    known: Cache<(TenantId, AgentId), Seen>,
}

/// The record's clock, and when it was read.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Timestamp,
    since: Instant,
}

impl Default for Admitted {
    fn default() -> Self {
        let known = Cache::builder().max_capacity(LOCK_ADMITTED_MAX);
        Self { known: known.time_to_live(LOCK_ADMITTED_FOR).build() }
    }
}

impl Admitted {
    pub fn note(&self, tenant: TenantId, agent: AgentId, now: Timestamp) {
        self.known.insert((tenant, agent), Seen { at: now, since: Instant::now() });
    }

    /// What the record's clock says about now, for somebody who still may.
    pub fn now(&self, tenant: TenantId, agent: AgentId) -> Option<Timestamp> {
        let seen = self.known.get(&(tenant, agent))?;
        Some(seen.at.plus(seen.since.elapsed()))
    }
}
