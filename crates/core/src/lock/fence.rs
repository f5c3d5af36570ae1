//! Who may commit: the rule that PostgreSQL enforces, as pure functions over its lock rows. A
//! hold is registered before anything is done under it, and asserted first thing in every
//! protected transaction. Tokens are never trusted to be unique or to rise. Row locks are not
//! here: each call below is what one transaction sees and does.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

use super::request::{LockSet, Mode};
use super::token::{Epoch, Token};
use crate::ids::{AgentSessionId, LeaseId};
use crate::limits::LOCKS_PER_AGENT_MAX;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// One resource under one lease. Rows are never deleted while their lease may come back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hold {
    pub session: AgentSessionId,
    /// Whose it is, if an agent asked for itself.
    pub agent: Option<String>,
    pub mode: Mode,
    pub token: Token,
    /// Moved by the execution's heartbeat: a live process that forgot one apply keeps nothing.
    pub deadline: Timestamp,
    pub lock_delay: Duration,
    pub fenced_by: Option<LeaseId>,
    pub released: bool,
}

impl Hold {
    /// Whether its holder could still commit.
    pub const fn is_open(&self) -> bool {
        self.fenced_by.is_none() && !self.released
    }

    /// Whether its holder may still be in the middle of a step, so that it must not be fenced.
    fn is_protected(&self, now: Timestamp) -> bool {
        self.deadline.plus(self.lock_delay) > now
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Registration {
    pub lease: LeaseId,
    pub session: AgentSessionId,
    /// As [`Request::agent`](super::Request::agent) has it.
    pub agent: Option<String>,
    pub token: Token,
    pub set: LockSet,
    pub deadline: Timestamp,
    pub lock_delay: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterRefusal {
    #[error("the session has ended: open a new one and claim again")]
    SessionDead,
    #[error("the space is in epoch {current}, the token in another: acquire again")]
    StaleEpoch { current: Epoch },
    #[error("`{resource}` has seen token {floor}: mint a higher one for the same grant")]
    TokenLow { resource: ResourceRef, floor: Token },
    #[error("`{resource}` is held by a live holder: go back to the queue")]
    Held { resource: ResourceRef, by: Vec<LeaseId> },
    #[error("the agent holds {taken} resources, and may hold {LOCKS_PER_AGENT_MAX}: give it back")]
    TooMany { taken: usize },
    #[error("this lease was registered before, and otherwise: acquire a new lease")]
    LeaseSpent,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the lease has {open} of {expected} holds under this token: stop, it was fenced")]
pub struct NotHeld {
    pub open: usize,
    pub expected: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fences {
    epoch: Epoch,
    /// Each session with the end of its own lease.
    sessions: BTreeMap<AgentSessionId, Timestamp>,
    /// The highest token each resource has seen.
    floors: BTreeMap<ResourceRef, Token>,
    holds: BTreeMap<(ResourceRef, LeaseId), Hold>,
}

impl Fences {
    pub const fn new(epoch: Epoch) -> Self {
        Self { epoch, sessions: BTreeMap::new(), floors: BTreeMap::new(), holds: BTreeMap::new() }
    }

    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn holds(&self) -> impl Iterator<Item = (&ResourceRef, LeaseId, &Hold)> {
        self.holds.iter().map(|((resource, lease), hold)| (resource, *lease, hold))
    }

    /// Epochs only rise; a bump to a lower one is none.
    pub fn bump_epoch(&mut self, epoch: Epoch) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Opens a session or keeps it alive.
    pub fn keep_session(&mut self, session: AgentSessionId, until: Timestamp) {
        self.sessions.insert(session, until);
    }

    pub fn close_session(&mut self, session: AgentSessionId) {
        self.sessions.remove(&session);
    }

    /// All resources or none: nothing is written before everything is judged.
    pub fn register(
        &mut self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<(), RegisterRefusal> {
        let Registration { lease, session, agent, token, set, deadline, lock_delay } = registration;
        if self.sessions.get(session).is_none_or(|until| *until <= now) {
            return Err(RegisterRefusal::SessionDead);
        }
        if token.epoch() != self.epoch {
            let current = self.epoch;
            return Err(RegisterRefusal::StaleEpoch { current });
        }
        if self.has_rows(*lease) {
            return self.repeat(registration);
        }
        if let Some(agent) = agent {
            let taken = self.taken_by(agent, now);
            if !set.fits_an_agent_with(taken) {
                return Err(RegisterRefusal::TooMany { taken });
            }
        }
        let mut fenced = Vec::new();
        for (resource, mode) in set.iter() {
            if let Some(floor) = self.floors.get(resource).copied()
                && *token <= floor
            {
                let resource = resource.clone();
                return Err(RegisterRefusal::TokenLow { resource, floor });
            }
            fenced.extend(self.make_room(resource, mode, now)?);
        }
        for key in fenced {
            if let Some(hold) = self.holds.get_mut(&key) {
                hold.fenced_by = Some(*lease);
            }
        }
        for (resource, mode) in set.iter() {
            self.floors.insert(resource.clone(), *token);
            let hold = Hold {
                session: *session,
                agent: agent.clone(),
                mode,
                token: *token,
                deadline: *deadline,
                lock_delay: *lock_delay,
                fenced_by: None,
                released: false,
            };
            self.holds.insert((resource.clone(), *lease), hold);
        }
        Ok(())
    }

    /// First thing in every protected transaction. Whether the deadline has passed does not
    /// matter: as long as nobody has fenced the hold, nobody else works on its resource.
    pub fn assert_holds(
        &self,
        lease: LeaseId,
        token: Token,
        expected: usize,
    ) -> Result<(), NotHeld> {
        let own = self.rows_of(lease);
        let open = own.filter(|(_, hold)| hold.is_open() && hold.token == token).count();
        if open == expected && expected > 0 {
            return Ok(());
        }
        Err(NotHeld { open, expected })
    }

    /// The heartbeat of an execution. Of a lease that was fenced in part nothing is extended:
    /// it can no longer commit, and must not keep the rest of its set from others.
    pub fn extend(&mut self, lease: LeaseId, deadline: Timestamp) -> Result<(), NotHeld> {
        let expected = self.rows_of(lease).count();
        let open = self.rows_of(lease).filter(|(_, hold)| hold.is_open()).count();
        if open != expected || open == 0 {
            return Err(NotHeld { open, expected });
        }
        for hold in self.open_holds_mut(lease) {
            hold.deadline = deadline;
        }
        Ok(())
    }

    pub fn release(&mut self, lease: LeaseId) {
        for hold in self.open_holds_mut(lease) {
            hold.released = true;
        }
    }

    /// What a rebuilt queue must know: leases that can still commit, each with its resources.
    /// One that was fenced in part is lost whole, so the rest of its set is free.
    pub fn live_leases(&self) -> BTreeMap<LeaseId, Vec<(&ResourceRef, &Hold)>> {
        let mut leases: BTreeMap<LeaseId, Vec<_>> = BTreeMap::new();
        for (resource, lease, hold) in self.holds() {
            leases.entry(lease).or_default().push((resource, hold));
        }
        leases.retain(|_, rows| rows.iter().all(|(_, hold)| hold.is_open()));
        leases
    }

    /// What nobody else can have because of this agent: a hold that may be fenced keeps nobody out.
    fn taken_by(&self, agent: &str, now: Timestamp) -> usize {
        let own = self.holds().filter(|(_, _, hold)| hold.agent.as_deref() == Some(agent));
        own.filter(|(_, _, hold)| hold.is_open() && hold.is_protected(now)).count()
    }

    fn rows_of(&self, lease: LeaseId) -> impl Iterator<Item = (&ResourceRef, &Hold)> {
        self.holds()
            .filter(move |(_, owner, _)| *owner == lease)
            .map(|(resource, _, hold)| (resource, hold))
    }

    fn has_rows(&self, lease: LeaseId) -> bool {
        self.rows_of(lease).next().is_some()
    }

    fn open_holds_mut(&mut self, lease: LeaseId) -> impl Iterator<Item = &mut Hold> {
        self.holds
            .iter_mut()
            .filter(move |((_, owner), hold)| *owner == lease && hold.is_open())
            .map(|(_, hold)| hold)
    }

    /// The same registration again has already happened: its first answer was lost. Anything
    /// else under a used lease id would let a fenced holder back in.
    fn repeat(&self, registration: &Registration) -> Result<(), RegisterRefusal> {
        let Registration { lease, token, set, .. } = registration;
        let is_same =
            self.rows_of(*lease).all(|(resource, hold)| set.mode_of(resource) == Some(hold.mode));
        if is_same && self.assert_holds(*lease, *token, set.len()).is_ok() {
            return Ok(());
        }
        Err(RegisterRefusal::LeaseSpent)
    }

    /// The open holds to fence so that one more fits. The truth says who is alive: a protected
    /// hold is never stolen, even if the queue has forgotten it.
    fn make_room(
        &self,
        resource: &ResourceRef,
        mode: Mode,
        now: Timestamp,
    ) -> Result<Vec<(ResourceRef, LeaseId)>, RegisterRefusal> {
        let open =
            |(held, _, hold): &(&ResourceRef, LeaseId, &Hold)| *held == resource && hold.is_open();
        let modes = self.holds().filter(open).map(|(_, _, hold)| hold.mode);
        if mode.fits_beside(modes) {
            return Ok(Vec::new());
        }
        let (alive, dead): (Vec<_>, Vec<_>) =
            self.holds().filter(open).partition(|(_, _, hold)| hold.is_protected(now));
        if !mode.fits_beside(alive.iter().map(|(_, _, hold)| hold.mode)) {
            return Err(RegisterRefusal::Held {
                resource: resource.clone(),
                by: alive.iter().map(|(_, lease, _)| *lease).collect(),
            });
        }
        Ok(dead.iter().map(|(resource, lease, _)| ((*resource).clone(), *lease)).collect())
    }
}

#[cfg(test)]
#[path = "fence_tests.rs"]
mod tests;
