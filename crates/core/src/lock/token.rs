//! The numbers of a space: epochs, fencing tokens and places in the queue. Tokens and places carry
//! their epoch in the high bits, so that numbers of a lost epoch sort below those of the next.
//! Tokens are not assumed to be unique, and PostgreSQL never relies on it (see `fence`).

use std::fmt;

use crate::limits::{LOCK_BOOST_MAX, LOCK_COUNTER_BITS, LOCK_EPOCH_MAX};

/// The epoch of a space: the period between two losses of its data. PostgreSQL owns the number;
/// every call names the epoch it expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

impl Epoch {
    pub const FIRST: Self = Self(1);

    pub fn new(number: u64) -> Option<Self> {
        (1..=LOCK_EPOCH_MAX).contains(&number).then_some(Self(number))
    }

    pub const fn number(self) -> u64 {
        self.0
    }

    pub fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }

    const fn base(self) -> u64 {
        self.0 << LOCK_COUNTER_BITS
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The fencing token that a holder presents to PostgreSQL: `epoch · 2³³ + counter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// Returns `None` once the counter of an epoch is exhausted; only a new epoch has more.
    pub fn new(epoch: Epoch, counter: u64) -> Option<Self> {
        (counter < 1 << LOCK_COUNTER_BITS).then_some(Self(epoch.base() + counter))
    }

    pub fn from_number(number: u64) -> Option<Self> {
        Epoch::new(number >> LOCK_COUNTER_BITS).map(|_| Self(number))
    }

    pub const fn number(self) -> u64 {
        self.0
    }

    pub const fn epoch(self) -> Epoch {
        Epoch(self.0 >> LOCK_COUNTER_BITS)
    }

    pub const fn counter(self) -> u64 {
        self.0 & ((1 << LOCK_COUNTER_BITS) - 1)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A place in the queue. Smaller places go first; `arrival` is unique in a space, so places never
/// tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order {
    place: u64,
    arrival: u64,
}

impl Order {
    /// The place before every other place.
    pub const FRONT: Self = Self { place: 0, arrival: 0 };

    /// Creates the place of the `counter`th arrival of an epoch. A boost of k overtakes exactly the
    /// last k arrivals: the one before them has an equal place and an earlier arrival.
    pub fn new(epoch: Epoch, counter: u64, boost: u32) -> Option<Self> {
        let arrival = FencingToken::new(epoch, counter)?.number();
        let steps = if boost == 0 { 0 } else { u64::from(boost) + 1 };
        Some(Self { place: arrival.saturating_sub(steps), arrival })
    }

    /// Restores a place that was given out before; `None` if no space can have given it out.
    pub fn from_numbers(place: u64, arrival: u64) -> Option<Self> {
        FencingToken::from_number(arrival)?;
        let steps = arrival.checked_sub(place)?;
        (steps <= u64::from(LOCK_BOOST_MAX) + 1).then_some(Self { place, arrival })
    }

    pub const fn place(self) -> u64 {
        self.place
    }

    pub const fn arrival(self) -> u64 {
        self.arrival
    }

    pub const fn epoch(self) -> Epoch {
        Epoch(self.arrival >> LOCK_COUNTER_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_is_between_one_and_its_maximum() {
        assert_eq!(Epoch::new(0), None);
        assert_eq!(Epoch::new(1), Some(Epoch::FIRST));
        let last = Epoch::new(LOCK_EPOCH_MAX).unwrap();
        assert_eq!(last.number(), LOCK_EPOCH_MAX);
        assert_eq!(Epoch::new(LOCK_EPOCH_MAX + 1), None);
        assert_eq!(last.next(), None);
        assert_eq!(Epoch::FIRST.next(), Epoch::new(2));
        assert_eq!(last.to_string(), "1048575");
    }

    #[test]
    fn token_combines_epoch_and_counter() {
        let token = FencingToken::new(Epoch::new(3).unwrap(), 7).unwrap();
        assert_eq!(token.number(), 3 * 8_589_934_592 + 7);
        assert_eq!((token.epoch().number(), token.counter()), (3, 7));
        assert_eq!(FencingToken::from_number(token.number()), Some(token));
        assert_eq!(token.to_string(), "25769803783");
        assert_eq!(FencingToken::from_number(8_589_934_591), None, "epoch zero");
        assert_eq!(FencingToken::from_number(1 << 53), None, "no longer exact");
    }

    #[test]
    fn token_maximum_is_below_two_to_the_53() {
        let last = Epoch::new(LOCK_EPOCH_MAX).unwrap();
        let token = FencingToken::new(last, (1 << 33) - 1).unwrap();
        assert_eq!(token.number(), (1 << 53) - 1);
        assert_eq!(FencingToken::new(last, 1 << 33), None);
    }

    #[test]
    fn boost_of_k_passes_exactly_the_last_k_arrivals() {
        let order = |counter, boost| Order::new(Epoch::FIRST, counter, boost).unwrap();
        for boost in 1..=3_u32 {
            let newcomer = order(10, boost);
            let passed = (1..10).filter(|counter| newcomer < order(*counter, 0));
            assert_eq!(passed.count(), boost as usize);
        }
        assert!(order(10, 0) > order(9, 0));
        assert_eq!(order(10, 0).place(), order(10, 0).arrival());
    }

    #[test]
    fn order_from_numbers_accepts_only_possible_places() {
        let made = Order::new(Epoch::FIRST, 500, LOCK_BOOST_MAX).unwrap();
        let again = |place, arrival| Order::from_numbers(place, arrival);
        assert_eq!(again(made.place(), made.arrival()), Some(made));
        assert_eq!(again(made.place() - 1, made.arrival()), None);
        assert_eq!(again(made.arrival() + 1, made.arrival()), None);
        assert_eq!(again(5, 5), None, "no epoch");
        assert_eq!(made.epoch(), Epoch::FIRST);
        assert_eq!(Order::new(Epoch::FIRST, 1 << 33, 0), None);
    }
}
