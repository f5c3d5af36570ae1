//! No transaction commits under a fenced hold: many holders compete for few resources, with leases
//! that expire in the middle of the work, tokens that repeat and fall, and pauses in bad places.
//! The usual method, a check without a row lock, runs as a control and must be caught.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_core::ids::LeaseId;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{FencingToken, LeaseClass, Mode, Request, RequestDraft};
use ade_store::{Pool, StoreError, audit, locks};
use sqlx::AssertSqlSafe;

use crate::locks::{draft, open, session, token};
use crate::test_database::{TestDatabase, run};

const HOLDERS: u32 = 6;
const COMMITS: usize = 2_000;
const CONTROL_COMMITS: usize = 800;
const RESOURCES: [&str; 2] = ["a", "b"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The check of every protected transaction.
    ForShare,
    /// The usual check.
    Plain,
}

#[derive(Default)]
struct Tally {
    commits: AtomicUsize,
    /// Commits that happened although another holder had written in between.
    stale: AtomicUsize,
    fenced: AtomicUsize,
    low: AtomicUsize,
    leases: AtomicU64,
    tokens: AtomicU64,
}

struct Holder {
    rig: Arc<TestDatabase>,
    pool: Pool,
    tally: Arc<Tally>,
    number: u128,
    dice: u64,
}

/// The values that a holder has read and believes to be the only one to change.
struct Held {
    request: Request,
    token: FencingToken,
    believed: Vec<i64>,
}

impl Holder {
    fn below(&mut self, end: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.dice >> 33) % end
    }

    async fn pause(&mut self) {
        match self.below(8) {
            0 => tokio::time::sleep(Duration::from_millis(self.below(4))).await,
            1 => tokio::task::yield_now().await,
            _ => {}
        }
    }

    fn request(&mut self) -> Request {
        let number = self.tally.leases.fetch_add(1, Ordering::Relaxed) + 1;
        let wanted: Vec<(&str, Mode)> = match self.below(3) {
            0 => vec![(RESOURCES[0], Mode::Exclusive)],
            1 => vec![(RESOURCES[1], Mode::Exclusive)],
            _ => RESOURCES.iter().map(|name| (*name, Mode::Exclusive)).collect(),
        };
        // Usually over before the work is done.
        let ttl = Duration::from_millis(2 + self.below(20));
        let class = LeaseClass::Fenced { lock_delay: Duration::ZERO };
        Request::new(RequestDraft { ttl, class, ..draft(u128::from(number), &wanted) }).unwrap()
    }

    /// Returns a token of a queue that repeats tokens and goes back.
    fn token(&mut self) -> FencingToken {
        let next = self.tally.tokens.fetch_add(1, Ordering::Relaxed) + 1;
        let steps_back = if self.below(4) == 0 { self.below(40) } else { 0 };
        token(next.saturating_sub(steps_back).max(1))
    }

    async fn register(&mut self) -> Result<Option<Held>, StoreError> {
        let (request, mut token) = (self.request(), self.token());
        loop {
            let mut tx = self
                .rig
                .begin_through(&self.pool, self.rig.tenant, ade_store::TenantLock::None)
                .await?;
            let by = session(self.number);
            match locks::register(&mut tx, &request, by, token).await? {
                Ok(()) => {}
                Err(RegisterRefusal::TokenLow { floor, .. }) => {
                    tx.roll_back().await;
                    self.tally.low.fetch_add(1, Ordering::Relaxed);
                    let next = floor.counter() + 1;
                    self.tally.tokens.fetch_max(next, Ordering::Relaxed);
                    token = crate::locks::token(next);
                    continue;
                }
                Err(RegisterRefusal::Held { .. }) => {
                    tx.roll_back().await;
                    return Ok(None);
                }
                Err(other) => panic!("{other}"),
            }
            let mut believed = Vec::new();
            for resource in request.set().resources() {
                let value = sqlx::query_as("SELECT value FROM target WHERE resource = $1")
                    .bind(resource.to_string());
                let rows: Vec<(i64,)> = tx.read(value).await?;
                believed.push(rows[0].0);
            }
            audit::append(&mut tx, &[self.rig.leaf("lock.register")]).await?;
            tx.commit().await?;
            return Ok(Some(Held { request, token, believed }));
        }
    }

    /// Runs one protected transaction and returns whether the hold still exists.
    async fn work(&mut self, held: &mut Held, look: Look) -> Result<bool, StoreError> {
        let count = held.request.set().len();
        let lease = held.request.lease();
        self.pause().await;
        let mut tx = self
            .rig
            .begin_through(&self.pool, self.rig.tenant, ade_store::TenantLock::None)
            .await?;
        let is_held = match look {
            Look::ForShare => locks::assert_holds(&mut tx, lease, held.token, count).await?.is_ok(),
            Look::Plain => is_held_at_a_glance(&mut tx, lease, held.token, count).await?,
        };
        if !is_held {
            self.tally.fenced.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        self.pause().await;
        let resources: Vec<String> =
            held.request.set().resources().map(ToString::to_string).collect();
        for (resource, believed) in resources.iter().zip(&mut held.believed) {
            let write = "UPDATE target SET value = value + 1 WHERE resource = $1 RETURNING value";
            let write = sqlx::query_as(write).bind(resource);
            let rows: Vec<(i64,)> = tx.write_rows(write).await?;
            *believed += 1;
            if rows[0].0 != *believed {
                self.tally.stale.fetch_add(1, Ordering::Relaxed);
                *believed = rows[0].0;
            }
        }
        audit::append(&mut tx, &[self.rig.leaf("lock.work")]).await?;
        self.pause().await;
        tx.commit().await?;
        self.tally.commits.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    async fn run(mut self, look: Look, commits: usize) {
        while self.tally.commits.load(Ordering::Relaxed) < commits {
            let outcome = self.life(look).await;
            match outcome {
                Ok(()) => {}
                Err(error) if error.is_retriable() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn life(&mut self, look: Look) -> Result<(), StoreError> {
        let Some(mut held) = self.register().await? else {
            tokio::task::yield_now().await;
            return Ok(());
        };
        for _ in 0..=self.below(12) {
            if !self.work(&mut held, look).await? {
                break;
            }
        }
        Ok(())
    }
}

async fn is_held_at_a_glance(
    tx: &mut ade_store::Tx,
    lease: LeaseId,
    token: FencingToken,
    count: usize,
) -> Result<bool, StoreError> {
    let look = sqlx::query_as(
        "SELECT count(*) FROM lock_hold WHERE lease_id = $1 AND token = $2
          AND fenced_by IS NULL AND released_at IS NULL",
    )
    .bind(lease.uuid())
    .bind(i64::try_from(token.number()).unwrap());
    let rows: Vec<(i64,)> = tx.read(look).await?;
    Ok(usize::try_from(rows[0].0).unwrap() == count)
}

async fn run_all(look: Look, commits: usize, seed: u64) -> Arc<Tally> {
    let rig = TestDatabase::new().await;
    open(&rig, u128::from(HOLDERS)).await;
    let mut admin = rig.database.connect().await;
    run(&mut admin, "CREATE TABLE target (resource text PRIMARY KEY, value bigint NOT NULL)").await;
    for name in RESOURCES {
        run(&mut admin, &format!("INSERT INTO target VALUES ('db:{name}', 0)")).await;
    }
    run(&mut admin, "GRANT SELECT, UPDATE ON target TO ade_app").await;
    let rig = Arc::new(rig);
    let tally = Arc::new(Tally::default());
    // A tenant that is alone leaves a quarter of the connections to others.
    let pool = rig.pool(2 * HOLDERS);
    let mut holders = tokio::task::JoinSet::new();
    for number in 1..=u128::from(HOLDERS) {
        let holder = Holder {
            rig: rig.clone(),
            pool: pool.clone(),
            tally: tally.clone(),
            number,
            dice: seed.wrapping_add(u64::try_from(number).unwrap()),
        };
        holders.spawn(holder.run(look, commits));
    }
    while let Some(ended) = holders.join_next().await {
        ended.unwrap();
    }
    // Counts pairs of holds that could both commit.
    let double: i64 = sqlx::query_scalar(AssertSqlSafe(
        "SELECT count(*) FROM (SELECT resource FROM lock_hold
           WHERE fenced_by IS NULL AND released_at IS NULL AND mode = 'exclusive'
           GROUP BY tenant_id, resource HAVING count(*) > 1) AS twice",
    ))
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(double, 0, "two unfenced exclusive holds");
    tally
}

fn check(tally: &Tally) {
    let count = |figure: &AtomicUsize| figure.load(Ordering::Relaxed);
    assert_eq!(count(&tally.stale), 0, "of {} commits", count(&tally.commits));
    let (fenced, low) = (count(&tally.fenced), count(&tally.low));
    assert!(fenced > 100 && low > 100, "holders were overtaken {fenced} times, tokens fell {low}");
}

#[tokio::test]
async fn commit_under_a_fenced_hold_never_happens() {
    check(&*run_all(Look::ForShare, COMMITS, 1).await);
}

/// The positive control: if nothing were caught here, the test above would prove nothing.
#[tokio::test]
async fn commit_with_an_unlocked_check_can_be_stale() {
    let tally = run_all(Look::Plain, CONTROL_COMMITS, 1).await;
    let stale = tally.stale.load(Ordering::Relaxed);
    assert!(stale > 0, "nothing stale was caught: the test above proves nothing");
}

/// Run by `cargo xtask soak fence`, which sets the first seed and the minutes.
#[tokio::test]
#[ignore = "runs for the given number of minutes"]
async fn soak() {
    let read = |name: &str| -> u64 { std::env::var(name).unwrap().parse().unwrap() };
    let mut seed = read("ADE_SOAK_SEED");
    let end = Instant::now() + Duration::from_secs(read("ADE_SOAK_SECONDS"));
    let count = |figure: &AtomicUsize| figure.load(Ordering::Relaxed);
    let control = run_all(Look::Plain, CONTROL_COMMITS, seed).await;
    let (through, of) = (count(&control.stale), count(&control.commits));
    assert!(through > 0, "nothing stale was caught: the soak proves nothing");
    let (mut commits, mut fenced, mut low) = (0, 0, 0);
    while Instant::now() < end {
        let tally = run_all(Look::ForShare, COMMITS, seed).await;
        check(&tally);
        commits += count(&tally.commits);
        fenced += count(&tally.fenced);
        low += count(&tally.low);
        seed += 1;
        println!("commits {commits} fenced {fenced} low {low} through {through} of {of}");
    }
}
