//! Directives to an agent: drain, pause, resume. They are given under the exclusive tenant lock, so
//! that no permit is granted concurrently, and are idempotent.

use ade_api::agents::AgentDirective;
use ade_core::access::Action;
use ade_core::agent::OrderKind;
use ade_core::ids::AgentId;
use ade_store::agents;

use super::object_of;
use super::registry::{live, shown_in};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::presence::settle;
use crate::command::{Reply, check_reason};
use crate::error::Error;

/// Gives an order; `None` withdraws the current one.
pub async fn order(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: AgentId,
    wanted: Option<OrderKind>,
    AgentDirective { reason }: AgentDirective,
) -> Result<Reply, Error> {
    let action = match wanted {
        Some(OrderKind::Drain) => "agent.drain",
        Some(OrderKind::Pause) => "agent.pause",
        None => "agent.resume",
    };
    check_reason("reason", reason.as_deref())?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let agent = live(&mut act, id).await?;
    let object = object_of(&act.book, caller, &agent);
    let mut act = act.require(Action::OrderAgent, object, &id).await?;
    agents::set_order(&mut act.tx, id, wanted).await?;
    settle(&mut act.tx, &[id]).await?;
    let shown = shown_in(&mut act, id).await?;
    act.finish_because(AuditAction { object: id.to_string(), action }, reason, 200, &shown).await
}
