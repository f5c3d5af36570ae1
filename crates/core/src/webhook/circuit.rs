//! Whether an endpoint is called at all now. One that has failed often in a row is left alone, for
//! longer each time; then a single delivery finds out whether it is back. Kept in the record, so
//! that every process knows.

use std::time::Duration;

use super::schedule::spread;
use crate::limits::{
    WEBHOOK_CIRCUIT_FAILURES, WEBHOOK_CIRCUIT_REST_FIRST, WEBHOOK_CIRCUIT_REST_MAX,
    WEBHOOK_PAUSE_MAX,
};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circuit {
    /// In a row, up to now.
    pub failures: u32,
    pub open_until: Option<Timestamp>,
}

/// How much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// As much as other bounds allow.
    Free,
    /// One, to find out.
    One,
    /// Nothing.
    Until(Timestamp),
}

impl Circuit {
    pub fn room(self, now: Timestamp) -> Room {
        match self.open_until {
            Some(until) if now < until => Room::Until(until),
            _ if self.failures >= WEBHOOK_CIRCUIT_FAILURES => Room::One,
            _ => Room::Free,
        }
    }

    /// `asked` is how long the endpoint itself wants to be left alone.
    #[must_use]
    pub fn failed(self, now: Timestamp, asked: Option<Duration>, dice: u64) -> Self {
        let failures = self.failures.saturating_add(1);
        let rest = failures.checked_sub(WEBHOOK_CIRCUIT_FAILURES).map(|beyond| {
            let growth = 2_u32.saturating_pow(beyond);
            let longest =
                WEBHOOK_CIRCUIT_REST_FIRST.saturating_mul(growth).min(WEBHOOK_CIRCUIT_REST_MAX);
            // At least half: a rest that may be nothing is none.
            let half = longest / 2;
            half.saturating_add(spread(half, dice))
        });
        let asked = asked.map(|asked| asked.min(WEBHOOK_PAUSE_MAX));
        let until = rest.max(asked).map(|rest| now.plus(rest));
        Self { failures, open_until: until.max(self.open_until) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn after(failures: u32) -> Circuit {
        (0..failures).fold(Circuit::default(), |circuit, _| circuit.failed(NOW, None, 7))
    }

    #[test]
    fn a_few_failures_close_nothing() {
        for failures in 0..WEBHOOK_CIRCUIT_FAILURES {
            assert_eq!(after(failures).room(NOW), Room::Free, "{failures}");
        }
        assert!(matches!(after(WEBHOOK_CIRCUIT_FAILURES).room(NOW), Room::Until(_)));
    }

    #[test]
    fn after_its_rest_one_may_try() {
        let circuit = after(WEBHOOK_CIRCUIT_FAILURES);
        let Room::Until(until) = circuit.room(NOW) else { panic!("{circuit:?}") };
        assert_eq!(circuit.room(until), Room::One);
        assert_eq!(Circuit::default().room(until), Room::Free, "after a success");
    }

    #[test]
    fn an_endpoint_that_asks_for_time_gets_it_at_its_first_failure() {
        let circuit = Circuit::default().failed(NOW, Some(Duration::from_mins(1)), 0);
        assert_eq!(circuit.room(NOW), Room::Until(NOW.plus(Duration::from_mins(1))));
        let greedy = Circuit::default().failed(NOW, Some(Duration::MAX), 0);
        assert_eq!(greedy.room(NOW), Room::Until(NOW.plus(WEBHOOK_PAUSE_MAX)));
    }

    proptest! {
        #[test]
        fn a_rest_is_never_shorter_than_half_of_the_first_nor_longer_than_the_longest(
            failures in WEBHOOK_CIRCUIT_FAILURES - 1..u32::MAX,
            dice: u64,
        ) {
            let circuit = Circuit { failures, open_until: None }.failed(NOW, None, dice);
            let rest = circuit.open_until.unwrap().since(NOW);
            prop_assert!(rest >= WEBHOOK_CIRCUIT_REST_FIRST / 2);
            prop_assert!(rest <= WEBHOOK_CIRCUIT_REST_MAX);
        }

        #[test]
        fn a_late_failure_ends_no_rest_that_was_begun(
            first in 0_u64..86_400,
            second in proptest::option::of(0_u64..86_400),
            dice: u64,
        ) {
            let asked = |seconds: u64| Duration::from_secs(seconds);
            let once = Circuit::default().failed(NOW, Some(asked(first)), dice);
            let twice = once.failed(NOW, second.map(asked), dice);
            prop_assert!(twice.open_until >= once.open_until);
        }
    }
}
