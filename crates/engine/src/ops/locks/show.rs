//! Leases as others see them. A lease id proves ownership, so only its hash leaves for those who
//! did not make it; a session's id likewise.

use ade_api::code::Code;
use ade_api::locks::{Beat, HeldLock, LeaseState, LeaseView, LockMode};
use ade_core::change::Digest;
use ade_core::ids::{AgentId, LeaseId, UserId};
use ade_core::lock::{Class, Lease, LockSet, Mode, Owner, Request, Standing, State, Token};

pub fn hash(id: &impl ToString) -> Digest {
    Digest::of(id.to_string().as_bytes())
}

/// Whom a lease belongs to, written where the queue keeps the process: `agt_…@service`.
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
    let request = &lease.request;
    LeaseView {
        lease_hash: hash(&request.lease()),
        state: state(lease.state),
        fenced: matches!(request.class(), Class::Fenced { .. }),
        agent: agent_of(request),
        user: user_of(request),
        task: match request.owner() {
            Owner::Task(task) => Some(task),
            Owner::Agent(_) | Owner::User(_) => None,
        },
        owner_hash: hash(&request.owner()),
        resources: locks(request.set()),
        priority: request.boost(),
        token: lease.token.map(Token::number),
        since: request.birth(),
        expires_at: lease.deadline,
    }
}

fn locks(set: &LockSet) -> Vec<HeldLock> {
    let held = set.iter().map(|(resource, mode)| {
        let (mode, capacity) = match mode {
            Mode::Exclusive => (LockMode::Exclusive, None),
            Mode::Shared => (LockMode::Shared, None),
            Mode::Counting { capacity } => (LockMode::Counting, Some(capacity)),
        };
        HeldLock { resource: resource.clone(), mode, capacity }
    });
    held.collect()
}

pub fn state(state: State) -> LeaseState {
    match state {
        State::Waiting => LeaseState::Waiting,
        State::Granted => LeaseState::Granted,
        State::Delayed => LeaseState::Delayed,
        State::Released => LeaseState::Released,
        State::Expired => LeaseState::Expired,
        State::Broken => LeaseState::Broken,
        State::TimedOut => LeaseState::TimedOut,
        State::Victim => LeaseState::Victim,
    }
}

/// Only how it stands.
pub fn nothing(lease: LeaseId, state: LeaseState) -> Beat {
    Beat { lease, state, token: None, expires_at: None, position: None, refused: None }
}

pub fn beat(lease: LeaseId, standing: Standing) -> Beat {
    let nothing = |state| nothing(lease, state);
    match standing {
        Standing::Granted { token, deadline } => Beat {
            token: Some(token.number()),
            expires_at: Some(deadline),
            ..nothing(LeaseState::Granted)
        },
        Standing::Spent { token, deadline } => Beat {
            refused: Some(Code::LeaseHeldTooLong),
            ..beat(lease, Standing::Granted { token, deadline })
        },
        Standing::Waiting { position, deadline, .. } => Beat {
            expires_at: Some(deadline),
            position: Some(position),
            ..nothing(LeaseState::Waiting)
        },
        Standing::Delayed { until } => {
            Beat { expires_at: Some(until), ..nothing(LeaseState::Delayed) }
        }
        Standing::Over { state: over } => nothing(state(over)),
        Standing::Unknown => nothing(LeaseState::Unknown),
    }
}
