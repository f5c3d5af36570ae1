//! Workers in several processes, and workers that die: what is due is done once, by whoever
//! comes to it, and a lease outlives its holder only until its deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::ids::TaskId;
use ade_engine::App;
use ade_engine::work::{self, Driver, Plan};
use ade_testkit::eventually;
use serde_json::Value;

use crate::invariants;
use crate::meetings::{Office, SOON, rounds};
use crate::world::id;

const BATCH: usize = 50;
const LEASE: Duration = Duration::from_millis(1_500);

fn plan() -> Plan {
    let run = vec!["all".to_owned()];
    Plan { run, period: Duration::from_millis(20), lease: LEASE }
}

/// Every worker of both processes at once, as if there were no leases.
async fn run_everything(one: &App, two: &App) {
    let all = async |app: &App| {
        for worker in work::WORKERS {
            work::run_once(app, worker.name).await.unwrap().unwrap();
        }
    };
    let reversed = async |app: &App| {
        for worker in work::WORKERS.iter().rev() {
            work::run_once(app, worker.name).await.unwrap().unwrap();
        }
    };
    tokio::join!(all(one), all(two), reversed(one), reversed(two));
}

async fn submitted(office: &Office, count: usize) -> Vec<Value> {
    let mut tasks = Vec::new();
    for _ in 0..count {
        let draft = office.world.draft(&office.bob, "Add a currency").await;
        tasks.push(office.world.submit(&office.bob, &draft).await);
    }
    tasks
}

async fn done(office: &Office, action: &str) -> usize {
    let leaves = format!("SELECT count(*) FROM audit_leaf WHERE action = '{action}'");
    usize::try_from(office.number(&leaves).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_run_every_worker_do_everything_once() {
    let office = Office::patient(1).await;
    let other = office.world.another_app();
    let mut expired = 0;
    for batch in 0..rounds().div_ceil(BATCH) {
        let count = BATCH.min(rounds() - batch * BATCH);
        let tasks = submitted(&office, count).await;
        run_everything(&office.world.app, &other).await;
        // Every second one is taken to have waited for over a year; and all answers, to be old.
        for task in tasks.iter().step_by(2) {
            let uuid = id(task).parse::<TaskId>().unwrap().uuid();
            let aged = format!(
                "UPDATE task SET review_opened_at = review_opened_at - interval '400 days'
                  WHERE id = '{uuid}';
                 UPDATE due SET at = now() - interval '1 day'
                  WHERE object = '{uuid}' AND kind = 'expire'"
            );
            office.world.database.run(&aged).await;
            expired += 1;
        }
        let old = "UPDATE idempotency SET expires_at = now() - interval '1 second'";
        office.world.database.run(old).await;
        run_everything(&office.world.app, &other).await;
    }
    assert_eq!(done(&office, "task.open_review").await, rounds());
    assert_eq!(done(&office, "task.expire").await, expired);
    assert_eq!(office.number("SELECT count(*) FROM due WHERE at <= now()").await, 0);
    assert_eq!(office.number("SELECT count(*) FROM idempotency").await, 0);
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_drivers_over_one_database_open_each_review_once() {
    let office = Office::open(1).await;
    let other = office.world.another_app();
    let drivers = [Driver::start(&office.world.app, &plan()), Driver::start(&other, &plan())];
    submitted(&office, rounds()).await;
    let waiting = "SELECT count(*) FROM task WHERE state = 'SUBMITTED'";
    eventually("all are under review", SOON, async || match office.number(waiting).await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    for driver in drivers {
        driver.stop().await;
    }
    assert_eq!(done(&office, "task.open_review").await, rounds());
    invariants::assert_hold(&office.world.database, 1).await;
}

/// One more task that the worker has seen to.
async fn reviewed(office: &Office) {
    submitted(office, 1).await;
    let waiting = "SELECT count(*) FROM task WHERE state = 'SUBMITTED'";
    eventually("it is under review", SOON, async || match office.number(waiting).await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
}

/// A number that the board has of the worker.
async fn told(office: &Office, what: &str) -> usize {
    let sql = format!("SELECT {what} FROM worker_lease WHERE name = 'review_opener'");
    usize::try_from(office.number(&sql).await).unwrap()
}

fn opener(office: &Office) -> Driver {
    let (run, lease) = (vec!["review_opener".to_owned()], Duration::from_mins(1));
    Driver::start(&office.world.app, &Plan { run, lease, ..plan() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_woken_often_writes_of_itself_seldom_and_forgets_nothing() {
    const TASKS: usize = 20;
    let office = Office::open(1).await;
    let count = "CREATE SEQUENCE written;
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
        $$ BEGIN PERFORM nextval('written'); RETURN NEW; END $$;
        CREATE TRIGGER note BEFORE UPDATE ON worker_lease FOR EACH ROW EXECUTE FUNCTION note()";
    office.world.database.run(count).await;
    let driver = opener(&office);
    let began = Instant::now();
    for _ in 0..TASKS {
        reviewed(&office).await;
    }
    driver.stop().await;
    // Once a second, and what is left when it stops.
    let most = began.elapsed().as_secs() + 2;
    let written = office.number("SELECT last_value FROM written").await;
    // The lease given back is one more.
    assert!(u64::try_from(written).unwrap() <= most + 1, "{written} writes");
    assert!(told(&office, "runs").await >= TASKS);
    assert_eq!(told(&office, "items").await, TASKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_board_could_not_be_told_is_told_later() {
    let office = Office::open(1).await;
    // A sequence counts on although the write is undone.
    let shut = "CREATE SEQUENCE refused;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
        $$ BEGIN RAISE EXCEPTION 'shut %', nextval('refused'); END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON worker_lease FOR EACH ROW
        WHEN (NEW.runs <> OLD.runs) EXECUTE FUNCTION refuse()";
    office.world.database.run(shut).await;
    let driver = opener(&office);
    reviewed(&office).await;
    let refused = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM refused";
    let before = office.number(refused).await;
    // The one that follows has what was done before it.
    eventually("it was refused", SOON, async || match office.number(refused).await - before {
        0 => Err("not once"),
        _ => Ok(()),
    })
    .await;
    assert_eq!(told(&office, "items").await, 0);
    office.world.database.run("DROP TRIGGER refuse ON worker_lease").await;
    reviewed(&office).await;
    driver.stop().await;
    assert_eq!(told(&office, "items").await, 2);
}

/// A process of its own: dropped, it is gone at once, with whatever it was doing.
struct Process {
    runtime: Option<tokio::runtime::Runtime>,
}

impl Process {
    fn work(app: impl FnOnce() -> Arc<App>, plan: &Plan) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let within = runtime.enter();
        let driver = Driver::start(&app(), plan);
        drop(within);
        runtime.spawn(async move {
            let _driver = driver;
            std::future::pending::<()>().await;
        });
        Self { runtime: Some(runtime) }
    }

    fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_in_the_middle_is_followed_by_another_and_nothing_is_done_twice() {
    let office = Office::open(1).await;
    let tasks = submitted(&office, 8).await;
    // The fourth is locked: the worker comes that far and waits.
    let uuid = id(&tasks[3]).parse::<TaskId>().unwrap().uuid();
    let mut holder = office.world.database.session().await;
    holder.run(&format!("BEGIN; SELECT FROM task WHERE id = '{uuid}' FOR UPDATE")).await;
    // Long enough to be looked at.
    let plan = Plan { lease: Duration::from_secs(6), ..plan() };
    let first = Process::work(|| office.world.another_app(), &plan);
    holder.wait_for_waiting(1, SOON).await;
    first.kill();
    let opened = done(&office, "task.open_review").await;
    assert!(opened < tasks.len(), "it died in the middle");
    let fence = "SELECT fence FROM worker_lease WHERE name = 'review_opener'";
    assert_eq!(office.number(fence).await, 1);
    let held = "SELECT (deadline > clock_timestamp())::int::bigint FROM worker_lease
                 WHERE name = 'review_opener'";
    assert_eq!(office.number(held).await, 1, "the dead one still has its lease");
    holder.run("COMMIT").await;

    let second = Process::work(|| office.world.another_app(), &plan);
    let waiting = "SELECT count(*) FROM task WHERE state = 'SUBMITTED'";
    eventually("all are under review", SOON, async || match office.number(waiting).await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    assert_eq!(office.number(fence).await, 2, "another has it now");
    second.kill();
    assert_eq!(done(&office, "task.open_review").await, tasks.len());
    invariants::assert_hold(&office.world.database, 1).await;
}
