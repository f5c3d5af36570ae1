//! The catalogue: every key in Redis once, with its type, its lifetime, its owner and where it
//! comes from when it is lost. A key literal anywhere else does not pass the checks. The reference
//! is generated from here.

use std::fmt::Display;
use std::time::Duration;

use ade_core::event::Topic;
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, MODEL_KEPT_MAX, RATE_KEPT_MAX};

/// What stands for the tenant in a pattern: also the hash tag, so all keys of a tenant share one
/// slot and one script can work on them at once.
const TENANT: &str = "{tenant}";
/// The same for what many tenants share: `s00`, `s01` and so on.
const SHARD: &str = "{shard}";
/// And for the one thing that a key is about.
const ID: &str = "{id}";
/// What is counted, of whoever is counted.
const ENDPOINT: &str = "{endpoint}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hash,
    SortedSet,
    Stream,
    Text,
    /// Sharded pub/sub: nothing is kept.
    Channel,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::SortedSet => "sorted set",
            Self::Stream => "stream",
            Self::Text => "string",
            Self::Channel => "sharded channel",
        }
    }

    /// As Redis calls it; nothing of what is no key.
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
    pub kind: Kind,
    pub holds: &'static str,
    /// How long it stays, or what bounds it.
    pub lifetime: &'static str,
    /// Its TTL is never longer, and it has one; `None` if it has none.
    pub ttl_max: Option<Duration>,
    /// The module that writes it; nobody else does.
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

    /// For one thing of a tenant, by its id.
    pub fn of_one(&self, tenant: TenantId, id: impl Display) -> String {
        self.of(tenant).replace(ID, &id.to_string())
    }

    /// For what one caller of a tenant does at one endpoint.
    pub fn of_endpoint(&self, tenant: TenantId, endpoint: &str, id: impl Display) -> String {
        self.of_one(tenant, id).replace(ENDPOINT, endpoint)
    }

    /// The same where no tenant is known.
    pub fn of_endpoint_in(&self, shard: u8, endpoint: &str, id: impl Display) -> String {
        self.of_shard(shard).replace(ID, &id.to_string()).replace(ENDPOINT, endpoint)
    }

    /// Whether this is one of them. No id of ours has a colon or a brace, so what stands between
    /// two colons stands for one thing.
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

    /// Whether it is one for many tenants.
    pub fn is_of_shard(&self) -> bool {
        self.pattern.contains(SHARD)
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
const WAITS: &str = "waiters who ask again with their old place";
const LEASES: &str = "one entry per lease, wait or tombstone; no expiry, which is data here";

pub const LOCK_BOOK: Key = Key {
    pattern: "ade:{tenant}:lock:book",
    kind: Kind::Hash,
    holds: "epoch and counters; lease id → its record; what each owner holds and waits for; how \
        many resources each agent has taken; which resources are in use",
    lifetime: "one entry per lease, wait or tombstone, two per owner, one per agent and one per \
        resource in use; no expiry, which is data here",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_HOLDERS: Key = Key {
    pattern: "ade:{tenant}:lock:holders",
    kind: Kind::SortedSet,
    holds: "resource, mode and lease id of whoever does not hold it alone or has somebody waiting, \
        in the order of bytes",
    lifetime: "at most one entry per resource of a held lease",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_QUEUE: Key = Key {
    pattern: "ade:{tenant}:lock:queue",
    kind: Kind::SortedSet,
    holds: "resource, place, lease id and mode of everybody who waits, in the order of bytes",
    lifetime: "one entry per resource of a wait, at most LOCK_QUEUE_DEPTH_MAX for one resource",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: WAITS,
};

pub const LOCK_REGISTRY: Key = Key {
    pattern: "ade:{tenant}:lock:registry",
    kind: Kind::SortedSet,
    holds: "lease id by the deadline of its state",
    lifetime: LEASES,
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_CHANNEL: Key = Key {
    pattern: "ade:{tenant}:lock:channel",
    kind: Kind::Channel,
    holds: "event, lease id and node: a hint to look, lost without harm",
    lifetime: "none",
    ttl_max: None,
    owner: LOCKS,
    rebuilt_from: "nothing: whoever misses a hint learns it from the next heartbeat",
};

const RATES: &str = "rate";
const USED_UP: &str = "until what was taken is used up";
const ANEW: &str = "nothing: who was limited begins anew";

pub const RATE: Key = Key {
    pattern: "ade:{tenant}:ratelimit:{endpoint}:{id}",
    kind: Kind::Text,
    holds: "the moment at which a token, a person, an agent or the tenant has used up what it took \
        so far of this endpoint, or of all (`token`, `tenant`)",
    lifetime: USED_UP,
    ttl_max: Some(RATE_KEPT_MAX),
    owner: RATES,
    rebuilt_from: ANEW,
};

pub const ADDRESS_RATE: Key = Key {
    pattern: "ade:{shard}:ratelimit:{endpoint}:{id}",
    kind: Kind::Text,
    holds: "the same of an address whose calls name nobody (`open`) or whose tokens are not valid \
        (`refused`)",
    lifetime: USED_UP,
    ttl_max: Some(RATE_KEPT_MAX),
    owner: RATES,
    rebuilt_from: ANEW,
};

const EVENTS: &str = "streams";
const RECORD: &str = "nothing: whoever misses an event reads it from the outbox";
const TRIMMED: &str = "about EVENT_STREAM_LENGTH entries; no expiry";

const fn events(pattern: &'static str, holds: &'static str) -> Key {
    Key {
        pattern,
        kind: Kind::Stream,
        holds,
        lifetime: TRIMMED,
        ttl_max: None,
        owner: EVENTS,
        rebuilt_from: RECORD,
    }
}

pub const EVENTS_TASK: Key =
    events("ade:{shard}:events:task", "tenant, number and event of what became of tasks");
pub const EVENTS_APPROVAL: Key =
    events("ade:{shard}:events:approval", "the same of requests and votes");
pub const EVENTS_LOCK: Key = events("ade:{shard}:events:lock", "the same of registered locks");
pub const EVENTS_AGENT: Key = events("ade:{shard}:events:agent", "the same of agents' presence");
pub const EVENTS_POLICY: Key = events("ade:{shard}:events:policy", "the same of policies in force");
pub const EVENTS_FREEZE: Key = events("ade:{shard}:events:freeze", "the same of stops of applies");

pub const EVENTS_CHANNEL: Key = Key {
    pattern: "ade:{shard}:events:channel",
    kind: Kind::Channel,
    holds: "the number of the shard whose streams have grown: a hint to read them",
    lifetime: "none",
    ttl_max: None,
    owner: EVENTS,
    rebuilt_from: "nothing: whoever misses a hint finds the events by the next look",
};

/// The stream for what is about this.
pub fn events_of(topic: Topic) -> Key {
    match topic {
        Topic::Task => EVENTS_TASK,
        Topic::Approval => EVENTS_APPROVAL,
        Topic::Lock => EVENTS_LOCK,
        Topic::Agent => EVENTS_AGENT,
        Topic::Policy => EVENTS_POLICY,
        Topic::Freeze => EVENTS_FREEZE,
    }
}

const MODELS: &str = "models";
const ROWS: &str = "the row in PostgreSQL, when it moves or is asked for, or by a rebuild";
const A_DAY: &str = "a day after its last write, some a little less";

const fn model(pattern: &'static str, kind: Kind, holds: &'static str) -> Key {
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
    Kind::Hash,
    "version, state and whose task it is; that it is gone, of one that was deleted",
);
pub const TASK_DATA: Key = model(
    "ade:{tenant}:task:{id}:data",
    Kind::Text,
    "the task as JSON, of the version that its state has; none above MODEL_VALUE_MAX_BYTES",
);
pub const APPROVAL_REQUEST: Key = model(
    "ade:{tenant}:approval:request:{id}",
    Kind::Hash,
    "an open request as JSON and its place in the queue; of one that is over only that it is",
);
pub const APPROVAL_QUEUE: Key = model(
    "ade:{tenant}:approval:queue:user:{id}",
    Kind::SortedSet,
    "due time, id and score of what waits for this person; and a mark if it is all of it",
);
pub const MODEL_HEAD: Key = Key {
    pattern: "ade:{tenant}:model:head",
    kind: Kind::Hash,
    holds: "the number of the last event that the models of this tenant have seen, how many of \
        them were found wrong, and who writes them anew",
    lifetime: "one for each tenant; no expiry: without it, its models are written anew",
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
    fn a_key_carries_its_tenant_or_shard_as_the_only_tag() {
        let tenant = TenantId::from_u128(7);
        for key in CATALOGUE {
            let is_shared = key.is_of_shard();
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
    fn no_pattern_is_declared_twice() {
        let patterns: BTreeSet<_> = CATALOGUE.iter().map(Key::pattern).collect();
        assert_eq!(patterns.len(), CATALOGUE.len());
    }
}
