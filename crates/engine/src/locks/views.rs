//! Leases as others see them. A lease id proves ownership, so others see only its hash; the same
//! holds for session ids.

use ade_api::code::Code;
use ade_api::locks::{Beat, HeldLock, LeaseState, LeaseSummary, LeaseView, LockEntry, LockMode};
use ade_core::change::Digest;
use ade_core::ids::{AgentId, LeaseId, UserId};
use ade_core::lock::{
    FencingToken, Lease, LeaseClass, LeasePhase, LeaseStatus, LockSet, Mode, Owner, Request,
};
use ade_core::resource::ResourceRef;

pub fn hash(id: &impl ToString) -> Digest {
    Digest::of(id.to_string().as_bytes())
}

/// Returns the owner of a lease, in the form in which the queue stores its process:
/// `agt_…@service`.
pub fn node(principal: &str, service: &str) -> String {
    format!("{principal}@{service}")
}

pub fn agent_of(request: &Request) -> Option<AgentId> {
    request.principal().parse().ok()
}

fn user_of(request: &Request) -> Option<UserId> {
    request.principal().parse().ok()
}

pub fn view(lease: &Lease) -> LeaseView {
    LeaseView { summary: summary(lease), resources: locks(lease.request.set()) }
}

/// Returns the part of a lease that concerns this resource. `None` if the lease does not cover it.
pub fn entry(lease: &Lease, resource: &ResourceRef) -> Option<LockEntry> {
    let (mode, capacity) = mode(lease.request.set().mode_of(resource)?);
    Some(LockEntry { summary: summary(lease), mode, capacity })
}

fn summary(lease: &Lease) -> LeaseSummary {
    let request = &lease.request;
    LeaseSummary {
        lease_hash: hash(&request.lease()),
        state: state(lease.state),
        fenced: matches!(request.class(), LeaseClass::Fenced { .. }),
        agent_id: agent_of(request),
        user_id: user_of(request),
        task_id: match request.owner() {
            Owner::Task(task) => Some(task),
            Owner::Agent(_) | Owner::User(_) => None,
        },
        owner_hash: hash(&request.owner()),
        priority: request.boost(),
        fence: lease.token.map(FencingToken::number),
        since: request.birth(),
        expires_at: lease.deadline,
    }
}

fn locks(set: &LockSet) -> Vec<HeldLock> {
    let held = set.iter().map(|(resource, held)| {
        let (mode, capacity) = mode(held);
        HeldLock { resource: resource.clone(), mode, capacity }
    });
    held.collect()
}

const fn mode(mode: Mode) -> (LockMode, Option<u32>) {
    match mode {
        Mode::Exclusive => (LockMode::Exclusive, None),
        Mode::Shared => (LockMode::Shared, None),
        Mode::Counting { capacity } => (LockMode::Counting, Some(capacity)),
    }
}

pub fn state(state: LeasePhase) -> LeaseState {
    match state {
        LeasePhase::Waiting => LeaseState::Waiting,
        LeasePhase::Granted => LeaseState::Granted,
        LeasePhase::Delayed => LeaseState::Delayed,
        LeasePhase::Released => LeaseState::Released,
        LeasePhase::Expired => LeaseState::Expired,
        LeasePhase::Broken => LeaseState::Broken,
        LeasePhase::TimedOut => LeaseState::TimedOut,
        LeasePhase::Victim => LeaseState::Deadlocked,
    }
}

/// Returns a result that contains only the state.
pub fn nothing(lease: LeaseId, state: LeaseState) -> Beat {
    Beat {
        lease_id: lease,
        state,
        fence: None,
        expires_at: None,
        position: None,
        refused: None,
        broken: None,
    }
}

pub fn beat(lease: LeaseId, status: LeaseStatus) -> Beat {
    let nothing = |state| nothing(lease, state);
    match status {
        LeaseStatus::Granted { token, deadline } => Beat {
            fence: Some(token.number()),
            expires_at: Some(deadline),
            ..nothing(LeaseState::Granted)
        },
        LeaseStatus::Spent { token, deadline } => Beat {
            refused: Some(Code::LeaseHeldTooLong),
            ..beat(lease, LeaseStatus::Granted { token, deadline })
        },
        LeaseStatus::Waiting { position, deadline, .. } => Beat {
            expires_at: Some(deadline),
            position: Some(position),
            ..nothing(LeaseState::Waiting)
        },
        LeaseStatus::Delayed { until } => {
            Beat { expires_at: Some(until), ..nothing(LeaseState::Delayed) }
        }
        LeaseStatus::Over { state: over } => nothing(state(over)),
        LeaseStatus::Unknown => nothing(LeaseState::Unknown),
    }
}
