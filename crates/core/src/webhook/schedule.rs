//! The pauses between the attempts of one delivery. They grow each time and are spread over their
//! whole length, so that deliveries that failed together are not retried together.

use std::time::Duration;

use crate::limits::{
    WEBHOOK_PAUSE_FIRST, WEBHOOK_PAUSE_GROWTH, WEBHOOK_PAUSE_MAX, WEBHOOK_TRIES_MAX,
};

/// Returns the longest pause after `tries` attempts; `None` once they are used up.
pub fn longest_pause(tries: u32) -> Option<Duration> {
    if tries >= WEBHOOK_TRIES_MAX {
        return None;
    }
    let growth = WEBHOOK_PAUSE_GROWTH.saturating_pow(tries.saturating_sub(1));
    Some(WEBHOOK_PAUSE_FIRST.saturating_mul(growth).min(WEBHOOK_PAUSE_MAX))
}

/// Returns a random pause. `dice` is a uniformly random number.
pub fn pause(tries: u32, dice: u64) -> Option<Duration> {
    longest_pause(tries).map(|longest| spread(longest, dice))
}

/// Returns a duration above zero and at most `longest`.
pub(super) fn spread(longest: Duration, dice: u64) -> Duration {
    let millis = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(dice.checked_rem(millis).unwrap_or_default().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn webhook_pause_is_spread_over_its_whole_length(tries in 0..WEBHOOK_TRIES_MAX, dice: u64) {
            let longest = longest_pause(tries).unwrap();
            let pause = pause(tries, dice).unwrap();
            prop_assert!(!pause.is_zero() && pause <= longest);
            prop_assert!(longest >= WEBHOOK_PAUSE_FIRST && longest <= WEBHOOK_PAUSE_MAX);
        }

        #[test]
        fn webhook_pauses_never_get_shorter(tries in 1..WEBHOOK_TRIES_MAX - 1) {
            prop_assert!(longest_pause(tries) <= longest_pause(tries + 1));
        }

        #[test]
        fn webhook_tries_are_limited(tries in WEBHOOK_TRIES_MAX.., dice: u64) {
            prop_assert_eq!(pause(tries, dice), None);
        }
    }

    #[test]
    fn webhook_pauses_grow_from_seconds_to_a_day() {
        let longest: Vec<u64> =
            (1..).map_while(longest_pause).map(|pause| pause.as_secs()).collect();
        assert_eq!(longest, [5, 20, 80, 320, 1_280, 5_120, 20_480, 81_920, 86_400]);
    }

    #[test]
    fn webhook_pause_reaches_both_ends() {
        let dice = [0, 4_999, 5_000];
        let met = dice.map(|dice| pause(1, dice).unwrap().as_millis());
        assert_eq!(met, [1, 5_000, 1]);
    }
}
