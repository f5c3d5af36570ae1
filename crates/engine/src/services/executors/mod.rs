//! Executors, each for one kind of change: all can preview it, and some can also apply it. The
//! server's settings choose the executor by the task type. The author cannot choose it, and so
//! cannot pick the preview that reveals the least. All executors pass the same checks
//! (`conformance` in the tests).

mod child;
mod command;
mod http;
mod job;
mod plan;
mod preview_slots;
mod protocol;
mod registry;
mod sql_preview;
mod sql_target;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;

use ade_api::tasks::Plan as DeclaredPlan;
use ade_core::change::{Effect, EffectError, PreviewVersions, Report, StrictValue};
use ade_core::ids::TenantId;
use ade_core::resource::ResourceRef;
use ade_store::tenants::TenantIdentity;
use thiserror::Error;

pub use ade_receipt::Signer;
pub use ade_store::preview::{LoginProblem, TargetKind, login_problems};
pub use command::{CommandExecutor, Program, ProgramLimits};
pub use http::{Http, HttpEndpoint};
pub use job::{
    Applies, Doing, ExecutorOutcome, Leash, Left, OutputLine, PermittedAttempt, Stash, Unstashed,
};
pub use plan::PlanExecutor;
pub use preview_slots::{PreviewSlots, TooManyPreviews};
pub use registry::{ExecutorEntry, Executors, TenantExecutors};
pub use sql_preview::SqlPreview;
pub use sql_target::PreviewTarget;

/// The change that a task asks for, before it is previewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub task_type: String,
    pub parameters: StrictValue,
    /// The resources, each with its lock mode if the task names one.
    pub resources: BTreeMap<ResourceRef, Option<String>>,
    /// The changes as the author declares them.
    pub plan: Option<DeclaredPlan>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub effect: Effect,
    pub versions: PreviewVersions,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PreviewError {
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("{problem}")]
    Unavailable { problem: String },
    #[error(transparent)]
    Effect(#[from] EffectError),
}

impl PreviewError {
    fn invalid(field: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid { field: field.to_owned(), problem: problem.to_string() }
    }
}

/// Returns the effect that a preview reports. A preview that saw nothing proves nothing: the change
/// may be one that it cannot see.
fn observed(report: Report) -> Result<Effect, EffectError> {
    if report.changes.is_empty() && report.errors.is_empty() {
        return Effect::declared(report);
    }
    Effect::observed(report)
}

pub type Previewing<'a> = Pin<Box<dyn Future<Output = Result<Preview, PreviewError>> + Send + 'a>>;

pub trait Executor: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns the target that a preview of this proposal uses, by which previews in progress are
    /// counted; `None` if it uses nothing outside of the server, or a target that this tenant may
    /// not use: how busy that one is must not change the response.
    fn preview_target(&self, tenant: &TenantIdentity, proposal: &Proposal) -> Option<String>;

    /// Returns whether a preview executes what the author wrote.
    fn executes_parameters(&self) -> bool {
        false
    }

    /// Returns the resource that applications use and that a preview of this proposal reads, if it
    /// does. Such a preview is recorded in the audit log.
    fn live_resource(&self, _: &TenantIdentity, _: &Proposal) -> Option<ResourceRef> {
        None
    }

    /// Returns whether the effect is the plan that the author declares.
    fn takes_plan(&self) -> bool {
        false
    }

    /// Reports what the proposal of this tenant would change. A preview leaves no lasting effect.
    fn preview<'a>(&'a self, tenant: TenantId, proposal: &'a Proposal) -> Previewing<'a>;

    /// Returns the verbs for applying, or `None` if this executor only previews and an agent has to
    /// apply the change.
    fn applies(&self) -> Option<&dyn Applies> {
        None
    }
}
