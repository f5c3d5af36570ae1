//! The executors of an installation, by the types of tasks and the tenants that they serve.

use std::sync::Arc;

use ade_core::policy::Pattern;
use ade_store::tenants::TenantIdentity;

use super::plan::PlanExecutor;
use super::{Executor, PreviewSlots};
use crate::services::tenant_binding::TenantBinding;

/// An executor, for the tasks of some types in some tenants.
#[derive(Debug, Clone)]
pub struct ExecutorEntry {
    pub types: Pattern,
    pub tenants: TenantBinding,
    pub executor: Arc<dyn Executor>,
}

/// The executors. The author declares the changes of a task that no executor serves.
#[derive(Debug)]
pub struct Executors {
    entries: Vec<ExecutorEntry>,
    at_once: usize,
    previews: PreviewSlots,
}

impl Executors {
    /// Creates the registry. If several entries serve a task, the first one counts. `at_once` is
    /// how many tasks this process applies at the same time.
    pub fn new(entries: Vec<ExecutorEntry>, at_once: usize, previews: PreviewSlots) -> Self {
        Self { entries, at_once, previews }
    }

    /// Returns the slots for previews in this process.
    pub fn preview_slots(&self) -> &PreviewSlots {
        &self.previews
    }

    pub fn at_once(&self) -> usize {
        self.at_once
    }

    pub fn runs_any(&self) -> bool {
        self.entries.iter().any(|entry| entry.executor.applies().is_some())
    }

    /// Returns whether there is an executor for tasks of this type in some tenant.
    pub fn has_any(&self, task_type: &str) -> bool {
        self.entries.iter().any(|entry| entry.types.matches_text(task_type))
    }

    /// Returns whether a preview of this type executes what the author wrote.
    pub fn executes_parameters(&self, task_type: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|one| one.types.matches_text(task_type) && one.executor.executes_parameters())
    }

    /// Returns the executors that serve this tenant.
    pub fn of<'a, 't>(&'a self, tenant: &'t TenantIdentity) -> TenantExecutors<'a, 't> {
        TenantExecutors { all: self, tenant }
    }
}

/// The executors as one tenant may use them.
#[derive(Debug, Clone, Copy)]
pub struct TenantExecutors<'a, 't> {
    all: &'a Executors,
    tenant: &'t TenantIdentity,
}

impl<'a> TenantExecutors<'a, '_> {
    /// Returns whether the server itself applies tasks of this type. Agents may not claim them: an
    /// agent could report a task as done without applying it.
    pub fn runs(&self, task_type: &str) -> bool {
        self.for_type(task_type).applies().is_some()
    }

    pub fn for_type(&self, task_type: &str) -> &'a dyn Executor {
        let serves = |entry: &&ExecutorEntry| {
            entry.types.matches_text(task_type) && entry.tenants.serves(self.tenant)
        };
        self.all.entries.iter().find(serves).map_or(&PlanExecutor, |entry| entry.executor.as_ref())
    }
}
