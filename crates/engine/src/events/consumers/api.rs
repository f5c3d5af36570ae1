//! Event consumers, for operators: the progress of each, its dead letters, and their redrive.

use ade_api::event_consumers::{
    DeadEvent, DeadEventState, EventConsumer, EventConsumerFailure, EventConsumerStatus,
    EventConsumers, Redrive, Redriven,
};
use ade_core::access::{Action, Object};
use ade_core::consumer::Consumer as Name;
use ade_core::ids::DeadEventId;
use ade_core::limits::REDRIVE_MAX;
use ade_store::consumers::{self, ConsumerStatus, DeadState};
use ade_store::{Tx, events};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission;
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;

/// Lists all consumers, by name.
pub async fn list(app: &App, caller: &Caller) -> Result<EventConsumers, Error> {
    let mut tx = enter(app, caller).await?;
    let head = events::head(&mut tx).await?;
    let mut items = Vec::new();
    for consumer in Name::ALL {
        let status = consumers::standing(&mut tx, consumer).await?;
        items.push(shown(status, head));
    }
    items.sort_by_key(|status| Name::from(status.consumer).as_str());
    Ok(EventConsumers { head, items })
}

/// Lists dead letters, newest first.
pub async fn dead_events(
    app: &App,
    caller: &Caller,
    consumer: Option<EventConsumer>,
    state: Option<DeadEventState>,
    span: Span<DeadEventId>,
) -> Result<Paged<DeadEvent, DeadEventId>, Error> {
    let mut tx = enter(app, caller).await?;
    let state = state.map(|state| match state {
        DeadEventState::Dead => DeadState::Dead,
        DeadEventState::Redriving => DeadState::Redriving,
        DeadEventState::Taken => DeadState::Taken,
    });
    let limit = span.limit.saturating_add(1);
    let found =
        consumers::list_dead(&mut tx, consumer.map(Into::into), state, span.after, limit).await?;
    let items = found.into_iter().map(shown_dead).collect();
    Ok(paged(items, span.limit, |dead: &DeadEvent| dead.id))
}

/// Redrives dead letters, after the cause was fixed.
pub async fn redrive(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    wanted: Redrive,
) -> Result<Reply, Error> {
    let most = usize::try_from(REDRIVE_MAX).unwrap_or(usize::MAX);
    let is_countable = |ids: &Vec<DeadEventId>| (1..=most).contains(&ids.len());
    if !wanted.event_ids.as_ref().is_none_or(is_countable) {
        return Err(Error::invalid("event_ids", format!("must be 1 to {most} entries")));
    }
    if wanted.event_ids.is_some() == wanted.consumer.is_some() {
        return Err(Error::invalid("event_ids", "give either `event_ids` or `consumer`"));
    }
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::RedriveEvents)).await?;
    let (ids, consumer) = (wanted.event_ids.as_deref(), wanted.consumer.map(Name::from));
    let count = consumers::redrive(&mut act.tx, ids, consumer, REDRIVE_MAX).await?;
    let has_more = consumer.is_some() && count >= u64::from(REDRIVE_MAX);
    let object =
        consumer.map_or_else(|| caller.tenant.to_string(), |consumer| consumer.to_string());
    let action = AuditAction { object, action: "event_consumer.redrive" };
    let reply = act.finish(action, 202, &Redriven { count, has_more }).await?;
    app.wake.event_redriver.notify_one();
    Ok(reply)
}

/// Begins reading for a caller with permission; a refused attempt is recorded.
async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    Ok(permission::enter(app, caller, Action::ReadEventConsumers, Object::Tenant).await?.0)
}

fn shown(status: ConsumerStatus, head: u64) -> EventConsumerStatus {
    EventConsumerStatus {
        consumer: status.group.into(),
        seq: status.seq,
        behind: head.saturating_sub(status.seq),
        moved_at: status.moved_at,
        trouble: status.trouble.map(|trouble| EventConsumerFailure {
            seq: trouble.seq,
            tries: trouble.tries,
            problem: trouble.problem,
            since: trouble.since,
            next_at: trouble.next_at,
        }),
        dead: status.dead,
    }
}

fn shown_dead(dead: consumers::DeadEvent) -> DeadEvent {
    DeadEvent {
        id: dead.id,
        consumer: dead.group.into(),
        event_id: dead.event.id,
        seq: dead.event.seq,
        kind: dead.event.kind,
        object: dead.event.object,
        state: match dead.state {
            DeadState::Dead => DeadEventState::Dead,
            DeadState::Redriving => DeadEventState::Redriving,
            DeadState::Taken => DeadEventState::Taken,
        },
        tries: dead.tries,
        problem: dead.problem,
        died_at: dead.died_at,
        changed_at: dead.changed_at,
    }
}
