//! Events on their way to whoever listens: a few streams for each shard of tenants, trimmed as they
//! grow, and a channel that says that they have grown. Nothing here is the record: whoever misses
//! something knows it by the numbers, and reads it there.

use std::collections::BTreeMap;
use std::fmt;

use ade_core::event::{Topic, shard_of};
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, EVENT_STREAM_LENGTH, EVENT_STREAM_PAGE};
use redis::cluster_async::ClusterConnection;
use redis::{FromRedisValue as _, PushInfo, PushKind, Value};

use crate::cluster::{connect, connect_hearing};
use crate::error::Error;
use crate::keys::{EVENTS_CHANNEL, events_of};
use crate::nodes::Nodes;

const TENANT: &str = "tenant";
const SEQ: &str = "seq";
const KIND: &str = "type";
const OBJECT: &str = "object";
const EVENT: &str = "event";

/// One event, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub tenant: TenantId,
    pub seq: u64,
    pub topic: Topic,
    pub kind: String,
    pub object: String,
    /// The whole of it, as whoever wrote it chose to write it.
    pub event: Vec<u8>,
}

/// How far a reader has come in the streams of one shard: the id of the last entry of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<Topic, String>);

/// What one look at a shard found.
#[derive(Debug, Default)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// As much as one look takes: there may be more.
    pub is_full: bool,
}

/// What the subscription says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The streams of this shard have grown.
    Grown(u8),
    /// The subscription or its connection has ended: subscribe again.
    Silence,
}

/// Two connections of their own: a burst of events must not stand in front of somebody's lock.
#[derive(Clone)]
pub struct Streams {
    connection: ClusterConnection,
    hints: ClusterConnection,
}

/// The connections know passwords.
impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

impl Streams {
    /// Needs a runtime to connect in. `hear` is called on the task of the connection, so it must
    /// not wait.
    pub fn open(
        nodes: &Nodes,
        hear: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Ok(Self { connection: connect(nodes)?, hints: connect_hearing(nodes, heard, hear)? })
    }

    /// In one round trip, all of it or nothing; they must be of one shard. After a silence it may
    /// have happened: readers know an event by its number.
    pub async fn publish(&self, shard: u8, entries: &[Entry]) -> Result<(), Error> {
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
        done.map_err(|error| Error::of_call("xadd", error))
    }

    /// Where the streams of a shard end now.
    pub async fn ends(&self, shard: u8) -> Result<Places, Error> {
        let mut pipe = redis::pipe();
        for topic in Topic::ALL {
            let key = events_of(topic).of_shard(shard);
            pipe.cmd("XREVRANGE").arg(key).arg(&["+", "-", "COUNT", "1"]);
        }
        let last: Vec<Vec<(String, Value)>> = pipe
            .query_async(&mut self.connection.clone())
            .await
            .map_err(|error| Error::of_call("xrevrange", error))?;
        let of = |entries: Vec<(String, Value)>| {
            entries.into_iter().next().map_or_else(|| "0-0".to_owned(), |(id, _)| id)
        };
        Ok(Places(Topic::ALL.into_iter().zip(last.into_iter().map(of)).collect()))
    }

    /// What has been written behind these places, of all topics; moves them.
    pub async fn read(&self, shard: u8, places: &mut Places) -> Result<Page, Error> {
        let keys = Topic::ALL.map(|topic| events_of(topic).of_shard(shard));
        let from = Topic::ALL.map(|topic| places.0.get(&topic).map_or("0-0", String::as_str));
        let mut read = redis::cmd("XREAD");
        read.arg("COUNT").arg(EVENT_STREAM_PAGE).arg("STREAMS").arg(&keys).arg(&from);
        let value: Value = read
            .query_async(&mut self.connection.clone())
            .await
            .map_err(|error| Error::of_call("xread", error))?;
        let wrong = |why: String| Error::Reply { script: "xread", why };
        let found = Option::<BTreeMap<String, Vec<(String, Fields)>>>::from_redis_value(value);
        let mut found = found.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
        let mut page = Page::default();
        for (topic, key) in Topic::ALL.into_iter().zip(keys) {
            let entries = found.remove(&key).unwrap_or_default();
            page.is_full |= entries.len() >= EVENT_STREAM_PAGE;
            if let Some((id, _)) = entries.last() {
                places.0.insert(topic, id.clone());
            }
            // What nobody here can read is missed like what was lost.
            page.entries.extend(entries.into_iter().filter_map(|(_, mut fields)| {
                Some(Entry {
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

    /// Also where it is subscribed already: that is the heartbeat of the connection.
    pub async fn follow(&self, shard: u8) -> Result<(), Error> {
        let followed = self.hints.clone().ssubscribe(EVENTS_CHANNEL.of_shard(shard)).await;
        followed.map_err(|error| Error::of_call("ssubscribe", error))
    }

    pub async fn leave(&self, shard: u8) -> Result<(), Error> {
        let left = self.hints.clone().sunsubscribe(EVENTS_CHANNEL.of_shard(shard)).await;
        left.map_err(|error| Error::of_call("sunsubscribe", error))
    }
}

type Fields = BTreeMap<String, Vec<u8>>;

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

fn heard(info: &PushInfo) -> Option<Heard> {
    match info.kind {
        PushKind::Disconnection | PushKind::SUnsubscribe => Some(Heard::Silence),
        PushKind::SMessage => match info.data.as_slice() {
            [_, Value::BulkString(message)] => {
                let shard: u8 = std::str::from_utf8(message).ok()?.parse().ok()?;
                (shard < EVENT_SHARDS).then_some(Heard::Grown(shard))
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

    fn entry(tenant: TenantId, seq: u64, topic: Topic) -> Entry {
        let (kind, object) = ("task.created".to_owned(), "task_x".to_owned());
        let event = format!("{{\"seq\":{seq}}}").into_bytes();
        Entry { tenant, seq, topic, kind, object, event }
    }

    #[tokio::test]
    async fn what_is_published_is_read_once_and_told() {
        let servers = ade_testkit::Cluster::shared().await;
        let grown = Arc::new(Notify::new());
        let hearer = Arc::clone(&grown);
        let streams = Streams::open(&servers.urls().into(), move |heard| {
            if matches!(heard, Heard::Grown(_)) {
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
        let ours = |page: Page| {
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
    fn a_hint_names_a_shard_that_exists() {
        let push = |kind, word: &str| {
            let data = ["channel", word].map(|text| Value::BulkString(text.as_bytes().to_vec()));
            PushInfo { kind, data: data.to_vec() }
        };
        assert_eq!(heard(&push(PushKind::SMessage, "7")), Some(Heard::Grown(7)));
        assert_eq!(heard(&push(PushKind::SMessage, &EVENT_SHARDS.to_string())), None);
        assert_eq!(heard(&push(PushKind::SMessage, "x")), None);
        assert_eq!(heard(&push(PushKind::Disconnection, "7")), Some(Heard::Silence));
    }
}
