//! An agent asks for work and waits until there is some. Waiting costs an entry in memory; what
//! it is offered it may still not get, and then it stands in line again.

use std::time::Duration;

use ade_api::executions::{Claim, Claimed};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, What, Why};
use ade_core::ids::{AgentId, AgentSessionId};
use ade_core::limits::{AUDIENCE_MAX_BYTES, CLAIM_TRIES_MAX, LEASE_TTL_MIN};
use ade_core::task::Refusal;
use ade_core::times::LockTimes;
use ade_store::{Gate, audit, installation};
use tokio::time::{Instant, timeout_at};

use super::Taker;
use super::matching::round;
use super::permit::{self, Outcome};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::claims::Wish;
use crate::error::Error;
use crate::ops::act::{begin, leaf_of, permit as allowed, refuse, told_before};
use crate::ops::decision::claim as claim_key;
use crate::ops::locks::{checked_ttl, length, live};
use crate::ops::{Reply, json};

/// One claim on its way to a permit.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
    pub attempt: &'a Attempt,
    pub taker: Taker,
    pub ttl: Duration,
    pub session: Option<AgentSessionId>,
    pub audience: String,
}

/// `gone` ends when nobody waits for the answer any more.
pub async fn claim(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    agent: AgentId,
    new: Claim,
    wait: Duration,
    gone: impl Future<Output = ()>,
) -> Result<Reply, Error> {
    let until = Instant::now() + wait;
    let receipts = app.receipts.as_ref().ok_or(Error::ReceiptsOff)?;
    let audience = new.audience.unwrap_or_else(|| receipts.issuer().to_owned());
    if audience.trim().is_empty() || audience.len() > AUDIENCE_MAX_BYTES {
        return Err(Error::invalid("audience", format!("1 to {AUDIENCE_MAX_BYTES} bytes")));
    }
    let ttl = new.ttl.as_deref().map(|text| length("ttl", text)).transpose()?;
    if ttl.is_some_and(|ttl| ttl < LEASE_TTL_MIN) {
        return Err(Error::invalid("ttl", format!("at least {} s", LEASE_TTL_MIN.as_secs())));
    }
    let times = match admit(app, caller, attempt, agent, new.session).await? {
        Admitted::Now(times) => times,
        Admitted::Before(reply) => return Ok(reply),
    };
    let ttl = checked_ttl(ttl, &times)?;
    let wish = Wish { agent, task: new.task, ttl };
    let (taker, session) = (Taker::Agent(agent), new.session);
    let asked = Asked { app, caller, attempt, taker, ttl, session, audience };
    asked.wait(wish, until, gone).await
}

enum Admitted {
    Now(LockTimes),
    /// With this answer.
    Before(Reply),
}

/// Who may claim, with a session that lives; or the answer that was given before.
async fn admit(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    agent: AgentId,
    session: Option<AgentSessionId>,
) -> Result<Admitted, Error> {
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    match claim_key(&mut tx, caller, attempt).await {
        Ok(None) => {}
        answered => return told_before(tx, answered).await.map(Admitted::Before),
    }
    let book = app.books.current(&mut tx).await?;
    let is_own = matches!(caller.actor, Actor::Agent { id, .. } if id == agent);
    let own = Object::Own { is_own };
    if let Err(denied) = allowed(app, &book, &caller.actor, Action::Claim, own) {
        refuse(tx, caller, Action::Claim.as_str(), agent.to_string(), &denied).await?;
        return Err(denied.into());
    }
    if let Some(session) = session {
        live(&mut tx, caller, session, &app.service).await?;
    }
    tx.commit().await?;
    Ok(Admitted::Now(book.times.lock))
}

impl Asked<'_> {
    /// Whoever got nothing because the whole installation is frozen is told so, and their tenant
    /// can show it later: by one leaf for each agent and freeze, however often it asks.
    async fn tell_if_frozen(&self) -> Result<(), Error> {
        let pool = &self.app.pools.api;
        // What cannot be asked is not told: nothing was given in either case.
        let found = installation::in_force(pool).await.unwrap_or_default();
        let Some(freeze) = found else { return Ok(()) };
        let since = freeze.since;
        let refusal = Refusal::InstallationFrozen(freeze);
        let (object, action) = (self.taker.name(), Action::Claim.as_str());
        let reason = refusal.to_string();
        let mut tx = begin(pool, self.caller, Gate::Unasked).await?;
        if installation::is_told(&mut tx, since, &object, action, &reason).await? {
            tx.roll_back().await;
        } else {
            let why = Why { reason: Some(reason), ticket: None };
            let leaf = leaf_of(&tx, self.caller, Kind::Refusal, What::new(object, action), why);
            audit::append(&mut tx, &[leaf]).await?;
            tx.commit().await?;
        }
        Err(refusal.into())
    }

    async fn wait(
        &self,
        wish: Wish,
        until: Instant,
        gone: impl Future<Output = ()>,
    ) -> Result<Reply, Error> {
        let tenant = self.caller.tenant;
        let mut gone = std::pin::pin!(gone);
        let is_now = until <= Instant::now();
        for _ in 0..CLAIM_TRIES_MAX {
            let mut offer = self.app.claims.join(tenant, wish);
            if is_now {
                // Nobody else looks in time.
                Box::pin(round(self.app, tenant)).await?;
                offer.close();
            }
            let offered = tokio::select! {
                offered = timeout_at(until, offer) => offered,
                () = &mut gone => break,
            };
            let Ok(Ok((offer, in_hand))) = offered else { break };
            match Box::pin(permit::permit(self, offer)).await? {
                Outcome::Permitted(reply) => return Ok(reply),
                Outcome::FellThrough => {}
                Outcome::NotNow => in_hand.rest(),
            }
        }
        self.tell_if_frozen().await?;
        let nothing = Claimed { permit: None, timed_out: true };
        Ok(Reply { status: 200, body: json(&nothing)?, is_repeated: false })
    }
}
