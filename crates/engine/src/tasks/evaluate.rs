//! Evaluates a task that has not been proposed: its effect, risk and reviewers. It is previewed and
//! assessed like a real one; nothing is written.

use ade_api::policies::Evaluation;
use ade_api::tasks::NewTask;
use ade_core::access::{Action, Object};
use ade_core::ids::TaskId;
use ade_core::policy::{AutoApproval, requirement};
use ade_core::resource::ResourceRef;
use ade_core::task::{Facts, LoadedGates, explain as ask_the_rules};
use ade_store::{installation, resources};
use uuid::Uuid;

use super::propose::{new_task, proposal_from};
use crate::app::App;
use crate::caller::Caller;
use crate::command::assess::{self, Author, Previewed, Whose};
use crate::command::permission::{look, permit};
use crate::command::present;
use crate::error::Error;
use crate::executions::{Outlook, Wanted, explained};
use crate::services::rulebook_cache;

pub async fn evaluate(app: &App, caller: &Caller, new: NewTask) -> Result<Evaluation, Error> {
    let author = Author::of(&caller.actor).ok_or(Error::NotFound { what: "author" })?;
    let (_, proposal, tags) = proposal_from(new)?;
    require_author(app, caller).await?;
    let preview = assess::preview(app, caller, &proposal).await?;
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let whose = Whose { task: TaskId::from_uuid(Uuid::now_v7()), author };
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let rated = assess::rate(app, &mut tx, &book, whose, previewed).await?;
    let now = tx.now();
    let frozen = installation::look(&mut tx).await?;
    let touched: Vec<ResourceRef> = proposal.resources.keys().cloned().collect();
    let entries = resources::facts(&mut tx, &touched).await?;
    let environments = entries.into_values().filter_map(|entry| entry.environment).collect();
    // The resources are checked as if the task were approved now: future lock holders are unknown.
    let resources: Vec<_> = proposal.resources.clone().into_iter().collect();
    let wanted = Wanted { task: whose.task, task_type: &proposal.task_type, resources: &resources };
    let outlook = Outlook::of(app, &mut tx, &book, wanted).await?;
    tx.roll_back().await;
    let asked = requirement(&book.policies, &rated.content.subject, now, &book.timeouts.approval);
    let task = new_task(whose.task, caller, author, rated.content, now);
    let inputs = rulebook_cache::of_task(book, Vec::new(), &caller.actor, &task);
    let gates = LoadedGates::loaded(frozen, environments);
    let facts = inputs.facts(&app.access, &caller.actor);
    let facts = Facts { apply: outlook.facts(), ..facts };
    Ok(Evaluation {
        effect: present::effect(&rated.body.effect)?,
        risk: present::assessment(task.revision, &rated.body.risk)?,
        would_pass_without_a_person: matches!(asked.auto_approve, AutoApproval::Allowed { .. }),
        explanation: explained(task.id, &ask_the_rules(&task, &gates, &facts, now))?,
    })
}

/// Checks the permission before anything runs on a target.
async fn require_author(app: &App, caller: &Caller) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    Ok(permit(app, &book, &caller.actor, Action::Create, Object::Tenant)?)
}
