//! Agents acquire their resources one by one and deadlock, three at a time, many triples at once
//! in one space and in real time. Every deadlock is found by the call that closes it, the youngest
//! waiter is aborted, no other agent is affected, and all of them finish.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::ids::{LeaseId, TaskId, TenantId};
use ade_core::lock::{
    Arrival, Epoch, LeaseClass, LeasePhase, LeaseStatus, LockSet, Mode, Owner, Request,
    RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_testkit::{Namespace, within};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::super::{LockNamespace, Locks};
use super::dice::Dice;
use crate::cluster::Cluster;

const TRIPLES: u128 = 33;
const ROUNDS: u128 = 4;
const FOUND_WITHIN: Duration = Duration::from_secs(2);
/// The poll interval of a waiter.
const HEARTBEAT: Duration = Duration::from_millis(5);

#[derive(Clone)]
struct Agent {
    locks: Locks,
    tenant: TenantId,
    /// The number of its triple, and its place in it.
    triple: u128,
    place: u128,
    meet: Arc<Barrier>,
}

impl Agent {
    fn space(&self) -> LockNamespace {
        LockNamespace { tenant: self.tenant, epoch: Epoch::FIRST }
    }

    /// The lease of one of the three in this round: its hold (0) or its wait (1).
    fn lease(&self, round: u128, place: u128, kind: u128) -> LeaseId {
        LeaseId::from_u128(round << 32 | self.triple << 8 | place << 1 | kind)
    }

    /// The age is drawn again in each round and is the same for every caller; two may be equal.
    fn birth(&self, round: u128, place: u128) -> i64 {
        let seed = u64::try_from(round << 16 | self.triple << 4 | place).unwrap();
        i64::try_from(Dice::new(seed).below(3)).unwrap()
    }

    fn request(&self, round: u128, kind: u128) -> Request {
        let wanted = (self.place + kind) % 3;
        let resource = ResourceRef::new("db", &format!("{}-{wanted}", self.triple)).unwrap();
        Request::new(RequestDraft {
            lease: self.lease(round, self.place, kind),
            owner: Owner::Task(TaskId::from_u128(self.triple << 8 | self.place)),
            node: "node-1".to_owned(),
            birth: Timestamp::from_micros(self.birth(round, self.place)),
            class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
            set: LockSet::new([(resource, Mode::Exclusive)]).unwrap(),
            ttl: Duration::from_mins(1),
            wait: Duration::from_secs(50),
            boost: 0,
        })
        .unwrap()
    }

    fn victim(&self, round: u128) -> LeaseId {
        let waits = (0..3).map(|place| (self.birth(round, place), self.lease(round, place, 1)));
        waits.max().unwrap().1
    }

    async fn acquire(&self, request: &Request) -> LeaseStatus {
        let reply = self.locks.acquire(self.space(), request, Arrival::New).await.unwrap();
        reply.answer.unwrap()
    }

    async fn release(&self, lease: LeaseId) {
        self.locks.release(self.space(), lease).await.unwrap().answer.unwrap();
    }

    /// Returns how long it took until the agent knew that it was granted or aborted.
    async fn round(&self, round: u128) -> Duration {
        let (hold, wait) = (self.request(round, 0), self.request(round, 1));
        let standing = self.acquire(&hold).await;
        assert!(matches!(standing, LeaseStatus::Granted { .. }), "{standing:?}");
        self.meet.wait().await;
        let began = Instant::now();
        let mut standing = self.acquire(&wait).await;
        while let LeaseStatus::Waiting { .. } = standing {
            tokio::time::sleep(HEARTBEAT).await;
            let reply = self.locks.renew(self.space(), &[wait.lease()]).await.unwrap();
            standing = reply.answer.unwrap()[0];
        }
        let took = began.elapsed();
        let is_victim = self.victim(round) == wait.lease();
        match standing {
            LeaseStatus::Over { state: LeasePhase::Victim } => {
                assert!(is_victim, "not the youngest");
            }
            LeaseStatus::Granted { .. } => assert!(!is_victim, "the youngest went on"),
            other => panic!("{other:?}"),
        }
        self.release(hold.lease()).await;
        self.release(wait.lease()).await;
        self.meet.wait().await;
        took
    }
}

/// Returns the slowest time of all deadlocked agents.
async fn lock_up(triples: u128, rounds: u128) -> Duration {
    let cluster = ade_testkit::Cluster::shared().await;
    let locks = Locks::new(Cluster::open(&cluster.urls().into()).unwrap());
    let tenant = Namespace::fresh().tenant();
    let space = LockNamespace { tenant, epoch: Epoch::FIRST };
    locks.rebuild(space, &[], None).await.unwrap().answer.unwrap();
    let mut agents = JoinSet::new();
    for triple in 0..triples {
        let meet = Arc::new(Barrier::new(3));
        for place in 0..3 {
            let (locks, meet) = (locks.clone(), meet.clone());
            let agent = Agent { locks, tenant, triple, place, meet };
            agents.spawn(async move {
                let mut slowest = Duration::ZERO;
                for round in 1..=rounds {
                    slowest = slowest.max(agent.round(round).await);
                }
                slowest
            });
        }
    }
    let mut slowest = Duration::ZERO;
    while let Some(ended) = agents.join_next().await {
        slowest = slowest.max(ended.unwrap());
    }
    slowest
}

#[tokio::test]
async fn deadlocks_are_found_in_time_and_abort_the_youngest() {
    within(FOUND_WITHIN, async || lock_up(TRIPLES, ROUNDS).await).await;
}

/// Run by `cargo xtask soak deadlocks`, which sets the seconds.
#[tokio::test]
#[ignore = "runs for the given number of minutes"]
async fn soak() {
    let seconds: u64 = std::env::var("ADE_SOAK_SECONDS").unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut found, mut slowest) = (0, Duration::ZERO);
    while Instant::now() < end {
        slowest = slowest.max(lock_up(TRIPLES, 10 * ROUNDS).await);
        assert!(slowest < FOUND_WITHIN, "{slowest:?}");
        found += TRIPLES * 10 * ROUNDS;
        println!("deadlocks {found} slowest_ms {}", slowest.as_millis());
    }
}
