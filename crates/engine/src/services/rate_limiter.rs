//! Rate limits: per token, per tenant, per principal and endpoint, and per address for anonymous
//! calls. All processes count together. For a caller with enough quota, a process reserves several
//! calls at once, so that not every call queries Redis.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_coord::keys::{ADDRESS_RATE, RATE};
use ade_coord::rate::{Counted, Rates};
use ade_coord::{Cluster, Nodes};
use ade_core::actor::Actor;
use ade_core::limits::EVENT_SHARDS;
use ade_core::rate::Rate;
use moka::sync::Cache;

use crate::caller::Caller;

/// The maximum number of calls that a process reserves at once; unused ones expire.
const RATE_DRAWN_MAX: u32 = 32;
const RATE_DRAWN_FOR: Duration = Duration::from_millis(500);
/// At most a burst divided by this number is reserved at once.
const RATE_DRAWN_PART: u32 = 64;
const RATES_DRAWN_KEPT_MAX: u64 = 50_000;
const CLOSED_ADDRESSES_MAX: u64 = 50_000;
/// The slowest rate restores a call after this time.
const CLOSED_FOR_MAX: Duration = Duration::from_mins(1);

/// The endpoints that request a review. They count together, because each of them costs reviewers'
/// time.
const SUBMITS: [&str; 3] = ["tasks_submit", "tasks_resubmit", "tasks_retry"];
const SUBMIT: &str = "tasks_submit";
const TOKEN: &str = "token";
const TENANT: &str = "tenant";
const REFUSED: &str = "refused";

#[derive(Debug, Clone)]
pub struct RateLimitSettings {
    pub token: Rate,
    pub tenant: Rate,
    /// The limit of one principal at one endpoint.
    pub endpoint: Rate,
    /// The limits of endpoints with their own setting, by name. Endpoints that request a review use
    /// `submit`.
    pub endpoints: BTreeMap<String, Rate>,
    /// The limits on submissions for review: of one principal, of all agents of one person, and of
    /// a tenant.
    pub submit: Rate,
    pub submit_owner: Rate,
    pub submit_tenant: Rate,
    /// The limit of one address on calls that need no token.
    pub open: Rate,
    /// The limit of one address on invalid tokens.
    pub refused: Rate,
}

/// Why a call is anonymous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nameless {
    /// The endpoint needs no token.
    Open,
    /// The token is invalid.
    Refused,
}

/// The remaining quota of a caller, by the tightest limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateStatus {
    pub of: String,
    pub limit: u32,
    pub left: u32,
    pub reset: Duration,
    /// How long the caller has to wait; `None` if the call is admitted.
    pub wait: Option<Duration>,
}

#[derive(Debug)]
pub struct Limiter {
    rates: Rates,
    settings: RateLimitSettings,
    drawn: Cache<(String, Arc<str>), Arc<Mutex<Drawn>>>,
    /// The networks that have used up their calls with invalid tokens, as of the last count of this
    /// process.
    closed: Cache<String, Closed>,
}

/// When calls with invalid tokens are counted again, and when their quota is fully restored.
#[derive(Debug, Clone, Copy)]
struct Closed {
    opens: Instant,
    resets: Instant,
}

/// Reserved calls that were not made yet, and the status at the time of the reservation.
#[derive(Debug, Default)]
struct Drawn {
    calls: u32,
    status: Option<RateStatus>,
}

impl Drawn {
    fn spend(&mut self) -> Option<RateStatus> {
        let status = self.status.as_ref().filter(|_| self.calls > 0)?;
        self.calls -= 1;
        Some(RateStatus { left: status.left.saturating_add(self.calls), ..status.clone() })
    }
}

/// A counter, with the name that is shown to the caller.
struct Named {
    name: String,
    counted: Counted,
}

impl Limiter {
    /// Creates a limiter over Redis, connecting through these nodes. Without nodes, each process
    /// counts for itself. Must be called within a runtime.
    pub fn open(nodes: &Nodes, settings: RateLimitSettings) -> Result<Self, ade_coord::CoordError> {
        let rates =
            if nodes.is_empty() { Rates::alone() } else { Rates::new(Cluster::open(nodes)?) };
        Ok(Self::new(rates, settings))
    }

    fn new(rates: Rates, settings: RateLimitSettings) -> Self {
        let drawn = Cache::builder()
            .max_capacity(RATES_DRAWN_KEPT_MAX)
            .time_to_live(RATE_DRAWN_FOR)
            .build();
        let closed = Cache::builder()
            .max_capacity(CLOSED_ADDRESSES_MAX)
            .time_to_live(CLOSED_FOR_MAX)
            .build();
        Self { rates, settings, drawn, closed }
    }

    /// Returns whether an endpoint has its own limit. Endpoints that request a review share one.
    pub fn has_own_limit(endpoint: &str) -> bool {
        !SUBMITS.contains(&endpoint)
    }

    /// Returns the endpoints with their own limit.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.settings.endpoints.keys().map(String::as_str)
    }

    /// Counts a call of an authenticated caller.
    pub async fn admit(&self, caller: &Caller, endpoint: &Arc<str>) -> RateStatus {
        let id = (caller.key_id().unwrap_or_default().to_owned(), Arc::clone(endpoint));
        let drawn = self.drawn.get_with(id, Arc::default);
        let at_hand = drawn.lock().unwrap_or_else(PoisonError::into_inner).spend();
        if let Some(status) = at_hand {
            return status;
        }
        let named = self.named(caller, endpoint);
        let calls = named.iter().map(|named| named.counted.rate.burst / RATE_DRAWN_PART).min();
        let calls = calls.unwrap_or_default().clamp(1, RATE_DRAWN_MAX);
        let (status, calls) = self.take(&named, calls).await;
        if calls > 1 {
            let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
            drawn.calls = drawn.calls.saturating_add(calls - 1);
            drawn.status = Some(status.clone());
        }
        status
    }

    /// Counts an anonymous call.
    pub async fn admit_nameless(&self, address: IpAddr, why: Nameless) -> RateStatus {
        let (name, rate) = match why {
            Nameless::Open => ("open", self.settings.open),
            Nameless::Refused => (REFUSED, self.settings.refused),
        };
        let (id, shard) = network(address);
        let key = ADDRESS_RATE.of_endpoint_in(shard, name, id.clone());
        let named = Named { name: name.to_owned(), counted: Counted { key, rate } };
        let (status, _) = self.take(&[named], 1).await;
        if why == Nameless::Refused && status.left == 0 {
            let now = Instant::now();
            let opens = now + (status.reset + rate.gap()).saturating_sub(rate.ahead());
            self.closed.insert(id, Closed { opens, resets: now + status.reset });
        }
        status
    }

    /// Returns the refusal of an address that has used up its calls with invalid tokens, as far as
    /// this process knows. It asks neither Redis nor PostgreSQL, so that further guesses cost
    /// almost nothing.
    pub fn refusal(&self, address: IpAddr) -> Option<RateStatus> {
        let Closed { opens, resets } = self.closed.get(&network(address).0)?;
        let now = Instant::now();
        let wait = opens.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
        let (limit, reset) = (self.settings.refused.burst, resets.saturating_duration_since(now));
        metrics::counter!("ade_rate_limited_total", "of" => REFUSED).increment(1);
        Some(RateStatus { of: REFUSED.to_owned(), limit, left: 0, reset, wait: Some(wait) })
    }

    fn named(&self, caller: &Caller, endpoint: &str) -> Vec<Named> {
        let named = |name: &str, id: &str, rate| {
            let key = RATE.of_endpoint(caller.tenant, name, id);
            Named { name: name.to_owned(), counted: Counted { key, rate } }
        };
        let settings = &self.settings;
        let principal = caller.principal();
        let tenant = caller.tenant.to_string();
        let mut all = vec![named(TENANT, &tenant, settings.tenant)];
        if let Some(key_id) = caller.key_id() {
            all.push(named(TOKEN, key_id, settings.token));
        }
        if Self::has_own_limit(endpoint) {
            let rate = settings.endpoints.get(endpoint).copied().unwrap_or(settings.endpoint);
            all.push(named(endpoint, &principal, rate));
            return all;
        }
        all.push(named(SUBMIT, &principal, settings.submit));
        all.push(named(SUBMIT, &tenant, settings.submit_tenant));
        if let Actor::Agent { on_behalf_of, .. } = &caller.actor {
            // This counter is separate from the person's own submissions.
            let owner = format!("{on_behalf_of}_agents");
            all.push(named(SUBMIT, &owner, settings.submit_owner));
        }
        all
    }

    async fn take(&self, named: &[Named], calls: u32) -> (RateStatus, u32) {
        let counted: Vec<Counted> = named.iter().map(|named| named.counted.clone()).collect();
        let taken = self.rates.take(&counted, calls).await;
        let tightest = named.get(taken.at);
        let of = tightest.map_or_else(String::new, |named| named.name.clone());
        let limit = tightest.map_or(0, |named| named.counted.rate.burst);
        let wait = (taken.calls == 0).then_some(taken.wait);
        if wait.is_some() {
            metrics::counter!("ade_rate_limited_total", "of" => of.clone()).increment(1);
        }
        (RateStatus { of, limit, left: taken.left, reset: taken.reset, wait }, taken.calls)
    }
}

/// Returns the network of an address, and its shard. The owner of an IPv6 address usually has its
/// whole /64 network.
fn network(address: IpAddr) -> (String, u8) {
    let number = match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => u64::try_from(address.to_bits() >> 64).unwrap_or_default(),
    };
    let shards = u64::from(EVENT_SHARDS.max(1));
    let shard = number.to_le_bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>() % shards;
    (format!("{number:016x}"), u8::try_from(shard).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ade_core::actor::{Credential, CredentialKind};
    use ade_core::audit::Where;
    use ade_core::ids::{AgentId, TenantId, UserId};

    use super::*;

    fn settings() -> RateLimitSettings {
        // The rates are so slow that no quota returns while a test runs.
        let rate = |burst| Rate { per_minute: 1, burst };
        RateLimitSettings {
            token: rate(1_000),
            tenant: rate(10_000),
            endpoint: rate(500),
            endpoints: BTreeMap::from([("tasks_list".to_owned(), rate(2))]),
            submit: rate(50),
            submit_owner: rate(80),
            submit_tenant: rate(100),
            open: rate(3),
            refused: rate(2),
        }
    }

    fn limiter() -> Limiter {
        Limiter::new(Rates::alone(), settings())
    }

    fn agent(number: u128, owner: u128) -> Caller {
        let id = AgentId::from_u128(number);
        Caller {
            tenant: TenantId::from_u128(1),
            actor: Actor::Agent {
                id,
                on_behalf_of: UserId::from_u128(owner),
                credential: Some(Credential {
                    kind: CredentialKind::Token,
                    key_id: format!("key{number}"),
                    issued_by: None,
                    step_up: None,
                }),
            },
            scopes: BTreeSet::default(),
            place: Where::service("test"),
        }
    }

    async fn through(limiter: &Limiter, caller: &Caller, endpoint: &str, calls: u32) -> u32 {
        let endpoint: Arc<str> = Arc::from(endpoint);
        let mut through = 0;
        for _ in 0..calls {
            through += u32::from(limiter.admit(caller, &endpoint).await.wait.is_none());
        }
        through
    }

    #[tokio::test]
    async fn rate_limit_counts_all_ways_to_submit_together() {
        let limiter = limiter();
        let one = agent(1, 7);
        assert_eq!(through(&limiter, &one, "tasks_submit", 30).await, 30);
        assert_eq!(through(&limiter, &one, "tasks_resubmit", 20).await, 20);
        let status = limiter.admit(&one, &Arc::from("tasks_retry")).await;
        assert_eq!((status.of.as_str(), status.limit, status.left), ("tasks_submit", 50, 0));
        assert!(status.wait.is_some());
        assert_eq!(through(&limiter, &one, "tasks_get", 1).await, 1, "reading is still allowed");
    }

    #[tokio::test]
    async fn rate_limit_of_owner_and_tenant_counts_all_their_agents() {
        let limiter = limiter();
        assert_eq!(through(&limiter, &agent(1, 7), "tasks_submit", 50).await, 50);
        assert_eq!(through(&limiter, &agent(2, 7), "tasks_submit", 50).await, 30);
        assert_eq!(through(&limiter, &agent(3, 8), "tasks_submit", 50).await, 20);
    }

    #[tokio::test]
    async fn rate_limit_reserved_calls_are_neither_lost_nor_doubled() {
        let limiter = limiter();
        let one = agent(1, 7);
        assert_eq!(through(&limiter, &one, "tasks_get", 600).await, 500);
        assert_eq!(
            through(&limiter, &one, "agents_get", 600).await,
            500,
            "each endpoint has its own limit"
        );
        assert_eq!(
            through(&limiter, &one, "locks_get", 1).await,
            0,
            "the limit of the token is reached"
        );
        assert_eq!(through(&limiter, &agent(2, 7), "tasks_list", 5).await, 2);
    }

    #[tokio::test]
    async fn rate_limit_of_anonymous_calls_counts_by_network() {
        let limiter = limiter();
        let through = async |address: &str, why| {
            let address: IpAddr = address.parse().unwrap();
            limiter.admit_nameless(address, why).await.wait.is_none()
        };
        for _ in 0..2 {
            assert!(through("2001:db8::1", Nameless::Refused).await);
        }
        assert!(!through("2001:db8::ffff", Nameless::Refused).await, "the same network");
        assert!(through("2001:db8:0:1::1", Nameless::Refused).await, "another");
        assert!(through("2001:db8::1", Nameless::Open).await, "counted separately");
        for _ in 0..2 {
            assert!(through("10.0.0.1", Nameless::Refused).await);
        }
        assert!(
            !through("::ffff:10.0.0.1", Nameless::Refused).await,
            "the same address in another notation"
        );
    }

    #[tokio::test]
    async fn rate_limit_used_up_by_an_address_is_known_at_once() {
        let limiter = limiter();
        let [one, same, other]: [IpAddr; 3] =
            ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(|text| text.parse().unwrap());
        let first = limiter.admit_nameless(one, Nameless::Refused).await;
        assert_eq!((first.left, limiter.refusal(one)), (1, None));
        let last = limiter.admit_nameless(one, Nameless::Refused).await;
        assert_eq!((last.left, last.wait), (0, None), "the last call is admitted");
        let refusal = limiter.refusal(same).unwrap();
        assert_eq!((refusal.of.as_str(), refusal.limit, refusal.left), ("refused", 2, 0));
        assert!(refusal.wait.unwrap() <= Duration::from_mins(1), "{refusal:?}");
        assert!(refusal.reset <= Duration::from_mins(2), "{refusal:?}");
        assert_eq!(limiter.refusal(other), None);
        for _ in 0..3 {
            limiter.admit_nameless(other, Nameless::Open).await;
        }
        assert_eq!(limiter.refusal(other), None, "calls without a token are counted separately");
    }

    #[tokio::test]
    async fn rate_limit_of_an_address_opens_when_a_call_is_restored() {
        let refused = Rate { per_minute: 60, burst: 1 };
        let limiter = Limiter::new(Rates::alone(), RateLimitSettings { refused, ..settings() });
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        limiter.admit_nameless(address, Nameless::Refused).await;
        while limiter.refusal(address).is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(limiter.admit_nameless(address, Nameless::Refused).await.wait, None);
    }
}
