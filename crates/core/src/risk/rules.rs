//! A tenant's settings made ready to be asked: its patterns compiled, each with the criticality
//! of what the registry does not hold.

use super::{Score, Settings};
use crate::policy::{Pattern, PatternError};
use crate::resource::ResourceRef;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    settings: Settings,
    patterns: Vec<(Pattern, Score)>,
}

impl Rules {
    /// Refused if one of the patterns is none.
    pub fn of(settings: Settings) -> Result<Self, PatternError> {
        let patterns = settings
            .pattern_defaults
            .iter()
            .map(|(text, score)| Ok((Pattern::new(text)?, *score)))
            .collect::<Result<_, PatternError>>()?;
        Ok(Self { settings, patterns })
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The highest of the patterns that match it: a second pattern cannot lower the first.
    pub fn pattern_default(&self, resource: &ResourceRef) -> Option<Score> {
        let matching = self.patterns.iter().filter(|(one, _)| one.matches_resource(resource));
        matching.map(|(_, score)| *score).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn of_several_patterns_the_highest_counts() {
        let text = r#"{"pattern_defaults": {"database:*": 60, "database:test-*": 10}}"#;
        let rules = Rules::of(settings(text)).unwrap();
        let of = |name: &str| rules.pattern_default(&name.parse().unwrap()).map(Score::points);
        assert_eq!(of("database:test-1"), Some(60));
        assert_eq!(of("database:orders"), Some(60));
        assert_eq!(of("service:shop"), None);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert!(Rules::of(settings(r#"{"pattern_defaults": {"[": 10}}"#)).is_err());
    }
}
