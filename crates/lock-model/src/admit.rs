//! Admission of a request: the refusals in their order, the place at which it is judged, and then
//! an immediate grant or a place in the queue. A refused request leaves no trace and uses no
//! number.

use std::collections::BTreeMap;

use ade_core::ids::LeaseId;
use ade_core::limits::LOCK_QUEUE_DEPTH_MAX;
use ade_core::lock::{
    Arrival, Epoch, Lease, LeaseClass, LeasePhase, LeaseStatus, LockEvent, LockRefusal, Order,
    Owner, Request,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::table::Space;

impl Space {
    pub(super) fn admit(
        &mut self,
        epoch: Epoch,
        request: Request,
        arrival: Arrival,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) -> Result<LeaseStatus, LockRefusal> {
        let id = request.lease();
        self.settle(id, now, events);
        if let Some(known) = self.leases.get(&id) {
            if !known.request.asks_the_same_as(&request) {
                return Err(LockRefusal::OtherRequest);
            }
            return Ok(self.standing(id));
        }
        self.refuse_second_wait(request.owner(), now, events)?;
        let arrival = self.earned(epoch, &request, arrival, now);
        self.refuse_unsure(&request, arrival, now)?;
        self.refuse_too_many(&request)?;
        let order = self.place_of(epoch, &request, arrival)?;
        let Some(resource) = self.blocked_on(request.set(), (order, id)) else {
            return self.grant(request, now, events);
        };
        if let Some(own) = self.own_hold_in_the_way(&request, now) {
            return Err(LockRefusal::SelfConflict { resource: own });
        }
        if request.wait().is_zero() {
            let resource = resource.clone();
            return Err(LockRefusal::Busy { resource });
        }
        if let Some(resource) = self.full_queue(&request) {
            return Err(LockRefusal::QueueFull { resource });
        }
        let order = self.take_place(epoch, &request, arrival)?;
        self.enqueue(request, order, now, events);
        self.break_deadlocks(now, events);
        Ok(self.standing(id))
    }

    fn refuse_second_wait(
        &mut self,
        owner: Owner,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) -> Result<(), LockRefusal> {
        if let Some(other) = self.waiting.get(&owner).copied() {
            self.settle(other, now, events);
        }
        match self.waiting.get(&owner) {
            Some(lease) => Err(LockRefusal::AlreadyWaiting { lease: *lease }),
            None => Ok(()),
        }
    }

    /// Validates the claimed arrival; an invalid claim is treated as new. A place of this epoch was
    /// lost by a timeout or a release and not by a data loss, and an advisory lease can only be
    /// reclaimed until all those of the old epoch must have expired.
    fn earned(&self, epoch: Epoch, request: &Request, arrival: Arrival, now: Timestamp) -> Arrival {
        let may_reclaim = request.class() == LeaseClass::Advisory && self.unsure_at(now).is_some();
        match arrival {
            Arrival::Waited(order) if order.epoch() < epoch => arrival,
            Arrival::Held(token) if token.epoch() < epoch && may_reclaim => arrival,
            Arrival::New | Arrival::Waited(_) | Arrival::Held(_) => Arrival::New,
        }
    }

    fn unsure_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.unsure_until.filter(|until| now < *until)
    }

    fn refuse_unsure(
        &self,
        request: &Request,
        arrival: Arrival,
        now: Timestamp,
    ) -> Result<(), LockRefusal> {
        let held_before = matches!(arrival, Arrival::Held(_));
        match self.unsure_at(now) {
            Some(until) if request.class() == LeaseClass::Advisory && !held_before => {
                Err(LockRefusal::Unsure { until })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses an agent over its limit. Held and awaited resources count alike, because filling a
    /// queue is as harmful as holding locks.
    fn refuse_too_many(&self, request: &Request) -> Result<(), LockRefusal> {
        let Some(agent) = request.agent() else {
            return Ok(());
        };
        let taken = self.taken_by(agent);
        if request.set().fits_an_agent_with(taken) {
            return Ok(());
        }
        Err(LockRefusal::TooMany { taken })
    }

    /// Returns the place at which a request is judged, without taking it. A request that is granted
    /// at once never queued, so it must not count as an arrival that a boost could overtake.
    fn place_of(
        &self,
        epoch: Epoch,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Order, LockRefusal> {
        let spent = LockRefusal::Rebuild { stored: self.epoch };
        Ok(match arrival {
            Arrival::New => Order::new(epoch, self.orders + 1, request.boost()).ok_or(spent)?,
            Arrival::Waited(order) => order,
            // It held the lock before all current waiters.
            Arrival::Held(_) => Order::FRONT,
        })
    }

    pub(super) fn take_place(
        &mut self,
        epoch: Epoch,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Order, LockRefusal> {
        let order = match arrival {
            Arrival::New | Arrival::Waited(_) => self.place_of(epoch, request, arrival)?,
            // The front is a place to be judged at, not one to wait at.
            Arrival::Held(_) => self.place_of(epoch, request, Arrival::New)?,
        };
        if order.epoch() == epoch {
            self.orders += 1;
        }
        Ok(order)
    }

    fn grant(
        &mut self,
        request: Request,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) -> Result<LeaseStatus, LockRefusal> {
        let spent = LockRefusal::Rebuild { stored: self.epoch };
        let token = self.mint().ok_or(spent)?;
        let id = request.lease();
        let deadline = now.plus(request.ttl());
        let held_since = held_since(&request, now);
        self.put(Lease {
            request,
            state: LeasePhase::Granted,
            token: Some(token),
            order: None,
            deadline,
            held_since,
            registered: false,
        });
        events.push(LockEvent::Acquired { lease: id, token });
        Ok(self.standing(id))
    }

    fn enqueue(
        &mut self,
        request: Request,
        order: Order,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) {
        let id = request.lease();
        let deadline = now.plus(request.wait());
        self.put(Lease {
            request,
            state: LeasePhase::Waiting,
            token: None,
            order: Some(order),
            deadline,
            held_since: None,
            registered: false,
        });
        let position = self.position(id);
        events.push(LockEvent::Queued { lease: id, position });
    }

    /// Returns the resource on which live holds of the owner alone leave no room: only the owner
    /// could end such a wait, and it would be waiting.
    fn own_hold_in_the_way(&self, request: &Request, now: Timestamp) -> Option<ResourceRef> {
        let is_own = |id: &LeaseId| {
            self.leases.get(id).is_some_and(|lease| {
                lease.request.owner() == request.owner()
                    && lease.state == LeasePhase::Granted
                    && !lease.is_due(now)
            })
        };
        let mut wanted = request.set().iter();
        wanted
            .find(|(resource, mode)| {
                let holders = self.holders.get(resource).into_iter().flatten();
                let own = holders.filter(|(id, _)| is_own(id)).map(|(_, mode)| *mode);
                !mode.fits_beside(own)
            })
            .map(|(resource, _)| resource.clone())
    }

    fn full_queue(&self, request: &Request) -> Option<ResourceRef> {
        let mut resources = request.set().resources();
        let depth = |resource: &ResourceRef| self.queues.get(resource).map_or(0, BTreeMap::len);
        resources.find(|resource| depth(resource) >= LOCK_QUEUE_DEPTH_MAX).cloned()
    }
}

/// Returns the grant time to store: `None` for a fenced lease, because PostgreSQL stores it.
pub(super) fn held_since(request: &Request, granted: Timestamp) -> Option<Timestamp> {
    match request.class() {
        LeaseClass::Advisory => Some(granted),
        LeaseClass::Fenced { .. } => None,
    }
}
