//! The advisories that are accepted for a time. The list is written by hand.

use anyhow::{Context as _, Result, ensure};
use jiff::civil::Date;
use serde::Deserialize;

use super::snapshot::date;

pub const PATH: &str = "xtask/advisories/exceptions.toml";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    #[serde(default, rename = "exception")]
    pub all: Vec<AdvisoryException>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdvisoryException {
    pub id: String,
    /// Why this program is not at risk, or why the update has to wait.
    pub reason: String,
    /// The last day on which a release may have this exception.
    #[serde(deserialize_with = "date")]
    pub until: Date,
}

impl Exceptions {
    pub fn parse(text: &str) -> Result<Self> {
        let exceptions: Self = toml::from_str(text).with_context(|| {
            format!("cannot use {PATH}: each exception has an `id`, a `reason` and `until`, a date")
        })?;
        for AdvisoryException { id, reason, .. } in &exceptions.all {
            ensure!(!reason.trim().is_empty(), "{PATH}: {id} has an empty reason: say why");
        }
        Ok(exceptions)
    }

    pub fn of(&self, id: &str) -> Option<&AdvisoryException> {
        self.all.iter().find(|exception| exception.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_needs_a_reason_and_an_end_date() {
        let good = "[[exception]]\nid = \"R-1\"\nreason = \"x\"\nuntil = \"2026-12-31\"\n";
        assert!(Exceptions::parse(good).unwrap().of("R-1").is_some());
        assert!(Exceptions::parse("# None.\n").unwrap().all.is_empty());
        for (from, to) in [
            ("reason = \"x\"", "reason = \" \""),
            ("reason = \"x\"\n", ""),
            ("until = \"2026-12-31\"", ""),
            ("2026-12-31", "next year"),
        ] {
            let error = Exceptions::parse(&good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(PATH), "{to}: {error}");
        }
    }
}
