//! Durations in requests: a number of seconds, or text with a unit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A duration, as a number of seconds. A request may also write it as text: `30`, `30s`, `5m`, `2h`
/// or `500ms`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(Duration);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a duration: write a number of seconds, or text such as `30s`, `5m` or `2h`")]
pub struct SecondsError(String);

impl Seconds {
    pub fn new(seconds: u32) -> Self {
        Self(Duration::from_secs(u64::from(seconds)))
    }

    /// Rounds up to whole seconds, so that no duration becomes shorter than was asked for.
    pub fn rounded_up(duration: Duration) -> Self {
        let more = u64::from(duration.subsec_nanos() > 0);
        Self(Duration::from_secs(duration.as_secs().saturating_add(more)))
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}

impl FromStr for Seconds {
    type Err = SecondsError;

    fn from_str(text: &str) -> Result<Self, SecondsError> {
        // `ms` comes first, because it ends like `s`.
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
        let unit = units
            .iter()
            .find_map(|(name, millis)| text.strip_suffix(name).map(|digits| (digits, *millis)));
        let (digits, millis) = unit.unwrap_or((text, 1_000));
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<u32>().ok().filter(|_| is_number);
        let whole = number.and_then(|number| u64::from(number).checked_mul(millis));
        whole.map(|whole| Self(Duration::from_millis(whole))).ok_or_else(|| wrong(text))
    }
}

fn wrong(given: impl fmt::Display) -> SecondsError {
    SecondsError(given.to_string())
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            serializer.serialize_u64(self.0.as_secs())
        } else {
            serializer.serialize_f64(self.0.as_secs_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, or text such as `30s`, `5m` or `2h`")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Seconds, E> {
        u32::try_from(number).map(Seconds::new).map_err(|_| E::custom(wrong(number)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Seconds, E> {
        let whole = Duration::try_from_secs_f64(number).ok();
        let bounded = whole.filter(|whole| u32::try_from(whole.as_secs()).is_ok());
        bounded.map(Seconds).ok_or_else(|| E::custom(wrong(number)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Seconds, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_are_read_as_number_or_text() {
        for (given, seconds) in [
            (json!(0), json!(0)),
            (json!(30), json!(30)),
            (json!(0.5), json!(0.5)),
            (json!("30"), json!(30)),
            (json!("30s"), json!(30)),
            (json!("500ms"), json!(0.5)),
            (json!("5m"), json!(300)),
            (json!("2h"), json!(7_200)),
        ] {
            let read: Seconds = serde_json::from_value(given.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), seconds, "{given}");
        }
    }

    #[test]
    fn other_durations_are_refused_with_an_example() {
        let wrong = ["", "s", "ms", "-1s", "+1", "1.5s", "1d", " 1s", "4294967296"];
        let wrong = wrong.into_iter().map(|text| json!(text));
        let numbers = [json!(-1), json!(-0.5), json!(1e300), json!(null), json!(4_294_967_296_u64)];
        for given in wrong.chain(numbers) {
            let refused = serde_json::from_value::<Seconds>(given.clone()).unwrap_err();
            assert!(refused.to_string().contains("`5m`"), "{given}: {refused}");
        }
    }

    #[test]
    fn fractions_of_a_second_are_rounded_up() {
        assert_eq!(Seconds::rounded_up(Duration::from_millis(1_001)), Seconds::new(2));
        assert_eq!(Seconds::rounded_up(Duration::from_secs(2)), Seconds::new(2));
    }
}
