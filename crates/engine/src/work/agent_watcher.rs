//! Notices that agents have fallen silent: late first, then offline. Whoever beats again is heard
//! at once, without it; it is there for those of whom nothing is heard.

use std::collections::BTreeMap;

use ade_core::ids::{AgentId, TenantId};
use ade_core::limits::AGENT_WATCH_BATCH;
use ade_store::due;

use super::{Activation, Done, Worker, begin};
use crate::app::App;
use crate::error::Error;
use crate::ops::agents::{WATCH, settle};

pub const WORKER: Worker = Worker { name: "agent_watcher", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(watch(app))
}

async fn watch(app: &App) -> Result<Done, Error> {
    let due = due::next(&app.pools.worker, WATCH, AGENT_WATCH_BATCH).await?;
    let has_more = due.len() >= usize::try_from(AGENT_WATCH_BATCH).unwrap_or(usize::MAX);
    let mut done = Done { items: 0, has_more };
    let mut silent: BTreeMap<TenantId, Vec<AgentId>> = BTreeMap::new();
    for (tenant, due) in due {
        silent.entry(tenant).or_default().push(AgentId::from_uuid(due.object));
    }
    for (tenant, agents) in silent {
        match look(app, tenant, &agents).await {
            Ok(told) => done.items += told,
            Err(error) => {
                done.has_more = false;
                tracing::warn!(%tenant, %error, "silent agents are left for later");
            }
        }
    }
    Ok(done)
}

/// All of one tenant's in one transaction.
async fn look(app: &App, tenant: TenantId, agents: &[AgentId]) -> Result<u64, Error> {
    let mut tx = begin(app, WORKER, tenant).await?;
    let told = settle(&mut tx, agents).await?;
    tx.commit().await?;
    Ok(told)
}
