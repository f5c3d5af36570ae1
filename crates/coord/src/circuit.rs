//! A circuit breaker per key: after a few consecutive failures calls fail immediately, except for
//! an occasional probe. Keys are tracked separately, because masters fail one by one; nothing is
//! kept for a working key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::limits::REDIS_CALL_TIMEOUT;

/// Consecutive failures after which the circuit of a key opens.
const REDIS_CIRCUIT_FAILURES: u32 = 5;
/// How long the circuit of a key stays open before one call tries again.
const REDIS_CIRCUIT_PAUSE: Duration = Duration::from_millis(250);
/// Failing keys that a process tracks; beyond that, counting starts again.
const REDIS_CIRCUITS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Circuits {
    failing: Mutex<HashMap<String, Circuit>>,
}

#[derive(Debug)]
struct Circuit {
    failures: u32,
    last: String,
    /// Once the circuit is open, the time from which the next call may probe.
    look_at: Option<Instant>,
}

impl Circuits {
    /// Admits a call, or returns why it should not be made. After the pause one call probes; if it
    /// never returns, the next one may probe after a timeout.
    pub fn enter(&self, key: &str, now: Instant) -> Result<(), String> {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(circuit) = failing.get_mut(key) else {
            return Ok(());
        };
        match circuit.look_at {
            Some(at) if now < at => Err(circuit.why()),
            Some(_) => {
                circuit.look_at = Some(now + REDIS_CALL_TIMEOUT);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Records a success and returns whether it closed an open circuit.
    pub fn succeeded(&self, key: &str) -> bool {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.remove(key).is_some_and(|circuit| circuit.look_at.is_some())
    }

    /// Records a failure and returns the reason if it opened the circuit.
    pub fn failed(&self, key: &str, why: String, now: Instant) -> Option<String> {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Circuit { failures: 0, last: String::new(), look_at: None };
        if failing.len() >= REDIS_CIRCUITS_MAX {
            failing.clear();
        }
        let circuit = failing.entry(key.to_owned()).or_insert_with(new);
        circuit.failures = circuit.failures.saturating_add(1);
        circuit.last = why;
        if circuit.failures < REDIS_CIRCUIT_FAILURES {
            return None;
        }
        let is_new = circuit.look_at.is_none();
        circuit.look_at = Some(now + REDIS_CIRCUIT_PAUSE);
        is_new.then(|| circuit.why())
    }
}

impl Circuit {
    fn why(&self) -> String {
        format!("{} consecutive failures, the last: {}", self.failures, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail_until_open(circuits: &Circuits, key: &str, now: Instant) {
        for _ in 1..REDIS_CIRCUIT_FAILURES {
            assert_eq!(circuits.failed(key, "timeout".to_owned(), now), None);
            assert_eq!(circuits.enter(key, now), Ok(()));
        }
        let message = circuits.failed(key, "timeout".to_owned(), now).unwrap();
        assert!(message.contains("timeout"), "{message}");
    }

    #[test]
    fn circuit_opens_for_its_key_after_consecutive_failures() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        fail_until_open(&circuits, "seven", now);
        assert!(circuits.enter("seven", now).unwrap_err().contains("timeout"));
        assert_eq!(circuits.enter("eight", now), Ok(()));
        // The opening is reported once, not with every failure of calls in flight.
        assert_eq!(circuits.failed("seven", "late".to_owned(), now), None);
    }

    #[test]
    fn circuit_success_resets_the_failure_count() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        for _ in 0..3 * REDIS_CIRCUIT_FAILURES {
            assert_eq!(circuits.failed("seven", "timeout".to_owned(), now), None);
            assert!(!circuits.succeeded("seven"), "it was never open");
        }
        assert_eq!(circuits.enter("seven", now), Ok(()));
    }

    #[test]
    fn circuit_after_the_pause_closes_when_one_probe_succeeds() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        fail_until_open(&circuits, "seven", now);
        let later = now + REDIS_CIRCUIT_PAUSE;
        assert_eq!(circuits.enter("seven", later), Ok(()));
        assert!(circuits.enter("seven", later).is_err(), "one at a time");
        assert_eq!(circuits.failed("seven", "still".to_owned(), later), None);
        assert!(circuits.enter("seven", later).unwrap_err().contains("still"));
        let much_later = later + REDIS_CIRCUIT_PAUSE;
        assert_eq!(circuits.enter("seven", much_later), Ok(()));
        assert!(circuits.succeeded("seven"));
        assert_eq!(circuits.enter("seven", much_later), Ok(()));
        assert_eq!(circuits.enter("seven", much_later), Ok(()));
    }

    #[test]
    fn circuit_probe_without_a_result_is_retried() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        fail_until_open(&circuits, "seven", now);
        let later = now + REDIS_CIRCUIT_PAUSE;
        assert_eq!(circuits.enter("seven", later), Ok(()));
        assert!(circuits.enter("seven", later + REDIS_CALL_TIMEOUT / 2).is_err());
        assert_eq!(circuits.enter("seven", later + REDIS_CALL_TIMEOUT), Ok(()));
    }
}
