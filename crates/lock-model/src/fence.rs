//! Who may commit: the rule that PostgreSQL enforces, as pure functions over its lock rows. A hold
//! is registered before anything is done under it, and asserted at the start of every protected
//! transaction. Tokens are not assumed to be unique or increasing. Row locks are not modelled: each
//! call is one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::ids::{LeaseId, ProcessId};
use ade_core::lock::fence::{NotHeld, RegisterRefusal};
use ade_core::lock::{Epoch, FencingToken, LockSet, Mode};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

/// The hold of one lease on one resource. A row is kept for as long as its lease may return.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hold {
    pub session: ProcessId,
    /// The agent, if it acquired the lock for itself.
    pub agent: Option<String>,
    pub mode: Mode,
    pub token: FencingToken,
    /// Extended by the heartbeat of the execution, so that a live process does not keep the locks
    /// of an apply that it has forgotten.
    pub deadline: Timestamp,
    pub lock_delay: Duration,
    pub fenced_by: Option<LeaseId>,
    pub released: bool,
}

impl Hold {
    /// Returns whether its holder could still commit.
    pub const fn is_open(&self) -> bool {
        self.fenced_by.is_none() && !self.released
    }

    /// Returns whether its holder may be in the middle of a step, so that it must not be fenced.
    fn is_protected(&self, now: Timestamp) -> bool {
        self.deadline.plus(self.lock_delay) > now
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Registration {
    pub lease: LeaseId,
    pub session: ProcessId,
    /// The value of [`Request::agent`](ade_core::lock::Request::agent).
    pub agent: Option<String>,
    pub token: FencingToken,
    pub set: LockSet,
    pub deadline: Timestamp,
    pub lock_delay: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fences {
    epoch: Epoch,
    /// The expiry of each session.
    sessions: BTreeMap<ProcessId, Timestamp>,
    /// The highest token registered for each resource.
    floors: BTreeMap<ResourceRef, FencingToken>,
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

    /// Raises the epoch. A lower epoch is ignored.
    pub fn bump_epoch(&mut self, epoch: Epoch) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Opens a session or keeps it alive.
    pub fn keep_session(&mut self, session: ProcessId, until: Timestamp) {
        self.sessions.insert(session, until);
    }

    pub fn close_session(&mut self, session: ProcessId) {
        self.sessions.remove(&session);
    }

    /// Registers all resources of a lease or none: everything is checked before the first write.
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

    /// Checks the holds at the start of a protected transaction. An expired deadline does not
    /// matter: as long as the hold is not fenced, no one else works on its resource.
    pub fn assert_holds(
        &self,
        lease: LeaseId,
        token: FencingToken,
        expected: usize,
    ) -> Result<(), NotHeld> {
        let own = self.rows_of(lease);
        let open = own.filter(|(_, hold)| hold.is_open() && hold.token == token).count();
        if open == expected && expected > 0 {
            return Ok(());
        }
        Err(NotHeld { open, expected })
    }

    /// Extends the deadline on a heartbeat of the execution. A lease that was fenced in part is not
    /// extended: it can no longer commit and must not block the rest of its set.
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

    /// Returns the leases that can still commit, with their resources, for a rebuild of the queue.
    /// A lease that was fenced in part is left out, so the rest of its set is free.
    pub fn live_leases(&self) -> BTreeMap<LeaseId, Vec<(&ResourceRef, &Hold)>> {
        let mut leases: BTreeMap<LeaseId, Vec<_>> = BTreeMap::new();
        for (resource, lease, hold) in self.holds() {
            leases.entry(lease).or_default().push((resource, hold));
        }
        leases.retain(|_, rows| rows.iter().all(|(_, hold)| hold.is_open()));
        leases
    }

    /// Returns how many resources the agent blocks. A hold that may be fenced does not count.
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

    /// Accepts a retry of the same registration, whose first response may have been lost. Any other
    /// use of a known lease id is refused: it could readmit a fenced holder.
    fn repeat(&self, registration: &Registration) -> Result<(), RegisterRefusal> {
        let Registration { lease, token, set, .. } = registration;
        let is_same =
            self.rows_of(*lease).all(|(resource, hold)| set.mode_of(resource) == Some(hold.mode));
        if is_same && self.assert_holds(*lease, *token, set.len()).is_ok() {
            return Ok(());
        }
        Err(RegisterRefusal::LeaseSpent)
    }

    /// Returns the open holds to fence so that one more fits. A protected hold is never fenced,
    /// even if the queue has lost it.
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
