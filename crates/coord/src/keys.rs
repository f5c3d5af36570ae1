//! The catalogue: every key in Redis once, with its type, its lifetime, its owner and where it
//! comes from when it is lost. A key literal anywhere else does not pass the checks. The reference
//! is generated from here.

use std::time::Duration;

use ade_core::ids::TenantId;
use ade_core::limits::LOCK_RATE_KEPT_MAX;

/// What stands for the tenant in a pattern: also the hash tag, so all keys of a tenant share one
/// slot and one script can work on them at once.
const TENANT: &str = "{tenant}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hash,
    SortedSet,
    /// Sharded pub/sub: nothing is kept.
    Channel,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::SortedSet => "sorted set",
            Self::Channel => "sharded channel",
        }
    }

    /// As Redis calls it; nothing of what is no key.
    pub fn type_name(self) -> Option<&'static str> {
        match self {
            Self::Hash => Some("hash"),
            Self::SortedSet => Some("zset"),
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

    pub fn pattern(&self) -> &'static str {
        self.pattern
    }
}

const LOCKS: &str = "lock";
const HOLDS: &str = "the registered holds in PostgreSQL, under a new epoch";
const WAITS: &str = "waiters who ask again with their old place";
const LEASES: &str = "one entry per lease, wait or tombstone; no expiry, which is data here";

pub const LOCK_BOOK: Key = Key {
    pattern: "ade:{tenant}:lock:book",
    kind: Kind::Hash,
    holds: "epoch and counters; lease id → its record; what each owner holds and waits for; which \
        resources are in use",
    lifetime: "one entry per lease, wait or tombstone, two per owner and one per resource in use; \
        no expiry, which is data here",
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

pub const LOCK_RATE: Key = Key {
    pattern: "ade:{tenant}:ratelimit:lock_acquire",
    kind: Kind::Hash,
    holds: "agent → the time at which it has used up what it took so far",
    lifetime: "one entry per agent; a minute after nobody is limited any more",
    ttl_max: Some(LOCK_RATE_KEPT_MAX),
    owner: "rate",
    rebuilt_from: "nothing: who was limited begins anew",
};

pub const CATALOGUE: &[Key] =
    &[LOCK_BOOK, LOCK_HOLDERS, LOCK_QUEUE, LOCK_REGISTRY, LOCK_CHANNEL, LOCK_RATE];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_key_carries_its_tenant_as_the_only_tag() {
        let tenant = TenantId::from_u128(7);
        for key in CATALOGUE {
            let built = key.of(tenant);
            assert_eq!(built.matches('{').count(), 1, "{built}");
            assert!(built.contains(&format!("{{{tenant}}}")), "{built}");
            assert_eq!(key.pattern().matches(TENANT).count(), 1, "{built}");
        }
    }

    #[test]
    fn no_pattern_is_declared_twice() {
        let patterns: BTreeSet<_> = CATALOGUE.iter().map(Key::pattern).collect();
        assert_eq!(patterns.len(), CATALOGUE.len());
    }
}
