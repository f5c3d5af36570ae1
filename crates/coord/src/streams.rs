//! Events on their way to listeners: a few streams per shard of tenants, trimmed as they grow, and
//! a channel that announces growth. A reader that misses events notices by the sequence numbers,
//! and reads them from PostgreSQL.

use std::collections::BTreeMap;
use std::fmt;

use ade_core::event::{Topic, shard_of};
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, EVENT_STREAM_LENGTH};
use redis::cluster_async::ClusterConnection;
use redis::{FromRedisValue as _, PushInfo, PushKind, Value};

use crate::cluster::{connect, connect_hearing};
use crate::error::CoordError;
use crate::keys::{EVENTS_CHANNEL, events_of};
use crate::nodes::Nodes;

/// Entries that one read of a stream returns.
const EVENT_STREAM_PAGE: usize = 1_000;

const TENANT: &str = "tenant";
const SEQ: &str = "seq";
const KIND: &str = "type";
const OBJECT: &str = "object";
const EVENT: &str = "event";

/// One event to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEntry {
    pub tenant: TenantId,
    pub seq: u64,
    pub topic: Topic,
    pub kind: String,
    pub object: String,
    /// The whole event in the encoding of the writer.
    pub event: Vec<u8>,
}

/// The position of a reader in the streams of one shard: the id of the last entry of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<Topic, String>);

/// The result of reading a shard once.
#[derive(Debug, Default)]
pub struct StreamPage {
    pub entries: Vec<StreamEntry>,
    /// Whether the page is full, so that there may be more entries.
    pub is_full: bool,
}

/// A message of the subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSignal {
    /// The streams of this shard have grown.
    Grown(u8),
    /// The subscription or its connection has ended and must be renewed.
    Silence,
}

/// The streams. They use two separate connections, so that a burst of events does not delay lock
/// calls.
#[derive(Clone)]
pub struct Streams {
    connection: ClusterConnection,
    hints: ClusterConnection,
}

/// Hides the connections, which contain passwords.
impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

impl Streams {
    /// Opens the connections, which needs a runtime. `hear` is called on the task of the
    /// connection, so it must not block.
    pub fn open(
        nodes: &Nodes,
        hear: impl Fn(StreamSignal) + Send + Sync + 'static,
    ) -> Result<Self, CoordError> {
        Ok(Self { connection: connect(nodes)?, hints: connect_hearing(nodes, heard, hear)? })
    }

    /// Publishes entries of one shard in one round trip, all or none. After a missing reply they
    /// may have been published: readers recognize an event by its number.
    pub async fn publish(&self, shard: u8, entries: &[StreamEntry]) -> Result<(), CoordError> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        for entry in entries.iter().filter(|entry| shard_of(entry.tenant) == shard) {
            pipe.cmd("XADD")
                .arg(events_of(entry.topic).of_shard(shard))
                .arg(&["MAXLEN", "~"])
                .arg(EVENT_STREAM_LENGTH)
                .arg("*")
                .arg(&[(TENANT, entry.tenant.to_string()), (SEQ, entry.seq.to_string())])
                .arg(&[(KIND, &entry.kind), (OBJECT, &entry.object)])
                .arg(EVENT)
                .arg(&entry.event)
                .ignore();
        }
        pipe.cmd("SPUBLISH").arg(EVENTS_CHANNEL.of_shard(shard)).arg(shard).ignore();
        let done: Result<(), _> = pipe.query_async(&mut self.connection.clone()).await;
        done.map_err(|error| CoordError::of_call("xadd", error))
    }

    /// Returns the current ends of the streams of a shard.
    pub async fn ends(&self, shard: u8) -> Result<Places, CoordError> {
        let mut pipe = redis::pipe();
        for topic in Topic::ALL {
            let key = events_of(topic).of_shard(shard);
            pipe.cmd("XREVRANGE").arg(key).arg(&["+", "-", "COUNT", "1"]);
        }
        let last: Vec<Vec<(String, Value)>> = pipe
            .query_async(&mut self.connection.clone())
            .await
            .map_err(|error| CoordError::of_call("xrevrange", error))?;
        let of = |entries: Vec<(String, Value)>| {
            entries.into_iter().next().map_or_else(|| "0-0".to_owned(), |(id, _)| id)
        };
        Ok(Places(Topic::ALL.into_iter().zip(last.into_iter().map(of)).collect()))
    }

    /// Returns the entries after these positions, of all topics, and advances the positions.
    pub async fn read(&self, shard: u8, places: &mut Places) -> Result<StreamPage, CoordError> {
        let keys = Topic::ALL.map(|topic| events_of(topic).of_shard(shard));
        let from = Topic::ALL.map(|topic| places.0.get(&topic).map_or("0-0", String::as_str));
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT").arg(EVENT_STREAM_PAGE).arg("STREAMS").arg(&keys).arg(&from);
        let value: Value = read
            .query_async(&mut self.connection.clone())
            .await
            .map_err(|error| CoordError::of_call("xread", error))?;
        let wrong = |why: String| CoordError::Reply { script: "xread", why };
        let found = Option::<BTreeMap<String, Vec<(String, Fields)>>>::from_redis_value(value);
        let mut found = found.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
        let mut page = StreamPage::default();
        for (topic, key) in Topic::ALL.into_iter().zip(keys) {
            let entries = found.remove(&key).unwrap_or_default();
            page.is_full |= entries.len() >= EVENT_STREAM_PAGE;
            if let Some((id, _)) = entries.last() {
                places.0.insert(topic, id.clone());
            }
            // An entry that cannot be parsed is treated like a lost one.
            page.entries.extend(entries.into_iter().filter_map(|(_, mut fields)| {
                Some(StreamEntry {
                    tenant: text(fields.remove(TENANT)?)?.parse().ok()?,
                    seq: text(fields.remove(SEQ)?)?.parse().ok()?,
                    topic,
                    kind: text(fields.remove(KIND)?)?,
                    object: text(fields.remove(OBJECT)?)?,
                    event: fields.remove(EVENT)?,
                })
            }));
        }
        Ok(page)
    }

    /// Subscribes to a shard or renews the subscription, which serves as the heartbeat of the
    /// connection.
    pub async fn follow(&self, shard: u8) -> Result<(), CoordError> {
        let followed = self.hints.clone().ssubscribe(EVENTS_CHANNEL.of_shard(shard)).await;
        followed.map_err(|error| CoordError::of_call("ssubscribe", error))
    }

    pub async fn leave(&self, shard: u8) -> Result<(), CoordError> {
        let left = self.hints.clone().sunsubscribe(EVENTS_CHANNEL.of_shard(shard)).await;
        left.map_err(|error| CoordError::of_call("sunsubscribe", error))
    }
}

type Fields = BTreeMap<String, Vec<u8>>;

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

fn heard(info: &PushInfo) -> Option<StreamSignal> {
    match info.kind {
        PushKind::Disconnection | PushKind::SUnsubscribe => Some(StreamSignal::Silence),
        PushKind::SMessage => match info.data.as_slice() {
            [_, Value::BulkString(message)] => {
                let shard: u8 = std::str::from_utf8(message).ok()?.parse().ok()?;
                (shard < EVENT_SHARDS).then_some(StreamSignal::Grown(shard))
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use ade_testkit::Namespace;
    use tokio::sync::Notify;

    use super::*;

    fn entry(tenant: TenantId, seq: u64, topic: Topic) -> StreamEntry {
        let (kind, object) = ("task.created".to_owned(), "task_x".to_owned());
        let event = format!("{{\"seq\":{seq}}}").into_bytes();
        StreamEntry { tenant, seq, topic, kind, object, event }
    }

    #[tokio::test]
    async fn stream_entries_are_read_once_and_readers_notified() {
        let servers = ade_testkit::Cluster::shared().await;
        let grown = Arc::new(Notify::new());
        let hearer = Arc::clone(&grown);
        let streams = Streams::open(&servers.urls().into(), move |heard| {
            if matches!(heard, StreamSignal::Grown(_)) {
                hearer.notify_one();
            }
        });
        let streams = streams.unwrap();
        let tenant = Namespace::fresh().tenant();
        let shard = shard_of(tenant);
        streams.follow(shard).await.unwrap();
        let mut places = streams.ends(shard).await.unwrap();
        let sent = [entry(tenant, 1, Topic::Task), entry(tenant, 2, Topic::Lock)];
        streams.publish(shard, &sent).await.unwrap();
        tokio::time::timeout(Duration::from_secs(5), grown.notified()).await.unwrap();
        let ours = |page: StreamPage| {
            let mut of_us = page.entries;
            of_us.retain(|entry| entry.tenant == tenant);
            of_us
        };
        assert_eq!(ours(streams.read(shard, &mut places).await.unwrap()), sent);
        assert_eq!(ours(streams.read(shard, &mut places).await.unwrap()), []);
        let mut later = streams.ends(shard).await.unwrap();
        streams.publish(shard, &[entry(tenant, 3, Topic::Agent)]).await.unwrap();
        let expected = [entry(tenant, 3, Topic::Agent)];
        assert_eq!(ours(streams.read(shard, &mut later).await.unwrap()), expected);
        assert_eq!(ours(streams.read(shard, &mut places).await.unwrap()), expected);
        streams.leave(shard).await.unwrap();
    }

    #[test]
    fn stream_hint_for_an_unknown_shard_is_ignored() {
        let push = |kind, word: &str| {
            let data = ["channel", word].map(|text| Value::BulkString(text.as_bytes().to_vec()));
            PushInfo { kind, data: data.to_vec() }
        };
        assert_eq!(heard(&push(PushKind::SMessage, "7")), Some(StreamSignal::Grown(7)));
        assert_eq!(heard(&push(PushKind::SMessage, &EVENT_SHARDS.to_string())), None);
        assert_eq!(heard(&push(PushKind::SMessage, "x")), None);
        assert_eq!(heard(&push(PushKind::Disconnection, "7")), Some(StreamSignal::Silence));
    }
}
