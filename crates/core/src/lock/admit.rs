//! How a request comes in: the refusals in their order, the place it is judged at, and then a
//! grant at once or a place in line. A refused request leaves no trace and spends no number.

use std::collections::BTreeMap;

use super::lease::{Event, Lease, Refusal, Standing, State};
use super::queue::{Arrival, Space};
use super::request::{Class, Owner, Request};
use super::token::{Epoch, Order};
use crate::ids::LeaseId;
use crate::limits::LOCK_QUEUE_DEPTH_MAX;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

impl Space {
    pub(super) fn admit(
        &mut self,
        epoch: Epoch,
        request: Request,
        arrival: Arrival,
        now: Timestamp,
        events: &mut Vec<Event>,
    ) -> Result<Standing, Refusal> {
        let id = request.lease();
        self.settle(id, now, events);
        if let Some(known) = self.leases.get(&id) {
            if !known.request.asks_the_same_as(&request) {
                return Err(Refusal::OtherRequest);
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
            return Err(Refusal::SelfConflict { resource: own });
        }
        if request.wait().is_zero() {
            let resource = resource.clone();
            return Err(Refusal::Busy { resource });
        }
        if let Some(resource) = self.full_queue(&request) {
            return Err(Refusal::QueueFull { resource });
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
        events: &mut Vec<Event>,
    ) -> Result<(), Refusal> {
        if let Some(other) = self.waiting.get(&owner).copied() {
            self.settle(other, now, events);
        }
        match self.waiting.get(&owner) {
            Some(lease) => Err(Refusal::AlreadyWaiting { lease: *lease }),
            None => Ok(()),
        }
    }

    /// Whoever claims a past it cannot have is a newcomer. A place of this very epoch was lost
    /// by a timeout or a release, not by the space; and once the old epoch's advisory leases
    /// must have run out, nobody still holds one.
    fn earned(&self, epoch: Epoch, request: &Request, arrival: Arrival, now: Timestamp) -> Arrival {
        let may_reclaim = request.class() == Class::Advisory && self.unsure_at(now).is_some();
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
    ) -> Result<(), Refusal> {
        let held_before = matches!(arrival, Arrival::Held(_));
        match self.unsure_at(now) {
            Some(until) if request.class() == Class::Advisory && !held_before => {
                Err(Refusal::Unsure { until })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What is held and what is waited for count alike: a line is as good a thing to fill.
    fn refuse_too_many(&self, request: &Request) -> Result<(), Refusal> {
        let Some(agent) = request.agent() else {
            return Ok(());
        };
        let taken = self.taken_by(agent);
        if request.set().fits_an_agent_with(taken) {
            return Ok(());
        }
        Err(Refusal::TooMany { taken })
    }

    /// Where a request is judged, without taking the place yet: one that is granted at once has
    /// not stood in line and must not count as an arrival that a boost could spend itself on.
    fn place_of(
        &self,
        epoch: Epoch,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Order, Refusal> {
        let spent = Refusal::Rebuild { stored: self.epoch };
        Ok(match arrival {
            Arrival::New => Order::new(epoch, self.orders + 1, request.boost()).ok_or(spent)?,
            Arrival::Waited(order) => order,
            // It was there before anybody who waits now.
            Arrival::Held(_) => Order::FRONT,
        })
    }

    pub(super) fn take_place(
        &mut self,
        epoch: Epoch,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Order, Refusal> {
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
        events: &mut Vec<Event>,
    ) -> Result<Standing, Refusal> {
        let spent = Refusal::Rebuild { stored: self.epoch };
        let token = self.mint().ok_or(spent)?;
        let id = request.lease();
        let deadline = now.plus(request.ttl());
        let held_since = request.held_since(now);
        self.put(Lease {
            request,
            state: State::Granted,
            token: Some(token),
            order: None,
            deadline,
            held_since,
            registered: false,
        });
        events.push(Event::Acquired { lease: id, token });
        Ok(self.standing(id))
    }

    fn enqueue(&mut self, request: Request, order: Order, now: Timestamp, events: &mut Vec<Event>) {
        let id = request.lease();
        let deadline = now.plus(request.wait());
        self.put(Lease {
            request,
            state: State::Waiting,
            token: None,
            order: Some(order),
            deadline,
            held_since: None,
            registered: false,
        });
        let position = self.position(id);
        events.push(Event::Queued { lease: id, position });
    }

    /// Own live holds alone leave no room: only the owner could end such a wait, and it waits.
    fn own_hold_in_the_way(&self, request: &Request, now: Timestamp) -> Option<ResourceRef> {
        let is_own = |id: &LeaseId| {
            self.leases.get(id).is_some_and(|lease| {
                lease.request.owner() == request.owner()
                    && lease.state == State::Granted
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
