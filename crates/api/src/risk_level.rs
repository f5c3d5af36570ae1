//! Risk levels in requests and responses: written in lower case, read in any case.

use ade_core::risk::Level;
use serde::{Deserialize, Deserializer, Serializer, de};

pub const ALL: [Level; 4] = [Level::Low, Level::Medium, Level::High, Level::Critical];

pub const fn name(level: Level) -> &'static str {
    match level {
        Level::Low => "low",
        Level::Medium => "medium",
        Level::High => "high",
        Level::Critical => "critical",
    }
}

pub fn serialize<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*level))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = ALL.into_iter().find(|level| name(*level).eq_ignore_ascii_case(&text));
    found.ok_or_else(|| de::Error::unknown_variant(&text, &["low", "medium", "high", "critical"]))
}

/// Reads a level that may be absent.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Level>, D::Error> {
    deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tasks::Risk;

    #[test]
    fn risk_level_is_written_in_lower_case_and_read_in_any_case() {
        for level in ALL {
            let written = serde_json::to_value(Risk { score: 1, level }).unwrap();
            assert_eq!(written, json!({"score": 1, "level": name(level)}));
            for text in [name(level).to_owned(), name(level).to_uppercase()] {
                let read: Risk =
                    serde_json::from_value(json!({"score": 1, "level": text})).unwrap();
                assert_eq!(read.level, level);
            }
        }
        let wrong = serde_json::from_value::<Risk>(json!({"score": 1, "level": "huge"}));
        assert!(wrong.unwrap_err().to_string().contains("`critical`"));
    }
}
