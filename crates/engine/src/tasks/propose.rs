//! Use cases of authors and their agents: propose, change, submit, resubmit. The effect is
//! previewed before the transaction begins and assessed inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ade_api::tasks::{Amendment, NewTask, RollbackStrategy, Task as TaskShown, TouchedResource};
use ade_core::access::Action;
use ade_core::approval::separation_of_duties::Participants;
use ade_core::audit::Why;
use ade_core::change::StrictValue;
use ade_core::ids::TaskId;
use ade_core::limits::{
    APPLY_TIMEOUT_DEFAULT_SECONDS, APPLY_TIMEOUT_MAX_SECONDS, TASK_RESOURCES_MAX,
    TASK_TITLE_MAX_BYTES,
};
use ade_core::policy;
use ade_core::resource::ResourceRef;
use ade_core::risk::Priority;
use ade_core::task::{
    Command, CommandKind, Content, Refusal, Rollback, Task, create as decide_create,
};
use ade_core::time::Timestamp;
use ade_store::tasks::{self, Cause, SideEffects, TaskHeader, TaskMetadata, View};
use ade_store::tenant_config::TenantConfig;
use ade_store::{TenantLock, Tx};
use serde_json::Value;
use uuid::Uuid;

use super::permission;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::assess::{self, Author, Previewed, Rated, Whose};
use crate::command::check_name;
use crate::command::idempotency::{reserve_key, store_response};
use crate::command::permission::{begin, refuse};
use crate::command::present;
use crate::command::proposal::{proposal_of, rate_for_author};
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::error::Error;
use crate::locks::require_free;
use crate::services::executors::Proposal;
use crate::services::rulebook_cache;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewTask,
) -> Result<Reply, Error> {
    let (timeout, is_submitted) = (new.timeout_seconds, new.submit);
    let (mut heading, proposal, tags) = proposal_from(new)?;
    permission::to_create(app, caller, attempt).await?;
    let preview = assess::preview(app, caller, &proposal).await?;
    let tx = begin(&app.pools.api, caller, TenantLock::Shared).await?;
    let mut tx = reserve_key(tx, caller, attempt).await?;
    let book = app.books.current(&mut tx).await?;
    heading.timeout_seconds = timeout.unwrap_or(book.timeouts.task.default_timeout_seconds);
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let drafted = Box::pin(draft(app, caller, &mut tx, book, heading, previewed)).await;
    let (body, rated) = match drafted {
        Ok(written) => written,
        Err(Error::Refused(Refusal::Denied(denied))) => {
            let object = caller.tenant.to_string();
            refuse(tx, caller, Action::Create.as_str(), object, &denied).await?;
            return Err(denied.into());
        }
        Err(error) => return Err(error),
    };
    if is_submitted {
        return Box::pin(submit_draft(app, caller, attempt, tx, body.summary.id, rated)).await;
    }
    let reply = store_response(&mut tx, caller, attempt, 201, &body).await?;
    tx.commit().await?;
    Ok(reply)
}

/// Submits a draft in the transaction that has created it: either both are written, or neither.
async fn submit_draft(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    tx: Tx,
    id: TaskId,
    rated: Rated,
) -> Result<Reply, Error> {
    let work = TaskCommand::within(app, caller, attempt, tx, id).await?;
    let command = submission(&work, &rated);
    match work.decide(&command) {
        Ok(_) => Box::pin(revise(work, command, rated, 201)).await,
        Err(refusal) => {
            work.roll_back().await;
            if let Refusal::Denied(denied) = &refusal {
                let tx = begin(&app.pools.api, caller, TenantLock::None).await?;
                let object = caller.tenant.to_string();
                refuse(tx, caller, Action::Submit.as_str(), object, denied).await?;
            }
            Err(refusal.into())
        }
    }
}

/// Returns the command that submits this content under the policies in force.
fn submission(work: &TaskCommand<'_>, rated: &Rated) -> Command {
    let matching =
        policy::matching(&work.knowledge.book.policies, &rated.content.subject, work.now());
    let pins = matching.iter().map(|policy| policy.reference()).collect();
    Command::Submit { content: rated.content.clone(), pins }
}

/// Resubmits an ended task: a new draft with the same content, previewed again.
pub async fn resubmit(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
) -> Result<Reply, Error> {
    let view = permission::to_change(app, caller, attempt, target, CommandKind::Resubmit).await?;
    let proposal = proposal_of(app, caller.tenant, &view).await?;
    let preview = assess::preview(app, caller, &proposal).await?;
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    let command = Command::Resubmit;
    let (mut work, decision) = work.decide_or_refuse(&command).await?;
    let committed = work.write(&command, &decision, None, Why::default(), None).await?;
    let heading = TaskMetadata { resubmits: Some(view.id), ..view.heading.clone() };
    let tags = view.revision.tags.iter().cloned().collect();
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let book = Arc::clone(&work.knowledge.book);
    let (body, _) = draft(app, caller, &mut work.tx, book, heading, previewed).await?;
    work.conclude(&committed, 201, &body).await
}

/// Writes a new draft without committing it.
async fn draft(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    book: Arc<TenantConfig>,
    heading: TaskMetadata,
    previewed: Previewed<'_>,
) -> Result<(TaskShown, Rated), Error> {
    let author = Author::of(&caller.actor).ok_or(Error::NotFound { what: "author" })?;
    let id = TaskId::from_uuid(Uuid::now_v7());
    let rated = assess::rate(app, tx, &book, Whose { task: id, author }, previewed).await?;
    let task = new_task(id, caller, author, rated.content.clone(), tx.now());
    let inputs = rulebook_cache::of_task(Arc::clone(&book), Vec::new(), &caller.actor, &task);
    let decision = decide_create(&task, &inputs.facts(&app.access, &caller.actor))?;
    let cause = Cause {
        command: CommandKind::Create,
        place: caller.place.clone(),
        why: Why { reason: None, ticket: heading.ticket.clone() },
        receipt: None,
    };
    let (number, _) =
        tasks::insert(tx, &task, &decision, &heading, &rated.body, cause, &SideEffects::default())
            .await?;
    let label = TaskHeader { number, heading, created_at: tx.now() };
    let mut shown = present::decided_with(app, &label, &task, &rated.body, tx.now())?;
    present::warn(app, &book, &mut shown);
    Ok((shown, rated))
}

pub(super) fn new_task(
    id: TaskId,
    caller: &Caller,
    author: Author,
    content: Content,
    now: Timestamp,
) -> Task {
    Task::draft(id, Participants::of_proposal(author.id, &caller.actor), content, now)
}

pub async fn amend(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    amendment: Amendment,
) -> Result<Reply, Error> {
    if amendment == Amendment::default() {
        return Err(Error::invalid("body", "give at least one field to change"));
    }
    let view = permission::to_change(app, caller, attempt, target, CommandKind::Amend).await?;
    let mut proposal = proposal_of(app, caller.tenant, &view).await?;
    if let Some(parameters) = &amendment.parameters {
        proposal.parameters = strict("parameters", parameters)?;
    }
    if let Some(resources) = amendment.resources {
        proposal.resources = listed(resources)?;
    }
    if let Some(plan) = amendment.plan {
        proposal.plan = Some(plan);
    }
    let tags = amendment.tags.unwrap_or_else(|| view.revision.tags.iter().cloned().collect());
    assess::check_tags(&tags)?;
    let preview = assess::preview(app, caller, &proposal).await?;
    let mut work = TaskCommand::begin(app, caller, attempt, target).await?;
    require_same(&work.task, &view)?;
    let rated =
        rate_for_author(&mut work, Previewed { proposal: &proposal, tags, preview }).await?;
    let command = Command::Amend { content: rated.content.clone() };
    Box::pin(revise(work, command, rated, 200)).await
}

/// Submits a task. It is previewed once more, so that the submitted effect is the current one.
pub async fn submit(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
) -> Result<Reply, Error> {
    let view = permission::to_change(app, caller, attempt, target, CommandKind::Submit).await?;
    let proposal = proposal_of(app, caller.tenant, &view).await?;
    let tags = view.revision.tags.iter().cloned().collect();
    let preview = assess::preview(app, caller, &proposal).await?;
    let mut work = TaskCommand::begin(app, caller, attempt, target).await?;
    require_same(&work.task, &view)?;
    let rated =
        rate_for_author(&mut work, Previewed { proposal: &proposal, tags, preview }).await?;
    let command = submission(&work, &rated);
    Box::pin(revise(work, command, rated, 202)).await
}

async fn revise(
    work: Box<TaskCommand<'_>>,
    command: Command,
    rated: Rated,
    status: u16,
) -> Result<Reply, Error> {
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let (app, label, now) = (work.app(), work.label.clone(), work.now());
    let book = Arc::clone(&work.knowledge.book);
    work.finish(&command, &decision, Some(&rated), Why::default(), |next, _| {
        let next = next.ok_or(Error::NotFound { what: "task" })?;
        let mut shown = present::decided_with(app, &label, next, &rated.body, now)?;
        present::warn(app, &book, &mut shown);
        Ok((status, shown))
    })
    .await
}

/// Requires that the previewed content is still current; new content needs another preview.
fn require_same(task: &Task, view: &View) -> Result<(), Error> {
    if task.revision == view.revision.head.revision {
        return Ok(());
    }
    Err(Error::VersionMoved { expected: view.version, found: task.version })
}

/// Checks a new proposal, and returns its metadata, its change and its tags.
pub(super) fn proposal_from(
    new: NewTask,
) -> Result<(TaskMetadata, Proposal, BTreeSet<String>), Error> {
    let heading = heading_of(&new)?;
    assess::check_tags(&new.tags)?;
    let proposal = Proposal {
        task_type: checked_type(new.task_type)?,
        parameters: strict("parameters", &new.parameters)?,
        resources: listed(new.resources)?,
        plan: new.plan,
    };
    Ok((heading, proposal, new.tags))
}

fn heading_of(new: &NewTask) -> Result<TaskMetadata, Error> {
    if new.title.trim().is_empty() || new.title.len() > TASK_TITLE_MAX_BYTES {
        return Err(Error::invalid("title", format!("must be 1 to {TASK_TITLE_MAX_BYTES} bytes")));
    }
    Priority::new(new.priority).map_err(|error| Error::invalid("priority", error))?;
    for (field, text) in [("team", &new.team), ("ticket", &new.ticket)] {
        if let Some(text) = text {
            check_name(field, text)?;
        }
    }
    let timeout_seconds = new.timeout_seconds.unwrap_or(APPLY_TIMEOUT_DEFAULT_SECONDS);
    if !(1..=APPLY_TIMEOUT_MAX_SECONDS).contains(&timeout_seconds) {
        let range = format!("must be 1 to {APPLY_TIMEOUT_MAX_SECONDS}");
        return Err(Error::invalid("timeout_seconds", range));
    }
    let strategy = match new.rollback.strategy {
        RollbackStrategy::Automatic => "automatic",
        RollbackStrategy::Manual => "manual",
        RollbackStrategy::None => "none",
    };
    let rollback = Rollback::new(strategy, new.rollback.steps.clone()).ok_or_else(|| {
        Error::invalid(
            "rollback",
            "`steps` is required with the strategy `manual`, and only allowed there",
        )
    })?;
    Ok(TaskMetadata {
        title: new.title.clone(),
        priority: new.priority,
        team: new.team.clone(),
        ticket: new.ticket.clone(),
        resubmits: None,
        timeout_seconds,
        rollback,
    })
}

fn checked_type(task_type: String) -> Result<String, Error> {
    check_name("type", &task_type)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !task_type.bytes().all(is_plain) {
        return Err(Error::invalid("type", "use letters, digits, `.`, `_` and `-`"));
    }
    Ok(task_type)
}

fn strict(field: &str, value: &Value) -> Result<StrictValue, Error> {
    if !value.is_object() {
        return Err(Error::invalid(field, "must be an object"));
    }
    StrictValue::from_json(value).map_err(|error| Error::invalid(field, error))
}

fn listed(given: Vec<TouchedResource>) -> Result<BTreeMap<ResourceRef, Option<String>>, Error> {
    let mut listed = BTreeMap::new();
    for TouchedResource { resource, mode } in given {
        require_free("resources", &resource)?;
        let mode = mode.map(|mode| mode.as_str().to_owned());
        if listed.insert(resource.clone(), mode).is_some() {
            let problem = format!("{resource} is listed twice: list it once, with one mode");
            return Err(Error::invalid("resources", problem));
        }
    }
    if listed.is_empty() || listed.len() > TASK_RESOURCES_MAX {
        return Err(Error::invalid(
            "resources",
            format!("must be 1 to {TASK_RESOURCES_MAX} resources"),
        ));
    }
    Ok(listed)
}
