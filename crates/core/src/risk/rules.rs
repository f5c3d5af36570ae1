//! The risk settings of a tenant with compiled patterns, each with the criticality of resources
//! that are not in the registry.

use super::{RiskConfig, Score};
use crate::policy::{Pattern, PatternError};
use crate::resource::ResourceRef;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RiskRules {
    settings: RiskConfig,
    patterns: Vec<(Pattern, Score)>,
}

impl RiskRules {
    /// Compiles the settings. Returns an error if one of the patterns is invalid.
    pub fn of(settings: RiskConfig) -> Result<Self, PatternError> {
        let patterns = settings
            .pattern_defaults
            .iter()
            .map(|(text, score)| Ok((Pattern::new(text)?, *score)))
            .collect::<Result<_, PatternError>>()?;
        Ok(Self { settings, patterns })
    }

    pub fn settings(&self) -> &RiskConfig {
        &self.settings
    }

    /// Returns the highest value of the matching patterns: a second pattern cannot lower the first.
    pub fn pattern_default(&self, resource: &ResourceRef) -> Option<Score> {
        let matching = self.patterns.iter().filter(|(one, _)| one.matches_resource(resource));
        matching.map(|(_, score)| *score).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> RiskConfig {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn risk_rules_take_the_highest_matching_pattern() {
        let text = r#"{"pattern_defaults": {"database:*": 60, "database:test-*": 10}}"#;
        let rules = RiskRules::of(settings(text)).unwrap();
        let of = |name: &str| rules.pattern_default(&name.parse().unwrap()).map(Score::points);
        assert_eq!(of("database:test-1"), Some(60));
        assert_eq!(of("database:orders"), Some(60));
        assert_eq!(of("service:shop"), None);
    }

    #[test]
    fn risk_rules_refuse_an_invalid_pattern() {
        assert!(RiskRules::of(settings(r#"{"pattern_defaults": {"[": 10}}"#)).is_err());
    }
}
