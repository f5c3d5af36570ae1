//! What the server knows when it rates a task. The author's word is in here twice: as the list of
//! resources, which an observed effect must stay within, and as a declared effect, which measures
//! nothing. Loading all this, and matching pattern defaults, is the shell's.

use std::collections::BTreeSet;

use super::Score;
use crate::change::{Counts, Effect};
use crate::ids::{TaskId, UserId};
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub task: TaskId,
    /// The human who answers for the task (`Directory::human`), so that a second account or an
    /// agent does not start a new window.
    pub author: UserId,
    /// The resources the task names.
    pub resources: &'a [ResourceFacts],
    pub effect: Option<&'a Effect>,
    pub history: Option<History>,
    /// Other tasks that were, or still may be, applied. Which of them count together with this
    /// one is decided here.
    pub recent: &'a [RecentTask],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceFacts {
    pub resource: ResourceRef,
    /// From its registry entry.
    pub criticality: Option<Score>,
    /// The highest of the tenant's patterns that match it.
    pub pattern_default: Option<Score>,
    /// What hangs on it; absent if nobody knows, empty if nothing does.
    pub dependents: Option<BTreeSet<ResourceRef>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentTask {
    pub task: TaskId,
    pub author: UserId,
    /// When it was submitted.
    pub at: Timestamp,
    pub resources: Vec<ResourceFacts>,
    /// [`Effect::measured`]: absent if no preview saw the whole of it.
    pub counts: Option<Counts>,
}

/// How tasks ended, of this kind (type and resource pattern) and of the whole tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    pub like: Outcomes,
    pub tenant: Outcomes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub failed: u32,
    pub total: u32,
}
