//! What authors and their agents do: propose, change, hand in, take up again. The effect is
//! previewed before the transaction begins and rated inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ade_api::tasks::{
    Amendment, NewTask, Plan, RollbackStrategy, Task as TaskShown, TouchedResource,
};
use ade_core::access::Action;
use ade_core::actor::Actor;
use ade_core::audit::Why;
use ade_core::change::{Origin, StrictValue};
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
use ade_store::rulebook::Rulebook;
use ade_store::tasks::{self, Beside, Cause, Heading, Label, View};
use ade_store::{Gate, Tx};
use serde_json::Value;
use uuid::Uuid;

use super::permission::{self, Permitted};
use crate::app::App;
use crate::book;
use crate::caller::{Attempt, Caller};
use crate::content::{self, Author, Previewed, Rated, Whose};
use crate::error::Error;
use crate::execute::Proposal;
use crate::ops::Reply;
use crate::ops::act::{begin, refuse, told_before};
use crate::ops::decision::{Begun, Target, Work, claim, keep};
use crate::ops::locks::require_free;
use crate::ops::users::check_name;
use crate::present;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewTask,
) -> Result<Reply, Error> {
    let timeout = new.timeout_seconds;
    let (mut heading, proposal, tags) = proposal_from(new)?;
    if let Some(reply) = permission::to_create(app, caller, attempt).await? {
        return Ok(reply);
    }
    let preview = content::preview(app, &proposal).await?;
    let mut tx = begin(&app.pools.api, caller, Gate::Shared).await?;
    match claim(&mut tx, caller, attempt).await {
        Ok(None) => {}
        answered => return told_before(tx, answered).await,
    }
    let book = app.books.current(&mut tx).await?;
    heading.timeout_seconds = timeout.unwrap_or(book.times.task.default_timeout);
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let body = match draft(app, caller, &mut tx, book, heading, previewed).await {
        Ok(body) => body,
        Err(Error::Refused(Refusal::Denied(denied))) => {
            let object = caller.tenant.to_string();
            refuse(tx, caller, Action::Create.as_str(), object, &denied).await?;
            return Err(denied.into());
        }
        Err(error) => return Err(error),
    };
    let reply = keep(&mut tx, caller, attempt, 201, &body).await?;
    tx.commit().await?;
    Ok(reply)
}

/// An ended task taken up again: a fresh draft with the same content, previewed anew.
pub async fn resubmit(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
) -> Result<Reply, Error> {
    let permitted =
        permission::to_change(app, caller, attempt, target, CommandKind::Resubmit).await?;
    let view = match permitted {
        Permitted::View(view) => view,
        Permitted::Repeated(reply) => return Ok(reply),
    };
    let proposal = proposal_of(&view)?;
    let preview = content::preview(app, &proposal).await?;
    let work = match Work::begin(app, caller, attempt, target).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let command = Command::Resubmit;
    let (mut work, decision) = work.decide_or_refuse(&command).await?;
    let committed = work.write(&command, &decision, None, Why::default(), None).await?;
    let heading = Heading { resubmits: Some(view.id), ..view.heading.clone() };
    let tags = view.revision.tags.iter().cloned().collect();
    let previewed = Previewed { proposal: &proposal, tags, preview };
    let book = Arc::clone(&work.knowledge.book);
    let body = draft(app, caller, &mut work.tx, book, heading, previewed).await?;
    work.conclude(&committed, 201, &body).await
}

/// A new draft, written and not yet committed.
async fn draft(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    book: Arc<Rulebook>,
    heading: Heading,
    previewed: Previewed<'_>,
) -> Result<TaskShown, Error> {
    let author = Author::of(&caller.actor).ok_or(Error::NotFound { what: "author" })?;
    let id = TaskId::from_uuid(Uuid::now_v7());
    let rated = content::rate(app, tx, &book, Whose { task: id, author }, previewed).await?;
    let task = new_task(id, caller, author, rated.content.clone(), tx.now());
    let knowledge = book::of_task(book, Vec::new(), &caller.actor, &task);
    let decision = decide_create(&task, &knowledge.facts(&app.access, &caller.actor))?;
    let cause = Cause {
        command: CommandKind::Create,
        place: caller.place.clone(),
        why: Why { reason: None, ticket: heading.ticket.clone() },
        receipt: None,
    };
    let (number, _) =
        tasks::insert(tx, &task, &decision, &heading, &rated.body, cause, &Beside::default())
            .await?;
    let label = Label { number, heading, created_at: tx.now() };
    present::decided_with(&label, &task, &rated.body, tx.now())
}

pub(super) fn new_task(
    id: TaskId,
    caller: &Caller,
    author: Author,
    content: Content,
    now: Timestamp,
) -> Task {
    let agent = match caller.actor {
        Actor::Agent { id, .. } => Some(id),
        Actor::User { .. } | Actor::System { .. } => None,
    };
    Task::draft(id, author.id, agent, content, now)
}

pub async fn amend(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    amendment: Amendment,
) -> Result<Reply, Error> {
    if amendment == Amendment::default() {
        return Err(Error::invalid("body", "name at least one thing to change"));
    }
    let permitted = permission::to_change(app, caller, attempt, target, CommandKind::Amend).await?;
    let view = match permitted {
        Permitted::View(view) => view,
        Permitted::Repeated(reply) => return Ok(reply),
    };
    let mut proposal = proposal_of(&view)?;
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
    content::check_tags(&tags)?;
    let preview = content::preview(app, &proposal).await?;
    let mut work = match Work::begin(app, caller, attempt, target).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    require_same(&work.task, &view)?;
    let rated = rate(&mut work, Previewed { proposal: &proposal, tags, preview }).await?;
    let command = Command::Amend { content: rated.content.clone() };
    Box::pin(revise(work, command, rated, 200)).await
}

/// Previews once more, so that what is handed in is what would happen now.
pub async fn submit(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
) -> Result<Reply, Error> {
    let permitted =
        permission::to_change(app, caller, attempt, target, CommandKind::Submit).await?;
    let view = match permitted {
        Permitted::View(view) => view,
        Permitted::Repeated(reply) => return Ok(reply),
    };
    let proposal = proposal_of(&view)?;
    let tags = view.revision.tags.iter().cloned().collect();
    let preview = content::preview(app, &proposal).await?;
    let mut work = match Work::begin(app, caller, attempt, target).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    require_same(&work.task, &view)?;
    let rated = rate(&mut work, Previewed { proposal: &proposal, tags, preview }).await?;
    let matching =
        policy::matching(&work.knowledge.book.policies, &rated.content.subject, work.now());
    let pins = matching.iter().map(|policy| policy.reference()).collect();
    let command = Command::Submit { content: rated.content.clone(), pins };
    Box::pin(revise(work, command, rated, 202)).await
}

async fn revise(
    work: Box<Work<'_>>,
    command: Command,
    rated: Rated,
    status: u16,
) -> Result<Reply, Error> {
    let (work, decision) = work.decide_or_refuse(&command).await?;
    let (label, now) = (work.label.clone(), work.now());
    work.finish(&command, &decision, Some(&rated), Why::default(), |next, _| {
        let next = next.ok_or(Error::NotFound { what: "task" })?;
        Ok((status, present::decided_with(&label, next, &rated.body, now)?))
    })
    .await
}

/// As its author's, whoever asks.
pub(crate) async fn rate(work: &mut Work<'_>, previewed: Previewed<'_>) -> Result<Rated, Error> {
    let book = Arc::clone(&work.knowledge.book);
    let involvement = &work.task.involvement;
    let kind = if involvement.agent.is_some() {
        policy::AuthorKind::Agent
    } else {
        policy::AuthorKind::User
    };
    let author = Author { id: involvement.author, kind };
    let (app, whose) = (work.app(), Whose { task: work.task.id, author });
    content::rate(app, &mut work.tx, &book, whose, previewed).await
}

/// The preview was of this content; another one needs another preview.
fn require_same(task: &Task, view: &View) -> Result<(), Error> {
    if task.revision == view.revision.head.revision {
        return Ok(());
    }
    Err(Error::VersionMoved { expected: view.version, found: task.version })
}

/// A proposal as it was sent, checked: how it is called, what it wants, its tags.
pub(super) fn proposal_from(new: NewTask) -> Result<(Heading, Proposal, BTreeSet<String>), Error> {
    let heading = heading_of(&new)?;
    content::check_tags(&new.tags)?;
    let proposal = Proposal {
        task_type: checked_type(new.task_type)?,
        parameters: strict("parameters", &new.parameters)?,
        resources: listed(new.resources)?,
        plan: new.plan,
    };
    Ok((heading, proposal, new.tags))
}

fn heading_of(new: &NewTask) -> Result<Heading, Error> {
    if new.title.trim().is_empty() || new.title.len() > TASK_TITLE_MAX_BYTES {
        return Err(Error::invalid("title", format!("1 to {TASK_TITLE_MAX_BYTES} bytes")));
    }
    Priority::new(new.priority).map_err(|error| Error::invalid("priority", error))?;
    for (field, text) in [("team", &new.team), ("ticket", &new.ticket)] {
        if let Some(text) = text {
            check_name(field, text)?;
        }
    }
    let timeout_seconds = new.timeout_seconds.unwrap_or(APPLY_TIMEOUT_DEFAULT_SECONDS);
    if !(1..=APPLY_TIMEOUT_MAX_SECONDS).contains(&timeout_seconds) {
        let range = format!("1 to {APPLY_TIMEOUT_MAX_SECONDS}");
        return Err(Error::invalid("timeout_seconds", range));
    }
    let strategy = match new.rollback.strategy {
        RollbackStrategy::Automatic => "automatic",
        RollbackStrategy::Manual => "manual",
        RollbackStrategy::None => "none",
    };
    let rollback = Rollback::new(strategy, new.rollback.steps.clone()).ok_or_else(|| {
        Error::invalid("rollback", "`manual` says its steps, and no other strategy does")
    })?;
    Ok(Heading {
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
        return Err(Error::invalid("type", "letters, digits, `.`, `_` and `-`"));
    }
    Ok(task_type)
}

fn strict(field: &str, value: &Value) -> Result<StrictValue, Error> {
    if !value.is_object() {
        return Err(Error::invalid(field, "an object is needed"));
    }
    StrictValue::from_json(value).map_err(|error| Error::invalid(field, error))
}

fn listed(given: Vec<TouchedResource>) -> Result<BTreeMap<ResourceRef, Option<String>>, Error> {
    let mut listed = BTreeMap::new();
    for TouchedResource { resource, mode } in given {
        require_free("resources", &resource)?;
        let mode = mode.map(|mode| mode.as_str().to_owned());
        if listed.insert(resource.clone(), mode).is_some() {
            let problem = format!("{resource} is named twice: name each once, with one mode");
            return Err(Error::invalid("resources", problem));
        }
    }
    if listed.is_empty() || listed.len() > TASK_RESOURCES_MAX {
        return Err(Error::invalid("resources", format!("1 to {TASK_RESOURCES_MAX}")));
    }
    Ok(listed)
}

/// The content of a task as it was proposed; what was stated is stated again.
pub(crate) fn proposal_of(view: &View) -> Result<Proposal, Error> {
    let revision = &view.revision;
    let plan = match revision.effect.origin() {
        Origin::Observed => None,
        Origin::Declared => {
            let stated = present::effect(&revision.effect)?;
            Some(Plan { changes: stated.changes, warnings: stated.warnings })
        }
    };
    Ok(Proposal {
        task_type: revision.head.task_type.clone(),
        parameters: revision.parameters.clone(),
        resources: revision.resources.iter().cloned().collect(),
        plan,
    })
}
