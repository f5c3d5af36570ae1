//! Points in time as the database stores them: whole microseconds since 1970, UTC. The core never
//! reads a clock; `now` is a parameter of every rule that needs it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::text::written_as_text;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not a timestamp: write it as 2026-03-18T15:30:00Z")]
pub struct TimestampError {
    given: String,
}

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Adds a duration and saturates: a deadline past the end of time never comes.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros_of(duration)))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros_of(duration)))
    }

    /// Returns the time since `earlier`; zero if it is in the future.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0).max(0);
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    }

    /// Returns the start of its day, UTC.
    #[must_use]
    pub fn day(self) -> Self {
        const DAY_MICROS: i64 = 86_400_000_000;
        Self(self.0.div_euclid(DAY_MICROS).saturating_mul(DAY_MICROS))
    }

    /// Converts for calendar questions (hours windows); `None` outside the years that a calendar
    /// covers.
    pub fn calendar(self) -> Option<jiff::Timestamp> {
        jiff::Timestamp::from_microsecond(self.0).ok()
    }
}

fn micros_of(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calendar() {
            Some(calendar) => write!(f, "{calendar:.6}"),
            None => write!(f, "{}µs", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        text.parse::<jiff::Timestamp>()
            .map(|calendar| Self(calendar.as_microsecond()))
            .map_err(|_| TimestampError { given: text.to_owned() })
    }
}

written_as_text!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_day_begins_at_midnight_utc() {
        let day = |text: &str| text.parse::<Timestamp>().unwrap().day().to_string();
        assert_eq!(day("2026-03-18T00:00:00Z"), "2026-03-18T00:00:00.000000Z");
        assert_eq!(day("2026-03-18T23:59:59.999999Z"), "2026-03-18T00:00:00.000000Z");
        assert_eq!(day("2026-03-18T00:30:00+01:00"), "2026-03-17T00:00:00.000000Z");
        assert_eq!(day("1969-12-31T23:00:00Z"), "1969-12-31T00:00:00.000000Z");
    }
    use proptest::prelude::*;

    #[test]
    fn timestamp_text_has_six_digits_and_utc() {
        let moment = Timestamp::from_micros(1_773_847_800_000_001);
        assert_eq!(moment.to_string(), "2026-03-18T15:30:00.000001Z");
    }

    #[test]
    fn timestamp_since_never_goes_below_zero() {
        let (early, late) = (Timestamp::from_micros(5), Timestamp::from_micros(9));
        assert_eq!(late.since(early), Duration::from_micros(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn timestamp_arithmetic_saturates() {
        let last = Timestamp::from_micros(i64::MAX);
        assert_eq!(last.plus(Duration::from_secs(1)), last);
        let first = Timestamp::from_micros(i64::MIN);
        assert_eq!(first.minus(Duration::MAX), first);
    }

    proptest! {
        #[test]
        fn timestamp_round_trips_through_its_text(micros in 0..253_402_207_200_000_000_i64) {
            let moment = Timestamp::from_micros(micros);
            prop_assert_eq!(moment.to_string().parse::<Timestamp>(), Ok(moment));
        }
    }
}
