//! Who caused an interruption and why, read from the audit log at the moment of the report. This is
//! rare, so the reason needs no second place where it is stored.

use std::collections::BTreeMap;

use ade_api::cause::Cause;
use ade_core::agent::OrderKind;
use ade_core::ids::{AgentId, TaskId};
use ade_core::task::CommandKind;
use ade_core::time::Timestamp;
use ade_store::{Tx, audit};

use crate::error::Error;

/// Returns, for each object, the latest entry of this action that is not older than `since`.
pub(crate) async fn causes(
    tx: &mut Tx,
    objects: &[String],
    action: &str,
    since: Option<Timestamp>,
) -> Result<BTreeMap<String, Cause>, Error> {
    let found = audit::latest(tx, objects, action, since).await?;
    let causes = found.into_iter().map(|found| {
        let audit::LatestAction { object, by, reason, at } = found;
        (object, Cause { by, reason, at })
    });
    Ok(causes.collect())
}

async fn cause(
    tx: &mut Tx,
    object: String,
    action: &str,
    since: Option<Timestamp>,
) -> Result<Option<Cause>, Error> {
    Ok(causes(tx, &[object], action, since).await?.into_values().next())
}

/// Returns who cancelled a task after this attempt to apply it had started.
pub(crate) async fn cause_of_abort(
    tx: &mut Tx,
    task: TaskId,
    started_at: Timestamp,
) -> Result<Option<Cause>, Error> {
    let action = CommandKind::Cancel.action().as_str();
    cause(tx, task.to_string(), action, Some(started_at)).await
}

/// Returns the reason that was given for an agent's current order.
pub(crate) async fn reason_of_order(
    tx: &mut Tx,
    agent: AgentId,
    order: Option<OrderKind>,
) -> Result<Option<String>, Error> {
    let Some(order) = order else { return Ok(None) };
    let action = format!("agent.{}", order.as_str());
    Ok(cause(tx, agent.to_string(), &action, None).await?.and_then(|cause| cause.reason))
}
