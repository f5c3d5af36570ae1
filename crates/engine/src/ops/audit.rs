//! The audit, read: by admins and auditors whole, by others for the tasks they had a part in.
//! Read from a replica where there is one, and said how far it had come. Reading leaves a leaf
//! where it is the whole log that was read.

use ade_api::audit::AuditLeaf;
use ade_core::access::{Action, Object, Standing};
use ade_core::approval::Status;
use ade_core::audit::leaf_hash;
use ade_core::change::Digest;
use ade_core::ids::{self, TaskId};
use ade_core::time::Timestamp;
use ade_store::audit::{self, LeafId};
pub use ade_store::audit::{Filter, FoundBy};
use ade_store::{Gate, Tx, approvals, tasks};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::act::{begin, look, permit};
use super::decision::standing;
use super::{Paged, Span, paged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::present;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafKey {
    at: Timestamp,
    id: Uuid,
}

/// Leaves, newest first, and how far the copy that was read had come.
pub async fn list(
    app: &App,
    caller: &Caller,
    filter: Filter,
    span: Span<LeafKey>,
) -> Result<(Paged<AuditLeaf, LeafKey>, Timestamp), Error> {
    require_rights(app, caller, &filter).await?;
    let pool = app.replica.as_ref().unwrap_or(&app.pools.api);
    let mut tx = begin(pool, caller, Gate::Unasked).await?;
    let as_of = match &app.replica {
        Some(_) => tx.replayed_until().await?,
        None => tx.now(),
    };
    let after = span.after.map(|key| (key.at, LeafId(key.id)));
    let limit = span.limit.saturating_add(1);
    let found = audit::list(&mut tx, &filter, after, limit).await?;
    tx.roll_back().await;
    let page = paged(found, span.limit, |(id, leaf)| LeafKey { at: leaf.when, id: id.0 });
    let items = page.items.iter().map(|(id, leaf)| {
        let bytes = leaf.to_bytes().map_err(ade_store::Error::from)?;
        let hash = Digest::from_bytes(*leaf_hash(&bytes).bytes()).to_string();
        Ok(AuditLeaf {
            id: ids::LeafId::from_uuid(id.0).to_string(),
            leaf: present::value(leaf)?,
            hash,
        })
    });
    let items = items.collect::<Result<_, Error>>()?;
    Ok((Paged { items, next: page.next }, as_of))
}

/// The whole log, or the leaves of one task that the caller had a part in.
async fn require_rights(app: &App, caller: &Caller, filter: &Filter) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let whole = permit(app, &book, &caller.actor, Action::ReadAudit, Object::Tenant);
    let Err(denied) = whole else { return Ok(()) };
    let task = filter.object.as_ref().and_then(|object| object.parse::<TaskId>().ok());
    let Some(task) = task else { return Err(denied.into()) };
    let Some(view) = tasks::view(&mut tx, task).await? else {
        return Err(Error::NotFound { what: "task" });
    };
    let part = part_of(caller, &mut tx, task).await?;
    let involvement = &view.involvement;
    let task_type = &view.revision.head.task_type;
    let standing = Standing {
        is_assigned: part.is_assigned,
        is_voter: part.is_voter,
        ..standing(&book, &caller.actor, involvement.author, involvement.agent, task_type)
    };
    let object = Object::Task(standing);
    Ok(permit(app, &book, &caller.actor, Action::ReadAudit, object)?)
}

async fn part_of(caller: &Caller, tx: &mut Tx, task: TaskId) -> Result<Standing, Error> {
    let Some(human) = caller.actor.human() else { return Ok(Standing::default()) };
    let asked = approvals::of_task(tx, task).await?;
    let votes = approvals::votes(tx, task).await?;
    Ok(Standing {
        is_assigned: asked.iter().any(|request| {
            let approval = &request.approval;
            approval.reviewer == human && approval.status != Status::Superseded
        }),
        is_voter: votes.iter().any(|(_, vote)| vote.voter == human),
        ..Standing::default()
    })
}
