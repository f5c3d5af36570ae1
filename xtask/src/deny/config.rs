//! The part of `deny.toml` that this check implements. An unknown key, or another value of a fixed
//! key, is refused: no answer is better than one that differs from cargo-deny's.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub graph: Targets,
    pub licenses: Licenses,
    pub bans: Bans,
    #[serde(rename = "sources")]
    _sources: Sources,
    /// Used by cargo-deny only.
    #[serde(default, rename = "advisories")]
    _advisories: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Targets {
    pub targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Licenses {
    pub allow: Vec<String>,
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    #[serde(rename = "include-dev")]
    _include_dev: True,
    #[serde(rename = "unused-allowed-license")]
    _unused_allowed_license: Allow,
}

/// Additional licences for one crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    #[serde(rename = "crate")]
    pub name: String,
    pub allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Allow,
    #[serde(rename = "wildcards")]
    _wildcards: Deny,
    #[serde(rename = "allow-wildcard-paths")]
    _allow_wildcard_paths: True,
    pub deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ban {
    #[serde(rename = "crate")]
    pub name: String,
    pub reason: String,
    /// The only packages that may depend on the crate directly.
    #[serde(default)]
    pub wrappers: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: Deny,
    #[serde(rename = "unknown-git")]
    _unknown_git: Deny,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Allow {
    Allow,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deny {
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "bool")]
struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(given: bool) -> Result<Self, Self::Error> {
        given.then_some(Self).ok_or("only `true` is implemented")
    }
}

#[cfg(test)]
pub const SAMPLE: &str = r#"
    [graph]
    targets = ["x86_64-unknown-linux-gnu"]
    [licenses]
    allow = ["Apache-2.0", "MIT"]
    exceptions = [{ crate = "odd", allow = ["Zlib"] }]
    include-dev = true
    unused-allowed-license = "allow"
    [bans]
    multiple-versions = "allow"
    wildcards = "deny"
    allow-wildcard-paths = true
    deny = [
        { crate = "sqlx", wrappers = ["ade-store"], reason = "the record" },
        { crate = "openssl", reason = "one provider" },
    ]
    [sources]
    unknown-registry = "deny"
    unknown-git = "deny"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_option_that_is_not_implemented_is_refused() {
        assert!(toml::from_str::<Config>(SAMPLE).is_ok());
        let advisories = format!("{SAMPLE}\n[advisories]\nignore = []\n");
        assert!(toml::from_str::<Config>(&advisories).is_ok());
        for (from, to) in [
            ("include-dev = true", "include-dev = false"),
            ("wildcards = \"deny\"", "wildcards = \"warn\""),
            ("multiple-versions = \"allow\"", "multiple-versions = \"deny\""),
            ("unknown-git = \"deny\"", "unknown-git = \"warn\""),
            ("unknown-git = \"deny\"", "unknown-git = \"deny\"\nallow-git = []"),
            ("targets =", "all-features = true\ntargets ="),
        ] {
            assert!(SAMPLE.contains(from));
            assert!(toml::from_str::<Config>(&SAMPLE.replace(from, to)).is_err(), "{to}");
        }
    }
}
