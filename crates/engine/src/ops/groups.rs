//! Groups that read events, for operators: how far each is, what it has put aside, and how that
//! goes through it again.

use ade_api::groups::{
    DeadEvent, DeadEventState, EventGroup, GroupStanding, GroupTrouble, Groups, Redrive, Redriven,
};
use ade_core::access::{Action, Object};
use ade_core::group::Group as Name;
use ade_core::ids::DeadEventId;
use ade_core::limits::REDRIVE_MAX;
use ade_store::groups::{self, DeadState, Standing};
use ade_store::{Tx, events};

use super::act::{self, Act, Begun, Deed};
use super::{Paged, Reply, Span, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

/// All of them, in the order of their names.
pub async fn list(app: &App, caller: &Caller) -> Result<Groups, Error> {
    let mut tx = enter(app, caller).await?;
    let head = events::head(&mut tx).await?;
    let mut items = Vec::new();
    for group in Name::ALL {
        let standing = groups::standing(&mut tx, group).await?;
        items.push(shown(standing, head));
    }
    items.sort_by_key(|standing| Name::from(standing.group).as_str());
    Ok(Groups { head, items })
}

/// Newest first.
pub async fn dead_events(
    app: &App,
    caller: &Caller,
    group: Option<EventGroup>,
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
    let found = groups::list_dead(&mut tx, group.map(Into::into), state, span.after, limit).await?;
    let items = found.into_iter().map(shown_dead).collect();
    Ok(paged(items, span.limit, |dead: &DeadEvent| dead.id))
}

/// Once what was wrong is mended.
pub async fn redrive(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    wanted: Redrive,
) -> Result<Reply, Error> {
    let most = usize::try_from(REDRIVE_MAX).unwrap_or(usize::MAX);
    let is_countable = |ids: &Vec<DeadEventId>| (1..=most).contains(&ids.len());
    if !wanted.events.as_ref().is_none_or(is_countable) {
        return Err(Error::invalid("events", format!("1 to {most} of them")));
    }
    if wanted.events.is_some() == wanted.group.is_some() {
        return Err(Error::invalid("events", "name either `events` or `group`"));
    }
    let mut act = match Act::begin(app, caller, attempt, Some(Action::RedriveEvents)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let (ids, group) = (wanted.events.as_deref(), wanted.group.map(Name::from));
    let count = groups::redrive(&mut act.tx, ids, group, REDRIVE_MAX).await?;
    let has_more = group.is_some() && count >= u64::from(REDRIVE_MAX);
    let object = group.map_or_else(|| caller.tenant.to_string(), |group| group.to_string());
    let deed = Deed { object, action: "group.redrive" };
    let reply = act.finish(deed, 202, &Redriven { count, has_more }).await?;
    app.wake.event_redriver.notify_one();
    Ok(reply)
}

/// For reading, by those who may; who may not is noted.
async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    Ok(act::enter(app, caller, Action::ReadGroups, Object::Tenant).await?.0)
}

fn shown(standing: Standing, head: u64) -> GroupStanding {
    GroupStanding {
        group: standing.group.into(),
        seq: standing.seq,
        behind: head.saturating_sub(standing.seq),
        moved_at: standing.moved_at,
        trouble: standing.trouble.map(|trouble| GroupTrouble {
            seq: trouble.seq,
            tries: trouble.tries,
            problem: trouble.problem,
            since: trouble.since,
            next_at: trouble.next_at,
        }),
        dead: standing.dead,
    }
}

fn shown_dead(dead: groups::DeadEvent) -> DeadEvent {
    DeadEvent {
        id: dead.id,
        group: dead.group.into(),
        event: dead.event.id,
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
