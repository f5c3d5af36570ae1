//! The health of the components on which this process depends. It is checked over connections that
//! are reserved for it, so that it responds when nothing else does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{
    BACKLOG_OVERDUE, PAGE_SIZE_DEFAULT, RELAY_LAG_REPORT_MIN, WEBHOOK_CIRCUIT_FAILURES,
};
use ade_store::lease::{self, Posted};
use ade_store::pool::PoolUse;
use ade_store::{
    Pool, Pools, TenantLock, Tx, after_reviews, approvals, boot, events, installation, webhooks,
};
use tokio::sync::watch;

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::person;

/// A health check that takes longer counts as failed.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the degradation metrics are updated.
const DEGRADATION_PERIOD: Duration = Duration::from_secs(5);

/// The components that may be degraded.
const PARTS: [&str; 10] = [
    "database",
    "freeze",
    "worker",
    "replica",
    "events",
    "redis",
    "locks",
    "contention",
    "lock_queue",
    CHECKSUMS,
];

/// A component that is only reported: nothing stops working without it.
pub const CHECKSUMS: &str = "checksums";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemStatus {
    /// What does not work, by component.
    pub degradations: Vec<(&'static str, String)>,
    pub workers: Vec<Posted>,
    /// How far event sequencing is behind; `None` if unknown.
    pub events: Option<Backlog>,
    /// The freeze of all tenants, if it is in force.
    pub freeze: Option<InstallationFreeze>,
}

/// Events that have not been published yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub waiting: u64,
    /// The age of the oldest of them.
    pub lag: Duration,
}

/// Checks that PostgreSQL responds in time and accepts writes on the connections of requests, of
/// workers and of health checks. The error names the connections that failed and the reasons.
pub async fn database(app: &App) -> Result<(), String> {
    let Pools { api, worker, reserved } = &app.pools;
    let (api, worker, reserved) = tokio::join!(
        api.check(HEALTH_TIMEOUT),
        worker.check(HEALTH_TIMEOUT),
        reserved.check(HEALTH_TIMEOUT),
    );
    let checks = [("requests", api), ("workers", worker), ("health checks", reserved)];
    let faults = checks.into_iter().filter_map(|(users, check)| Some((users, check.err()?)));
    let faults: Vec<String> =
        faults.map(|(users, fault)| format!("connections for {users}: {fault}")).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// Returns the freeze of all tenants, if it is in force. While the database does not respond it is
/// unknown, and nothing is applied.
pub async fn freeze(app: &App) -> Option<InstallationFreeze> {
    within(HEALTH_TIMEOUT, installation::in_force(&app.pools.reserved)).await.ok()?
}

pub async fn standing(app: &App) -> SystemStatus {
    let mut degradations = Vec::new();
    let workers = match within(HEALTH_TIMEOUT, lease::board(&app.pools.reserved)).await {
        Ok(workers) => {
            let asked = within(HEALTH_TIMEOUT, boot::checksums(&app.pools.reserved)).await;
            degradations.extend(asked.ok().flatten().map(|problem| (CHECKSUMS, problem)));
            degradations.extend(database(app).await.err().map(|problem| ("database", problem)));
            workers
        }
        Err(problem) => {
            degradations.push(("database", problem));
            Vec::new()
        }
    };
    let freeze = freeze(app).await;
    if let Some(freeze) = &freeze {
        degradations.push(("freeze", format!("{freeze}; no permits are granted in any tenant")));
    }
    for worker in &workers {
        if let Some(failure) = &worker.failure {
            degradations.push(("worker", format!("{}: {failure}", worker.name)));
        }
    }
    if let Some(replica) = &app.replica
        && let Err(problem) = within(HEALTH_TIMEOUT, replica.ping()).await
    {
        degradations.push(("replica", problem));
    }
    let events = within(HEALTH_TIMEOUT, backlog(app)).await.ok();
    if let Some(Backlog { lag, .. }) = events.filter(|backlog| backlog.lag >= RELAY_LAG_REPORT_MIN)
    {
        let detail = format!(
            "the oldest unpublished event has waited for {} s: check that the \
                              worker `relay` is running",
            lag.as_secs()
        );
        degradations.push(("events", detail));
    }
    if let Err(problem) = redis(app).await {
        degradations.push(("redis", problem));
    }
    if let Err(problem) = queue(app).await {
        degradations.push(("locks", problem));
    }
    degradations.extend(app.strain.degradations(Instant::now()));
    SystemStatus { degradations, workers, events, freeze }
}

async fn backlog(app: &App) -> Result<Backlog, ade_store::StoreError> {
    let waiting = events::waiting(&app.pools.reserved).await?;
    let lag = match waiting.since {
        Some(since) => app.pools.reserved.clock().await?.since(since),
        None => Duration::ZERO,
    };
    Ok(Backlog { waiting: waiting.count, lag })
}

/// Checks that Redis responds, if it is configured. The error describes the consequences.
async fn redis(app: &App) -> Result<(), String> {
    let Some(models) = &app.live.models else { return Ok(()) };
    match tokio::time::timeout(HEALTH_TIMEOUT, models.ping()).await {
        Ok(Ok(())) => Ok(()),
        problem => {
            tracing::warn!(?problem, "Redis degraded");
            let detail = "Redis does not respond: reads go to the database, each process counts \
                          rate limits separately, and events are delayed but not lost";
            Err(detail.to_owned())
        }
    }
}

/// The status of the read models of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelsStanding {
    /// The number of events that the models have not seen yet.
    pub behind: u64,
    /// The number of repaired differences since the last rebuild.
    pub differences: u64,
}

/// Returns the status of the read models of the caller's tenant; `None` if there are none, or if
/// there is no quick response.
pub async fn read_models(app: &App, caller: &Caller) -> Option<ModelsStanding> {
    let (head, differences) = app.live.models.as_ref()?.standing(caller.tenant).await?;
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, TenantLock::None).await?;
        events::head(&mut tx).await
    };
    let newest = within(HEALTH_TIMEOUT, asked).await.ok()?;
    Some(ModelsStanding { behind: newest.saturating_sub(head?), differences })
}

/// Returns a warning if the caller has too many overdue requests, with the consequences.
pub async fn overdue(app: &App, caller: &Caller) -> Option<String> {
    let reviewer = person(caller).ok()?;
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, TenantLock::None).await?;
        approvals::overdue_count(&mut tx, reviewer).await
    };
    let count = within(HEALTH_TIMEOUT, asked).await.ok()?;
    (count > BACKLOG_OVERDUE).then(|| {
        format!(
            "more than {BACKLOG_OVERDUE} of your approval requests are overdue: the list is \
             sorted by risk instead of age; delegate some of them (POST /v1/delegations)"
        )
    })
}

/// Returns a warning if override reviews of the caller's tenant are overdue.
pub async fn unreviewed(app: &App, caller: &Caller) -> Option<String> {
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, TenantLock::None).await?;
        after_reviews::overdue(&mut tx).await
    };
    let overdue = within(HEALTH_TIMEOUT, asked).await.ok()?;
    let since = overdue.since?;
    Some(format!(
        "override reviews overdue: {}, the oldest since {since}; a person other than the two \
         admins must write them (GET /v1/after-reviews)",
        overdue.count,
    ))
}

/// Summarizes the degradations in one line for a page: the worst one, and the number of others.
pub fn banner(degradations: &[(&'static str, String)]) -> Option<String> {
    const ORDER: [&str; 5] = ["database", "freeze", "redis", "events", "locks"];
    let rank = |part: &str| match ORDER.iter().position(|known| *known == part) {
        Some(place) => place,
        None if part == CHECKSUMS => ORDER.len() + 1,
        None => ORDER.len(),
    };
    let (part, detail) = degradations.iter().min_by_key(|(part, _)| rank(part))?;
    let more = degradations.len() - 1;
    let and = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    Some(format!("{part}: {detail}{and}"))
}

/// Updates the degradation metrics for external monitoring.
pub async fn measure(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let mut frozen = None;
    while !*stopped.borrow() {
        let status = standing(&app).await;
        let number = status.freeze.as_ref().map(|freeze| freeze.number);
        if number != frozen {
            if let Some(freeze) = &status.freeze {
                tracing::warn!(%freeze, "installation frozen; no permits are granted");
            } else {
                tracing::warn!("installation no longer frozen");
            }
            frozen = number;
        }
        let Pools { api, worker, reserved } = &app.pools;
        for (name, pool) in [("api", api), ("worker", worker), ("reserved", reserved)] {
            measure_pool(name, pool);
        }
        if let Some(replica) = &app.replica {
            measure_pool("replica", replica);
        }
        for part in PARTS {
            let is_worse = status.degradations.iter().any(|(named, _)| *named == part);
            metrics::gauge!("ade_degraded", "part" => part).set(f64::from(u8::from(is_worse)));
        }
        if let Some(backlog) = status.events {
            metrics::gauge!("ade_relay_lag_seconds").set(backlog.lag.as_secs_f64());
            let waiting = u32::try_from(backlog.waiting).unwrap_or(u32::MAX);
            metrics::gauge!("ade_relay_waiting").set(waiting);
        }
        let overdue = after_reviews::overdue_anywhere(&app.pools.reserved);
        if let Ok(overdue) = within(HEALTH_TIMEOUT, overdue).await {
            let is_worse = f64::from(u8::from(overdue > 0));
            metrics::gauge!("ade_degraded", "part" => "after_review").set(is_worse);
            metrics::gauge!("ade_after_reviews_overdue").set(overdue);
        }
        tokio::select! {
            () = tokio::time::sleep(DEGRADATION_PERIOD) => {}
            _ = stopped.changed() => {}
        }
    }
}

fn measure_pool(name: &'static str, pool: &Pool) {
    let PoolUse { lent, waiting, refused } = pool.usage();
    let number = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("ade_database_connections_in_use", "pool" => name).set(number(lent));
    metrics::gauge!("ade_database_connections_awaited", "pool" => name).set(number(waiting));
    metrics::counter!("ade_database_connections_refused_total", "pool" => name).absolute(refused);
}

/// Returns the failing endpoints of the caller's tenant, each as a sentence. They are named by id,
/// because a URL may contain secrets.
pub async fn failing_webhooks(app: &App, caller: &Caller) -> Vec<String> {
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, TenantLock::None).await?;
        webhooks::failing(&mut tx, WEBHOOK_CIRCUIT_FAILURES, PAGE_SIZE_DEFAULT).await
    };
    let sentence = |one: webhooks::Failing| {
        let since = one.since.map(|since| format!(" since {since}")).unwrap_or_default();
        let why = one.problem.map(|problem| format!(": {problem}")).unwrap_or_default();
        format!(
            "webhook {} has been failing{since}, {} times in a row{why}",
            one.endpoint, one.failures
        )
    };
    within(HEALTH_TIMEOUT, asked).await.unwrap_or_default().into_iter().map(sentence).collect()
}

/// Checks that locks can be granted: a queue is configured and responds.
pub async fn queue(app: &App) -> Result<(), String> {
    let Some(keeper) = &app.locks else {
        return Err("no lock backend is configured, so no lock is granted".to_owned());
    };
    match tokio::time::timeout(HEALTH_TIMEOUT, keeper.queue.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "lock queue degraded");
            Err("the lock queue does not respond correctly, so no lock is granted".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", HEALTH_TIMEOUT.as_millis())),
    }
}

async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, ade_store::StoreError>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        // The cause may contain hosts and roles: it is logged, not returned.
        Ok(Err(error)) => {
            tracing::warn!(%error, "component degraded");
            Err("the component does not respond correctly".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
    }
}
