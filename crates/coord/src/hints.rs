//! Hints that a lease may have changed: one connection for a whole process, subscribed to the
//! channels of the spaces it has waiters in. Nobody relies on them. A subscription dies without a
//! word when its master does, so it is made anew all the time: where it stands already that costs
//! a round trip, and it is the heartbeat of the connection as well.

use std::fmt;

use ade_core::ids::{LeaseId, TenantId};
use redis::cluster_async::ClusterConnection;
use redis::{PushInfo, PushKind, Value};

use crate::cluster::connect_hearing;
use crate::error::Error;
use crate::keys::LOCK_CHANNEL;
use crate::nodes::Nodes;

const WORK: &str = "work";

/// What a subscription says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Look at this lease.
    Lease(LeaseId),
    /// There is something to apply.
    Work(TenantId),
    /// The subscription or its connection has ended: subscribe again.
    Silence,
}

#[derive(Clone)]
pub struct Hints {
    connection: ClusterConnection,
}

/// The connection knows passwords.
impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").finish_non_exhaustive()
    }
}

impl Hints {
    /// `hear` is called on the task of the connection, so it must not wait.
    pub fn open(
        nodes: &Nodes,
        hear: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Ok(Self { connection: connect_hearing(nodes, heard, hear)? })
    }

    /// Also where it is subscribed already.
    pub async fn follow(&self, tenant: TenantId) -> Result<(), Error> {
        let followed = self.connection.clone().ssubscribe(LOCK_CHANNEL.of(tenant)).await;
        followed.map_err(|error| Error::of_call("ssubscribe", error))
    }

    /// Tells every process that waits for work of this tenant.
    pub async fn tell_work(&self, tenant: TenantId) -> Result<(), Error> {
        let mut hint = redis::cmd("SPUBLISH");
        hint.arg(LOCK_CHANNEL.of(tenant)).arg(format!("{WORK} {tenant}"));
        let told: Result<(), _> = hint.query_async(&mut self.connection.clone()).await;
        told.map_err(|error| Error::of_call("spublish", error))
    }

    pub async fn leave(&self, tenant: TenantId) -> Result<(), Error> {
        let left = self.connection.clone().sunsubscribe(LOCK_CHANNEL.of(tenant)).await;
        left.map_err(|error| Error::of_call("sunsubscribe", error))
    }
}

fn heard(info: &PushInfo) -> Option<Heard> {
    match info.kind {
        PushKind::Disconnection | PushKind::SUnsubscribe => Some(Heard::Silence),
        PushKind::SMessage => match info.data.as_slice() {
            [_, Value::BulkString(message)] => {
                // An event, a lease id and a node; or that there is work, and whose.
                let mut words = std::str::from_utf8(message).ok()?.split(' ');
                let (event, subject) = (words.next()?, words.next()?);
                if event == WORK {
                    return subject.parse().ok().map(Heard::Work);
                }
                subject.parse().ok().map(Heard::Lease)
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(kind: PushKind, words: &[&str]) -> PushInfo {
        let data = words.iter().map(|word| Value::BulkString(word.as_bytes().to_vec()));
        PushInfo { kind, data: data.collect() }
    }

    #[test]
    fn a_message_names_a_lease_and_an_end_is_heard() {
        let lease = LeaseId::from_u128(7);
        let message = format!("promoted {lease} node-1");
        let told = push(PushKind::SMessage, &["channel", &message]);
        assert_eq!(heard(&told), Some(Heard::Lease(lease)));
        let tenant = TenantId::from_u128(9);
        let work = push(PushKind::SMessage, &["channel", &format!("work {tenant}")]);
        assert_eq!(heard(&work), Some(Heard::Work(tenant)));
        assert_eq!(heard(&push(PushKind::SMessage, &["channel", "promoted x y"])), None);
        assert_eq!(heard(&push(PushKind::SSubscribe, &["channel"])), None);
        for kind in [PushKind::Disconnection, PushKind::SUnsubscribe] {
            assert_eq!(heard(&push(kind, &[])), Some(Heard::Silence));
        }
    }
}
