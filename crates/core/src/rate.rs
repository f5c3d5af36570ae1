//! Rate limiting by the generic cell rate algorithm. For each caller one time is stored, at which
//! everything taken so far is used up. A call advances it by its share, and it may run ahead of the
//! current time by at most a burst.

use std::time::Duration;

/// A rate limit: calls per minute, and calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

/// The result of taking calls that count against several rates at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The granted calls: as many as requested, or one, or none.
    pub calls: u32,
    /// The index of the rate that has the least left or the longest wait.
    pub at: usize,
    /// The calls of that rate that could follow at once.
    pub left: u32,
    /// The time until the quota is fully restored.
    pub reset: Duration,
    /// The time until one call is admitted; zero if some were granted.
    pub wait: Duration,
}

impl Rate {
    /// Returns the time that one call uses up.
    pub fn gap(self) -> Duration {
        Duration::from_mins(1) / self.per_minute.max(1)
    }

    /// Returns how far ahead of the current time a caller may be.
    pub fn ahead(self) -> Duration {
        self.gap() * self.burst.max(1)
    }

    /// Returns the time at which everything is used up after the given number of calls.
    pub fn used_up(self, before: Duration, now: Duration, calls: u32) -> Duration {
        before.max(now) + self.gap() * calls
    }

    fn left(self, used_up: Duration, now: Duration) -> u32 {
        let room = (now + self.ahead()).saturating_sub(used_up);
        let calls = room.as_micros() / self.gap().as_micros().max(1);
        u32::try_from(calls).unwrap_or(u32::MAX)
    }

    fn wait(self, before: Duration, now: Duration, calls: u32) -> Duration {
        self.used_up(before, now, calls).saturating_sub(now + self.ahead())
    }
}

/// Takes all calls from each rate, or one, or none. Each rate comes with the time at which
/// everything taken before is used up; all times count from the same origin.
pub fn take(rates: &[(Rate, Duration)], now: Duration, calls: u32) -> Taken {
    let fits = |calls| rates.iter().all(|(rate, before)| rate.wait(*before, now, calls).is_zero());
    let calls = [calls.max(1), 1].into_iter().find(|calls| fits(*calls)).unwrap_or(0);
    let answers = rates.iter().enumerate().map(|(at, (rate, before))| {
        let used_up = rate.used_up(*before, now, calls);
        let wait = if calls == 0 { rate.wait(*before, now, 1) } else { Duration::ZERO };
        let (left, reset) = (rate.left(used_up, now), used_up.saturating_sub(now));
        Taken { calls, at, left, reset, wait }
    });
    let tightest =
        answers.min_by_key(|answer| (std::cmp::Reverse(answer.wait), answer.left, answer.at));
    let unlimited =
        Taken { calls, at: 0, left: u32::MAX, reset: Duration::ZERO, wait: Duration::ZERO };
    tightest.unwrap_or(unlimited)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn rate_admits_a_burst_and_then_waits() {
        let rate = Rate { per_minute: 60, burst: 3 };
        let now = Duration::from_secs(1_000);
        let mut used_up = Duration::ZERO;
        for left in [2, 1, 0] {
            let taken = take(&[(rate, used_up)], now, 1);
            assert_eq!((taken.calls, taken.left, taken.wait), (1, left, Duration::ZERO));
            used_up = rate.used_up(used_up, now, 1);
        }
        let refused = take(&[(rate, used_up)], now, 1);
        assert_eq!((refused.calls, refused.wait, refused.reset), (0, SECOND, SECOND * 3));
        assert_eq!(take(&[(rate, used_up)], now + SECOND, 1).calls, 1);
        assert_eq!(take(&[(rate, used_up)], now + SECOND * 3, 1).left, 2);
    }

    #[test]
    fn rate_refusal_of_several_names_it_and_takes_nothing() {
        let (wide, tight) =
            (Rate { per_minute: 600, burst: 100 }, Rate { per_minute: 60, burst: 1 });
        let now = Duration::from_secs(5);
        let full = tight.used_up(Duration::ZERO, now, 1);
        let taken = take(&[(wide, Duration::ZERO), (tight, full)], now, 1);
        assert_eq!((taken.calls, taken.at, taken.wait), (0, 1, SECOND));
        let taken = take(&[(wide, Duration::ZERO), (tight, Duration::ZERO)], now, 1);
        assert_eq!((taken.calls, taken.at, taken.left), (1, 1, 0));
    }

    #[test]
    fn rate_request_above_the_burst_gets_one() {
        let rate = Rate { per_minute: 60, burst: 10 };
        let now = Duration::from_secs(5);
        assert_eq!(take(&[(rate, Duration::ZERO)], now, 10).calls, 10);
        assert_eq!(take(&[(rate, Duration::ZERO)], now, 11).calls, 1);
    }

    proptest! {
        /// For any pattern of calls, no interval has more than a burst plus the share of its
        /// length.
        #[test]
        fn rate_is_never_exceeded_in_any_interval(
            per_minute in 1u32..6_000,
            burst in 1u32..50,
            wishes in prop::collection::vec((0u64..3_000_000, 1u32..8), 1..80),
        ) {
            let rate = Rate { per_minute, burst };
            let (mut now, mut used_up) = (Duration::from_mins(1), Duration::ZERO);
            let mut through: Vec<(Duration, u32)> = Vec::new();
            for (later, calls) in wishes {
                now += Duration::from_micros(later);
                let taken = take(&[(rate, used_up)], now, calls);
                prop_assert_eq!(taken.calls == 0, !taken.wait.is_zero());
                used_up = if taken.calls > 0 {
                    rate.used_up(used_up, now, taken.calls)
                } else {
                    used_up
                };
                through.push((now, taken.calls));
            }
            for (nth, (from, _)) in through.iter().enumerate() {
                let mut count = 0;
                for (at, calls) in &through[nth..] {
                    count += calls;
                    let passed = at.saturating_sub(*from).as_micros();
                    let share = passed / rate.gap().as_micros().max(1);
                    prop_assert!(u128::from(count) <= u128::from(burst) + share + 1);
                }
            }
        }

        /// A caller that waits for the reported time is admitted.
        #[test]
        fn rate_admits_after_the_reported_wait(
            per_minute in 1u32..6_000,
            burst in 1u32..50,
            taken_before in 0u32..60,
        ) {
            let rate = Rate { per_minute, burst };
            let now = Duration::from_mins(1);
            let used_up = rate.used_up(Duration::ZERO, now, taken_before);
            let first = take(&[(rate, used_up)], now, 1);
            prop_assert_eq!(take(&[(rate, used_up)], now + first.wait, 1).calls, 1);
        }
    }
}
