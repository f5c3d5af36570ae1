//! The channel of a space: whoever is granted from the line is woken through it.

use ade_core::lock::{Arrival, Standing};
use redis::{AsyncConnectionConfig, ProtocolVersion, PushKind};

use super::rig::{Bench, Call};
use super::traps::ask;
use crate::keys;

#[tokio::test]
async fn a_promoted_waiter_is_hinted_at_on_the_channel_of_its_space() {
    let bench = Bench::open().await;
    let mut rig = bench.space();
    let channel = keys::LOCK_CHANNEL.of(rig.tenant);
    let cluster = ade_testkit::Cluster::shared().await;
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

    rig.call(&Call::Rebuild(Vec::new(), None)).await.unwrap();
    let (first, second) = (ask(1, 1, "a x"), ask(2, 2, "a x"));
    for request in [&first, &second] {
        rig.call(&Call::Acquire(request.clone(), Arrival::New)).await.unwrap();
    }
    rig.call(&Call::Release(first.lease())).await.unwrap();
    let said = rig.call(&Call::Renew(vec![second.lease()])).await.unwrap();
    assert!(matches!(said.told[0], Standing::Granted { .. }));
    let hint = loop {
        let push = receiver.recv().await.unwrap();
        if push.kind == PushKind::SMessage {
            break redis::from_redis_value::<(String, String)>(redis::Value::Array(push.data))
                .unwrap();
        }
    };
    assert_eq!(hint, (channel, format!("promoted {} node-1", second.lease())));
    rig.clear().await;
}
