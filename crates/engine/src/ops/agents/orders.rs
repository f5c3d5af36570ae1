//! What a person tells an agent: to drain, to pause, to resume. Behind the closed gate, so that no
//! permit slips past; told again, it is the same.

use ade_api::agents::AgentOrder;
use ade_core::access::Action;
use ade_core::agent::Order;
use ade_core::ids::AgentId;
use ade_store::agents;

use super::registry::{live, shown_in};
use super::{object_of, settle};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::act::{Act, Begun, Deed};
use crate::ops::{Reply, check_reason};

/// None takes back whatever it was told.
pub async fn order(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: AgentId,
    wanted: Option<Order>,
    AgentOrder { reason }: AgentOrder,
) -> Result<Reply, Error> {
    let action = match wanted {
        Some(Order::Drain) => "agent.drain",
        Some(Order::Pause) => "agent.pause",
        None => "agent.resume",
    };
    check_reason("reason", reason.as_deref())?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let agent = live(&mut act, id).await?;
    let object = object_of(&act.book, caller, &agent);
    let mut act = act.require(Action::OrderAgent, object, &id).await?;
    agents::set_order(&mut act.tx, id, wanted).await?;
    settle(&mut act.tx, &[id]).await?;
    let shown = shown_in(&mut act, id).await?;
    act.finish_because(Deed { object: id.to_string(), action }, reason, 200, &shown).await
}
