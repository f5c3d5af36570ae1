//! An agent claims one task and, if it asks for it, begins the attempt in the same call.

use std::time::Duration;

use ade_api::claims::{Claim, ClaimTask, Claimed, Permit};
use ade_api::executions::{Beginning, Execution};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, TaskId};

use super::begin::begin;
use super::claim::claim;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::permission::enter;
use crate::command::{Reply, json};
use crate::error::Error;

/// Claims a task for the calling agent, and waits until it gets a permit. `gone` resolves when the
/// caller has disconnected.
pub async fn claim_task(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    task: TaskId,
    new: ClaimTask,
    wait: Duration,
    gone: impl Future<Output = ()>,
) -> Result<Reply, Error> {
    let agent = agent(app, caller).await?;
    let ClaimTask { begin: is_begun, plan, process_id, ttl_seconds, audience, .. } = new;
    let wanted = Claim { process_id, task_id: Some(task.into()), ttl_seconds, audience };
    let claimed = claim(app, caller, attempt, agent, wanted, wait, gone);
    let reply = match Box::pin(claimed).await {
        // A repeated claim has its permit, but perhaps not the response to its beginning.
        Ok(reply) | Err(Error::Replayed(reply)) => reply,
        Err(error) => return Err(error),
    };
    if !is_begun {
        return Ok(reply);
    }
    let claimed: Claimed = read(&reply)?;
    let Some(permit) = claimed.permit else { return Ok(reply) };
    let of_begin =
        IdempotentRequest { route: format!("{}.begin", attempt.route), ..attempt.clone() };
    let beginning = Beginning { lease_id: permit.lease_id, plan };
    let begun = begin(app, caller, &of_begin, permit.execution_id, beginning);
    let begun = match Box::pin(begun).await {
        Ok(begun) | Err(Error::Replayed(begun)) => read::<Execution>(&begun)?,
        Err(error) => return Err(error),
    };
    let permit = Permit { begun_at: begun.begun_at, ..permit };
    Ok(Reply { body: json(&Claimed::granted(permit))?, ..reply })
}

/// Returns the calling agent. A claim by a person is refused and recorded.
async fn agent(app: &App, caller: &Caller) -> Result<AgentId, Error> {
    if let Actor::Agent { id, .. } = caller.actor {
        return Ok(id);
    }
    let (tx, _) = enter(app, caller, Action::Claim, Object::Own { is_own: false }).await?;
    tx.roll_back().await;
    Err(Error::NotFound { what: "agent" })
}

fn read<T: serde::de::DeserializeOwned>(reply: &Reply) -> Result<T, Error> {
    serde_json::from_str(&reply.body).map_err(|error| Error::invalid("answer", error))
}
