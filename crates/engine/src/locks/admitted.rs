//! Agents that may have locks, as the rules said less than a second ago. A lease that no record
//! protects then costs the record nothing: whoever takes ten thousand a second is asked once.

use ade_core::ids::{AgentId, TenantId};
use ade_core::limits::{LOCK_ADMITTED_FOR, LOCK_ADMITTED_MAX};
use ade_core::time::Timestamp;
use ade_core::times::LockTimes;
use moka::sync::Cache;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Admitted {
    known: Cache<(TenantId, AgentId), Seen>,
}

/// What the record said, and when it was asked.
#[derive(Debug, Clone, Copy)]
struct Seen {
    said: Admission,
    since: Instant,
}

/// Somebody may have locks: what time it is, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    pub now: Timestamp,
    pub times: LockTimes,
}

impl Default for Admitted {
    fn default() -> Self {
        let known = Cache::builder().max_capacity(LOCK_ADMITTED_MAX);
        Self { known: known.time_to_live(LOCK_ADMITTED_FOR).build() }
    }
}

impl Admitted {
    pub fn note(&self, tenant: TenantId, agent: AgentId, said: Admission) {
        self.known.insert((tenant, agent), Seen { said, since: Instant::now() });
    }

    /// As the record would say it about now, of somebody who still may.
    pub fn now(&self, tenant: TenantId, agent: AgentId) -> Option<Admission> {
        let Seen { said, since } = self.known.get(&(tenant, agent))?;
        Some(Admission { now: said.now.plus(since.elapsed()), ..said })
    }
}
