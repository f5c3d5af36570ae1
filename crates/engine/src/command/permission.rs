//! Permission checks against the rules, in the transaction of the action. A denied permission is
//! recorded in the audit log.

use std::sync::Arc;

use ade_core::access::{Action, Denied, Object, Question, TaskRelation};
use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Who, Why};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::task::{Command, Refusal, Task};
use ade_store::tasks::{self, View};
use ade_store::tenant_config::TenantConfig;
use ade_store::{Pool, TenantLock, Tx, audit};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::services::rulebook_cache::agent_facts;

pub(crate) async fn begin(pool: &Pool, caller: &Caller, gate: TenantLock) -> Result<Tx, Error> {
    let actor = caller.actor.clone();
    Ok(Tx::begin(pool, caller.tenant, actor, gate).await?)
}

/// Begins a transaction for reading. It takes no tenant lock and needs no audit entry.
pub(crate) async fn look(app: &App, caller: &Caller) -> Result<Tx, Error> {
    begin(&app.pools.api, caller, TenantLock::None).await
}

/// Opens a transaction for a permitted caller, with the current rules; a refused attempt is
/// recorded.
pub(crate) async fn enter(
    app: &App,
    caller: &Caller,
    action: Action,
    object: Object,
) -> Result<(Tx, Arc<TenantConfig>), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    match permit(app, &book, &caller.actor, action, object) {
        Ok(()) => Ok((tx, book)),
        Err(denied) => {
            refuse(tx, caller, action.as_str(), caller.tenant.to_string(), &denied).await?;
            Err(denied.into())
        }
    }
}

pub(crate) fn audit_entry(
    tx: &Tx,
    caller: &Caller,
    kind: EntryKind,
    what: What,
    why: Why,
) -> AuditEntry {
    let who = Who::from(tx.actor());
    AuditEntry::new(tx.tenant(), kind, who, what, tx.now(), caller.place.clone(), why)
}

/// Returns the audit entry of a refused command on a task; `None` for refusals that are not
/// audited.
pub(crate) fn entry_of_refusal(
    tx: &Tx,
    caller: &Caller,
    task: &Task,
    command: &Command,
    refusal: &Refusal,
) -> Option<AuditEntry> {
    let detail = match refusal {
        Refusal::Denied(denied) => denied.detail.clone(),
        Refusal::SelfApproval(_)
        | Refusal::RoleTooNew(_)
        | Refusal::PasskeyTooNew { .. }
        | Refusal::InstallationFrozen(_) => refusal.to_string(),
        _ => return None,
    };
    let what = What {
        object: task.id.to_string(),
        action: command.kind().action().as_str().to_owned(),
        from: Some(task.state.as_str().to_owned()),
        to: None,
        revision: Some(task.revision),
        digest: Some(task.content.digest),
    };
    let why = Why { reason: Some(detail), ticket: None };
    Some(audit_entry(tx, caller, EntryKind::Refusal, what, why))
}

/// Records that the caller lacks permission, and commits.
pub(crate) async fn refuse(
    mut tx: Tx,
    caller: &Caller,
    action: &str,
    object: String,
    denied: &Denied,
) -> Result<(), Error> {
    let what = What::new(object, action);
    let why = Why { reason: Some(denied.detail.clone()), ticket: None };
    let entry = audit_entry(&tx, caller, EntryKind::Refusal, what, why);
    audit::append(&mut tx, &[entry]).await?;
    Ok(tx.commit().await?)
}

/// Returns the calling person. Agents and workers are refused, whatever the scopes of their token.
pub(crate) fn person(caller: &Caller) -> Result<UserId, Error> {
    match caller.actor {
        Actor::User { id, .. } => Ok(id),
        Actor::Agent { .. } | Actor::System { .. } => Err(Refusal::PersonRequired.into()),
    }
}

/// Checks a permission with the roles that the tenant configuration gives the person behind the
/// actor.
pub fn permit(
    app: &App,
    book: &TenantConfig,
    actor: &Actor,
    action: Action,
    object: Object,
) -> Result<(), Denied> {
    let is_agent_active = agent_facts(book, actor, "").is_active;
    app.access.check(&Question::new(actor, &book.directory, is_agent_active, action, object))
}

/// Returns whether the actor may know that this task exists.
pub fn may_read(app: &App, book: &TenantConfig, actor: &Actor, task: &Task) -> bool {
    let involvement = &task.involvement;
    let mut relation = standing(
        book,
        actor,
        involvement.author,
        involvement.agent,
        &task.content.subject.task_type,
    );
    relation.holds_permit =
        task.execution.as_ref().is_some_and(|execution| execution.holder.is_same_as(actor));
    permit(app, book, actor, Action::ReadTask, Object::Task(relation)).is_ok()
}

/// Returns the relation of the actor to a task of which only the header is known. It suffices for
/// deciding whether the actor may read the task.
pub fn standing(
    book: &TenantConfig,
    actor: &Actor,
    author: UserId,
    proposer: Option<AgentId>,
    task_type: &str,
) -> TaskRelation {
    let is_authors = actor.human().is_some_and(|human| book.directory.same_human(human, author));
    let agent = match actor {
        Actor::Agent { id, .. } => Some(*id),
        Actor::User { .. } | Actor::System { .. } => None,
    };
    TaskRelation {
        is_author: matches!(actor, Actor::User { .. }) && is_authors,
        is_own_agent: agent.is_some() && (is_authors || agent == proposer),
        is_executor: agent_facts(book, actor, task_type).is_capable,
        ..TaskRelation::default()
    }
}

/// Returns a task that the caller may read; any other task counts as missing.
pub(crate) async fn visible_in(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    task: TaskId,
) -> Result<View, Error> {
    let missing = Error::NotFound { what: "task" };
    let Some(view) = tasks::view(tx, task).await? else { return Err(missing) };
    let book = app.books.current(tx).await?;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let relation = standing(&book, &caller.actor, involvement.author, involvement.agent, task_type);
    let object = Object::Task(relation);
    permit(app, &book, &caller.actor, Action::ReadTask, object).map_err(|_| missing)?;
    Ok(view)
}
