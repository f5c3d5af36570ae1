//! Agents that may acquire locks, cached for less than a second. A lease that is not fenced then
//! needs no database access: an agent that acquires ten thousand per second is checked about once
//! per second.

use std::time::Duration;

use ade_core::ids::{AgentId, TenantId};
use ade_core::time::Timestamp;
use ade_core::timeouts::LockTimeouts;
use moka::sync::Cache;
use tokio::time::Instant;

/// How long a successful permission check is cached. After this time, an agent is checked again for
/// leases that are not fenced.
const LOCK_ADMITTED_FOR: Duration = Duration::from_millis(800);
const LOCK_ADMITTED_MAX: u64 = 50_000;

#[derive(Debug)]
pub struct Admitted {
    known: Cache<(TenantId, AgentId), Seen>,
}

/// The result of a check, and when it was made.
#[derive(Debug, Clone, Copy)]
struct Seen {
    admission: Admission,
    since: Instant,
}

/// The result of a successful check: the current time, and the tenant's lock timeouts.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    pub now: Timestamp,
    pub timeouts: LockTimeouts,
}

impl Default for Admitted {
    fn default() -> Self {
        let known = Cache::builder().max_capacity(LOCK_ADMITTED_MAX);
        Self { known: known.time_to_live(LOCK_ADMITTED_FOR).build() }
    }
}

impl Admitted {
    pub fn note(&self, tenant: TenantId, agent: AgentId, admission: Admission) {
        self.known.insert((tenant, agent), Seen { admission, since: Instant::now() });
    }

    /// Returns the cached result for an agent, with the current time.
    pub fn now(&self, tenant: TenantId, agent: AgentId) -> Option<Admission> {
        let Seen { admission, since } = self.known.get(&(tenant, agent))?;
        Some(Admission { now: admission.now.plus(since.elapsed()), ..admission })
    }
}
