//! Explains the gates between a task and its apply, by the functions that decide.

use std::collections::BTreeSet;

use ade_api::explain::{Excluded, Explanation, Gate, Group, PolicyVersion, Reviewer};
use ade_core::approval::assignment::{AssignmentPlan, ReviewRequest, ReviewerGroup};
use ade_core::ids::TaskId;
use ade_core::policy::PolicyRef;
use ade_core::resource::ResourceRef;
use ade_core::task::{self, Facts, LoadedGates, explain as ask_the_rules};
use ade_store::tasks::View;
use ade_store::{Tx, installation, resources, tasks};

use super::availability::{Outlook, Wanted};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::command::permission::visible_in;
use crate::command::present;
use crate::error::Error;
use crate::services::rulebook_cache;

pub async fn explain(app: &App, caller: &Caller, id: TaskId) -> Result<Explanation, Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, id).await?;
    let explanation = explain_view(app, caller, &mut tx, &view).await?;
    tx.roll_back().await;
    explained(id, &explanation)
}

/// Explains a task that the caller may read.
pub(super) async fn explain_view(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    view: &View,
) -> Result<task::Explanation, Error> {
    let id = view.id;
    let missing = Error::NotFound { what: "task" };
    let Some(task) = tasks::peek(tx, id).await? else { return Err(missing) };
    let book = app.books.current(tx).await?;
    let pinned = app.books.pinned(tx, &book, &task.pins).await?;
    let touched: Vec<ResourceRef> = task.content.subject.resources.iter().cloned().collect();
    let entries = resources::facts(tx, &touched).await?;
    let wanted = Wanted {
        task: id,
        task_type: &task.content.subject.task_type,
        resources: &view.revision.resources,
    };
    let outlook = if task.state.is_before_permit() {
        Outlook::of(app, tx, &book, wanted).await?
    } else {
        Outlook::default()
    };
    let mut inputs = rulebook_cache::of_task(book, pinned, &caller.actor, &task);
    let environments = entries.values().filter_map(|e| e.environment.clone()).collect();
    inputs.resource_owners = entries.values().filter_map(|entry| entry.owner).collect();
    let gates = LoadedGates::loaded(installation::look(tx).await?, environments);
    let facts = inputs.facts(&app.access, &caller.actor);
    let facts = Facts { apply: outlook.facts(), ..facts };
    Ok(ask_the_rules(&task, &gates, &facts, tx.now()))
}

/// Converts an explanation for the API.
pub(crate) fn explained(id: TaskId, explanation: &task::Explanation) -> Result<Explanation, Error> {
    let assignment = &explanation.assignment;
    let decision = explanation.decision.as_ref();
    Ok(Explanation {
        state: explanation.state,
        sub_state: explanation.sub_state,
        decision: decision.map(present::decision),
        gates: explanation.gates.iter().map(gate).collect::<Result<_, Error>>()?,
        groups: assignment.groups.iter().flatten().map(group).collect(),
        may_answer: assignment.requests.iter().map(|one| reviewer(assignment, one)).collect(),
        approvals_missing: explanation.agreement.missing(),
        rejections: explanation.agreement.rejections,
        next_action: present::next_action(id, explanation.state, explanation.sub_state),
    })
}

fn gate(gate: &task::Gate) -> Result<Gate, Error> {
    Ok(Gate {
        name: present::word(&gate.name)?,
        passed: gate.passed,
        code: gate.code,
        evidence: gate.evidence.clone(),
        how_to_pass: gate.how_to_pass.clone(),
        until: gate.until,
    })
}

fn group(group: &ReviewerGroup) -> Group {
    Group {
        min: group.min,
        asked_by: group.asked_by.iter().map(version).collect(),
        member_ids: group.members.keys().copied().collect(),
        excluded: group
            .excluded
            .iter()
            .map(|(user, why)| Excluded { user_id: *user, because: why.to_string() })
            .collect(),
    }
}

fn version(reference: &PolicyRef) -> PolicyVersion {
    PolicyVersion { policy_id: reference.id, version: reference.version }
}

fn reviewer(assignment: &AssignmentPlan, request: &ReviewRequest) -> Reviewer {
    let for_user_ids: BTreeSet<_> = request.places.iter().map(|place| place.owner).collect();
    Reviewer { user_id: request.reviewer, for_user_ids, because: assignment.why(request) }
}
