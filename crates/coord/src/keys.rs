//! The catalogue of all Redis keys, with type, lifetime, owner, and the source from which they are
//! rebuilt after a loss. Key literals anywhere else are rejected by a check. The reference is
//! generated from here.

use std::fmt::Display;
use std::time::Duration;

use ade_core::event::Topic;
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, MODEL_KEPT_MAX, RATE_KEPT_MAX};

/// The placeholder of the tenant in a pattern. It is also the hash tag, so that all keys of a
/// tenant are in one slot and one script can use them together.
const TENANT: &str = "{tenant}";
/// The placeholder of the shard for keys that many tenants share: `s00`, `s01` and so on.
const SHARD: &str = "{shard}";
/// The placeholder of the object of a key.
const ID: &str = "{id}";
/// The placeholder of the endpoint that is counted.
const ENDPOINT: &str = "{endpoint}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    Hash,
    SortedSet,
    Stream,
    Text,
    /// Sharded pub/sub, which stores nothing.
    Channel,
}

impl KeyType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::SortedSet => "sorted set",
            Self::Stream => "stream",
            Self::Text => "string",
            Self::Channel => "sharded channel",
        }
    }

    /// The type name that Redis reports; `None` for a channel.
    pub fn type_name(self) -> Option<&'static str> {
        match self {
            Self::Hash => Some("hash"),
            Self::SortedSet => Some("zset"),
            Self::Stream => Some("stream"),
            Self::Text => Some("string"),
            Self::Channel => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pattern: &'static str,
    pub kind: KeyType,
    pub holds: &'static str,
    /// How long the key is kept, or what bounds it.
    pub lifetime: &'static str,
    /// The maximum TTL; `None` if the key has no TTL.
    pub ttl_max: Option<Duration>,
    /// The only module that writes the key.
    pub owner: &'static str,
    pub rebuilt_from: &'static str,
}

impl Key {
    pub fn of(&self, tenant: TenantId) -> String {
        self.pattern.replace(TENANT, &format!("{{{tenant}}}"))
    }

    pub fn of_shard(&self, shard: u8) -> String {
        self.pattern.replace(SHARD, &format!("{{{}}}", tag_of(shard)))
    }

    /// Returns the key of one object of a tenant.
    pub fn of_one(&self, tenant: TenantId, id: impl Display) -> String {
        self.of(tenant).replace(ID, &id.to_string())
    }

    /// Returns the key of one caller of a tenant at one endpoint.
    pub fn of_endpoint(&self, tenant: TenantId, endpoint: &str, id: impl Display) -> String {
        self.of_one(tenant, id).replace(ENDPOINT, endpoint)
    }

    /// Returns the key of one caller at one endpoint without a tenant.
    pub fn of_endpoint_in(&self, shard: u8, endpoint: &str, id: impl Display) -> String {
        self.of_shard(shard).replace(ID, &id.to_string()).replace(ENDPOINT, endpoint)
    }

    /// Returns whether the key matches the pattern. No id contains a colon or a brace, so the text
    /// between two colons is one value.
    pub fn matches(&self, key: &str) -> bool {
        let (mut places, mut parts) = (self.pattern.split(':'), key.split(':'));
        loop {
            match (places.next(), parts.next()) {
                (None, None) => return true,
                (Some(place), Some(part)) if is_at(place, part) => {}
                _ => return false,
            }
        }
    }

    pub fn pattern(&self) -> &'static str {
        self.pattern
    }
}

fn is_at(place: &str, part: &str) -> bool {
    let tag = || part.strip_prefix('{')?.strip_suffix('}');
    match place {
        TENANT => tag().is_some_and(|tag| tag.parse::<TenantId>().is_ok()),
        SHARD => tag().is_some_and(|tag| (0..EVENT_SHARDS).any(|shard| tag == tag_of(shard))),
        ID | ENDPOINT => {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }
        literal => literal == part,
    }
}

fn tag_of(shard: u8) -> String {
    format!("s{shard:02}")
}

const LOCKS: &str = "lock";
const HOLDS: &str = "the registered holds in PostgreSQL, under a new epoch";
const WAITS: &str = "waiters that retry with their old place";
const LEASES: &str = "one entry per lease, wait or tombstone; no TTL, because expiry is data here";

pub const LOCK_BOOK: Key = Key {
    pattern: "ade:{tenant}:lock:book",
    kind: KeyType::Hash,
    holds: "epoch and counters; lease id → lease state; what each owner holds and waits for; the \
            number of resources per agent; the resources in use",
    lifetime: "one entry per lease, wait or tombstone, two per owner, one per agent and one per \
               resource in use; no TTL, because expiry is data here",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_HOLDERS: Key = Key {
    pattern: "ade:{tenant}:lock:holders",
    kind: KeyType::SortedSet,
    holds: "resource, mode and lease id of shared holders and holders with waiters, in byte order",
    lifetime: "at most one entry per resource of a held lease",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_QUEUE: Key = Key {
    pattern: "ade:{tenant}:lock:queue",
    kind: KeyType::SortedSet,
    holds: "resource, place, lease id and mode of all waiters, in byte order",
    lifetime: "one entry per resource of a wait, at most LOCK_QUEUE_DEPTH_MAX for one resource",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: WAITS,
};

pub const LOCK_REGISTRY: Key = Key {
    pattern: "ade:{tenant}:lock:registry",
    kind: KeyType::SortedSet,
    holds: "lease id by the deadline of its state",
    lifetime: LEASES,
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_CHANNEL: Key = Key {
    pattern: "ade:{tenant}:lock:channel",
    kind: KeyType::Channel,
    holds: "event, lease id and node: a hint to check, which may be lost",
    lifetime: "none",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: "nothing: after a lost hint, the next heartbeat brings the news",
};

const RATES: &str = "rate";
const USED_UP: &str = "until the consumed quota is restored";
const NOTHING: &str = "nothing: limits start again from zero";

pub const RATE: Key = Key {
    pattern: "ade:{tenant}:ratelimit:{endpoint}:{id}",
    kind: KeyType::Text,
    holds: "the time at which a token, a person, an agent or the tenant regains its quota for \
            this endpoint, or for all (`token`, `tenant`)",
    lifetime: USED_UP,
    ttl_max: Some(RATE_KEPT_MAX),
    owner: RATES,
    rebuilt_from: NOTHING,
};

pub const ADDRESS_RATE: Key = Key {
    pattern: "ade:{shard}:ratelimit:{endpoint}:{id}",
    kind: KeyType::Text,
    holds: "the same for an address whose calls are anonymous (`open`) or have invalid tokens \
            (`refused`)",
    lifetime: USED_UP,
    ttl_max: Some(RATE_KEPT_MAX),
    owner: RATES,
    rebuilt_from: NOTHING,
};

const EVENTS: &str = "streams";
const RECORD: &str = "nothing: missed events are read from the outbox";
const TRIMMED: &str = "about EVENT_STREAM_LENGTH entries; no TTL";

const fn events(pattern: &'static str, holds: &'static str) -> Key {
    Key {
        pattern,
        kind: KeyType::Stream,
        holds,
        lifetime: TRIMMED,
        ttl_max: None,
        owner: EVENTS,
        rebuilt_from: RECORD,
    }
}

pub const EVENTS_TASK: Key =
    events("ade:{shard}:events:task", "tenant, sequence number and event of task changes");
pub const EVENTS_APPROVAL: Key =
    events("ade:{shard}:events:approval", "the same for approval requests and votes");
pub const EVENTS_LOCK: Key = events("ade:{shard}:events:lock", "the same for registered locks");
pub const EVENTS_AGENT: Key = events("ade:{shard}:events:agent", "the same for agent presence");
pub const EVENTS_POLICY: Key = events("ade:{shard}:events:policy", "the same for active policies");
pub const EVENTS_FREEZE: Key = events("ade:{shard}:events:freeze", "the same for freezes");
pub const EVENTS_CHANGE: Key =
    events("ade:{shard}:events:change", "the same for pending changes to the rules");

pub const EVENTS_CHANNEL: Key = Key {
    pattern: "ade:{shard}:events:channel",
    kind: KeyType::Channel,
    holds: "the number of the shard whose streams have grown: a hint to read them",
    lifetime: "none",
    ttl_max: None,
    owner: EVENTS,
    rebuilt_from: "nothing: after a lost hint, the next poll finds the events",
};

/// Returns the stream of a topic.
pub fn events_of(topic: Topic) -> Key {
    match topic {
        Topic::Task => EVENTS_TASK,
        Topic::Approval => EVENTS_APPROVAL,
        Topic::Lock => EVENTS_LOCK,
        Topic::Agent => EVENTS_AGENT,
        Topic::Policy => EVENTS_POLICY,
        Topic::Freeze => EVENTS_FREEZE,
        Topic::Change => EVENTS_CHANGE,
    }
}

const MODELS: &str = "models";
const ROWS: &str = "the row in PostgreSQL, when it changes or is requested, or by a rebuild";
const A_DAY: &str = "a day after the last write, with jitter";

const fn model(pattern: &'static str, kind: KeyType, holds: &'static str) -> Key {
    Key {
        pattern,
        kind,
        holds,
        lifetime: A_DAY,
        ttl_max: Some(MODEL_KEPT_MAX),
        owner: MODELS,
        rebuilt_from: ROWS,
    }
}

pub const TASK_STATE: Key = model(
    "ade:{tenant}:task:{id}:state",
    KeyType::Hash,
    "version, state and owner of a task; a tombstone for a deleted task",
);
pub const TASK_DATA: Key = model(
    "ade:{tenant}:task:{id}:data",
    KeyType::Text,
    "the task as JSON, in the version of its state; omitted above MODEL_VALUE_MAX_BYTES",
);
pub const APPROVAL_REQUEST: Key = model(
    "ade:{tenant}:approval:request:{id}",
    KeyType::Hash,
    "an open approval request as JSON and its place in the queue; a tombstone for a closed one",
);
pub const APPROVAL_QUEUE: Key = model(
    "ade:{tenant}:approval:queue:user:{id}",
    KeyType::SortedSet,
    "due time, id and score of this person's open requests; and a mark if the list is complete",
);
pub const MODEL_HEAD: Key = Key {
    pattern: "ade:{tenant}:model:head",
    kind: KeyType::Hash,
    holds: "the sequence number of the last event that this tenant's models have seen, the number \
            of differences found, and the process that rebuilds them",
    lifetime: "one per tenant; no TTL: without it, the tenant's models are rebuilt",
    ttl_max: None,
    owner: MODELS,
    rebuilt_from: "a rebuild of the tenant's models",
};

pub const CATALOGUE: &[Key] = &[
    LOCK_BOOK,
    LOCK_HOLDERS,
    LOCK_QUEUE,
    LOCK_REGISTRY,
    LOCK_CHANNEL,
    RATE,
    ADDRESS_RATE,
    EVENTS_TASK,
    EVENTS_APPROVAL,
    EVENTS_LOCK,
    EVENTS_AGENT,
    EVENTS_POLICY,
    EVENTS_FREEZE,
    EVENTS_CHANGE,
    EVENTS_CHANNEL,
    TASK_STATE,
    TASK_DATA,
    APPROVAL_REQUEST,
    APPROVAL_QUEUE,
    MODEL_HEAD,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn key_hash_tag_is_its_tenant_or_shard() {
        let tenant = TenantId::from_u128(7);
        for key in CATALOGUE {
            let is_shared = key.pattern.contains(SHARD);
            let built = if is_shared {
                key.of_endpoint_in(7, "any", "one")
            } else {
                key.of_endpoint(tenant, "any", "one")
            };
            assert!(key.matches(&built), "{built}");
            let others = CATALOGUE.iter().filter(|other| *other != key);
            assert!(!others.clone().any(|other| other.matches(&built)), "{built}");
            let tag = if is_shared { "{s07}".to_owned() } else { format!("{{{tenant}}}") };
            assert_eq!(built.matches('{').count(), 1, "{built}");
            assert!(built.contains(&tag), "{built}");
            let place = if is_shared { SHARD } else { TENANT };
            assert_eq!(key.pattern().matches(place).count(), 1, "{built}");
        }
    }

    #[test]
    fn key_patterns_are_unique() {
        let patterns: BTreeSet<_> = CATALOGUE.iter().map(Key::pattern).collect();
        assert_eq!(patterns.len(), CATALOGUE.len());
    }
}
