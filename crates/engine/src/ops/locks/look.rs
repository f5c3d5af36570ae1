//! What anybody of the tenant may see of its locks: who holds what, who waits for whom, and which
//! circles were found. Lease ids stay with their holders.

use ade_api::locks::{Deadlock, Deadlocks, LeaseView, Lock, LockEdge, LockGraph, RootBlocker};
use ade_core::ids::AgentId;
use ade_core::limits::{
    LOCK_DEADLOCKS_SHOWN_MAX, LOCK_GRAPH_WAITS_MAX, LOCK_QUEUE_SHOWN_MAX, TASK_LIST_SCAN_MAX,
};
use ade_core::lock::wait_for::WaitFor;
use ade_core::lock::{Lease, State};
use ade_core::resource::ResourceRef;
use ade_store::locks::deadlocks as found;

use super::{keeper, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::Place;
use crate::ops::act::look;
use crate::ops::{Paged, Span};

pub async fn lock(app: &App, caller: &Caller, resource: ResourceRef) -> Result<Lock, Error> {
    let keeper = keeper(app)?;
    let seen = keeper.resource(caller.tenant, &resource, LOCK_QUEUE_SHOWN_MAX).await?;
    if seen.leases.is_empty() {
        return Err(Error::NotFound { what: "lock" });
    }
    let (mut waiting, holding): (Vec<Lease>, Vec<Lease>) =
        seen.leases.into_iter().partition(|lease| lease.state == State::Waiting);
    waiting.sort_by_key(|lease| (lease.order, lease.request.lease()));
    Ok(Lock {
        resource,
        holding: seen.holding,
        waiting: seen.waiting,
        holders: holding.iter().map(show::view).collect(),
        queue: waiting.iter().map(show::view).collect(),
    })
}

/// Everything that is held. Pages are in no order; one may be a few over what was asked for, or
/// short of it.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<Place>,
) -> Result<Paged<Lock, Place>, Error> {
    let most = usize::try_from(span.limit).unwrap_or(usize::MAX);
    let after = span.after.as_ref();
    let held = keeper(app)?.held(caller.tenant, after, most, LOCK_QUEUE_SHOWN_MAX).await?;
    let of = |resource: &ResourceRef| {
        let holds = |lease: &&Lease| lease.state != State::Waiting && holds_it(lease, resource);
        held.leases.iter().filter(holds).map(show::view).collect()
    };
    let locks = held.resources.iter().map(|(resource, holding, waiting)| Lock {
        resource: resource.clone(),
        holding: *holding,
        waiting: *waiting,
        holders: of(resource),
        queue: Vec::new(),
    });
    Ok(Paged { items: locks.collect(), next: held.next })
}

fn holds_it(lease: &Lease, resource: &ResourceRef) -> bool {
    lease.request.set().mode_of(resource).is_some()
}

/// Each lease once, with the first of its resources; only those of one agent, if it is named. A
/// page ends after so many resources, however many leases it has come to.
pub async fn leases(
    app: &App,
    caller: &Caller,
    agent: Option<AgentId>,
    span: Span<Place>,
) -> Result<Paged<LeaseView, Place>, Error> {
    let keeper = keeper(app)?;
    let wanted = usize::try_from(span.limit).unwrap_or(usize::MAX);
    let mut after = span.after;
    let mut items = Vec::new();
    let mut looked = 0;
    while items.len() < wanted && looked < TASK_LIST_SCAN_MAX {
        let rest = wanted - items.len();
        let held = keeper.held(caller.tenant, after.as_ref(), rest, LOCK_QUEUE_SHOWN_MAX).await?;
        for (resource, ..) in &held.resources {
            let is_first =
                |lease: &&Lease| lease.request.set().resources().next() == Some(resource);
            let is_theirs =
                |lease: &&Lease| agent.is_none() || show::agent_of(&lease.request) == agent;
            let own = held.leases.iter().filter(is_first).filter(is_theirs);
            items.extend(own.map(show::view));
        }
        looked += u32::try_from(rest).unwrap_or(u32::MAX);
        after = held.next;
        if after.is_none() {
            break;
        }
    }
    Ok(Paged { items, next: after })
}

pub async fn graph(app: &App, caller: &Caller) -> Result<LockGraph, Error> {
    let seen = keeper(app)?.waiting(caller.tenant, LOCK_GRAPH_WAITS_MAX).await?;
    let now = look(app, caller).await?.now();
    let (waiting, holding): (Vec<Lease>, Vec<Lease>) =
        seen.leases.iter().cloned().partition(|lease| lease.state == State::Waiting);
    let graph = WaitFor::between(&waiting, &holding, now);
    let edges = graph.edges().map(|(waiter, waits_for)| LockEdge {
        waiter: show::hash(&waiter),
        waits_for: show::hash(&waits_for),
    });
    let roots = graph
        .root_blockers()
        .into_iter()
        .map(|root| RootBlocker { owner_hash: show::hash(&root.owner), blocked: root.blocked });
    Ok(LockGraph {
        edges: edges.collect(),
        root_blockers: roots.collect(),
        leases: seen.leases.iter().map(show::view).collect(),
        has_more: seen.has_more,
    })
}

/// The newest of them.
pub async fn deadlocks(app: &App, caller: &Caller) -> Result<Deadlocks, Error> {
    let mut tx = look(app, caller).await?;
    let found = found::list(&mut tx, LOCK_DEADLOCKS_SHOWN_MAX).await?;
    let items = found.into_iter().filter_map(|found| {
        let cycle: Vec<LeaseView> = serde_json::from_value(found.cycle).ok()?;
        Some(Deadlock { at: found.at, victim: found.victim.parse().ok()?, cycle })
    });
    Ok(Deadlocks { items: items.collect() })
}
