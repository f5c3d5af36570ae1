//! What would happen to a task that nobody has proposed yet: its effect, risk, the people the
//! rules would ask. Previewed and rated like a real one; nothing is written.

use ade_api::policies::Simulated;
use ade_api::tasks::NewTask;
use ade_core::access::{Action, Object};
use ade_core::ids::TaskId;
use ade_core::policy::{AutoApproval, requirement};
use ade_core::task::{Facts, explain as ask_the_rules};
use ade_store::installation;
use uuid::Uuid;

use super::explain::explained;
use super::propose::{new_task, proposal_from};
use crate::app::App;
use crate::book;
use crate::caller::Caller;
use crate::content::{self, Author, Previewed, Whose};
use crate::error::Error;
use crate::ops::act::{look, permit};
use crate::ops::executions::{Outlook, Wanted};
use crate::present;

pub async fn simulate(app: &App, caller: &Caller, new: NewTask) -> Result<Simulated, Error> {
    let author = Author::of(&caller.actor).ok_or(Error::NotFound { what: "author" })?;
    let (_, proposal, tags) = proposal_from(new)?;
    require_author(app, caller).await?;
    let preview = content::preview(app, &proposal).await?;
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let whose = Whose { task: TaskId::from_uuid(Uuid::now_v7()), author };
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let rated = content::rate(app, &mut tx, &book, whose, previewed).await?;
    let now = tx.now();
    let frozen = installation::look(&mut tx).await?;
    // As if it were approved now: nobody knows who holds what when it will be.
    let resources: Vec<_> = proposal.resources.clone().into_iter().collect();
    let wanted = Wanted { task: whose.task, task_type: &proposal.task_type, resources: &resources };
    let outlook = Outlook::of(app, &mut tx, &book, wanted).await?;
    tx.roll_back().await;
    let asked = requirement(&book.policies, &rated.content.subject, now, &book.times.approval);
    let task = new_task(whose.task, caller, author, rated.content, now);
    let mut knowledge = book::of_task(book, Vec::new(), &caller.actor, &task);
    knowledge.installation = frozen;
    let facts = knowledge.facts(&app.access, &caller.actor);
    let facts = Facts { apply: outlook.facts(), ..facts };
    Ok(Simulated {
        effect: present::effect(&rated.body.effect)?,
        risk: present::assessment(task.revision, &rated.body.risk)?,
        would_pass_without_a_person: matches!(asked.auto_approve, AutoApproval::Allowed { .. }),
        explanation: explained(&ask_the_rules(&task, &facts, now))?,
    })
}

/// Before anything is tried out on anybody's database.
async fn require_author(app: &App, caller: &Caller) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    Ok(permit(app, &book, &caller.actor, Action::Create, Object::Tenant)?)
}
