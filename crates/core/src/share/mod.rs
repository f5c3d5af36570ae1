//! Fair shares of what tenants use together, such as request places and database connections. A
//! tenant holds at most its share while other tenants hold some too; alone, it leaves a share for
//! the others to begin with.

mod queue;

use std::collections::BTreeMap;

pub use self::queue::{FairQueue, Ticket};
use crate::ids::TenantId;
use crate::limits::TENANT_SHARE_DIVISOR;

/// Returns how many of `size` places a tenant may hold while others hold some too; at least one.
pub fn share_of(size: usize) -> usize {
    (size / TENANT_SHARE_DIVISOR).max(1)
}

/// Counts the places that tenants hold.
#[derive(Debug, Clone)]
pub struct Shares {
    size: usize,
    all: usize,
    /// Only tenants that hold a place.
    held: BTreeMap<TenantId, usize>,
}

impl Shares {
    pub fn new(size: usize) -> Self {
        Self { size, all: 0, held: BTreeMap::new() }
    }

    /// Returns the number of places that this tenant holds.
    pub fn held_by(&self, tenant: TenantId) -> usize {
        self.held.get(&tenant).copied().unwrap_or_default()
    }

    /// Returns the number of places that all tenants hold together.
    pub fn held(&self) -> usize {
        self.all
    }

    /// Returns whether the tenant may take one more place.
    pub fn has_room_for(&self, tenant: TenantId) -> bool {
        let (own, share) = (self.held_by(tenant), share_of(self.size));
        let is_alone = own == self.all;
        let leaves_a_share = self.all + share < self.size;
        self.all < self.size && (own < share || (is_alone && leaves_a_share))
    }

    /// Takes a place for the tenant, and returns whether there was room.
    pub fn take(&mut self, tenant: TenantId) -> bool {
        let has_room = self.has_room_for(tenant);
        if has_room {
            *self.held.entry(tenant).or_default() += 1;
            self.all += 1;
        }
        has_room
    }

    /// Gives back a place of the tenant.
    pub fn give_back(&mut self, tenant: TenantId) {
        let Some(count) = self.held.get_mut(&tenant) else { return };
        *count -= 1;
        if *count == 0 {
            self.held.remove(&tenant);
        }
        self.all -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_u128(number)
    }

    /// Takes places for a tenant until one is refused.
    fn fill(shares: &mut Shares, number: u128) -> usize {
        std::iter::repeat_with(|| shares.take(tenant(number))).take_while(|taken| *taken).count()
    }

    #[test]
    fn tenant_alone_leaves_a_share_for_others() {
        let mut shares = Shares::new(16);
        assert_eq!(fill(&mut shares, 1), 12);
        assert_eq!(fill(&mut shares, 2), 4, "the other tenant gets its share");
        assert!(!shares.take(tenant(1)));
        assert_eq!(shares.held(), 16);
    }

    #[test]
    fn tenant_beside_others_holds_its_share_only() {
        let mut shares = Shares::new(16);
        assert!(shares.take(tenant(2)));
        assert_eq!(fill(&mut shares, 1), 4);
        shares.give_back(tenant(2));
        assert!(shares.take(tenant(1)), "no other tenant holds a place now");
    }

    #[test]
    fn tenant_without_a_place_takes_no_memory() {
        let mut shares = Shares::new(4);
        assert_eq!(fill(&mut shares, 1), 3);
        (0..3).for_each(|_| shares.give_back(tenant(1)));
        shares.give_back(tenant(2));
        assert_eq!((shares.held(), shares.held.len()), (0, 0));
        assert_eq!(fill(&mut shares, 1), 3);
    }

    #[test]
    fn capacity_of_one_serves_every_tenant() {
        let mut shares = Shares::new(1);
        for number in 1..3 {
            assert_eq!(fill(&mut shares, number), 1, "one at a time is always admitted");
            shares.give_back(tenant(number));
        }
    }
}
