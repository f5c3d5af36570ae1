//! Which gates stand between a task and its apply, told by the functions that decide.

use std::collections::BTreeSet;

use ade_api::explain::{Excluded, Explanation, Gate, Group, PolicyVersion, Reviewer};
use ade_core::approval::assignment::{Assignment, Request, SeatedGroup};
use ade_core::ids::TaskId;
use ade_core::policy::PolicyRef;
use ade_core::resource::ResourceRef;
use ade_core::task::{self, Facts, explain as ask_the_rules};
use ade_store::{installation, resources, tasks};

use super::read::visible_in;
use crate::app::App;
use crate::book;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act::look;
use crate::ops::executions::{Outlook, Wanted};
use crate::present;

pub async fn explain(app: &App, caller: &Caller, id: TaskId) -> Result<Explanation, Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, id).await?;
    let missing = Error::NotFound { what: "task" };
    let Some(task) = tasks::peek(&mut tx, id).await? else { return Err(missing) };
    let book = app.books.current(&mut tx).await?;
    let pinned = app.books.pinned(&mut tx, &book, &task.pins).await?;
    let touched: Vec<ResourceRef> = task.content.subject.resources.iter().cloned().collect();
    let entries = resources::facts(&mut tx, &touched).await?;
    let wanted = Wanted {
        task: id,
        task_type: &task.content.subject.task_type,
        resources: &view.revision.resources,
    };
    let outlook = if task.state.is_before_permit() {
        Outlook::of(app, &mut tx, &book, wanted).await?
    } else {
        Outlook::default()
    };
    let mut knowledge = book::of_task(book, pinned, &caller.actor, &task);
    knowledge.environments = entries.values().filter_map(|e| e.environment.clone()).collect();
    knowledge.resource_owners = entries.values().filter_map(|entry| entry.owner).collect();
    knowledge.installation = installation::look(&mut tx).await?;
    let facts = knowledge.facts(&app.access, &caller.actor);
    let facts = Facts { apply: outlook.facts(), ..facts };
    let told = ask_the_rules(&task, &facts, tx.now());
    tx.roll_back().await;
    explained(&told)
}

pub(super) fn explained(told: &task::Explanation) -> Result<Explanation, Error> {
    let assignment = &told.assignment;
    Ok(Explanation {
        state: told.state,
        gates: told.gates.iter().map(gate).collect::<Result<_, Error>>()?,
        groups: assignment.groups.iter().flatten().map(group).collect(),
        may_answer: assignment.requests.iter().map(|one| reviewer(assignment, one)).collect(),
        approvals_missing: told.agreement.missing(),
        rejections: told.agreement.rejections,
        next_action: present::next_action(told.state).to_owned(),
    })
}

fn gate(gate: &task::Gate) -> Result<Gate, Error> {
    Ok(Gate {
        name: present::value(&gate.name)?.as_str().unwrap_or_default().to_owned(),
        is_open: gate.is_open,
        evidence: gate.evidence.clone(),
        opens_with: gate.opens_with.clone(),
    })
}

fn group(group: &SeatedGroup) -> Group {
    Group {
        min: group.min,
        asked_by: group.asked_by.iter().map(version).collect(),
        members: group.members.keys().copied().collect(),
        excluded: group
            .excluded
            .iter()
            .map(|(user, why)| Excluded { user: *user, because: why.to_string() })
            .collect(),
    }
}

fn version(reference: &PolicyRef) -> PolicyVersion {
    PolicyVersion { policy: reference.id, version: reference.version }
}

fn reviewer(assignment: &Assignment, request: &Request) -> Reviewer {
    let for_users: BTreeSet<_> = request.places.iter().map(|place| place.owner).collect();
    Reviewer { user: request.reviewer, for_users, because: assignment.why(request) }
}
