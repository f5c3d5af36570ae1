//! Calls about locks and leases. A request for locks is named by its lease id, which is made here
//! if the caller made none: however often it is sent, it is one request.

use std::time::Duration;

use ade_api::executions::Alive;
use ade_api::locks::{
    Beat, Beats, Breaking, Broken, Deadlocks, Heartbeat, Incident, Lease, LeaseState, LeaseView,
    Lock, LockGraph, NewIncident, NewLease,
};
use ade_api::page::{Page, PageQuery};
use ade_core::ids::{AgentId, LeaseId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::Client;
use crate::error::Error;
use crate::keeper::Keeper;
use crate::send::{Call, segment};

/// How a lease stands that gets no more time.
const SPENT: &str = "held for as long as it may be (lease_held_too_long)";

#[derive(Debug, Clone, Copy)]
pub struct Locks<'a>(pub(crate) &'a Client);

impl Locks<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<Lock>, Error> {
        self.0.read_page("/v1/locks", page).await
    }

    pub async fn get(self, resource: &ResourceRef) -> Result<Lock, Error> {
        self.0.read(path(resource)).await
    }

    pub async fn graph(self) -> Result<LockGraph, Error> {
        self.0.read("/v1/locks/graph".to_owned()).await
    }

    pub async fn deadlocks(self) -> Result<Deadlocks, Error> {
        self.0.read("/v1/locks/deadlocks".to_owned()).await
    }

    pub async fn break_lock(
        self,
        resource: &ResourceRef,
        breaking: &Breaking,
    ) -> Result<Broken, Error> {
        self.0.send(Call::post(format!("{}/break", path(resource))).body(breaking)).await
    }

    pub async fn incident(self, new: &NewIncident) -> Result<Incident, Error> {
        self.0.send(Call::post("/v1/locks/incidents").body(new)).await
    }

    /// All of them or none. `wait` is how long the request says that it stands in line.
    pub async fn acquire(self, mut new: NewLease, wait: Duration) -> Result<Lease, Error> {
        new.lease.get_or_insert_with(|| LeaseId::from_u128(Uuid::new_v4().as_u128()));
        new.wait = (!wait.is_zero()).then(|| crate::seconds(wait));
        self.0.send(Call::post("/v1/locks/acquire").body(&new).lasting(wait)).await
    }

    /// Whose they are, or everybody's.
    pub async fn leases(
        self,
        agent: Option<AgentId>,
        page: &PageQuery,
    ) -> Result<Page<LeaseView>, Error> {
        let call =
            Call::get("/v1/leases").query("agent", agent.map(|agent| agent.to_string())).page(page);
        self.0.send(call).await
    }

    /// Tried once and for so long, like the heartbeat of an attempt.
    pub async fn heartbeat(self, heartbeat: &Heartbeat, within: Duration) -> Result<Beats, Error> {
        self.0.send(Call::post("/v1/leases/heartbeat").body(heartbeat).once(within)).await
    }

    pub async fn release(self, lease: LeaseId) -> Result<Beat, Error> {
        self.0.send(Call::post(format!("/v1/leases/{lease}/release"))).await
    }

    /// Keeps a lease from now on, together with the session it belongs to.
    pub fn keep(self, lease: &Lease) -> Keeper {
        let (client, ttl_ms) = (self.0.clone(), lease.ttl_ms);
        let heartbeat = Heartbeat { session: Some(lease.session), leases: vec![lease.lease] };
        Keeper::start(Duration::from_millis(ttl_ms), move |within| {
            let (client, heartbeat) = (client.clone(), heartbeat.clone());
            async move { alive(&client.locks().heartbeat(&heartbeat, within).await?, ttl_ms) }
        })
    }
}

/// Only a lease that is held is alive. One that gets no more time is over while there is some left:
/// what is done under it must have ended before. One the queue could not say anything about may be
/// asked for again, until its time is over.
fn alive(beats: &Beats, ttl_ms: u64) -> Result<Alive, Error> {
    let first = beats.leases.first();
    if first.is_some_and(|beat| beat.refused.is_some()) {
        return Err(Error::LeaseOver { state: SPENT });
    }
    let told = first.map(|beat| (beat.state, beat.expires_at));
    match told {
        Some((LeaseState::Granted, expires_at)) => Ok(Alive {
            abort_requested: false,
            expires_at: expires_at.unwrap_or(Timestamp::from_micros(0)),
            ttl_ms,
        }),
        Some((LeaseState::Unsure, _)) => Err(Error::Unreachable {
            server: "the queue of locks".to_owned(),
            why: "it does not answer the server".to_owned(),
        }),
        Some((state, _)) => Err(Error::LeaseOver { state: state.as_str() }),
        None => Err(Error::LeaseOver { state: LeaseState::Unknown.as_str() }),
    }
}

fn path(resource: &ResourceRef) -> String {
    format!("/v1/locks/{}/{}", segment(resource.kind()), segment(resource.id()))
}

#[cfg(test)]
mod tests {
    use ade_api::code::Code;

    use super::*;

    fn beats(state: LeaseState) -> Beats {
        let lease = LeaseId::from_u128(1);
        let (token, expires_at, position, refused) = (None, None, None, None);
        let beat = Beat { lease, state, token, expires_at, position, refused };
        Beats { session_until: None, leases: vec![beat] }
    }

    #[test]
    fn a_lease_that_gets_no_more_time_is_given_up_while_there_is_some_left() {
        let mut told = beats(LeaseState::Granted);
        told.leases[0].refused = Some(Code::LeaseHeldTooLong);
        let error = alive(&told, 30_000).unwrap_err();
        assert!(!error.is_passing());
        assert!(error.to_string().contains("lease_held_too_long"), "{error}");
    }

    #[test]
    fn only_a_granted_lease_is_alive_and_only_an_unsure_one_is_asked_again() {
        assert_eq!(alive(&beats(LeaseState::Granted), 30_000).unwrap().ttl_ms, 30_000);
        assert!(alive(&beats(LeaseState::Unsure), 1).unwrap_err().is_passing());
        for over in [LeaseState::Waiting, LeaseState::Expired, LeaseState::Broken] {
            assert!(!alive(&beats(over), 1).unwrap_err().is_passing(), "{over:?}");
        }
        let nothing = Beats { session_until: None, leases: Vec::new() };
        assert!(!alive(&nothing, 1).unwrap_err().is_passing());
    }

    #[test]
    fn a_resource_is_one_part_of_a_path_whatever_it_is_called() {
        let odd: ResourceRef = "host:a/b?c%d#e".parse().unwrap();
        assert_eq!(path(&odd), "/v1/locks/host/a%2Fb%3Fc%25d%23e");
    }
}
