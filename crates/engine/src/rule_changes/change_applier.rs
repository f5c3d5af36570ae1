//! Applies changes whose wait is over, in tenants with one admin. A change to which a person
//! objected is closed and never applied; one that met a second admin waits for their publication.

use ade_core::change::Digest;
use ade_core::ids::{PendingChangeId, TenantId};
use ade_core::limits::{WORKER_AT_ONCE, WORKER_BATCH};
use ade_core::rule_change::admins;
use ade_store::pending_changes::{self, APPLY_CHANGE, ChangeOutcome, PendingChange};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use uuid::Uuid;

use super::pending::{apply, close, count, find};
use crate::app::App;
use crate::caller::IdempotentRequest;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::schedule::{self, worker_caller};
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

pub const WORKER: Worker = Worker { name: "change_applier", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(look(app))
}

async fn look(app: &App) -> Result<Done, Error> {
    let step = |tenant, object| apply_due(app, tenant, object);
    schedule::take_up(app, APPLY_CHANGE, WORKER_BATCH, WORKER_AT_ONCE, step).await
}

async fn apply_due(app: &App, tenant: TenantId, object: Uuid) -> Result<bool, Error> {
    let caller = worker_caller(app, WORKER.name, tenant);
    let attempt =
        IdempotentRequest { route: APPLY_CHANGE.to_owned(), key: None, body: Digest::of(b"") };
    let mut act = AdminCommand::begin(app, &caller, &attempt, None).await?;
    let change = find(&mut act.tx, PendingChangeId::from_uuid(object)).await?;
    let Some(at) = change.takes_effect_at.filter(|_| change.closed.is_none()) else {
        return leave(act, &change).await;
    };
    if act.tx.now() < at {
        let job = ScheduledJob { kind: APPLY_CHANGE, object, at };
        scheduled_jobs::set(&mut act.tx, &[job]).await?;
        act.tx.commit().await?;
        return Ok(false);
    }
    if admins(&act.book.directory).len() > 1 {
        pending_changes::wait_for_admin(&mut act.tx, change.id).await?;
        return leave(act, &change).await;
    }
    let point = act.tx.savepoint().await?;
    match apply(&mut act, &change, ChangeOutcome::Applied, None).await {
        Ok(applied) => {
            let action = AuditAction { object: change.id.to_string(), action: "change.apply" };
            act.also([action]).await?;
            act.finish_applied(applied, false).await?;
            let kind = &change.kind;
            tracing::info!(%tenant, change = %change.id, kind, "pending change took effect");
            count(ChangeOutcome::Applied.as_str());
        }
        // The database may answer next time; every other error is final.
        Err(error @ Error::Store(_)) => return Err(error),
        Err(error) => {
            tracing::info!(%tenant, change = %change.id, %error, "pending change became outdated");
            act.tx.roll_back_to(point).await?;
            close(&mut act.tx, &change, ChangeOutcome::Outdated, None, None).await?;
            let action = AuditAction { object: change.id.to_string(), action: "change.outdate" };
            act.finish(action, 200, &()).await?;
            count(ChangeOutcome::Outdated.as_str());
        }
    }
    Ok(true)
}

/// Ends the job of a change that no longer takes effect on its own.
async fn leave(mut act: AdminCommand<'_>, change: &PendingChange) -> Result<bool, Error> {
    scheduled_jobs::clear(&mut act.tx, APPLY_CHANGE, change.id.uuid()).await?;
    act.tx.commit().await?;
    Ok(false)
}
