//! Leaves a part of Redis alone that does not answer: after a few failures in a row nobody waits
//! for it any more, but for one call now and then that looks whether it is back. Keys are judged
//! each by itself, since masters fail one by one; nothing is kept for a key that works.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use ade_core::limits::{
    REDIS_CALL_TIMEOUT, REDIS_CIRCUIT_FAILURES, REDIS_CIRCUIT_PAUSE, REDIS_CIRCUITS_MAX,
};

#[derive(Debug, Default)]
pub struct Circuits {
    failing: Mutex<HashMap<String, Circuit>>,
}

#[derive(Debug)]
struct Circuit {
    failures: u32,
    last: String,
    /// Once it is open: from when on the next call may look.
    look_at: Option<Instant>,
}

impl Circuits {
    /// Lets a call through, or says why it should not be made. Of those who come after the pause
    /// one goes on; should it never come back, the next may look after its time.
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

    /// Whether this closed a circuit that was open.
    pub fn succeeded(&self, key: &str) -> bool {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.remove(key).is_some_and(|circuit| circuit.look_at.is_some())
    }

    /// Why it is open from now on, if it was this failure that opened it.
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
        format!("{} failures in a row, the last: {}", self.failures, self.last)
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
        let told = circuits.failed(key, "timeout".to_owned(), now).unwrap();
        assert!(told.contains("timeout"), "{told}");
    }

    #[test]
    fn it_opens_after_failures_in_a_row_says_why_and_for_its_key_alone() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        fail_until_open(&circuits, "seven", now);
        assert!(circuits.enter("seven", now).unwrap_err().contains("timeout"));
        assert_eq!(circuits.enter("eight", now), Ok(()));
        // Told once, not with every failure of those who were under way.
        assert_eq!(circuits.failed("seven", "late".to_owned(), now), None);
    }

    #[test]
    fn a_success_in_between_begins_the_count_again() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        for _ in 0..3 * REDIS_CIRCUIT_FAILURES {
            assert_eq!(circuits.failed("seven", "timeout".to_owned(), now), None);
            assert!(!circuits.succeeded("seven"), "it was never open");
        }
        assert_eq!(circuits.enter("seven", now), Ok(()));
    }

    #[test]
    fn after_the_pause_one_looks_and_its_success_lets_all_in() {
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
    fn a_look_that_never_comes_back_does_not_keep_it_open() {
        let (circuits, now) = (Circuits::default(), Instant::now());
        fail_until_open(&circuits, "seven", now);
        let later = now + REDIS_CIRCUIT_PAUSE;
        assert_eq!(circuits.enter("seven", later), Ok(()));
        assert!(circuits.enter("seven", later + REDIS_CALL_TIMEOUT / 2).is_err());
        assert_eq!(circuits.enter("seven", later + REDIS_CALL_TIMEOUT), Ok(()));
    }
}
