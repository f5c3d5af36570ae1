//! The channel of a space: a waiter that is granted from the queue is woken through it.

use std::time::Duration;

use ade_core::lock::{Arrival, LeaseStatus};
use ade_testkit::Cluster;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushKind};

use super::rig::{Bench, LockCall};
use super::traps::ask;
use crate::keys;

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn hint_for_a_promoted_waiter_arrives_on_its_channel() {
    let cluster = Cluster::shared().await;
    let bench = Bench::at(&cluster).await;
    case(&bench, &cluster).await.unwrap_or_else(|message| panic!("{message}"));
}

/// This case also runs on every mutant.
pub async fn case(bench: &Bench, cluster: &Cluster) -> Result<(), String> {
    let mut rig = bench.space();
    let channel = keys::LOCK_CHANNEL.of(rig.tenant);
    let slot = cluster.slot_of(&channel).await;
    let url = format!("{}/?protocol=resp3", cluster.master_of(slot).await.url());
    let client = redis::Client::open(url).unwrap();
    assert_eq!(client.get_connection_info().redis_settings().protocol(), ProtocolVersion::RESP3);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let config = AsyncConnectionConfig::new().set_push_sender(sender);
    let mut connection =
        client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    let mut subscribe = redis::cmd("SSUBSCRIBE");
    let _: redis::Value = subscribe.arg(&channel).query_async(&mut connection).await.unwrap();

    rig.call(&LockCall::Rebuild(Vec::new(), None)).await?;
    let (first, second) = (ask(1, 1, "a x"), ask(2, 2, "a x"));
    for request in [&first, &second] {
        rig.call(&LockCall::Acquire(request.clone(), Arrival::New)).await?;
    }
    rig.call(&LockCall::Release(first.lease())).await?;
    let said = rig.call(&LockCall::Renew(vec![second.lease()])).await?;
    assert!(matches!(said.standings[0], LeaseStatus::Granted { .. }));
    let hint = async {
        loop {
            let push = receiver.recv().await.unwrap();
            if push.kind == PushKind::SMessage {
                let data = redis::Value::Array(push.data);
                return redis::from_redis_value::<(String, String)>(data).unwrap();
            }
        }
    };
    let hint = tokio::time::timeout(SOON, hint).await.map_err(|_| "no hint came".to_owned())?;
    rig.clear().await;
    let expected = (channel, format!("promoted {} node-1", second.lease()));
    if hint == expected { Ok(()) } else { Err(format!("{hint:?} instead of {expected:?}")) }
}
