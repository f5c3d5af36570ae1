//! The circuit breaker of an endpoint. After several consecutive failures sending pauses, longer
//! each time; then a single delivery probes the endpoint. The state is stored in PostgreSQL, so
//! that all processes share it.

use std::time::Duration;

use super::schedule::spread;
use crate::limits::{
    WEBHOOK_CIRCUIT_FAILURES, WEBHOOK_CIRCUIT_REST_FIRST, WEBHOOK_CIRCUIT_REST_MAX,
    WEBHOOK_PAUSE_MAX,
};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circuit {
    /// The number of consecutive failures.
    pub failures: u32,
    pub open_until: Option<Timestamp>,
}

/// How much may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// As much as other bounds allow.
    Free,
    /// A single delivery, as a probe.
    One,
    /// Nothing until this time.
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

    /// Records a failure. `asked` is the pause that the endpoint requested.
    #[must_use]
    pub fn failed(self, now: Timestamp, asked: Option<Duration>, dice: u64) -> Self {
        let failures = self.failures.saturating_add(1);
        let rest = failures.checked_sub(WEBHOOK_CIRCUIT_FAILURES).map(|beyond| {
            let growth = 2_u32.saturating_pow(beyond);
            let longest =
                WEBHOOK_CIRCUIT_REST_FIRST.saturating_mul(growth).min(WEBHOOK_CIRCUIT_REST_MAX);
            // The pause is at least half as long: one that may be zero would protect nothing.
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
    fn webhook_circuit_stays_closed_after_few_failures() {
        for failures in 0..WEBHOOK_CIRCUIT_FAILURES {
            assert_eq!(after(failures).room(NOW), Room::Free, "{failures}");
        }
        assert!(matches!(after(WEBHOOK_CIRCUIT_FAILURES).room(NOW), Room::Until(_)));
    }

    #[test]
    fn webhook_circuit_after_its_pause_allows_one_try() {
        let circuit = after(WEBHOOK_CIRCUIT_FAILURES);
        let Room::Until(until) = circuit.room(NOW) else { panic!("{circuit:?}") };
        assert_eq!(circuit.room(until), Room::One);
        assert_eq!(Circuit::default().room(until), Room::Free, "after a success");
    }

    #[test]
    fn webhook_circuit_honours_retry_after_at_once() {
        let circuit = Circuit::default().failed(NOW, Some(Duration::from_mins(1)), 0);
        assert_eq!(circuit.room(NOW), Room::Until(NOW.plus(Duration::from_mins(1))));
        let greedy = Circuit::default().failed(NOW, Some(Duration::MAX), 0);
        assert_eq!(greedy.room(NOW), Room::Until(NOW.plus(WEBHOOK_PAUSE_MAX)));
    }

    proptest! {
        #[test]
        fn webhook_circuit_pause_is_within_its_bounds(
            failures in WEBHOOK_CIRCUIT_FAILURES - 1..u32::MAX,
            dice: u64,
        ) {
            let circuit = Circuit { failures, open_until: None }.failed(NOW, None, dice);
            let rest = circuit.open_until.unwrap().since(NOW);
            prop_assert!(rest >= WEBHOOK_CIRCUIT_REST_FIRST / 2);
            prop_assert!(rest <= WEBHOOK_CIRCUIT_REST_MAX);
        }

        #[test]
        fn webhook_circuit_pause_is_not_ended_by_a_late_failure(
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
