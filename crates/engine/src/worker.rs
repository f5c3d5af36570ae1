//! The contract of a worker: a name, a period, a signal and one activation. A loop is background
//! work that is not divided into activations.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_core::limits::LOCK_TENANTS_PAGE;
use ade_store::locks::many;
use ade_store::{TenantLock, Tx};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;

/// The result of one activation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    pub items: u64,
    /// Whether the activation reached its limit, so that there is probably more to do.
    pub has_more: bool,
}

pub type Activation<'a> = Pin<Box<dyn Future<Output = Result<Done, Error>> + Send + 'a>>;

#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub name: &'static str,
    /// The period of this worker; `None` for that of the plan.
    pub period: Option<Duration>,
    /// Ends the wait for the next activation early. It is only a hint.
    pub signal: Option<fn(&App) -> &Notify>,
    pub run: fn(&App) -> Activation<'_>,
}

/// The processes in which a loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Processes with workers whose plan names the loop.
    Planned,
    /// Processes that serve callers.
    ForCallers,
    /// All processes.
    Everywhere,
}

/// The arguments of a loop.
#[derive(Debug)]
pub struct Start {
    pub app: Arc<App>,
    /// The holder of the leases of this process.
    pub holder: Uuid,
    /// The index of this instance of the loop, from 0.
    pub number: u8,
    pub stopped: watch::Receiver<bool>,
}

pub type Looping = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Background work that runs from the start of a process until it is stopped, at its own pace. A
/// worker with a loop of the same name is run by the loop instead of the driver.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    pub name: &'static str,
    pub runs: Runs,
    /// The number of instances that run concurrently.
    pub count: u8,
    pub run: fn(Start) -> Looping,
}

/// Begins a transaction of this worker in one tenant.
pub(crate) async fn begin(app: &App, worker: Worker, tenant: TenantId) -> Result<Tx, Error> {
    let actor = Actor::system(worker.name);
    Ok(Tx::begin(&app.pools.worker, tenant, actor, TenantLock::None).await?)
}

/// Visits all tenants with locks and returns the total. A tenant whose part of Redis is unavailable
/// does not delay the others; an error is returned only if the total is 0.
pub(crate) async fn in_each_space<F>(app: &App, visit: impl Fn(TenantId) -> F) -> Result<u64, Error>
where
    F: Future<Output = Result<u64, Error>>,
{
    let (mut items, mut failed) = (0, None);
    for tenant in spaces(app).await? {
        match visit(tenant).await {
            Ok(done) => items += done,
            Err(error) => {
                tracing::warn!(%tenant, %error, "lock maintenance of a tenant failed; will retry");
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) if items == 0 => Err(error),
        _ => Ok(items),
    }
}

/// Returns every tenant that ever had a lock.
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
