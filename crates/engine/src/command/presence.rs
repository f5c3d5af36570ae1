//! Agent presence: the announced status is brought in line with the actual one, and the next time
//! at which silence matters is scheduled for the watcher.

use ade_core::agent::says_more_in;
use ade_core::ids::AgentId;
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::{Tx, agents, outbox};
use serde_json::json;

use crate::error::Error;

/// The job kind: the time when an agent's silence changes its status.
pub(crate) const WATCH: &str = "watch_agent";

/// Updates the status of these agents. Returns how many have changed. Presence is not audited.
pub(crate) async fn settle(tx: &mut Tx, ids: &[AgentId]) -> Result<u64, Error> {
    let mut changed = 0;
    let (mut later, mut never) = (Vec::new(), Vec::new());
    for one in agents::presence(tx, ids).await? {
        if one.status != one.reported_status && agents::tell(tx, one.id, one.status).await? {
            let event = outbox::OutboxEvent {
                kind: one.status.event(),
                object: one.id.to_string(),
                version: None,
                payload: json!({ "status": one.status, "before": one.reported_status }),
            };
            outbox::hint(tx, &event).await?;
            changed += 1;
        }
        match says_more_in(one.silence) {
            Some(wait) => {
                let at = tx.now().plus(wait);
                later.push(ScheduledJob { kind: WATCH, object: one.id.uuid(), at });
            }
            None => never.push(one.id.uuid()),
        }
    }
    if !later.is_empty() {
        scheduled_jobs::set(tx, &later).await?;
    }
    for object in never {
        scheduled_jobs::clear(tx, WATCH, object).await?;
    }
    Ok(changed)
}
