//! What this process turned away lately: callers who met others at the same row, and those who
//! found a queue full. Each was told to come again; here it adds up, so that somebody is told who
//! can do something about it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::limits::{CONTENTION_TOLD, CONTENTION_WINDOW, QUEUE_FULL_TOLD};

#[derive(Debug, Default)]
pub struct Strain {
    contended: Lately,
    full: Lately,
}

/// When something happened the last times; more than anybody asks for is forgotten.
#[derive(Debug, Default)]
struct Lately(Mutex<VecDeque<Instant>>);

impl Lately {
    fn note(&self, now: Instant) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= CONTENTION_TOLD {
            times.pop_front();
        }
        times.push_back(now);
    }

    fn count(&self, now: Instant, within: Duration) -> usize {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().filter(|at| now.saturating_duration_since(**at) < within).count()
    }
}

impl Strain {
    /// Somebody was told that somebody else was faster, or holds what they need.
    pub fn contended(&self, now: Instant) {
        metrics::counter!("ade_contention_total").increment(1);
        self.contended.note(now);
    }

    /// Somebody was told that too many wait already.
    pub fn queue_full(&self, now: Instant) {
        metrics::counter!("ade_lock_queue_full_total").increment(1);
        self.full.note(now);
    }

    /// What is to be told, by part.
    pub fn told(&self, now: Instant) -> Vec<(&'static str, String)> {
        let mut told = Vec::new();
        if self.contended.count(now, CONTENTION_WINDOW) >= CONTENTION_TOLD {
            let detail = format!(
                "{CONTENTION_TOLD} calls or more within {} s met others at the same row and were \
                 told to come again: spread them, or let one program speak for many",
                CONTENTION_WINDOW.as_secs()
            );
            told.push(("contention", detail));
        }
        let full = self.full.count(now, QUEUE_FULL_TOLD);
        if full > 0 {
            let detail = format!(
                "{full} requests or more within {} s found the queue of a lock full: see who \
                 holds it (GET /v1/locks), and end what is stuck",
                QUEUE_FULL_TOLD.as_secs()
            );
            told.push(("lock_queue", detail));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(strain: &Strain, now: Instant) -> Vec<&'static str> {
        strain.told(now).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn it_is_told_from_a_bound_on_and_for_a_while() {
        let (strain, now) = (Strain::default(), Instant::now());
        for _ in 1..CONTENTION_TOLD {
            strain.contended(now);
        }
        assert!(parts(&strain, now).is_empty(), "some always meet");
        strain.contended(now);
        assert_eq!(parts(&strain, now), ["contention"]);
        assert!(parts(&strain, now + CONTENTION_WINDOW).is_empty());
    }

    #[test]
    fn one_full_queue_is_told_and_memory_is_bounded() {
        let (strain, now) = (Strain::default(), Instant::now());
        strain.queue_full(now);
        assert_eq!(parts(&strain, now), ["lock_queue"]);
        for _ in 0..10 * CONTENTION_TOLD {
            strain.queue_full(now);
        }
        assert_eq!(strain.full.0.lock().unwrap().len(), CONTENTION_TOLD);
        assert!(parts(&strain, now + QUEUE_FULL_TOLD).is_empty());
    }
}
