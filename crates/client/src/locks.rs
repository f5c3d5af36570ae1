//! Calls for locks and leases. A lock request is identified by its lease ID, which is generated
//! here if the caller has none, so that repeating it is safe.

use std::time::Duration;

use ade_api::executions::Alive;
use ade_api::locks::{
    Beat, Beats, Breaking, Broken, Deadlocks, Heartbeat, Incident, Lease, LeaseState, LeaseView,
    Lock, LockGraph, NewIncident, NewLease,
};
use ade_api::page::{Page, PageQuery};
use ade_api::seconds::Seconds;
use ade_core::ids::{AgentId, LeaseId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::Client;
use crate::error::Error;
use crate::lease_keep_alive::LeaseKeepAlive;
use crate::send::{Call, segment};

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

    /// Acquires all locks or none. `wait` is the queueing time in the request.
    pub async fn acquire(self, mut new: NewLease, wait: Duration) -> Result<Lease, Error> {
        new.lease_id.get_or_insert_with(|| LeaseId::from_u128(Uuid::new_v4().as_u128()));
        new.wait = (!wait.is_zero()).then(|| Seconds::rounded_up(wait));
        self.0.send(Call::post("/v1/locks/acquire").body(&new).lasting(wait)).await
    }

    /// Lists the leases of an agent, or all leases.
    pub async fn leases(
        self,
        agent: Option<AgentId>,
        page: &PageQuery,
    ) -> Result<Page<LeaseView>, Error> {
        let call = Call::get("/v1/leases")
            .query("agent_id", agent.map(|agent| agent.to_string()))
            .page(page);
        self.0.send(call).await
    }

    /// Sends a heartbeat once, within the given time, like the heartbeat of an execution.
    pub async fn heartbeat(self, heartbeat: &Heartbeat, within: Duration) -> Result<Beats, Error> {
        self.0.send(Call::post("/v1/leases/heartbeat").body(heartbeat).once(within)).await
    }

    pub async fn release(self, lease: LeaseId) -> Result<Beat, Error> {
        self.0.send(Call::post(format!("/v1/leases/{lease}/release"))).await
    }

    /// Keeps a lease and its process alive.
    pub fn keep(self, lease: &Lease) -> LeaseKeepAlive {
        let (client, ttl_seconds) = (self.0.clone(), lease.ttl_seconds);
        let heartbeat =
            Heartbeat { process_id: Some(lease.process_id), lease_ids: vec![lease.lease_id] };
        LeaseKeepAlive::start(Duration::from_secs(ttl_seconds), move |within| {
            let (client, heartbeat) = (client.clone(), heartbeat.clone());
            async move { alive(&client.locks().heartbeat(&heartbeat, within).await?, ttl_seconds) }
        })
    }
}

/// Checks whether a lease is alive. A lease that cannot be extended counts as over, so that its
/// work ends in time. A lease of unknown state may be asked for again until its time is over.
fn alive(beats: &Beats, ttl_seconds: u64) -> Result<Alive, Error> {
    let first = beats.leases.first();
    if first.is_some_and(|beat| beat.refused.is_some()) {
        return Err(Error::LeaseSpent);
    }
    let reply = first.map(|beat| (beat.state, beat.expires_at));
    match reply {
        Some((LeaseState::Granted, expires_at)) => Ok(Alive {
            abort_requested: false,
            abort: None,
            expires_at: expires_at.unwrap_or(Timestamp::from_micros(0)),
            ttl_seconds,
        }),
        Some((LeaseState::Uncertain, _)) => Err(Error::Unreachable {
            server: "the lock service".to_owned(),
            why: "it does not respond to the server".to_owned(),
        }),
        Some((state, _)) => {
            let broken = first.and_then(|beat| beat.broken.clone());
            Err(Error::LeaseOver { state, broken })
        }
        None => Err(Error::LeaseOver { state: LeaseState::Unknown, broken: None }),
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
        let lease_id = LeaseId::from_u128(1);
        let (fence, expires_at, position) = (None, None, None);
        let (refused, broken) = (None, None);
        let beat = Beat { lease_id, state, fence, expires_at, position, refused, broken };
        Beats { process_expires_at: None, leases: vec![beat] }
    }

    #[test]
    fn lease_that_cannot_be_extended_is_given_up_early() {
        let mut reply = beats(LeaseState::Granted);
        reply.leases[0].refused = Some(Code::LeaseHeldTooLong);
        let error = alive(&reply, 30_000).unwrap_err();
        assert!(!error.is_passing());
        assert_eq!(error.code(), Code::LeaseHeldTooLong.as_str());
    }

    #[test]
    fn lease_is_alive_only_if_granted_and_retried_only_if_uncertain() {
        assert_eq!(alive(&beats(LeaseState::Granted), 30).unwrap().ttl_seconds, 30);
        assert!(alive(&beats(LeaseState::Uncertain), 1).unwrap_err().is_passing());
        for over in [LeaseState::Waiting, LeaseState::Expired, LeaseState::Broken] {
            assert!(!alive(&beats(over), 1).unwrap_err().is_passing(), "{over:?}");
        }
        let nothing = Beats { process_expires_at: None, leases: Vec::new() };
        assert!(!alive(&nothing, 1).unwrap_err().is_passing());
    }

    #[test]
    fn resource_name_is_one_path_segment() {
        let odd: ResourceRef = "host:a/b?c%d#e".parse().unwrap();
        assert_eq!(path(&odd), "/v1/locks/host/a%2Fb%3Fc%25d%23e");
    }
}
