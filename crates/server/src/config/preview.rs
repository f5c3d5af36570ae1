//! The databases on which agents' SQL is previewed. A preview executes that SQL before anyone has
//! approved it, so each target says whether it is a copy, and a live one is refused unless it is
//! enabled by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ade_engine::services::executors::TargetKind;
use serde::Deserialize;

use super::database::guarded;
use super::{Address, ConfigError, address};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    pub sql_types: Vec<String>,
    pub at_once_per_target: usize,
    pub at_once_per_tenant: usize,
    enable_live: BTreeSet<String>,
    targets: BTreeMap<String, TargetTable>,
}

/// The table `[preview.targets.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetTable {
    /// Required: `copy` or `live`. Kept as text, so that the error can explain what to write.
    kind: Option<String>,
    tenants: Option<Vec<String>>,
    #[serde(default)]
    url: Address,
    #[serde(default)]
    url_file: PathBuf,
    #[serde(default)]
    allow_plain: bool,
}

/// A preview target whose settings are valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewTarget {
    pub url: Address,
    pub kind: TargetKind,
    /// Ids or names of the tenants that may use it. Without a list, only a sole tenant may.
    pub tenants: Option<Vec<String>>,
}

impl Preview {
    /// Returns the targets by name, or an error if any of them is invalid.
    pub fn targets(&self) -> Result<BTreeMap<String, PreviewTarget>, ConfigError> {
        let mut targets = BTreeMap::new();
        for (name, table) in &self.targets {
            targets.insert(name.clone(), self.target(name, table)?);
        }
        let is_live =
            |name: &String| targets.get(name).is_some_and(|target| target.kind == TargetKind::Live);
        match self.enable_live.iter().find(|name| !is_live(name)) {
            Some(name) => Err(ConfigError::NotLive { name: name.clone() }),
            None => Ok(targets),
        }
    }

    pub(super) fn without_tenants(&self) -> impl Iterator<Item = &String> {
        self.targets.iter().filter(|(_, table)| table.tenants.is_none()).map(|(name, _)| name)
    }

    fn target(&self, name: &str, table: &TargetTable) -> Result<PreviewTarget, ConfigError> {
        let kind = match table.kind.as_deref() {
            Some("copy") => TargetKind::Copy,
            Some("live") => TargetKind::Live,
            _ => return Err(ConfigError::TargetKind { name: name.to_owned() }),
        };
        if kind == TargetKind::Live && !self.enable_live.contains(name) {
            return Err(ConfigError::LiveTarget { name: name.to_owned() });
        }
        let setting = format!("preview.targets.{name}.url");
        let what = "where this database is; give it `url` or `url_file`";
        let missing = ConfigError::Missing { setting: "preview.targets", what };
        let url = address(&setting, &table.url, &table.url_file)?.ok_or(missing)?;
        let allow = || format!("preview.targets.{name}.allow_plain");
        let url = guarded(&setting, url, table.allow_plain, allow)?;
        Ok(PreviewTarget { url, kind, tenants: table.tenants.clone() })
    }
}
