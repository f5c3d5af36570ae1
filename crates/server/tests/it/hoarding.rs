//! One agent that asks for a lock again and again beside fifty that ask once: nobody is overtaken
//! by more than a boost allows, and a line has an end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::{LOCK_BOOST_MAX, LOCK_QUEUE_DEPTH_MAX, LOCK_WAIT_MAX};
use ade_core::lock::{Arrival, Mode};
use ade_engine::locks::Queue;
use ade_engine::work::Driver;
use ade_testkit::eventually;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::locks::{ACQUIRE, bots, release, want, with};
use crate::locks_waiting::request;
use crate::world::{Answer, Line, Person, World};

const SOON: Duration = Duration::from_mins(2);
/// For all of them together.
const SERVED: Duration = Duration::from_mins(5);
const FAIR: usize = 50;
/// Waits that the greedy one has at once.
const GREEDY: usize = 10;

pub fn fresh() -> String {
    LeaseId::from_uuid(uuid::Uuid::now_v7()).to_string()
}

fn wish(lease: &str, boost: u32, wait: &str) -> Value {
    let more = json!({
        "lease": lease, "priority": boost, "wait": wait, "fenced": true, "ttl": "300s"
    });
    with(want(&["a"]), &more)
}

/// Whoever was told to come back on a busy machine asks the same again, under the same id.
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

/// It may have lost it meanwhile.
async fn let_go(world: &World, who: &Person, lease: &str) {
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

/// A grant, and who had it.
#[derive(Debug, Clone, Copy)]
struct Had {
    /// The moment at which it came to stand in line; only of those who came before the lock was
    /// free, and kept their place.
    turn: Option<usize>,
    boost: u32,
    token: u64,
}

struct Scene<'a> {
    world: &'a World,
    /// How many stand in line. They come one after the other, so that their order is known.
    turn: watch::Sender<usize>,
    /// Fair ones that have not had it yet.
    left: AtomicUsize,
}

impl Scene<'_> {
    async fn until(&self, turn: usize) {
        let mut turns = self.turn.subscribe();
        assert!(turns.wait_for(|now| *now == turn).await.is_ok());
    }

    /// In line for sure; the lease it will have.
    async fn stand(&self, who: &Person, boost: u32) -> String {
        let lease = fresh();
        let answer = ask(self.world, who, &wish(&lease, boost, "1ms")).await;
        assert!([200, 423].contains(&answer.status), "{}", answer.body);
        lease
    }

    /// Goes on waiting at its place; no token if that was lost in a long silence.
    async fn wait(&self, who: &Person, boost: u32, lease: &str) -> Option<u64> {
        let began = Instant::now();
        loop {
            let answer = ask(self.world, who, &wish(lease, boost, "50s")).await;
            match answer.status {
                200 => return Some(answer.body["token"].as_u64().unwrap()),
                423 => drop(answer.refused(423, "lock_held")),
                _ => {
                    answer.refused(409, "lease_lost");
                    return None;
                }
            }
            assert!(began.elapsed() < SERVED, "nobody lets it go");
        }
    }

    /// Comes in its turn. A fair one gives back what it has at once; a greedy one asks again
    /// before it does, for as long as there is anybody to keep waiting.
    async fn come(&self, turn: usize, who: &Person, boost: u32) -> Vec<Had> {
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
                had.push(Had { turn, boost, token });
                if is_fair {
                    self.left.fetch_sub(1, Ordering::Relaxed);
                }
                let_go(self.world, who, &lease).await;
            }
            let Some(next) = next else { return had };
            (lease, turn) = (next, None);
        }
    }
}

/// The moment of asking and the token of those who kept their place.
fn kept(had: &[Had]) -> Vec<(usize, u64)> {
    had.iter().filter_map(|one| Some((one.turn?, one.token))).collect()
}

fn judge(all: Vec<Had>) {
    let (fair, greedy): (Vec<Had>, Vec<Had>) = all.into_iter().partition(|one| one.boost == 0);
    assert_eq!(fair.len(), FAIR, "each of them had it once");
    for (same, count) in [(&fair, FAIR), (&greedy, GREEDY)] {
        let mut kept = kept(same);
        assert!(2 * kept.len() > count, "too many lost their place: {same:?}");
        kept.sort_unstable();
        let is_in_order = kept.is_sorted_by_key(|(_, token)| *token);
        assert!(is_in_order, "of one boost, the first is served first: {kept:?}");
    }
    let most = usize::try_from(LOCK_BOOST_MAX).unwrap();
    let before = |token: u64| greedy.iter().filter(move |other| other.token < token);
    let overtaken = |(turn, token): (usize, u64)| {
        before(token).filter(|other| other.turn.is_none_or(|theirs| theirs > turn)).count()
    };
    let kept = kept(&fair);
    let overtaken: Vec<usize> = kept.iter().map(|one| overtaken(*one)).collect();
    assert!(overtaken.iter().all(|count| *count <= most), "{overtaken:?}");
    assert!(overtaken.iter().any(|count| *count > 0), "a boost is of no use: {overtaken:?}");
    let last = kept.iter().map(|(_, token)| *token).max().unwrap();
    let got = before(last).count();
    assert!(got <= GREEDY + most, "it had the lock {got} times before all the others");
}

async fn a_greedy_agent_overtakes_nobody_for_ever(world: &World) {
    world.database.be_patient().await;
    let bob = world.person("Bob", &["author"]).await;
    let [opener, greedy] = [world.agent("opener", &bob).await, world.agent("greedy", &bob).await];
    let mut fair = Vec::new();
    for number in 0..FAIR {
        fair.push(world.agent(&format!("fair {number}"), &bob).await);
    }
    // Some came before the greedy one, and some after it.
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
        let_go(world, &opener, &held).await;
    };
    let all = async { tokio::join!(coming, opening).0 };
    let had = tokio::time::timeout(SERVED, all).await.expect("somebody is never served");
    watching.stop().await;
    judge(had.into_iter().flatten().collect());
}

#[tokio::test]
async fn whoever_asks_all_the_time_overtakes_by_no_more_than_its_boost_in_rows() {
    a_greedy_agent_overtakes_nobody_for_ever(&World::new().await).await;
}

#[tokio::test]
async fn whoever_asks_all_the_time_overtakes_by_no_more_than_its_boost_on_redis() {
    let line = Line::redis(Line::SETTINGS).await;
    a_greedy_agent_overtakes_nobody_for_ever(&World::locking(line).await).await;
}

/// As the server would have put them in line, without a call for each. They want to share, so that
/// they are not in each other's way: a circle is looked for among all whenever one comes.
pub async fn fill(world: &World, first: usize, last: usize) {
    let tenant: TenantId = world.tenant.parse().unwrap();
    if let Queue::Redis(redis) = &world.app.locks.as_ref().unwrap().queue {
        for number in first..=last {
            let number = u128::try_from(number).unwrap();
            let request = request(number, "a", Mode::Shared, LOCK_WAIT_MAX);
            eventually("it stands in line", SOON, async || {
                redis.desk.acquire(tenant, &request, Arrival::New).await
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

/// In the moment between a release and the next in line, who may step ahead finds it free.
#[tokio::test]
async fn who_steps_ahead_whenever_it_is_free_does_so_as_often_as_its_boost_allows() {
    let world = World::new().await;
    world.database.be_patient().await;
    let [fair, greedy] = bots(&world, ["fair", "greedy"]).await;
    let first = fresh();
    ask(&world, &fair, &wish(&first, 0, "1ms")).await.expect(200);
    let_go(&world, &fair, &first).await;
    // So many came before that one place in line is like another.
    let come = usize::try_from(LOCK_BOOST_MAX).unwrap() * 2;
    fill(&world, come, come).await;
    let mut had = 0;
    let told = loop {
        let lease = fresh();
        let answer = ask(&world, &greedy, &wish(&lease, LOCK_BOOST_MAX, "1ms")).await;
        if answer.status != 200 {
            break answer;
        }
        had += 1;
        assert!(had <= LOCK_BOOST_MAX, "it steps past somebody for ever");
        let_go(&world, &greedy, &lease).await;
    };
    told.refused(423, "lock_held");
    assert_eq!(had, LOCK_BOOST_MAX);
}

async fn a_full_line_takes_nobody(world: &World) {
    world.database.be_patient().await;
    let [holder, fair, other] = bots(world, ["holder", "fair", "other"]).await;
    ask(world, &holder, &wish(&fresh(), 0, "1ms")).await.expect(200);
    fill(world, 1, LOCK_QUEUE_DEPTH_MAX - 1).await;
    let last = fresh();
    let told = ask(world, &fair, &wish(&last, 0, "1ms")).await.refused(423, "lock_held");
    assert_eq!(told["position"], LOCK_QUEUE_DEPTH_MAX, "there is room for one more: {told}");
    let_go(world, &fair, &last).await;

    fill(world, LOCK_QUEUE_DEPTH_MAX, LOCK_QUEUE_DEPTH_MAX).await;
    for boost in [0, LOCK_BOOST_MAX] {
        let told = ask(world, &other, &wish(&fresh(), boost, "50s")).await;
        assert_eq!(told.refused(503, "lock_queue_full")["resource"], "db:a");
    }
    eventually("nobody more is in line", SOON, async || {
        let seen = world.get(&other.token, "/v1/locks/db/a").await;
        if seen.body["waiting"] == LOCK_QUEUE_DEPTH_MAX { Ok(()) } else { Err(seen.body) }
    })
    .await;
    let elsewhere = with(want(&["b"]), &json!({ "lease": fresh() }));
    ask(world, &other, &elsewhere).await.expect(200);
}

#[tokio::test]
async fn a_line_in_rows_holds_no_more_than_its_bound() {
    a_full_line_takes_nobody(&World::new().await).await;
}

#[tokio::test]
async fn a_line_on_redis_holds_no_more_than_its_bound() {
    let line = Line::redis(Line::SETTINGS).await;
    a_full_line_takes_nobody(&World::locking(line).await).await;
}
