//! The queue for places that tenants share, such as database connections. Within a tenant it is
//! first come, first served; a place that becomes free goes to the waiting tenant that holds the
//! fewest, and among those to the one that was served least recently. The server itself, for calls
//! whose tenant is not known, waits in the same queue and has no share. The number of waiting
//! callers is bounded, by tenant as well.

use std::collections::{BTreeMap, VecDeque};

use super::Shares;
use crate::ids::TenantId;

/// The position of a waiting caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The waiting callers of one tenant.
#[derive(Debug)]
struct Line<W> {
    /// When the line began or last moved on, counted in callers.
    since: u64,
    callers: VecDeque<(Ticket, W)>,
}

/// Places and the callers that wait for them. `W` is what is kept for a waiting caller.
#[derive(Debug)]
pub struct FairQueue<W> {
    size: usize,
    /// The places that are lent, including those of the server itself.
    lent: usize,
    shares: Shares,
    /// Only tenants with waiting callers; `None` is the server itself.
    waiting: BTreeMap<Option<TenantId>, Line<W>>,
    /// The waiting callers of tenants, who share the room of the queue in the same way.
    seats: Shares,
    waiting_max: usize,
    next: u64,
}

impl<W> FairQueue<W> {
    /// Creates a queue for `size` places, with room for `waiting_max` callers of tenants and as
    /// many of the server itself.
    pub fn new(size: usize, waiting_max: usize) -> Self {
        Self {
            size,
            lent: 0,
            shares: Shares::new(size),
            waiting: BTreeMap::new(),
            seats: Shares::new(waiting_max),
            waiting_max,
            next: 0,
        }
    }

    /// Takes a place if one is free and the tenant may have it, and returns whether it did. No
    /// waiting caller is passed over: one that may have a free place has been given it already.
    pub fn take(&mut self, tenant: Option<TenantId>) -> bool {
        let is_taken = self.has_room_for(tenant);
        if is_taken {
            self.lend(tenant);
        }
        is_taken
    }

    /// Adds a waiting caller, unless the queue has no room for it.
    pub fn wait(&mut self, tenant: Option<TenantId>, waiter: W) -> Option<Ticket> {
        let has_seat = match tenant {
            Some(tenant) => self.seats.take(tenant),
            None => self.waiting_of(None) < self.waiting_max,
        };
        if !has_seat {
            return None;
        }
        let since = self.count();
        let line = self.waiting.entry(tenant);
        let line = line.or_insert_with(|| Line { since, callers: VecDeque::new() });
        line.callers.push_back((Ticket(since), waiter));
        Some(Ticket(since))
    }

    /// Removes a caller that no longer waits, and returns whether it was still waiting. If not, it
    /// has been given a place.
    pub fn leave(&mut self, tenant: Option<TenantId>, ticket: Ticket) -> bool {
        let Some(line) = self.waiting.get_mut(&tenant) else { return false };
        let found = line.callers.binary_search_by_key(&ticket, |(known, _)| *known);
        let Ok(at) = found else { return false };
        line.callers.remove(at);
        self.left(tenant);
        true
    }

    /// Gives back a place, and returns the callers that get one now.
    pub fn give_back(&mut self, tenant: Option<TenantId>) -> Vec<W> {
        self.lent = self.lent.saturating_sub(1);
        if let Some(tenant) = tenant {
            self.shares.give_back(tenant);
        }
        // Several callers: the tenant that is alone now may hold more than its share.
        std::iter::from_fn(|| self.lend_to_next()).collect()
    }

    /// Removes all waiting callers.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.seats = Shares::new(self.waiting_max);
    }

    /// Returns the number of places that are lent.
    pub fn lent(&self) -> usize {
        self.lent
    }

    /// Returns the number of waiting callers.
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(|line| line.callers.len()).sum()
    }

    fn waiting_of(&self, tenant: Option<TenantId>) -> usize {
        self.waiting.get(&tenant).map_or(0, |line| line.callers.len())
    }

    fn has_room_for(&self, tenant: Option<TenantId>) -> bool {
        self.lent < self.size && tenant.is_none_or(|tenant| self.shares.has_room_for(tenant))
    }

    fn held_by(&self, tenant: Option<TenantId>) -> usize {
        match tenant {
            Some(tenant) => self.shares.held_by(tenant),
            None => self.lent.saturating_sub(self.shares.held()),
        }
    }

    fn lend(&mut self, tenant: Option<TenantId>) {
        self.lent += 1;
        if let Some(tenant) = tenant {
            self.shares.take(tenant);
        }
    }

    fn lend_to_next(&mut self) -> Option<W> {
        let lines = self.waiting.iter().filter(|(tenant, _)| self.has_room_for(**tenant));
        let next = lines.min_by_key(|(tenant, line)| (self.held_by(**tenant), line.since));
        let tenant = next.map(|(tenant, _)| *tenant)?;
        let since = self.count();
        let line = self.waiting.get_mut(&tenant)?;
        line.since = since;
        let (_, waiter) = line.callers.pop_front()?;
        self.left(tenant);
        self.lend(tenant);
        Some(waiter)
    }

    fn count(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Frees the seat of a caller that was removed from its line.
    fn left(&mut self, tenant: Option<TenantId>) {
        if let Some(tenant) = tenant {
            self.seats.give_back(tenant);
        }
        if self.waiting_of(tenant) == 0 {
            self.waiting.remove(&tenant);
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
