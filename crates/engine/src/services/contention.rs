//! Counts recent rejections by this process: row conflicts and full lock queues. Each caller was
//! asked to retry; the counts show operators a degradation.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::limits::CONTENTION_MIN;

/// How long a full lock queue is reported as a degradation.
const QUEUE_FULL_REPORTED_FOR: Duration = Duration::from_mins(1);
const CONTENTION_WINDOW: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub struct Contention {
    contended: SlidingWindow,
    full: SlidingWindow,
}

/// The times of the latest occurrences; only as many as are needed are kept.
#[derive(Debug, Default)]
struct SlidingWindow(Mutex<VecDeque<Instant>>);

impl SlidingWindow {
    fn note(&self, now: Instant) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= CONTENTION_MIN {
            times.pop_front();
        }
        times.push_back(now);
    }

    fn count(&self, now: Instant, within: Duration) -> usize {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().filter(|at| now.saturating_duration_since(**at) < within).count()
    }
}

impl Contention {
    /// Counts a caller that lost a row conflict or hit a locked row.
    pub fn contended(&self, now: Instant) {
        metrics::counter!("ade_contention_total").increment(1);
        self.contended.note(now);
    }

    /// Counts a caller that found a full lock queue.
    pub fn queue_full(&self, now: Instant) {
        metrics::counter!("ade_lock_queue_full_total").increment(1);
        self.full.note(now);
    }

    /// Returns the degradations to report, by component.
    pub fn degradations(&self, now: Instant) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if self.contended.count(now, CONTENTION_WINDOW) >= CONTENTION_MIN {
            let detail = format!(
                "at least {CONTENTION_MIN} calls within {} s conflicted with others on the same \
                 row and were asked to retry: spread the calls, or send them through one client",
                CONTENTION_WINDOW.as_secs()
            );
            found.push(("contention", detail));
        }
        let full = self.full.count(now, QUEUE_FULL_REPORTED_FOR);
        if full > 0 {
            let detail = format!(
                "at least {full} lock requests within {} s found a full queue: see who holds the \
                 lock (GET /v1/locks), and end stuck holders",
                QUEUE_FULL_REPORTED_FOR.as_secs()
            );
            found.push(("lock_queue", detail));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(strain: &Contention, now: Instant) -> Vec<&'static str> {
        strain.degradations(now).into_iter().map(|(part, _)| part).collect()
    }

    #[test]
    fn contention_is_reported_above_the_threshold_for_a_while() {
        let (strain, now) = (Contention::default(), Instant::now());
        for _ in 1..CONTENTION_MIN {
            strain.contended(now);
        }
        assert!(parts(&strain, now).is_empty(), "below the threshold");
        strain.contended(now);
        assert_eq!(parts(&strain, now), ["contention"]);
        assert!(parts(&strain, now + CONTENTION_WINDOW).is_empty());
    }

    #[test]
    fn contention_full_queue_is_reported_and_memory_bounded() {
        let (strain, now) = (Contention::default(), Instant::now());
        strain.queue_full(now);
        assert_eq!(parts(&strain, now), ["lock_queue"]);
        for _ in 0..10 * CONTENTION_MIN {
            strain.queue_full(now);
        }
        assert_eq!(strain.full.0.lock().unwrap().len(), CONTENTION_MIN);
        assert!(parts(&strain, now + QUEUE_FULL_REPORTED_FOR).is_empty());
    }
}
