//! What everyone in the tenant may see of its locks: who holds what, who waits for whom, and which
//! deadlocks were found. Lease ids are known only to their holders.

use ade_api::locks::{Deadlock, Deadlocks, LeaseView, Lock, LockEdge, LockGraph, RootBlocker};
use ade_core::ids::AgentId;
use ade_core::limits::{
    LOCK_DEADLOCKS_SHOWN_MAX, LOCK_GRAPH_WAITS_MAX, LOCK_QUEUE_SHOWN_MAX, TASK_LIST_SCAN_MAX,
};
use ade_core::lock::wait_for::WaitFor;
use ade_core::lock::{Lease, LeasePhase};
use ade_core::resource::ResourceRef;
use ade_store::locks::deadlocks as found;

use super::{keeper, views};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::command::{Paged, Span};
use crate::error::Error;
use crate::services::locks::HoldCursor;

pub async fn lock(app: &App, caller: &Caller, resource: ResourceRef) -> Result<Lock, Error> {
    let keeper = keeper(app)?;
    let seen = keeper.queue.resource(caller.tenant, &resource, LOCK_QUEUE_SHOWN_MAX).await?;
    if seen.leases.is_empty() {
        return Err(Error::NotFound { what: "lock" });
    }
    let (mut waiting, holding): (Vec<Lease>, Vec<Lease>) =
        seen.leases.into_iter().partition(|lease| lease.state == LeasePhase::Waiting);
    waiting.sort_by_key(|lease| (lease.order, lease.request.lease()));
    Ok(Lock {
        holding: seen.holding,
        waiting: seen.waiting,
        holders: holding.iter().filter_map(|lease| views::entry(lease, &resource)).collect(),
        queue: waiting.iter().filter_map(|lease| views::entry(lease, &resource)).collect(),
        resource,
    })
}

/// Lists everything that is held. Pages have no order, and may contain slightly more or fewer items
/// than requested.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<HoldCursor>,
) -> Result<Paged<Lock, HoldCursor>, Error> {
    let most = usize::try_from(span.limit).unwrap_or(usize::MAX);
    let after = span.after.as_ref();
    let held = keeper(app)?.queue.held(caller.tenant, after, most, LOCK_QUEUE_SHOWN_MAX).await?;
    let of = |resource: &ResourceRef| {
        let holding = held.leases.iter().filter(|lease| lease.state != LeasePhase::Waiting);
        holding.filter_map(|lease| views::entry(lease, resource)).collect()
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

/// Lists each lease once, under the first of its resources; only those of one agent, if it is
/// named. A page ends after a number of resources, however many leases it contains.
pub async fn leases(
    app: &App,
    caller: &Caller,
    agent: Option<AgentId>,
    span: Span<HoldCursor>,
) -> Result<Paged<LeaseView, HoldCursor>, Error> {
    let keeper = keeper(app)?;
    let wanted = usize::try_from(span.limit).unwrap_or(usize::MAX);
    let mut after = span.after;
    let mut items = Vec::new();
    let mut looked = 0;
    while items.len() < wanted && looked < TASK_LIST_SCAN_MAX {
        let rest = wanted - items.len();
        let held =
            keeper.queue.held(caller.tenant, after.as_ref(), rest, LOCK_QUEUE_SHOWN_MAX).await?;
        for (resource, ..) in &held.resources {
            let is_first =
                |lease: &&Lease| lease.request.set().resources().next() == Some(resource);
            let is_theirs =
                |lease: &&Lease| agent.is_none() || views::agent_of(&lease.request) == agent;
            let own = held.leases.iter().filter(is_first).filter(is_theirs);
            items.extend(own.map(views::view));
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
    let seen = keeper(app)?.queue.waiting(caller.tenant, LOCK_GRAPH_WAITS_MAX).await?;
    let now = look(app, caller).await?.now();
    let (waiting, holding): (Vec<Lease>, Vec<Lease>) =
        seen.leases.iter().cloned().partition(|lease| lease.state == LeasePhase::Waiting);
    let graph = WaitFor::between(&waiting, &holding, now);
    let edges = graph.edges().map(|(waiter, waits_for)| LockEdge {
        waiter: views::hash(&waiter),
        waits_for: views::hash(&waits_for),
    });
    let roots = graph
        .root_blockers()
        .into_iter()
        .map(|root| RootBlocker { owner_hash: views::hash(&root.owner), blocked: root.blocked });
    Ok(LockGraph {
        edges: edges.collect(),
        root_blockers: roots.collect(),
        leases: seen.leases.iter().map(views::view).collect(),
        has_more: seen.has_more,
    })
}

/// Lists the newest deadlocks.
pub async fn deadlocks(app: &App, caller: &Caller) -> Result<Deadlocks, Error> {
    let mut tx = look(app, caller).await?;
    let found = found::list(&mut tx, LOCK_DEADLOCKS_SHOWN_MAX).await?;
    let items = found.into_iter().filter_map(|found| {
        let cycle: Vec<LeaseView> = serde_json::from_value(found.cycle).ok()?;
        Some(Deadlock { at: found.at, victim: found.victim.parse().ok()?, cycle })
    });
    Ok(Deadlocks { items: items.collect() })
}
