//! Reads the audit log: admins and auditors read all of it, others the entries of tasks in which
//! they took part. It is read from a replica if there is one, and the response says how current the
//! replica was. Reading more than the entries of one object is audited itself.

use std::time::Duration;

use ade_api::audit::{AuditLeaf, AuditOrigin};
use ade_core::access::{Action, Object, TaskRelation};
use ade_core::actor::Actor;
use ade_core::audit::{EntryKind, What, Why, leaf_hash};
use ade_core::change::Digest;
use ade_core::ids::{self, TaskId};
use ade_core::time::Timestamp;
use ade_store::audit::{self, AuditEntryId};
pub use ade_store::audit::{AuditFilter, FoundBy};
use ade_store::{TenantLock, Tx, approvals, tasks};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{audit_entry, begin, look, permit, standing};
use crate::command::present;
use crate::command::{Paged, Span, paged};
use crate::error::Error;

/// A reader leaves at most one entry in this time.
const DISCLOSURE_PACE: Duration = Duration::from_hours(1);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafKey {
    at: Timestamp,
    id: Uuid,
}

/// Lists entries, newest first, and says how current the replica was.
pub async fn list(
    app: &App,
    caller: &Caller,
    filter: AuditFilter,
    span: Span<LeafKey>,
) -> Result<(Paged<AuditLeaf, LeafKey>, Timestamp), Error> {
    let may_read = require_rights(app, caller, &filter).await?;
    let is_first = span.after.is_none();
    let pool = app.replica.as_ref().unwrap_or(&app.pools.api);
    let mut tx = begin(pool, caller, TenantLock::None).await?;
    let as_of = match &app.replica {
        Some(_) => tx.replayed_until().await?,
        None => tx.now(),
    };
    let after = span.after.map(|key| (key.at, AuditEntryId(key.id)));
    let limit = span.limit.saturating_add(1);
    let found = audit::list(&mut tx, &filter, after, limit).await?;
    tx.roll_back().await;
    if may_read == Readable::WholeLog && filter.object.is_none() && is_first {
        record_disclosure(app, caller).await?;
    }
    let page = paged(found, span.limit, |(id, entry)| LeafKey { at: entry.when, id: id.0 });
    let items = page.items.iter().map(|(id, entry)| {
        let bytes = entry.to_bytes().map_err(ade_store::StoreError::from)?;
        let hash = Digest::from_bytes(*leaf_hash(&bytes).bytes()).to_string();
        Ok(AuditLeaf {
            id: ids::LeafId::from_uuid(id.0).to_string(),
            leaf: present::value(entry)?,
            origin: entry.place.origin().map(|origin| AuditOrigin {
                salt: origin.salt.to_string(),
                address: origin.address.map(|address| address.to_string()),
                user_agent: origin.user_agent.clone(),
            }),
            hash,
        })
    });
    let items = items.collect::<Result<_, Error>>()?;
    Ok((Paged { items, next: page.next }, as_of))
}

/// Records that the caller reads the log, unless an entry of the last hour already says so: a page
/// that reloads would otherwise fill the log with its own reads.
async fn record_disclosure(app: &App, caller: &Caller) -> Result<(), Error> {
    let actor = match caller.actor {
        Actor::User { id, .. } => FoundBy::User(id),
        Actor::Agent { id, .. } => FoundBy::Agent(id),
        Actor::System { .. } => return Ok(()),
    };
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let recent = AuditFilter {
        actor: Some(actor),
        kind: Some(EntryKind::Disclosure),
        from: Some(tx.now().minus(DISCLOSURE_PACE)),
        ..AuditFilter::default()
    };
    if audit::list(&mut tx, &recent, None, 1).await?.is_empty() {
        let what = What::new(caller.tenant.to_string(), Action::ReadAudit.as_str());
        let entry = audit_entry(&tx, caller, EntryKind::Disclosure, what, Why::default());
        audit::append(&mut tx, &[entry]).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// What a caller may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readable {
    WholeLog,
    /// The entries of the task that the filter names.
    Task,
}

/// Requires permission for the whole log, or participation in the task that the filter names.
async fn require_rights(
    app: &App,
    caller: &Caller,
    filter: &AuditFilter,
) -> Result<Readable, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let whole = permit(app, &book, &caller.actor, Action::ReadAudit, Object::Tenant);
    let Err(denied) = whole else { return Ok(Readable::WholeLog) };
    let task = filter.object.as_ref().and_then(|object| object.parse::<TaskId>().ok());
    let Some(task) = task else { return Err(denied.into()) };
    let Some(view) = tasks::view(&mut tx, task).await? else {
        return Err(Error::NotFound { what: "task" });
    };
    let part = part_of(caller, &mut tx, task).await?;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let relation = TaskRelation {
        is_assigned: part.is_assigned,
        is_voter: part.is_voter,
        ..standing(&book, &caller.actor, involvement.author, involvement.agent, task_type)
    };
    let object = Object::Task(relation);
    permit(app, &book, &caller.actor, Action::ReadAudit, object)?;
    Ok(Readable::Task)
}

async fn part_of(caller: &Caller, tx: &mut Tx, task: TaskId) -> Result<TaskRelation, Error> {
    let Some(human) = caller.actor.human() else { return Ok(TaskRelation::default()) };
    let asked = approvals::of_task(tx, task).await?;
    let votes = approvals::votes(tx, task).await?;
    Ok(TaskRelation {
        // A superseded request counts too. A new revision supersedes every request before the next
        // review opens, and a decision supersedes the requests that are still open.
        is_assigned: asked.iter().any(|request| request.approval.reviewer == human),
        is_voter: votes.iter().any(|(_, vote)| vote.voter == human),
        ..TaskRelation::default()
    })
}
