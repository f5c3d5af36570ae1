//! Changes without a preview. The author declares them, and everything that depends on them (risk,
//! auto-approval, the review page) knows that they were only declared.

use ade_api::tasks::Change as DeclaredChange;
use ade_core::change::{Change, Effect, PreviewVersions, Report, StrictError, StrictValue};
use ade_core::ids::TenantId;
use ade_store::tenants::TenantIdentity;
use serde_json::Value;

use super::{Executor, Preview, PreviewError, Previewing, Proposal};

#[derive(Debug)]
pub struct PlanExecutor;

impl Executor for PlanExecutor {
    fn name(&self) -> &'static str {
        "plan"
    }

    fn preview_target(&self, _: &TenantIdentity, _: &Proposal) -> Option<String> {
        None
    }

    fn takes_plan(&self) -> bool {
        true
    }

    fn preview<'a>(&'a self, _: TenantId, proposal: &'a Proposal) -> Previewing<'a> {
        Box::pin(async move { declared(proposal) })
    }
}

fn declared(proposal: &Proposal) -> Result<Preview, PreviewError> {
    let Some(plan) = &proposal.plan else {
        let problem = format!(
            "no executor previews `{}`: declare the changes that the task would make",
            proposal.task_type
        );
        return Err(PreviewError::invalid("plan", problem));
    };
    let changes = plan
        .changes
        .iter()
        .enumerate()
        .map(|(index, stated)| {
            change(stated)
                .map_err(|error| PreviewError::invalid(&format!("plan.changes[{index}]"), error))
        })
        .collect::<Result<Vec<Change>, PreviewError>>()?;
    let report = Report { changes, warnings: plan.warnings.clone(), errors: Vec::new() };
    Ok(Preview { effect: Effect::declared(report)?, versions: PreviewVersions::default() })
}

pub(super) fn change(stated: &DeclaredChange) -> Result<Change, StrictError> {
    let strict = |value: &Option<Value>| value.as_ref().map(StrictValue::from_json).transpose();
    Ok(Change {
        resource: stated.resource.clone(),
        action: stated.action,
        irreversible: stated.irreversible,
        summary: stated.summary.clone(),
        rows: stated.rows.map(Into::into),
        before: strict(&stated.before)?,
        after: strict(&stated.after)?,
    })
}
