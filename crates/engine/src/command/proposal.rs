//! The proposal of an existing task, and its assessment.

use std::sync::Arc;

use ade_api::tasks::Plan;
use ade_core::change::Origin;
use ade_core::ids::TenantId;
use ade_core::policy;
use ade_store::tasks::View;

use super::assess::{self, Author, Previewed, Rated, Whose};
use super::present;
use super::task_command::TaskCommand;
use crate::app::App;
use crate::error::Error;
use crate::services::executors::Proposal;

/// Assesses the content as a task of its author, regardless of the caller.
pub(crate) async fn rate_for_author(
    work: &mut TaskCommand<'_>,
    previewed: Previewed<'_>,
) -> Result<Rated, Error> {
    let book = Arc::clone(&work.knowledge.book);
    let involvement = &work.task.involvement;
    let kind = if involvement.agent.is_some() {
        policy::AuthorKind::Agent
    } else {
        policy::AuthorKind::User
    };
    let author = Author { id: involvement.author, kind };
    let (app, whose) = (work.app(), Whose { task: work.task.id, author });
    assess::rate(app, &mut work.tx, &book, whose, previewed).await
}

/// Returns the proposal of a task. An effect that its author declared is declared again as its
/// plan; the effect of an opaque script is declared too, but its executor previews it again.
pub(crate) async fn proposal_of(
    app: &App,
    tenant: TenantId,
    view: &View,
) -> Result<Proposal, Error> {
    let revision = &view.revision;
    let mut proposal = Proposal {
        task_type: revision.head.task_type.clone(),
        parameters: revision.parameters.clone(),
        resources: revision.resources.iter().cloned().collect(),
        plan: None,
    };
    if revision.effect.origin() == Origin::Declared
        && assess::choose(app, tenant, &proposal).await?.executor.takes_plan()
    {
        let stated = present::effect(&revision.effect)?;
        proposal.plan = Some(Plan { changes: stated.changes, warnings: stated.warnings });
    }
    Ok(proposal)
}
