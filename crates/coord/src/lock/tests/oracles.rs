//! The invariants of a space after every step, checked on the records alone and without the rules
//! that maintain them. The records equal those in Redis, because the rig has compared them.

use std::collections::BTreeSet;

use ade_core::lock::{Lease, LeasePhase, Mode};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_lock_model::Space as Model;

use super::rig::{LockCall, ModelReplies};

pub fn check(
    before: &Model,
    after: &Model,
    now: Timestamp,
    call: &LockCall,
    said: &ModelReplies,
) -> Result<(), String> {
    exclusive_and_within_capacity(after)?;
    no_grantable_waiter_waits(after, now)?;
    no_cycle_remains(after, now)?;
    no_waiter_is_overtaken(before, after, call)?;
    nothing_over_comes_back(before, after, now, call, said)
}

fn holds(lease: &Lease) -> bool {
    matches!(lease.state, LeasePhase::Granted | LeasePhase::Delayed)
}

fn resources(space: &Model) -> BTreeSet<ResourceRef> {
    space.leases().flat_map(|lease| lease.request.set().resources().cloned()).collect()
}

/// Returns whether all of these modes may hold one resource at once.
fn together(modes: &[Mode]) -> bool {
    let counting = modes.iter().filter_map(|mode| match mode {
        Mode::Counting { capacity } => Some(usize::try_from(*capacity).unwrap()),
        Mode::Exclusive | Mode::Shared => None,
    });
    let capacities: Vec<usize> = counting.collect();
    let is_shared = modes.iter().all(|mode| *mode == Mode::Shared);
    let is_counted = capacities.len() == modes.len()
        && capacities.iter().all(|capacity| modes.len() <= *capacity);
    modes.len() < 2 && capacities.iter().all(|capacity| *capacity > 0) || is_shared || is_counted
}

fn exclusive_and_within_capacity(space: &Model) -> Result<(), String> {
    for resource in resources(space) {
        let holding = space.leases().filter(|lease| holds(lease));
        let modes: Vec<Mode> =
            holding.filter_map(|lease| lease.request.set().mode_of(&resource)).collect();
        if !together(&modes) {
            return Err(format!("{resource} is held in {modes:?}"));
        }
    }
    Ok(())
}

/// Of two leases that claim one place, the one with the lower id comes first.
fn stands_before(one: &Lease, other: &Lease) -> bool {
    (one.order, one.request.lease()) < (other.order, other.request.lease())
}

fn blocked_on(space: &Model, waiter: &Lease) -> BTreeSet<ResourceRef> {
    let ahead: Vec<&Lease> = space
        .leases()
        .filter(|l| holds(l) || l.state == LeasePhase::Waiting && stands_before(l, waiter))
        .collect();
    let is_blocked = |resource: &&ResourceRef| {
        let mut modes: Vec<Mode> =
            ahead.iter().filter_map(|lease| lease.request.set().mode_of(resource)).collect();
        modes.extend(waiter.request.set().mode_of(resource));
        !together(&modes)
    };
    waiter.request.set().resources().filter(is_blocked).cloned().collect()
}

fn waiters(space: &Model) -> impl Iterator<Item = &Lease> {
    space.leases().filter(|lease| lease.state == LeasePhase::Waiting)
}

fn no_grantable_waiter_waits(space: &Model, now: Timestamp) -> Result<(), String> {
    let idle = waiters(space)
        .filter(|waiter| waiter.deadline > now)
        .find(|waiter| blocked_on(space, waiter).is_empty());
    idle.map_or(Ok(()), |lease| Err(format!("{} waits for nothing", lease.request.lease())))
}

/// Removes leases that wait for no remaining lease, until nothing changes. What remains is a cycle.
fn no_cycle_remains(space: &Model, now: Timestamp) -> Result<(), String> {
    let live: Vec<&Lease> = space
        .leases()
        .filter(|l| {
            matches!(l.state, LeasePhase::Granted | LeasePhase::Waiting) && l.deadline > now
        })
        .collect();
    let waits_for = |waiter: &Lease, other: &Lease| {
        let is_ahead = other.state == LeasePhase::Granted || stands_before(other, waiter);
        is_ahead
            && waiter.request.set().iter().any(|(resource, mode)| {
                match (mode, other.request.set().mode_of(resource)) {
                    (Mode::Exclusive, Some(Mode::Exclusive | Mode::Shared))
                    | (Mode::Shared, Some(Mode::Exclusive)) => true,
                    (Mode::Exclusive | Mode::Shared | Mode::Counting { .. }, _) => false,
                }
            })
    };
    let mut stuck: Vec<&Lease> =
        live.iter().copied().filter(|l| l.state == LeasePhase::Waiting).collect();
    loop {
        let left: BTreeSet<_> = stuck.iter().map(|lease| lease.request.owner()).collect();
        let mut still = stuck.clone();
        still.retain(|waiter| {
            let others = live.iter().filter(|other| left.contains(&other.request.owner()));
            others.into_iter().any(|other| waits_for(waiter, other))
        });
        if still.len() == stuck.len() {
            break;
        }
        stuck = still;
    }
    if stuck.is_empty() {
        return Ok(());
    }
    Err(format!("a deadlock is left: {:?}", stuck.iter().map(|l| l.request.lease())))
}

/// A lease that waits through a step is not blocked by more leases than before, except by those
/// that may step ahead: a boost, an old place that comes back, a hold registered in PostgreSQL.
fn no_waiter_is_overtaken(before: &Model, after: &Model, call: &LockCall) -> Result<(), String> {
    let may_step_ahead = match call {
        LockCall::Acquire(request, arrival) => {
            request.boost() > 0 || *arrival != ade_core::lock::Arrival::New
        }
        LockCall::Adopt(_) | LockCall::Rebuild(..) => true,
        LockCall::Renew(_)
        | LockCall::Release(_)
        | LockCall::Cancel(_)
        | LockCall::Break(_)
        | LockCall::Refence(..)
        | LockCall::Register(_)
        | LockCall::Sweep(_) => false,
    };
    if may_step_ahead {
        return Ok(());
    }
    for waiter in waiters(before) {
        let still = after.lease(waiter.request.lease());
        if let Some(still) = still.filter(|lease| lease.state == LeasePhase::Waiting) {
            let (then, now) = (blocked_on(before, waiter), blocked_on(after, still));
            if !now.is_subset(&then) {
                let id = waiter.request.lease();
                return Err(format!("{id} was blocked on {then:?}, now on {now:?}"));
            }
        }
    }
    Ok(())
}

fn nothing_over_comes_back(
    before: &Model,
    after: &Model,
    now: Timestamp,
    call: &LockCall,
    said: &ModelReplies,
) -> Result<(), String> {
    if matches!(call, LockCall::Rebuild(..)) && said.refusal.is_none() {
        return Ok(());
    }
    for lease in before.leases() {
        let id = lease.request.lease();
        let (is_over, is_due) = (lease.state.is_over(), lease.deadline <= now);
        let then = after.lease(id);
        let is_alive = then
            .is_some_and(|then| matches!(then.state, LeasePhase::Granted | LeasePhase::Waiting));
        let is_kept = then == Some(lease);
        if is_over && !is_due && !is_kept || is_due && !is_over && is_alive && !is_kept {
            return Err(format!("{id} was {:?}, came back as {then:?}", lease.state));
        }
    }
    Ok(())
}
