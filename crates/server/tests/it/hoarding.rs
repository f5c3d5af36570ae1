//! One agent requests a lock again and again while fifty others request it once. No request is
//! overtaken more often than a boost allows, and the length of a lock queue is limited.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::{LOCK_BOOST_MAX, LOCK_QUEUE_DEPTH_MAX, LOCK_WAIT_MAX};
use ade_core::lock::{Arrival, Mode};
use ade_engine::workers::Driver;
use ade_testkit::eventually;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::locks::{ACQUIRE, bots, release, want, with};
use crate::locks_waiting::request;
use crate::world::{Answer, LockBackend, Person, World};

const SOON: Duration = Duration::from_mins(2);
/// The deadline for all requests together.
const SERVED: Duration = Duration::from_mins(5);
const FAIR: usize = 50;
/// Concurrent waits of the greedy agent.
const GREEDY: usize = 10;

pub fn fresh() -> String {
    LeaseId::from_uuid(uuid::Uuid::now_v7()).to_string()
}

fn wish(lease: &str, boost: u32, wait: &str) -> Value {
    let more = json!({
        "lease_id": lease, "priority": boost, "wait": wait, "fenced": true, "ttl_seconds": 300
    });
    with(want(&["a"]), &more)
}

/// Sends a request and repeats it with the same lease id while a busy machine asks to retry.
pub async fn ask(world: &World, who: &Person, wish: &Value) -> Answer {
    let began = Instant::now();
    loop {
        let answer = world.post(&who.token, ACQUIRE, wish.clone()).await;
        if answer.status != 503 || answer.body["code"] == "lock_queue_full" {
            return answer;
        }
        assert!(began.elapsed() < SOON, "{}", answer.body);
    }
}

/// Releases a lease that may already be lost.
async fn release_lease(world: &World, who: &Person, lease: &str) {
    let began = Instant::now();
    loop {
        let answer = release(world, who, lease).await;
        match answer.status {
            200 | 404 | 409 => return,
            _ => assert_eq!(answer.status, 503, "{}", answer.body),
        }
        assert!(began.elapsed() < SOON, "{}", answer.body);
    }
}

/// A grant of the lock.
#[derive(Debug, Clone, Copy)]
struct Grant {
    /// The position at which the request was queued. Only requests that were queued before the lock
    /// was free and kept their place have one.
    turn: Option<usize>,
    boost: u32,
    token: u64,
}

struct Scene<'a> {
    world: &'a World,
    /// How many requests are queued. They are queued one after the other, so that their order is
    /// known.
    turn: watch::Sender<usize>,
    /// Fair agents that have not had the lock yet.
    left: AtomicUsize,
}

impl Scene<'_> {
    async fn until(&self, turn: usize) {
        let mut turns = self.turn.subscribe();
        assert!(turns.wait_for(|now| *now == turn).await.is_ok());
    }

    /// Queues a request and returns its lease id.
    async fn stand(&self, who: &Person, boost: u32) -> String {
        let lease = fresh();
        let answer = ask(self.world, who, &wish(&lease, boost, "1ms")).await;
        assert!([200, 423].contains(&answer.status), "{}", answer.body);
        lease
    }

    /// Waits for the lock. Returns no token if the place was lost because of a slow machine.
    async fn wait(&self, who: &Person, boost: u32, lease: &str) -> Option<u64> {
        let began = Instant::now();
        loop {
            let answer = ask(self.world, who, &wish(lease, boost, "50s")).await;
            match answer.status {
                200 => return Some(answer.body["fence"].as_u64().unwrap()),
                423 => drop(answer.refused(423, "lock_held")),
                _ => {
                    answer.refused(409, "lease_lost");
                    return None;
                }
            }
            assert!(began.elapsed() < SERVED, "the lock is never released");
        }
    }

    /// Queues a request at its turn. A fair agent releases the lock at once. The greedy agent
    /// queues another request first, as long as fair agents are waiting.
    async fn come(&self, turn: usize, who: &Person, boost: u32) -> Vec<Grant> {
        self.until(turn).await;
        let mut lease = self.stand(who, boost).await;
        self.turn.send_modify(|now| *now += 1);
        let mut turn = Some(turn);
        let mut had = Vec::new();
        loop {
            let token = self.wait(who, boost, &lease).await;
            let is_fair = boost == 0;
            let asks_again =
                if is_fair { token.is_none() } else { self.left.load(Ordering::Relaxed) > 0 };
            let next = if asks_again { Some(self.stand(who, boost).await) } else { None };
            if let Some(token) = token {
                had.push(Grant { turn, boost, token });
                if is_fair {
                    self.left.fetch_sub(1, Ordering::Relaxed);
                }
                release_lease(self.world, who, &lease).await;
            }
            let Some(next) = next else { return had };
            (lease, turn) = (next, None);
        }
    }
}

/// The queue position and the token of the grants that kept their place.
fn kept(had: &[Grant]) -> Vec<(usize, u64)> {
    had.iter().filter_map(|one| Some((one.turn?, one.token))).collect()
}

fn assert_fair(all: Vec<Grant>) {
    let (fair, greedy): (Vec<Grant>, Vec<Grant>) = all.into_iter().partition(|one| one.boost == 0);
    assert_eq!(fair.len(), FAIR, "each fair agent had the lock once");
    for (same, count) in [(&fair, FAIR), (&greedy, GREEDY)] {
        let mut kept = kept(same);
        assert!(2 * kept.len() > count, "too many requests lost their place: {same:?}");
        kept.sort_unstable();
        let is_in_order = kept.is_sorted_by_key(|(_, token)| *token);
        assert!(is_in_order, "requests with the same boost are served in order: {kept:?}");
    }
    let most = usize::try_from(LOCK_BOOST_MAX).unwrap();
    let before = |token: u64| greedy.iter().filter(move |other| other.token < token);
    let overtaken = |(turn, token): (usize, u64)| {
        before(token).filter(|other| other.turn.is_none_or(|theirs| theirs > turn)).count()
    };
    let kept = kept(&fair);
    let overtaken: Vec<usize> = kept.iter().map(|one| overtaken(*one)).collect();
    assert!(overtaken.iter().all(|count| *count <= most), "{overtaken:?}");
    assert!(overtaken.iter().any(|count| *count > 0), "a boost has no effect: {overtaken:?}");
    let last = kept.iter().map(|(_, token)| *token).max().unwrap();
    let got = before(last).count();
    assert!(got <= GREEDY + most, "the greedy agent had the lock {got} times before all others");
}

async fn assert_overtaking_is_limited(world: &World) {
    world.database.be_patient().await;
    let bob = world.person("Bob", &["author"]).await;
    let [opener, greedy] = [world.agent("opener", &bob).await, world.agent("greedy", &bob).await];
    let mut fair = Vec::new();
    for number in 0..FAIR {
        fair.push(world.agent(&format!("fair {number}"), &bob).await);
    }
    // Some fair agents come before the greedy one, and some after it.
    let (early, late) = fair.split_at(FAIR / 2);
    let mut line: Vec<(&Person, u32)> = early.iter().map(|who| (who, 0)).collect();
    line.extend((0..GREEDY).map(|_| (&greedy, LOCK_BOOST_MAX)));
    line.extend(late.iter().map(|who| (who, 0)));

    let watching = Driver::watch(&world.app);
    let held = fresh();
    ask(world, &opener, &wish(&held, 0, "1ms")).await.expect(200);
    let scene = Scene { world, turn: watch::channel(0).0, left: AtomicUsize::new(FAIR) };
    let coming = line.iter().enumerate();
    let coming = join_all(coming.map(|(turn, (who, boost))| scene.come(turn, who, *boost)));
    let opening = async {
        scene.until(line.len()).await;
        release_lease(world, &opener, &held).await;
    };
    let all = async { tokio::join!(coming, opening).0 };
    let had = tokio::time::timeout(SERVED, all).await.expect("every request is served");
    watching.stop().await;
    assert_fair(had.into_iter().flatten().collect());
}

#[tokio::test]
async fn greedy_agent_overtakes_within_its_boost_in_postgres() {
    assert_overtaking_is_limited(&World::new().await).await;
}

#[tokio::test]
async fn greedy_agent_overtakes_within_its_boost_in_redis() {
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    assert_overtaking_is_limited(&World::locking(line).await).await;
}

/// Queues requests as the server would, without a call for each. They are shared requests, so that
/// they do not block each other and the deadlock detection stays fast.
pub async fn fill(world: &World, first: usize, last: usize) {
    let tenant: TenantId = world.tenant.parse().unwrap();
    let queue = &world.app.locks.as_ref().unwrap().queue;
    if queue.is_separate() {
        for number in first..=last {
            let number = u128::try_from(number).unwrap();
            let request = request(number, "a", Mode::Shared, LOCK_WAIT_MAX);
            eventually("the request is queued", SOON, async || {
                queue.enqueue(tenant, &request, Arrival::New).unwrap().await
            })
            .await;
        }
        return;
    }
    let tenant = tenant.uuid();
    let sql = format!(
        "INSERT INTO lock_wait (tenant_id, lease_id, state, owner, node, born_at, ttl, lock_delay,
                                patience, boost, place, arrival, deadline, resources, modes,
                                capacities)
         SELECT e.tenant_id, gen_random_uuid(), 'waiting', 'task_' || lpad(n::text, 26, '0'),
                'node-1', clock_timestamp(), interval '30 s', interval '0 s', interval '10 s', 0,
                (e.epoch << 33) + n, (e.epoch << 33) + n, clock_timestamp() + interval '1 hour',
                ARRAY['db:a'], ARRAY['shared'], ARRAY[NULL]::integer[]
           FROM lock_epoch e, generate_series({first}, {last}) AS n
          WHERE e.tenant_id = '{tenant}';
         UPDATE lock_epoch SET arrivals = greatest(arrivals, {last})
          WHERE tenant_id = '{tenant}'"
    );
    world.database.run(&sql).await;
}

/// Between a release and the grant to the next in the queue, a boosted request finds the lock free.
#[tokio::test]
async fn boosted_request_overtakes_only_as_often_as_its_boost() {
    let world = World::new().await;
    world.database.be_patient().await;
    let [fair, greedy] = bots(&world, ["fair", "greedy"]).await;
    let first = fresh();
    ask(&world, &fair, &wish(&first, 0, "1ms")).await.expect(200);
    release_lease(&world, &fair, &first).await;
    // The position is high enough for the full boost to apply.
    let come = usize::try_from(LOCK_BOOST_MAX).unwrap() * 2;
    fill(&world, come, come).await;
    let mut had = 0;
    let refused = loop {
        let lease = fresh();
        let answer = ask(&world, &greedy, &wish(&lease, LOCK_BOOST_MAX, "1ms")).await;
        if answer.status != 200 {
            break answer;
        }
        had += 1;
        assert!(had <= LOCK_BOOST_MAX, "the waiting request is overtaken without end");
        release_lease(&world, &greedy, &lease).await;
    };
    refused.refused(423, "lock_held");
    assert_eq!(had, LOCK_BOOST_MAX);
}

async fn assert_full_queue_refuses(world: &World) {
    world.database.be_patient().await;
    let [holder, fair, other] = bots(world, ["holder", "fair", "other"]).await;
    ask(world, &holder, &wish(&fresh(), 0, "1ms")).await.expect(200);
    fill(world, 1, LOCK_QUEUE_DEPTH_MAX - 1).await;
    let last = fresh();
    let queued = ask(world, &fair, &wish(&last, 0, "1ms")).await.refused(423, "lock_held");
    assert_eq!(queued["position"], LOCK_QUEUE_DEPTH_MAX, "there is room for one more: {queued}");
    release_lease(world, &fair, &last).await;

    fill(world, LOCK_QUEUE_DEPTH_MAX, LOCK_QUEUE_DEPTH_MAX).await;
    for boost in [0, LOCK_BOOST_MAX] {
        let refused = ask(world, &other, &wish(&fresh(), boost, "50s")).await;
        assert_eq!(refused.refused(503, "lock_queue_full")["resource"], "db:a");
    }
    eventually("no further request is queued", SOON, async || {
        let seen = world.get(&other.token, "/v1/locks/db/a").await;
        if seen.body["waiting"] == LOCK_QUEUE_DEPTH_MAX { Ok(()) } else { Err(seen.body) }
    })
    .await;
    let elsewhere = with(want(&["b"]), &json!({ "lease_id": fresh() }));
    ask(world, &other, &elsewhere).await.expect(200);
}

#[tokio::test]
async fn lock_queue_in_postgres_refuses_requests_over_its_limit() {
    assert_full_queue_refuses(&World::new().await).await;
}

#[tokio::test]
async fn lock_queue_in_redis_refuses_requests_over_its_limit() {
    let line = LockBackend::redis(LockBackend::SETTINGS).await;
    assert_full_queue_refuses(&World::locking(line).await).await;
}
