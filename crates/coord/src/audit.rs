//! Compares the keys of a cluster with the catalogue: undeclared keys, wrong types and wrong
//! lifetimes. Read-only, in pages, master by master.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{FromRedisValue, Value, from_redis_value};

use crate::cluster::Cluster;
use crate::error::CoordError;
use crate::keys::{CATALOGUE, Key, KeyType};

/// Keys that one scan step examines.
const REDIS_SCAN_PAGE: usize = 500;

const NAME: &str = "audit";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyProblem {
    Unknown,
    WrongType { found: String, declared: KeyType },
    Expires { after: Duration, declared: Option<Duration> },
    NeverExpires { declared: Duration },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFinding {
    pub key: String,
    pub problem: KeyProblem,
}

#[derive(Debug, Default)]
pub struct Audit {
    pub keys: usize,
    /// The patterns of the catalogue of which at least one key was found.
    pub seen: BTreeSet<&'static str>,
    pub findings: Vec<KeyFinding>,
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "is not in the catalogue"),
            Self::WrongType { found, declared } => {
                write!(f, "is a {found}, declared as {}", declared.as_str())
            }
            Self::Expires { after, declared: None } => {
                write!(f, "expires in {after:?}, declared as persistent")
            }
            Self::Expires { after, declared: Some(most) } => {
                write!(f, "expires in {after:?}, declared to expire within {most:?}")
            }
            Self::NeverExpires { declared } => {
                write!(f, "does not expire, declared to expire within {declared:?}")
            }
        }
    }
}

impl Cluster {
    pub async fn audit(&self) -> Result<Audit, CoordError> {
        let mut audit = Audit::default();
        let nodes: String = self.look(redis::cmd("CLUSTER").arg("NODES").clone(), None).await?;
        for master in masters(&nodes) {
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(&cursor).arg("COUNT").arg(REDIS_SCAN_PAGE);
                let page: (String, Vec<Vec<u8>>) = self.look(scan, Some(&master)).await?;
                for key in page.1 {
                    audit.keys += 1;
                    let name = String::from_utf8_lossy(&key);
                    audit.seen.extend(declared(&name).map(Key::pattern));
                    audit.findings.extend(self.look_at(&key, &master).await?);
                }
                cursor = page.0;
                if cursor == "0" {
                    break;
                }
            }
        }
        audit.findings.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(audit)
    }

    async fn look_at(
        &self,
        key: &[u8],
        master: &Address,
    ) -> Result<Option<KeyFinding>, CoordError> {
        let kind: String = self.look(redis::cmd("TYPE").arg(key).clone(), Some(master)).await?;
        if kind == "none" {
            // The key has expired or was deleted since the scan.
            return Ok(None);
        }
        let left: i64 = self.look(redis::cmd("PTTL").arg(key).clone(), Some(master)).await?;
        let left = u64::try_from(left).ok().map(Duration::from_millis);
        let key = String::from_utf8_lossy(key).into_owned();
        Ok(judge(&key, &kind, left).map(|problem| KeyFinding { key, problem }))
    }

    async fn look<T: FromRedisValue>(
        &self,
        command: redis::Cmd,
        at: Option<&Address>,
    ) -> Result<T, CoordError> {
        let node = at.map_or(SingleNodeRoutingInfo::Random, |address| {
            SingleNodeRoutingInfo::ByAddress { host: address.host.clone(), port: address.port }
        });
        let value: Value = self.ask_node(command, RoutingInfo::SingleNode(node)).await?;
        from_redis_value(value)
            .map_err(|error| CoordError::Reply { script: NAME, why: error.to_string() })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    host: String,
    port: u16,
}

/// Parses the reply to CLUSTER NODES: id, address, flags, and more.
fn masters(nodes: &str) -> Vec<Address> {
    let masters = nodes.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (address, flags) = (words.next()?, words.next()?);
        let mut flags = flags.split(',');
        let is_master = flags.clone().any(|flag| flag == "master");
        let is_gone = flags.any(|flag| matches!(flag, "fail" | "noaddr" | "handshake"));
        let (host, port) = address.split('@').next()?.rsplit_once(':')?;
        let port = port.parse().ok()?;
        (is_master && !is_gone).then(|| Address { host: host.to_owned(), port })
    });
    masters.collect()
}

impl Audit {
    /// The patterns of the catalogue of which no key was found.
    pub fn unseen(&self) -> Vec<&'static str> {
        let kept = CATALOGUE.iter().filter(|known| known.kind.type_name().is_some());
        kept.map(Key::pattern).filter(|pattern| !self.seen.contains(pattern)).collect()
    }
}

fn declared(key: &str) -> Option<&'static Key> {
    CATALOGUE.iter().find(|known| known.matches(key))
}

fn judge(key: &str, kind: &str, left: Option<Duration>) -> Option<KeyProblem> {
    let Some(declared) = declared(key) else {
        return Some(KeyProblem::Unknown);
    };
    if declared.kind.type_name() != Some(kind) {
        return Some(KeyProblem::WrongType { found: kind.to_owned(), declared: declared.kind });
    }
    match (left, declared.ttl_max) {
        (None, Some(most)) => Some(KeyProblem::NeverExpires { declared: most }),
        (Some(after), most) if most.is_none_or(|most| after > most) => {
            Some(KeyProblem::Expires { after, declared: most })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ade_core::ids::TenantId;
    use ade_core::limits::EVENT_SHARDS;
    use ade_testkit::Namespace;

    use super::*;
    use crate::keys;

    #[test]
    fn key_audit_checks_declared_type_and_lifetime() {
        let key = keys::LOCK_BOOK.of(TenantId::from_u128(7));
        let second = Duration::from_secs(1);
        assert_eq!(judge(&key, "hash", None), None);
        let without_tenant = key.replace(&TenantId::from_u128(7).to_string(), "no-tenant");
        assert_eq!(judge(&without_tenant, "hash", None), Some(KeyProblem::Unknown));
        assert_eq!(judge(&format!("{key}s"), "hash", None), Some(KeyProblem::Unknown));
        let declared = KeyType::Hash;
        let wrong = KeyProblem::WrongType { found: "string".to_owned(), declared };
        assert_eq!(judge(&key, "string", None), Some(wrong));
        let expires = KeyProblem::Expires { after: second, declared: None };
        assert_eq!(judge(&key, "hash", Some(second)), Some(expires));
        let stream = keys::EVENTS_TASK.of_shard(EVENT_SHARDS - 1);
        assert_eq!(judge(&stream, "stream", None), None);
        let beyond = keys::EVENTS_TASK.of_shard(EVENT_SHARDS);
        assert_eq!(judge(&beyond, "stream", None), Some(KeyProblem::Unknown));
        let tenant = TenantId::from_u128(7);
        let of_one = keys::TASK_STATE.of_one(tenant, "task_1");
        assert_eq!(judge(&of_one, "hash", Some(second)), None);
        let declared = keys::TASK_STATE.ttl_max.unwrap();
        assert_eq!(judge(&of_one, "hash", None), Some(KeyProblem::NeverExpires { declared }));
        for wrong in ["", "a:b", "{a}"] {
            let wrong = keys::TASK_STATE.of_one(tenant, wrong);
            assert_eq!(judge(&wrong, "hash", Some(second)), Some(KeyProblem::Unknown), "{wrong}");
        }
    }

    #[test]
    fn cluster_masters_are_the_nodes_that_serve_slots() {
        let nodes = "a 10.0.0.1:7000@17000,host myself,master - 0 0 1 connected 0-99\n\
            b 10.0.0.2:7001@17001 slave a 0 0 1 connected\n\
            c 10.0.0.3:7002@17002 master,fail - 0 0 1 disconnected\n";
        assert_eq!(masters(nodes), [Address { host: "10.0.0.1".to_owned(), port: 7000 }]);
    }

    #[tokio::test]
    async fn key_audit_finds_a_planted_key_on_any_node() {
        let servers = ade_testkit::Cluster::owned().await;
        let cluster = Cluster::open(&servers.urls().into()).unwrap();
        assert_eq!(cluster.audit().await.unwrap().keys, 0);
        let tenants = Namespace::fresh();
        let (good, typed, dying) = (tenants.tenant(), tenants.tenant(), tenants.tenant());
        let registry = |tenant| keys::LOCK_REGISTRY.of(tenant);
        let plant = async |command: &mut redis::Cmd| {
            let mut connection = cluster.connection();
            command.query_async::<()>(&mut connection).await.unwrap();
        };
        plant(redis::cmd("ZADD").arg(registry(good)).arg(1).arg("a")).await;
        plant(redis::cmd("SET").arg(registry(typed)).arg(1)).await;
        plant(redis::cmd("ZADD").arg(registry(dying)).arg(1).arg("a")).await;
        plant(redis::cmd("EXPIRE").arg(registry(dying)).arg(100)).await;
        plant(redis::cmd("SET").arg("stray").arg(1)).await;
        let audit = cluster.audit().await.unwrap();
        assert_eq!(audit.keys, 4);
        assert_eq!(audit.seen.iter().copied().collect::<Vec<_>>(), [keys::LOCK_REGISTRY.pattern()]);
        assert!(audit.unseen().contains(&keys::LOCK_BOOK.pattern()));
        assert!(!audit.unseen().contains(&keys::LOCK_CHANNEL.pattern()), "a channel is not a key");
        let problems: Vec<String> =
            audit.findings.iter().map(|found| format!("{} {}", found.key, found.problem)).collect();
        assert_eq!(problems.len(), 3, "{problems:#?}");
        let has_problem = |key: &str, what: &str| {
            assert!(
                problems.iter().any(|line| line.starts_with(key) && line.contains(what)),
                "{problems:?}"
            );
        };
        has_problem(&registry(typed), "is a string, declared as sorted set");
        has_problem(&registry(dying), "declared as persistent");
        has_problem("stray", "is not in the catalogue");
    }
}
