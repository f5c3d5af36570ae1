//! Detects silent agents: first late, then offline. A new heartbeat marks the agent online
//! immediately, without this worker.

use std::collections::BTreeMap;

use ade_core::ids::{AgentId, TenantId};
use ade_store::scheduled_jobs::{self, JobBatch};

use crate::app::App;
use crate::command::presence::{WATCH, settle};
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin};

/// Agents that one transaction of the watcher updates.
const AGENT_WATCH_BATCH: u32 = 500;

pub const WORKER: Worker = Worker { name: "agent_watcher", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(watch(app))
}

async fn watch(app: &App) -> Result<Done, Error> {
    let batch = JobBatch::shared(AGENT_WATCH_BATCH);
    let due = scheduled_jobs::next(&app.pools.worker, WATCH, batch).await?;
    let mut done = Done { items: 0, has_more: batch.is_used_up(&due) };
    let mut silent: BTreeMap<TenantId, Vec<AgentId>> = BTreeMap::new();
    for (tenant, due) in due {
        silent.entry(tenant).or_default().push(AgentId::from_uuid(due.object));
    }
    for (tenant, agents) in silent {
        match look(app, tenant, &agents).await {
            Ok(changed) => done.items += changed,
            Err(error) => {
                done.has_more = false;
                tracing::warn!(%tenant, %error, "agent presence check failed; will retry");
            }
        }
    }
    Ok(done)
}

/// Checks the agents of one tenant in one transaction.
async fn look(app: &App, tenant: TenantId, agents: &[AgentId]) -> Result<u64, Error> {
    let mut tx = begin(app, WORKER, tenant).await?;
    let changed = settle(&mut tx, agents).await?;
    tx.commit().await?;
    Ok(changed)
}
