//! Why a claim got no permit. The gates are those of the explanation; the facts are read after the
//! wait, without a lock, so a permit that became possible meanwhile is left to the next claim.

use ade_api::claims::{BlockedBy, Claimed};
use ade_api::problem::NextAction;
use ade_core::ids::{AgentId, TaskId};
use ade_core::task::{self, Claimant, ClaimedTask, CommandKind, Refusal};
use ade_store::tasks::View;
use ade_store::tenant_config::TenantConfig;

use super::explain::explain_view;
use super::matching::free_of;
use crate::app::App;
use crate::caller::Caller;
use crate::command::cause::reason_of_order;
use crate::command::permission::{look, visible_in};
use crate::command::present;
use crate::error::Error;
use crate::services::rulebook_cache::covers;

/// Returns a task that can still get a permit. A task that cannot is refused with its state and its
/// decision; a task that the caller may not read counts as missing.
pub(super) async fn require_claimable(app: &App, caller: &Caller, id: TaskId) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let view = visible_in(app, caller, &mut tx, id).await?;
    tx.roll_back().await;
    if task::may_get_permit(view.state) {
        return Ok(());
    }
    let next_action = present::next_action(id, view.state, view.sub_state());
    let refusal = Refusal::WrongState {
        command: CommandKind::StartApply,
        state: view.state,
        since: view.since,
        holder: None,
        works_from: task::acts_from(CommandKind::StartApply),
        decision: view.decision.map(Box::new),
    };
    Err(Error::Unclaimable { refusal: Box::new(refusal), next_action: Box::new(next_action) })
}

/// Returns the response to a claim that got no permit.
pub(super) async fn without_permit(
    app: &App,
    caller: &Caller,
    agent: AgentId,
    wanted: Option<TaskId>,
    has_waited: bool,
) -> Result<Claimed, Error> {
    let mut tx = look(app, caller).await?;
    let view = match wanted {
        Some(id) => Some(visible_in(app, caller, &mut tx, id).await?),
        None => None,
    };
    let book = app.books.current(&mut tx).await?;
    let order = book.agents.get(&agent).and_then(|entry| entry.order);
    let order_reason = reason_of_order(&mut tx, agent, order).await?;
    let has_free_slot = !free_of(&mut tx, &book, &[agent]).await?.is_empty();
    let claimant = Claimant { order, order_reason: order_reason.as_deref(), has_free_slot };
    let explanation = match &view {
        Some(view) => Some(explain_view(app, caller, &mut tx, view).await?),
        None => None,
    };
    let now = tx.now();
    tx.roll_back().await;
    let named = view.as_ref().zip(explanation.as_ref());
    let task = named.map(|(view, explanation)| claimed_task(app, &book, agent, view, explanation));
    let blocked = task::blocked_claim(claimant, task, now);
    let pause = task::retry_after(&blocked, now);
    Ok(Claimed {
        permit: None,
        timed_out: has_waited,
        blocked_by: blocked.iter().map(shown).collect::<Result<_, Error>>()?,
        retry_after_ms: Some(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn claimed_task<'a>(
    app: &App,
    book: &TenantConfig,
    agent: AgentId,
    view: &View,
    explanation: &'a task::Explanation,
) -> ClaimedTask<'a> {
    let task_type = &view.revision.head.task_type;
    ClaimedTask {
        explanation,
        is_capable: covers(book, agent, task_type),
        is_applied_by_server: app.executors.of(&book.tenant).runs(task_type),
        not_before: view.not_before,
    }
}

fn shown(gate: &task::Gate) -> Result<BlockedBy, Error> {
    Ok(BlockedBy {
        gate: present::word(&gate.name)?,
        code: gate.code.unwrap_or(task::GateCode::NoTaskReady),
        reason: gate.evidence.clone(),
        until: gate.until,
        next_action: NextAction::new(gate.how_to_pass.as_deref().unwrap_or_default()),
    })
}
