//! The channel of a space: whoever is granted from the line is woken through it.

use std::time::Duration;

use ade_core::lock::{Arrival, Standing};
use ade_testkit::Cluster;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushKind};

use super::rig::{Bench, Call};
use super::traps::ask;
use crate::keys;

const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_promoted_waiter_is_hinted_at_on_the_channel_of_its_space() {
    let cluster = Cluster::shared().await;
    let bench = Bench::at(&cluster).await;
    case(&bench, &cluster).await.unwrap_or_else(|told| panic!("{told}"));
}

/// Also run on every mutant.
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

    rig.call(&Call::Rebuild(Vec::new(), None)).await?;
    let (first, second) = (ask(1, 1, "a x"), ask(2, 2, "a x"));
    for request in [&first, &second] {
        rig.call(&Call::Acquire(request.clone(), Arrival::New)).await?;
    }
    rig.call(&Call::Release(first.lease())).await?;
    let said = rig.call(&Call::Renew(vec![second.lease()])).await?;
    assert!(matches!(said.told[0], Standing::Granted { .. }));
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
