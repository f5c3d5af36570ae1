//! Hints that a lease may have changed: one connection per process, subscribed to the channels of
//! the namespaces in which it has waiters. Hints may be lost. A subscription ends silently when its
//! master fails, so it is renewed continuously; a renewal costs one round trip and serves as the
//! heartbeat of the connection.

use std::fmt;

use ade_core::ids::{LeaseId, TenantId};
use redis::cluster_async::ClusterConnection;
use redis::{PushInfo, PushKind, Value};

use crate::cluster::connect_hearing;
use crate::error::CoordError;
use crate::keys::LOCK_CHANNEL;
use crate::nodes::Nodes;

const WORK: &str = "work";

/// A message of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// This lease may have changed.
    Lease(LeaseId),
    /// The tenant has tasks to apply.
    Work(TenantId),
    /// The subscription or its connection has ended and must be renewed.
    Silence,
}

#[derive(Clone)]
pub struct Hints {
    connection: ClusterConnection,
}

/// Hides the connection, which contains passwords.
impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").finish_non_exhaustive()
    }
}

impl Hints {
    /// Opens the connection. `hear` is called on the task of the connection, so it must not block.
    pub fn open(
        nodes: &Nodes,
        hear: impl Fn(Hint) + Send + Sync + 'static,
    ) -> Result<Self, CoordError> {
        Ok(Self { connection: connect_hearing(nodes, heard, hear)? })
    }

    /// Subscribes to the channel of a tenant, or renews the subscription.
    pub async fn follow(&self, tenant: TenantId) -> Result<(), CoordError> {
        let followed = self.connection.clone().ssubscribe(LOCK_CHANNEL.of(tenant)).await;
        followed.map_err(|error| CoordError::of_call("ssubscribe", error))
    }

    /// Notifies every process that waits for tasks of this tenant.
    pub async fn tell_work(&self, tenant: TenantId) -> Result<(), CoordError> {
        let mut hint = redis::cmd("SPUBLISH");
        hint.arg(LOCK_CHANNEL.of(tenant)).arg(format!("{WORK} {tenant}"));
        let pushed: Result<(), _> = hint.query_async(&mut self.connection.clone()).await;
        pushed.map_err(|error| CoordError::of_call("spublish", error))
    }

    pub async fn leave(&self, tenant: TenantId) -> Result<(), CoordError> {
        let left = self.connection.clone().sunsubscribe(LOCK_CHANNEL.of(tenant)).await;
        left.map_err(|error| CoordError::of_call("sunsubscribe", error))
    }
}

fn heard(info: &PushInfo) -> Option<Hint> {
    match info.kind {
        PushKind::Disconnection | PushKind::SUnsubscribe => Some(Hint::Silence),
        PushKind::SMessage => match info.data.as_slice() {
            [_, Value::BulkString(message)] => {
                // An event with lease id and node, or a hint that a tenant has tasks.
                let mut words = std::str::from_utf8(message).ok()?.split(' ');
                let (event, subject) = (words.next()?, words.next()?);
                if event == WORK {
                    return subject.parse().ok().map(Hint::Work);
                }
                subject.parse().ok().map(Hint::Lease)
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
    fn hint_message_names_a_lease_and_disconnects_are_reported() {
        let lease = LeaseId::from_u128(7);
        let message = format!("promoted {lease} node-1");
        let pushed = push(PushKind::SMessage, &["channel", &message]);
        assert_eq!(heard(&pushed), Some(Hint::Lease(lease)));
        let tenant = TenantId::from_u128(9);
        let work = push(PushKind::SMessage, &["channel", &format!("work {tenant}")]);
        assert_eq!(heard(&work), Some(Hint::Work(tenant)));
        assert_eq!(heard(&push(PushKind::SMessage, &["channel", "promoted x y"])), None);
        assert_eq!(heard(&push(PushKind::SSubscribe, &["channel"])), None);
        for kind in [PushKind::Disconnection, PushKind::SUnsubscribe] {
            assert_eq!(heard(&push(kind, &[])), Some(Hint::Silence));
        }
    }
}
