//! How often somebody may do something: the generic cell rate algorithm. Of whoever is counted one
//! moment is known, at which all they took so far is used up. A call moves it on by its share, and
//! it may run ahead of the time by no more than a burst.

use std::time::Duration;

/// So many in a minute, and so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

/// What became of a wish for some calls, all of which count against several rates at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// As many as were wanted, or one, or none.
    pub calls: u32,
    /// Which of the rates has the least left, or makes them wait longest.
    pub at: usize,
    /// Calls of that rate that could follow at once.
    pub left: u32,
    /// Until nothing of that rate is used up any more.
    pub reset: Duration,
    /// Until one call is let through; nothing if some were.
    pub wait: Duration,
}

impl Rate {
    /// What one call uses up.
    pub fn gap(self) -> Duration {
        Duration::from_mins(1) / self.per_minute.max(1)
    }

    /// How far ahead of its time somebody may be.
    pub fn ahead(self) -> Duration {
        self.gap() * self.burst.max(1)
    }

    /// The moment at which all is used up, after so many more calls.
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

/// All of them are taken from each rate, or one is, or nothing from any. Each rate comes with the
/// moment at which what was taken before is used up; all moments count from the same beginning.
pub fn take(rates: &[(Rate, Duration)], now: Duration, calls: u32) -> Taken {
    let fits = |calls| rates.iter().all(|(rate, before)| rate.wait(*before, now, calls).is_zero());
    let calls = [calls.max(1), 1].into_iter().find(|calls| fits(*calls)).unwrap_or(0);
    let told = rates.iter().enumerate().map(|(at, (rate, before))| {
        let used_up = rate.used_up(*before, now, calls);
        let wait = if calls == 0 { rate.wait(*before, now, 1) } else { Duration::ZERO };
        let (left, reset) = (rate.left(used_up, now), used_up.saturating_sub(now));
        Taken { calls, at, left, reset, wait }
    });
    let tightest = told.min_by_key(|told| (std::cmp::Reverse(told.wait), told.left, told.at));
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
    fn a_burst_goes_through_at_once_and_the_next_waits_for_its_share() {
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
    fn of_several_rates_the_one_that_refuses_is_told_and_nothing_is_taken() {
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
    fn of_more_than_there_are_one_is_given() {
        let rate = Rate { per_minute: 60, burst: 10 };
        let now = Duration::from_secs(5);
        assert_eq!(take(&[(rate, Duration::ZERO)], now, 10).calls, 10);
        assert_eq!(take(&[(rate, Duration::ZERO)], now, 11).calls, 1);
    }

    proptest! {
        /// Whatever the pattern of calls, no stretch of time sees more than a burst and the share
        /// of that time.
        #[test]
        fn no_stretch_of_time_sees_more_than_its_share(
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

        /// Whoever waits as long as they were told is let through.
        #[test]
        fn who_waits_as_told_is_let_through(
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
