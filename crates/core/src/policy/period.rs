//! Durations as policies write them: `48h`, `7d`, `1d12h`, `30m`. A day is always 24 hours; months
//! and years have no fixed length and are refused.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::SpanRelativeTo;
use jiff::fmt::friendly::SpanParser;
use serde::Serializer;
use thiserror::Error;

use crate::limits::POLICY_PERIOD_MAX;

const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PeriodError {
    #[error("`{given}` is not a duration: write it like 48h, 7d or 30m")]
    Malformed { given: String },
    #[error("`{given}` must be longer than zero")]
    NotPositive { given: String },
    #[error("`{given}` must be whole seconds")]
    NotWhole { given: String },
    #[error("`{given}` is too long: at most {}", text(POLICY_PERIOD_MAX))]
    TooLong { given: String },
}

pub(super) fn parse(written: &str) -> Result<Duration, PeriodError> {
    static PARSER: SpanParser = SpanParser::new();
    let given = || written.to_owned();
    let length = PARSER
        .parse_span(written)
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| PeriodError::Malformed { given: given() })?;
    if !length.is_positive() {
        return Err(PeriodError::NotPositive { given: given() });
    }
    let period = length.unsigned_abs();
    if period.subsec_nanos() != 0 {
        return Err(PeriodError::NotWhole { given: given() });
    }
    if period > POLICY_PERIOD_MAX {
        return Err(PeriodError::TooLong { given: given() });
    }
    Ok(period)
}

/// Returns the canonical spelling: each unit once, largest first, without zero units.
pub fn text(period: Duration) -> String {
    let mut rest = period.as_secs();
    let mut out = String::new();
    for (seconds, unit) in UNITS {
        let count = rest / seconds;
        rest %= seconds;
        if count > 0 {
            // Writing to a String cannot fail.
            let _ = write!(out, "{count}{unit}");
        }
    }
    if out.is_empty() {
        out.push_str("0s");
    }
    out
}

pub(super) fn serialize<S: Serializer>(
    period: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*period))
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn serialize_some<S: Serializer>(
    period: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match period {
        Some(period) => serialize(period, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn period_accepts_several_spellings() {
        for (written, seconds) in [
            ("48h", 172_800),
            ("7d", 604_800),
            ("1w", 604_800),
            ("30m", 1_800),
            ("1d12h", 129_600),
            ("1d 12h", 129_600),
            ("2 days", 172_800),
            ("1.5h", 5_400),
            ("1s", 1),
            ("365d", 31_536_000),
        ] {
            assert_eq!(parse(written), Ok(Duration::from_secs(seconds)), "{written}");
        }
    }

    #[test]
    fn period_that_is_invalid_is_refused_with_the_reason() {
        let given = |text: &str| text.to_owned();
        for written in ["", "soon", "48", "h", "1mo", "1y", "P1M", "99999999999999d"] {
            assert_eq!(parse(written), Err(PeriodError::Malformed { given: given(written) }));
        }
        for written in ["0s", "0h", "-1h", "1h ago"] {
            assert_eq!(parse(written), Err(PeriodError::NotPositive { given: given(written) }));
        }
        assert_eq!(parse("1500ms"), Err(PeriodError::NotWhole { given: given("1500ms") }));
        let refused = parse("365d1s").unwrap_err();
        assert_eq!(refused.to_string(), "`365d1s` is too long: at most 365d");
    }

    #[test]
    fn period_is_written_in_one_spelling() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_661, "1h1m1s"),
            (86_400, "1d"),
            (172_800, "2d"),
            (90_000, "1d1h"),
        ] {
            assert_eq!(text(Duration::from_secs(seconds)), expected);
        }
    }

    proptest! {
        #[test]
        fn period_round_trips_through_its_text(seconds in 1..=POLICY_PERIOD_MAX.as_secs()) {
            let period = Duration::from_secs(seconds);
            prop_assert_eq!(parse(&text(period)), Ok(period));
        }
    }
}
