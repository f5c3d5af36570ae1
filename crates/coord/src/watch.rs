//! Checks of the Redis nodes: the replication id of the master of a tenant, and the settings that
//! locks depend on.

use std::collections::BTreeMap;

use ade_core::ids::TenantId;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{FromRedisValue as _, Value};

use crate::cluster::Cluster;
use crate::error::CoordError;
use crate::keys::LOCK_BOOK;

/// A setting of a master that locks depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitness {
    pub node: String,
    pub setting: &'static str,
    pub value: String,
    /// The required value, and why.
    pub needed: &'static str,
    pub is_fit: bool,
}

struct Need {
    setting: &'static str,
    needed: &'static str,
    is_fit: fn(&str) -> bool,
}

const NEEDS: [Need; 2] = [
    Need {
        setting: "maxmemory-policy",
        needed: "set `noeviction`, because an evicted key is a lost lock",
        is_fit: |value| value == "noeviction",
    },
    Need {
        setting: "min-replicas-to-write",
        needed: "set 1 or more, because writes acknowledged only by a master are lost with it",
        is_fit: |value| value.parse().is_ok_and(|count: u32| count > 0),
    },
];

impl Cluster {
    /// Returns the replication id of the master of this tenant. It changes with every new master,
    /// also with one that comes back empty: acknowledged writes may then be lost.
    pub async fn master_replid(&self, tenant: TenantId) -> Result<String, CoordError> {
        let mut info = redis::cmd("INFO");
        info.arg("replication");
        let route = Route::with_key(LOCK_BOOK.of(tenant), SlotAddr::Master);
        let route = RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(route));
        let answered = self.connection().route_command(info, route).await;
        let text = answered.and_then(|value| Ok(String::from_redis_value(value)?));
        let text = text.map_err(|error| CoordError::of_call("info", error))?;
        let known = text.lines().find_map(|line| line.strip_prefix("master_replid:"));
        known
            .map(|id| id.trim_end().to_owned())
            .ok_or_else(|| CoordError::Reply { script: "info", why: "no master_replid".to_owned() })
    }

    /// Checks that every master answers in time.
    pub async fn ping(&self) -> Result<(), CoordError> {
        self.of_masters(redis::cmd("PING")).await.map(drop)
    }

    pub async fn fitness(&self) -> Result<Vec<Fitness>, CoordError> {
        let mut found = Vec::new();
        for Need { setting, needed, is_fit } in NEEDS {
            let mut ask = redis::cmd("CONFIG");
            ask.arg("GET").arg(setting);
            for (node, value) in self.of_masters(ask).await? {
                let values = BTreeMap::<String, String>::from_redis_value(value)
                    .map_err(|error| CoordError::of_call("config", error.into()))?;
                let value = values.into_values().next().unwrap_or_default();
                found.push(Fitness { is_fit: is_fit(&value), node, setting, value, needed });
            }
        }
        Ok(found)
    }

    async fn of_masters(&self, command: redis::Cmd) -> Result<Vec<(String, Value)>, CoordError> {
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answered = self.connection().route_command(command, all).await;
        let by_node = answered.map_err(|error| CoordError::of_call("ask", error))?;
        let unknown = |why: String| CoordError::Reply { script: "ask", why };
        match by_node {
            Value::Map(pairs) => pairs
                .into_iter()
                .map(|(node, value)| {
                    let node = String::from_redis_value(node);
                    Ok((node.map_err(|error| unknown(error.to_string()))?, value))
                })
                .collect(),
            other => Err(unknown(format!("{other:?} is not a map by node"))),
        }
    }
}
