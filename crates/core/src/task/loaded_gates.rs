//! The facts that a permit needs besides the tenant configuration: the freeze of the installation
//! and the environments of the task's resources.

use std::collections::BTreeSet;

use super::Task;
use crate::freeze::{Freeze, InstallationFreeze};
use crate::time::Timestamp;

/// Gates that were loaded for one decision. There is no default and the fields are private, so that
/// a permit cannot be requested without loading them: a freeze that was not read is not "no
/// freeze".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedGates {
    installation: Option<InstallationFreeze>,
    environments: BTreeSet<String>,
}

impl LoadedGates {
    /// Creates the gates. `installation` is the freeze in force, as read in this transaction;
    /// `environments` are those of the task's resources, from the registry.
    pub fn loaded(
        installation: Option<InstallationFreeze>,
        environments: BTreeSet<String>,
    ) -> Self {
        Self { installation, environments }
    }

    pub fn installation(&self) -> Option<&InstallationFreeze> {
        self.installation.as_ref()
    }

    /// Returns the freeze of the tenant that stops this task.
    pub(super) fn freeze<'a>(
        &self,
        freezes: &'a [Freeze],
        task: &Task,
        now: Timestamp,
    ) -> Option<&'a Freeze> {
        let resources = &task.content.subject.resources;
        freezes.iter().find(|freeze| freeze.stops(resources, &self.environments, now))
    }
}
