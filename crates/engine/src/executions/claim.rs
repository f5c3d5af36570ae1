//! An agent claims work and waits until there is some. Waiting costs an entry in memory; an offer
//! may still fail, and then the agent waits again.

use std::time::Duration;

use ade_api::claims::Claim;
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::audit::{EntryKind, What, Why};
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::{AUDIENCE_MAX_BYTES, LEASE_TTL_MIN};
use ade_core::task::Refusal;
use ade_core::task_ref::TaskRef;
use ade_core::timeouts::LockTimeouts;
use ade_store::{TenantLock, audit, installation, tasks};
use tokio::time::{Instant, timeout_at};

use super::Taker;
use super::blocked::{require_claimable, without_permit};
use super::matching::round;
use super::permit::ClaimRequest;
use super::permit::{self, PermitOutcome};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::idempotency::reserve_key;
use crate::command::permission::{audit_entry, begin, permit as allowed, refuse};
use crate::command::{Reply, json};
use crate::error::Error;
use crate::events;
use crate::locks::{checked_ttl, live};
use crate::services::claim_queue::PendingClaim;

/// Failed matches before a claimer gives its place to the next.
const CLAIM_TRIES_MAX: usize = 8;

/// Claims a task, and waits until there is one. `gone` resolves when the caller has disconnected.
pub async fn claim(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    agent: AgentId,
    new: Claim,
    wait: Duration,
    gone: impl Future<Output = ()>,
) -> Result<Reply, Error> {
    let until = Instant::now() + wait;
    let receipts = app.receipts.as_ref().ok_or(Error::ReceiptsOff)?;
    let audience = new.audience.as_deref().unwrap_or_else(|| receipts.issuer()).to_owned();
    if audience.trim().is_empty() || audience.len() > AUDIENCE_MAX_BYTES {
        return Err(Error::invalid("audience", format!("must be 1 to {AUDIENCE_MAX_BYTES} bytes")));
    }
    let ttl = new.ttl_seconds.map(Duration::from);
    if ttl.is_some_and(|ttl| ttl < LEASE_TTL_MIN) {
        return Err(Error::invalid(
            "ttl_seconds",
            format!("must be at least {} s", LEASE_TTL_MIN.as_secs()),
        ));
    }
    let (task, timeouts) = admit(app, caller, attempt, agent, &new).await?;
    // A claim that waits checks the task during the wait.
    if let Some(task) = task.filter(|_| wait.is_zero()) {
        require_claimable(app, caller, task).await?;
    }
    let ttl = checked_ttl(ttl, &timeouts)?;
    let wish = PendingClaim { agent, task, ttl };
    let (taker, session) = (Taker::Agent(agent), new.process_id);
    let asked = ClaimRequest { app, caller, attempt, taker, ttl, session, audience };
    asked.wait(wish, until, gone).await
}

/// Checks that the agent may claim, keeps a given session alive, and returns the requested task and
/// the lock timeouts. A repeated request ends here with [`Error::Replayed`].
async fn admit(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    agent: AgentId,
    new: &Claim,
) -> Result<(Option<TaskId>, LockTimeouts), Error> {
    let tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let mut tx = reserve_key(tx, caller, attempt).await?;
    let book = app.books.current(&mut tx).await?;
    let is_own = matches!(caller.actor, Actor::Agent { id, .. } if id == agent);
    let own = Object::Own { is_own };
    if let Err(denied) = allowed(app, &book, &caller.actor, Action::Claim, own) {
        refuse(tx, caller, Action::Claim.as_str(), agent.to_string(), &denied).await?;
        return Err(denied.into());
    }
    if let Some(session) = new.process_id {
        live(&mut tx, caller, session, &app.service).await?;
    }
    let task = match new.task_id {
        Some(TaskRef::Number(number)) => {
            let found = tasks::id_of_number(&mut tx, number).await?;
            Some(found.ok_or(Error::NotFound { what: "task" })?)
        }
        Some(TaskRef::Id(task)) => Some(task),
        None => None,
    };
    tx.commit().await?;
    Ok((task, book.timeouts.lock))
}

impl ClaimRequest<'_> {
    /// Informs a claimer that got nothing because the whole installation is frozen. There is one
    /// audit entry per agent and freeze, however often the agent asks, so that its tenant can show
    /// the reason later.
    async fn tell_if_frozen(&self) -> Result<(), Error> {
        let pool = &self.app.pools.api;
        // If the freeze cannot be read, nothing is reported: no permit was granted in either case.
        let found = installation::in_force(pool).await.unwrap_or_default();
        let Some(freeze) = found else { return Ok(()) };
        let since = freeze.since;
        let refusal = Refusal::InstallationFrozen(freeze);
        let (object, action) = (self.taker.name(), Action::Claim.as_str());
        let reason = refusal.to_string();
        let mut tx = begin(pool, self.caller, TenantLock::None).await?;
        if installation::is_recorded(&mut tx, since, &object, action, &reason).await? {
            tx.roll_back().await;
        } else {
            let why = Why { reason: Some(reason), ticket: None };
            let entry =
                audit_entry(&tx, self.caller, EntryKind::Refusal, What::new(object, action), why);
            audit::append(&mut tx, &[entry]).await?;
            tx.commit().await?;
        }
        Err(refusal.into())
    }

    async fn wait(
        &self,
        wish: PendingClaim,
        until: Instant,
        gone: impl Future<Output = ()>,
    ) -> Result<Reply, Error> {
        let tenant = self.caller.tenant;
        let mut gone = std::pin::pin!(gone);
        let is_now = until <= Instant::now();
        let mut hopeless = std::pin::pin!(self.hopeless(wish.task));
        for _ in 0..CLAIM_TRIES_MAX {
            let mut offer = self.app.claims.join(tenant, wish);
            if is_now {
                // Another round would not run in time.
                Box::pin(round(self.app, tenant)).await?;
                offer.close();
            }
            let offered = tokio::select! {
                offered = timeout_at(until, offer) => offered,
                refusal = &mut hopeless, if !is_now => return Err(refusal),
                () = &mut gone => break,
                () = self.app.shutdown.begun(), if !is_now => break,
            };
            let Ok(Ok((offer, in_hand))) = offered else { break };
            match Box::pin(permit::permit(self, offer)).await? {
                PermitOutcome::Permitted(reply) => return Ok(reply),
                PermitOutcome::FellThrough => {}
                PermitOutcome::NotNow => in_hand.rest(),
            }
        }
        self.tell_if_frozen().await?;
        let (app, caller) = (self.app, self.caller);
        let nothing = without_permit(app, caller, wish.agent, wish.task, !is_now).await?;
        Ok(Reply { status: 200, body: json(&nothing)?, is_repeated: false })
    }

    /// Resolves when the named task can no longer get a permit, for example because it was
    /// rejected. Without a named task it never resolves.
    async fn hopeless(&self, task: Option<TaskId>) -> Error {
        let Some(task) = task else { return std::future::pending().await };
        let (app, caller) = (self.app, self.caller);
        let mut versions = app.watch.follow(caller.tenant, task, 0);
        let attending = events::attend(app, caller.tenant).await;
        loop {
            if let Err(refusal @ (Error::Unclaimable { .. } | Error::NotFound { .. })) =
                require_claimable(app, caller, task).await
            {
                return refusal;
            }
            // Without events the wait ends at its deadline, which is late but not wrong.
            if attending.is_err() || versions.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
