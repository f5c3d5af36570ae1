//! The catalogue: every key in Redis once, with its type, its lifetime, its owner and where it
//! comes from when it is lost. A key literal anywhere else does not pass the checks. The reference
//! is generated from here.

use ade_core::ids::TenantId;

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pattern: &'static str,
    pub kind: Kind,
    pub holds: &'static str,
    /// How long it stays, or what bounds it.
    pub lifetime: &'static str,
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

pub const LOCK_META: Key = Key {
    pattern: "ade:{tenant}:lock:meta",
    kind: Kind::Hash,
    holds: "epoch, counters of tokens and places, and what each owner holds and waits for",
    lifetime: "two entries per owner that holds or waits",
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_REQUESTS: Key = Key {
    pattern: "ade:{tenant}:lock:requests",
    kind: Kind::Hash,
    holds: "lease id → its record: owner, set, state, token, place, deadline",
    lifetime: LEASES,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_HOLDERS: Key = Key {
    pattern: "ade:{tenant}:lock:holders",
    kind: Kind::SortedSet,
    holds: "resource, mode and lease id of everybody who holds, in the order of bytes",
    lifetime: "one entry per resource of a held lease",
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_QUEUE: Key = Key {
    pattern: "ade:{tenant}:lock:queue",
    kind: Kind::SortedSet,
    holds: "resource, place, lease id and mode of everybody who waits, in the order of bytes",
    lifetime: "one entry per resource of a wait, at most LOCK_QUEUE_DEPTH_MAX for one resource",
    owner: LOCKS,
    rebuilt_from: WAITS,
};

pub const LOCK_REGISTRY: Key = Key {
    pattern: "ade:{tenant}:lock:registry",
    kind: Kind::SortedSet,
    holds: "lease id by the deadline of its state",
    lifetime: LEASES,
    owner: LOCKS,
    rebuilt_from: HOLDS,
};

pub const LOCK_CHANNEL: Key = Key {
    pattern: "ade:{tenant}:lock:channel",
    kind: Kind::Channel,
    holds: "event, lease id and node: a hint to look, lost without harm",
    lifetime: "none",
    owner: LOCKS,
    rebuilt_from: "nothing: whoever misses a hint learns it from the next heartbeat",
};

pub const LOCK_RATE: Key = Key {
    pattern: "ade:{tenant}:ratelimit:lock_acquire",
    kind: Kind::Hash,
    holds: "agent → the time at which it has used up what it took so far",
    lifetime: "one entry per agent; a minute after nobody is limited any more",
    owner: "rate",
    rebuilt_from: "nothing: who was limited begins anew",
};

pub const CATALOGUE: &[Key] =
    &[LOCK_META, LOCK_REQUESTS, LOCK_HOLDERS, LOCK_QUEUE, LOCK_REGISTRY, LOCK_CHANNEL, LOCK_RATE];

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
