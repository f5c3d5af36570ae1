//! Leases as the commands and the live screen show them: who holds or waits, and which lease a
//! break ends.

use ade_api::locks::{LeaseSummary, Lock};
use ade_core::change::Digest;

/// Returns the ID of the holder or waiter: a task, an agent or a user.
pub fn who(view: &LeaseSummary) -> String {
    let task = view.task_id.map(|task| task.to_string());
    let agent = view.agent_id.map(|agent| agent.to_string());
    let user = view.user_id.map(|user| user.to_string());
    task.or(agent).or(user).unwrap_or_else(|| "the server".to_owned())
}

/// Returns the lease to break if there is exactly one holder. Without it, the break could hit a
/// holder that acquired the lock in the meantime.
pub fn sole_holder(lock: &Lock) -> Option<Digest> {
    let holder = lock.holders.first().filter(|_| lock.holding == 1);
    holder.map(|holder| holder.summary.lease_hash)
}
