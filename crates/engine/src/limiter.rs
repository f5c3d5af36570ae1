//! How often callers may call: each token, each tenant, each principal at one endpoint, and each
//! address whose calls name nobody. Counted for all processes together. A process takes some calls
//! at once for a caller who has plenty left, so that not each of them asks Redis.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ade_coord::keys::{ADDRESS_RATE, RATE};
use ade_coord::rate::{Counted, Rates};
use ade_coord::{Cluster, Nodes};
use ade_core::actor::Actor;
use ade_core::limits::{
    EVENT_SHARDS, RATE_DRAWN_FOR, RATE_DRAWN_MAX, RATE_DRAWN_PART, RATES_DRAWN_KEPT_MAX,
};
use ade_core::rate::Rate;
use moka::sync::Cache;

use crate::caller::Caller;

/// The ways to ask for a review: they count together, for each asks people for their time.
const SUBMITS: [&str; 3] = ["tasks_submit", "tasks_resubmit", "tasks_retry"];
const SUBMIT: &str = "tasks_submit";
const TOKEN: &str = "token";
const TENANT: &str = "tenant";

#[derive(Debug, Clone)]
pub struct Settings {
    pub token: Rate,
    pub tenant: Rate,
    /// Of one principal at one endpoint.
    pub endpoint: Rate,
    /// The same of endpoints that have their own, by name; those that hand in have the next.
    pub endpoints: BTreeMap<String, Rate>,
    /// What one principal hands in for review; all agents of one person; all of a tenant.
    pub submit: Rate,
    pub submit_owner: Rate,
    pub submit_tenant: Rate,
    /// Of one address, calls that need no token.
    pub open: Rate,
    /// Of one address, tokens that were not valid.
    pub refused: Rate,
}

/// Why a call names nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nameless {
    /// It need not.
    Open,
    /// Its token is not valid.
    Refused,
}

/// How a caller stands, by the rate that leaves them least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub of: String,
    pub limit: u32,
    pub left: u32,
    pub reset: Duration,
    /// How long to stay away; nothing if the call goes on.
    pub wait: Option<Duration>,
}

#[derive(Debug)]
pub struct Limiter {
    rates: Rates,
    settings: Settings,
    drawn: Cache<(String, Arc<str>), Arc<Mutex<Drawn>>>,
}

/// Calls that were taken and not made yet, and how the caller stood then.
#[derive(Debug, Default)]
struct Drawn {
    calls: u32,
    told: Option<Told>,
}

impl Drawn {
    fn spend(&mut self) -> Option<Told> {
        let told = self.told.as_ref().filter(|_| self.calls > 0)?;
        self.calls -= 1;
        Some(Told { left: told.left.saturating_add(self.calls), ..told.clone() })
    }
}

/// What is counted, by the name that the caller is told.
struct Named {
    name: String,
    counted: Counted,
}

impl Limiter {
    /// Over Redis, by some of its nodes; without any, each process counts for itself. Needs a
    /// runtime to connect in.
    pub fn open(nodes: &Nodes, settings: Settings) -> Result<Self, ade_coord::Error> {
        let rates =
            if nodes.is_empty() { Rates::alone() } else { Rates::new(Cluster::open(nodes)?) };
        Ok(Self::new(rates, settings))
    }

    fn new(rates: Rates, settings: Settings) -> Self {
        let drawn = Cache::builder()
            .max_capacity(RATES_DRAWN_KEPT_MAX)
            .time_to_live(RATE_DRAWN_FOR)
            .build();
        Self { rates, settings, drawn }
    }

    /// Whether an endpoint may have a rate of its own: those that hand in count together.
    pub fn is_by_itself(endpoint: &str) -> bool {
        !SUBMITS.contains(&endpoint)
    }

    /// Endpoints with a rate of their own.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.settings.endpoints.keys().map(String::as_str)
    }

    /// One call of somebody who is known.
    pub async fn admit(&self, caller: &Caller, endpoint: &Arc<str>) -> Told {
        let id = (caller.key_id.clone().unwrap_or_default(), Arc::clone(endpoint));
        let drawn = self.drawn.get_with(id, Arc::default);
        let at_hand = drawn.lock().unwrap_or_else(PoisonError::into_inner).spend();
        if let Some(told) = at_hand {
            return told;
        }
        let named = self.named(caller, endpoint);
        let calls = named.iter().map(|named| named.counted.rate.burst / RATE_DRAWN_PART).min();
        let calls = calls.unwrap_or_default().clamp(1, RATE_DRAWN_MAX);
        let (told, calls) = self.take(&named, calls).await;
        if calls > 1 {
            let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
            drawn.calls = drawn.calls.saturating_add(calls - 1);
            drawn.told = Some(told.clone());
        }
        told
    }

    /// One call of nobody in particular.
    pub async fn admit_nameless(&self, address: IpAddr, why: Nameless) -> Told {
        let (name, rate) = match why {
            Nameless::Open => ("open", self.settings.open),
            Nameless::Refused => ("refused", self.settings.refused),
        };
        let (id, shard) = network(address);
        let key = ADDRESS_RATE.of_endpoint_in(shard, name, id);
        let named = Named { name: name.to_owned(), counted: Counted { key, rate } };
        self.take(&[named], 1).await.0
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
        if let Some(key_id) = &caller.key_id {
            all.push(named(TOKEN, key_id, settings.token));
        }
        if Self::is_by_itself(endpoint) {
            let rate = settings.endpoints.get(endpoint).copied().unwrap_or(settings.endpoint);
            all.push(named(endpoint, &principal, rate));
            return all;
        }
        all.push(named(SUBMIT, &principal, settings.submit));
        all.push(named(SUBMIT, &tenant, settings.submit_tenant));
        if let Actor::Agent { on_behalf_of, .. } = &caller.actor {
            // Apart from what the person hands in without any agent.
            let owner = format!("{on_behalf_of}_agents");
            all.push(named(SUBMIT, &owner, settings.submit_owner));
        }
        all
    }

    async fn take(&self, named: &[Named], calls: u32) -> (Told, u32) {
        let counted: Vec<Counted> = named.iter().map(|named| named.counted.clone()).collect();
        let taken = self.rates.take(&counted, calls).await;
        let tightest = named.get(taken.at);
        let of = tightest.map_or_else(String::new, |named| named.name.clone());
        let limit = tightest.map_or(0, |named| named.counted.rate.burst);
        let wait = (taken.calls == 0).then_some(taken.wait);
        if wait.is_some() {
            metrics::counter!("ade_rate_limited_total", "of" => of.clone()).increment(1);
        }
        (Told { of, limit, left: taken.left, reset: taken.reset, wait }, taken.calls)
    }
}

/// Whoever has an address of IPv6 has the 2⁶⁴ beside it too.
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

    use ade_core::audit::Where;
    use ade_core::ids::{AgentId, TenantId, UserId};

    use super::*;

    fn settings() -> Settings {
        // So slow that nothing comes back while a test runs.
        let rate = |burst| Rate { per_minute: 1, burst };
        Settings {
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
            actor: Actor::Agent { id, on_behalf_of: UserId::from_u128(owner) },
            scopes: BTreeSet::default(),
            key_id: Some(format!("key{number}")),
            place: Where { address: None, user_agent: None, service: "test".to_owned() },
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
    async fn the_fifty_first_review_is_one_too_many_whichever_way_it_is_asked_for() {
        let limiter = limiter();
        let one = agent(1, 7);
        assert_eq!(through(&limiter, &one, "tasks_submit", 30).await, 30);
        assert_eq!(through(&limiter, &one, "tasks_resubmit", 20).await, 20);
        let told = limiter.admit(&one, &Arc::from("tasks_retry")).await;
        assert_eq!((told.of.as_str(), told.limit, told.left), ("tasks_submit", 50, 0));
        assert!(told.wait.is_some());
        assert_eq!(through(&limiter, &one, "tasks_get", 1).await, 1, "it may still look");
    }

    #[tokio::test]
    async fn agents_of_one_person_count_together_and_so_do_all_of_a_tenant() {
        let limiter = limiter();
        assert_eq!(through(&limiter, &agent(1, 7), "tasks_submit", 50).await, 50);
        assert_eq!(through(&limiter, &agent(2, 7), "tasks_submit", 50).await, 30);
        assert_eq!(through(&limiter, &agent(3, 8), "tasks_submit", 50).await, 20);
    }

    #[tokio::test]
    async fn what_is_drawn_at_once_is_neither_lost_nor_given_twice() {
        let limiter = limiter();
        let one = agent(1, 7);
        assert_eq!(through(&limiter, &one, "tasks_get", 600).await, 500);
        assert_eq!(through(&limiter, &one, "agents_get", 600).await, 500, "each has its own");
        assert_eq!(through(&limiter, &one, "locks_get", 1).await, 0, "of this token no more");
        assert_eq!(through(&limiter, &agent(2, 7), "tasks_list", 5).await, 2);
    }

    #[tokio::test]
    async fn strangers_count_by_their_network() {
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
        assert!(through("2001:db8::1", Nameless::Open).await, "counted apart");
        for _ in 0..2 {
            assert!(through("10.0.0.1", Nameless::Refused).await);
        }
        assert!(!through("::ffff:10.0.0.1", Nameless::Refused).await, "written another way");
    }
}
