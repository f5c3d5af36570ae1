//! Display of times: relative on a terminal, exact to the microsecond in a pipe.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ade_core::time::Timestamp;

/// Returns the local time, for display only.
#[expect(clippy::disallowed_methods, reason = "a reader of the terminal has no other clock")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Formats a time to the second, such as `2026-11-15 15:20:31Z`.
pub fn second(at: Timestamp) -> String {
    let text = at.to_string();
    let second = text.split('.').next().unwrap_or(&text);
    format!("{}Z", second.trim_end_matches('Z').replace('T', " "))
}

/// Formats a time relative to now, such as `4m ago` or `in 2h`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        return format!("in {}", long(at.since(now)));
    }
    match now.since(at) {
        short if short < Duration::from_secs(1) => "now".to_owned(),
        since => format!("{} ago", long(since)),
    }
}

/// Formats a duration in its largest unit: `41s`, `4m`, `6h`, `3d`.
pub fn long(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Formats a duration as minutes and seconds, such as `0:24`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 3_600 {
        return format!("{}:{:02}", seconds / 60, seconds % 60);
    }
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_cut_to_the_second() {
        let at: Timestamp = "2026-11-15T15:20:31.004211Z".parse().unwrap();
        assert_eq!(second(at), "2026-11-15 15:20:31Z");
    }

    #[test]
    fn relative_time_uses_one_unit_for_past_and_future() {
        let now = Timestamp::from_micros(0).plus(Duration::from_hours(1000));
        let ago = |time| relative(now.minus(time), now);
        assert_eq!(ago(Duration::ZERO), "now");
        assert_eq!(ago(Duration::from_secs(59)), "59s ago");
        assert_eq!(ago(Duration::from_mins(61)), "1h ago");
        assert_eq!(ago(Duration::from_hours(47)), "47h ago");
        assert_eq!(ago(Duration::from_hours(49)), "2d ago");
        assert_eq!(relative(now.plus(Duration::from_mins(41)), now), "in 41m");
        assert_eq!(clock(Duration::from_secs(24)), "0:24");
        assert_eq!(clock(Duration::from_secs(3_700)), "1:01:40");
    }
}
