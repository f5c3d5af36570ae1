//! How the parts this process depends on are doing. Asked over connections that requests cannot
//! take, so that it answers when nothing else does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{
    BACKLOG_OVERDUE, DEGRADATION_PERIOD, HEALTH_TIMEOUT, PAGE_SIZE_DEFAULT, RELAY_LAG_TOLD,
    WEBHOOK_CIRCUIT_FAILURES,
};
use ade_store::lease::{self, Posted};
use ade_store::{Gate, Tx, after_reviews, approvals, boot, events, installation, webhooks};
use tokio::sync::watch;

use super::act::person;
use crate::app::App;
use crate::caller::Caller;

/// What may work less well in a process, whoever asks.
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

/// The part that is worth a word, and takes nothing away.
pub const CHECKSUMS: &str = "checksums";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What does not work, by part.
    pub degradations: Vec<(&'static str, String)>,
    pub workers: Vec<Posted>,
    /// How far the numbers of events are behind; nothing if nobody can say.
    pub events: Option<Backlog>,
    /// Of all tenants, if it is in force.
    pub freeze: Option<InstallationFreeze>,
}

/// Events that happened and that nobody has been told yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub waiting: u64,
    /// Since the oldest of them.
    pub lag: Duration,
}

/// Whether the record answers in time.
pub async fn is_reachable(app: &App) -> bool {
    within(HEALTH_TIMEOUT, app.pools.reserved.ping()).await.is_ok()
}

/// The stop of all tenants, if it is in force. While the record does not answer nobody can say, and
/// nothing is applied.
pub async fn freeze(app: &App) -> Option<InstallationFreeze> {
    within(HEALTH_TIMEOUT, installation::in_force(&app.pools.reserved)).await.ok()?
}

pub async fn standing(app: &App) -> Standing {
    let mut degradations = Vec::new();
    let workers = match within(HEALTH_TIMEOUT, lease::board(&app.pools.reserved)).await {
        Ok(workers) => {
            let asked = within(HEALTH_TIMEOUT, boot::checksums(&app.pools.reserved)).await;
            degradations.extend(asked.ok().flatten().map(|problem| (CHECKSUMS, problem)));
            workers
        }
        Err(problem) => {
            degradations.push(("database", problem));
            Vec::new()
        }
    };
    let freeze = freeze(app).await;
    if let Some(freeze) = &freeze {
        degradations.push(("freeze", format!("{freeze}; no permit is given in any tenant")));
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
    if let Some(Backlog { lag, .. }) = events.filter(|backlog| backlog.lag >= RELAY_LAG_TOLD) {
        let detail = format!("events wait since {} s: does the worker `relay` run?", lag.as_secs());
        degradations.push(("events", detail));
    }
    if let Err(problem) = redis(app).await {
        degradations.push(("redis", problem));
    }
    if let Err(problem) = queue(app).await {
        degradations.push(("locks", problem));
    }
    degradations.extend(app.strain.told(Instant::now()));
    Standing { degradations, workers, events, freeze }
}

async fn backlog(app: &App) -> Result<Backlog, ade_store::Error> {
    let waiting = events::waiting(&app.pools.reserved).await?;
    let lag = match waiting.since {
        Some(since) => app.pools.reserved.clock().await?.since(since),
        None => Duration::ZERO,
    };
    Ok(Backlog { waiting: waiting.count, lag })
}

/// Whether Redis answers, and what follows if it does not; nothing where there is none to answer.
async fn redis(app: &App) -> Result<(), String> {
    let Some(models) = &app.live.models else { return Ok(()) };
    match tokio::time::timeout(HEALTH_TIMEOUT, models.ping()).await {
        Ok(Ok(())) => Ok(()),
        problem => {
            tracing::warn!(?problem, "Redis is not well");
            let detail = "it does not answer: everything is read from the record and rates are \
                counted by each process alone; events come later, and none is lost";
            Err(detail.to_owned())
        }
    }
}

/// The read models of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelsStanding {
    /// Events that they have yet to see.
    pub behind: u64,
    /// Found wrong and written anew, since they were last lost.
    pub differences: u64,
}

/// Of the caller's tenant; nothing if there are none, or none that can say so at once.
pub async fn read_models(app: &App, caller: &Caller) -> Option<ModelsStanding> {
    let (head, differences) = app.live.models.as_ref()?.standing(caller.tenant).await?;
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, Gate::Unasked).await?;
        events::head(&mut tx).await
    };
    let newest = within(HEALTH_TIMEOUT, asked).await.ok()?;
    Some(ModelsStanding { behind: newest.saturating_sub(head?), differences })
}

/// Whether more is overdue for the caller than anybody works off, and what follows.
pub async fn overdue(app: &App, caller: &Caller) -> Option<String> {
    let reviewer = person(caller).ok()?;
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, Gate::Unasked).await?;
        approvals::overdue_count(&mut tx, reviewer).await
    };
    let count = within(HEALTH_TIMEOUT, asked).await.ok()?;
    (count > BACKLOG_OVERDUE).then(|| {
        format!(
            "more than {BACKLOG_OVERDUE} requests for you are overdue: the riskiest come first, \
             and no longer the oldest; hand some on (POST /v1/delegations)"
        )
    })
}

/// Reviews that overrides in the caller's tenant owe and that nobody has written in time.
pub async fn unreviewed(app: &App, caller: &Caller) -> Option<String> {
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, Gate::Unasked).await?;
        after_reviews::overdue(&mut tx).await
    };
    let overdue = within(HEALTH_TIMEOUT, asked).await.ok()?;
    let since = overdue.since?;
    Some(format!(
        "reviews that overrides owe are overdue: {}, the first since {since}; somebody other than \
         the two admins says what they found (GET /v1/after-reviews)",
        overdue.count,
    ))
}

/// One line for a page: what works less well, the worst first.
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

/// Renews the figures of what works less well, for whoever watches this process from outside.
pub async fn measure(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let mut frozen = None;
    while !*stopped.borrow() {
        let standing = standing(&app).await;
        let number = standing.freeze.as_ref().map(|freeze| freeze.number);
        if number != frozen {
            if let Some(freeze) = &standing.freeze {
                tracing::warn!(%freeze, "no permit is given");
            } else {
                tracing::warn!("no freeze of the installation is in force any more");
            }
            frozen = number;
        }
        for part in PARTS {
            let is_worse = standing.degradations.iter().any(|(told, _)| *told == part);
            metrics::gauge!("ade_degraded", "part" => part).set(f64::from(u8::from(is_worse)));
        }
        if let Some(backlog) = standing.events {
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

/// Endpoints of the caller's tenant that take nothing now, each in a sentence. By their id: an
/// address may hold what not everybody need know.
pub async fn failing_webhooks(app: &App, caller: &Caller) -> Vec<String> {
    let asked = async {
        let (tenant, actor) = (caller.tenant, caller.actor.clone());
        let mut tx = Tx::begin(&app.pools.reserved, tenant, actor, Gate::Unasked).await?;
        webhooks::failing(&mut tx, WEBHOOK_CIRCUIT_FAILURES, PAGE_SIZE_DEFAULT).await
    };
    let told = |one: webhooks::Failing| {
        let since = one.since.map(|since| format!(" since {since}")).unwrap_or_default();
        let why = one.problem.map(|problem| format!(": {problem}")).unwrap_or_default();
        format!("{} takes nothing{since}, {} times in a row{why}", one.endpoint, one.failures)
    };
    within(HEALTH_TIMEOUT, asked).await.unwrap_or_default().into_iter().map(told).collect()
}

/// Whether locks can be had: their queue is there and answers.
pub async fn queue(app: &App) -> Result<(), String> {
    let Some(keeper) = &app.locks else {
        return Err("no queue is configured, so none is granted".to_owned());
    };
    match tokio::time::timeout(HEALTH_TIMEOUT, keeper.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the queue of locks is not well");
            Err("the queue does not answer as it should, so none is granted".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", HEALTH_TIMEOUT.as_millis())),
    }
}

async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, ade_store::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        // The cause may name hosts and roles: it is logged, not told.
        Ok(Err(error)) => {
            tracing::warn!(%error, "a part is not well");
            Err("it does not answer as it should".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
    }
}
