//! Workers: they take no input, read what is due, go through the same decisions as everybody and
//! may be run by any number of processes. Here is the list of all of them; the driver runs them.

mod agent_watcher;
mod analytics_pipeline;
mod apply_rescuer;
mod apply_runner;
mod apply_timer;
mod audit_logger;
mod basis_checker;
mod claim_matcher;
mod driver;
mod epoch_keeper;
mod event_redriver;
mod expiry_warner;
mod hold_reaper;
mod idempotency_pruner;
mod lock_sweeper;
mod lock_watcher;
mod message_sender;
mod notification_service;
mod output_archiver;
mod override_lapser;
mod partition_maker;
mod read_model_checker;
mod read_model_projector;
mod relay;
mod review_escalator;
mod review_opener;
mod review_reassigner;
mod tally_keeper;
mod task_expirer;
mod task_watcher;
mod token_pruner;
mod webhook_dispatcher;
mod webhook_pruner;
mod webhook_sender;

use std::pin::Pin;
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_core::limits::LOCK_TENANTS_PAGE;
use ade_store::locks::many;
use ade_store::{Gate, Tx};
use tokio::sync::Notify;

use crate::app::App;
use crate::error::Error;
use crate::groups::Job;

pub use driver::{Driver, Plan, run_once};

/// What one activation did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    pub items: u64,
    /// As much as one activation may do: there is probably more.
    pub has_more: bool,
}

pub type Activation<'a> = Pin<Box<dyn Future<Output = Result<Done, Error>> + Send + 'a>>;

#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub name: &'static str,
    /// Of its own, where the plan's would be too often or too rare.
    pub period: Option<Duration>,
    /// Ends a wait early; a hint only.
    pub signal: Option<fn(&App) -> &Notify>,
    pub run: fn(&App) -> Activation<'_>,
}

pub const WORKERS: &[Worker] = &[
    review_opener::WORKER,
    review_escalator::WORKER,
    review_reassigner::WORKER,
    expiry_warner::WORKER,
    task_expirer::WORKER,
    override_lapser::WORKER,
    basis_checker::WORKER,
    tally_keeper::WORKER,
    idempotency_pruner::WORKER,
    token_pruner::WORKER,
    partition_maker::WORKER,
    lock_sweeper::WORKER,
    epoch_keeper::WORKER,
    hold_reaper::WORKER,
    apply_rescuer::WORKER,
    apply_timer::WORKER,
    agent_watcher::WORKER,
    output_archiver::WORKER,
    relay::WORKER,
    webhook_dispatcher::WORKER,
    webhook_sender::WORKER,
    webhook_pruner::WORKER,
    audit_logger::WORKER,
    analytics_pipeline::WORKER,
    event_redriver::WORKER,
    notification_service::WORKER,
    message_sender::WORKER,
    read_model_projector::WORKER,
    read_model_checker::WORKER,
];

/// Groups that read events; each has a worker of its own above.
pub(crate) const JOBS: &[Job] = &[
    webhook_dispatcher::JOB,
    audit_logger::JOB,
    analytics_pipeline::JOB,
    notification_service::JOB,
];

/// A transaction of this worker's in one tenant.
async fn begin(app: &App, worker: Worker, tenant: TenantId) -> Result<Tx, Error> {
    let actor = Actor::system(worker.name);
    Ok(Tx::begin(&app.pools.worker, tenant, actor, Gate::Unasked).await?)
}

/// How much was done in all of them. A tenant whose part of Redis is away keeps no other from its
/// turn; its error is told if nothing else is.
async fn in_each_space<F>(app: &App, visit: impl Fn(TenantId) -> F) -> Result<u64, Error>
where
    F: Future<Output = Result<u64, Error>>,
{
    let (mut items, mut failed) = (0, None);
    for tenant in spaces(app).await? {
        match visit(tenant).await {
            Ok(done) => items += done,
            Err(error) => {
                tracing::warn!(%tenant, %error, "the locks of a tenant are left for later");
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) if items == 0 => Err(error),
        _ => Ok(items),
    }
}

/// Every tenant that ever had a lock.
async fn spaces(app: &App) -> Result<Vec<TenantId>, Error> {
    let mut all: Vec<TenantId> = Vec::new();
    loop {
        let after = all.last().copied();
        let page = many::tenants(&app.pools.worker, after, LOCK_TENANTS_PAGE).await?;
        let is_last = page.len() < usize::try_from(LOCK_TENANTS_PAGE).unwrap_or(usize::MAX);
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
