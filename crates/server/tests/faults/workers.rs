//! Workers in several processes, and workers that die. Every due item is processed once, by any of
//! them, and the lease of a dead worker expires at its deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::ids::TaskId;
use ade_engine::App;
use ade_engine::workers::{self, Driver, WorkerPlan};
use ade_testkit::eventually;
use serde_json::Value;

use crate::invariants;
use crate::meetings::{Office, SOON, rounds};
use crate::world::id;

const BATCH: usize = 50;
const LEASE: Duration = Duration::from_millis(1_500);

fn plan() -> WorkerPlan {
    let run = vec!["all".to_owned()];
    WorkerPlan { run, period: Duration::from_millis(20), lease: LEASE }
}

/// Runs every worker of both processes at once, as if there were no leases.
async fn run_everything(one: &App, two: &App) {
    let all = async |app: &App| {
        for worker in workers::all() {
            workers::run_once(app, worker.name).await.unwrap().unwrap();
        }
    };
    let reversed = async |app: &App| {
        for worker in workers::all().rev() {
            workers::run_once(app, worker.name).await.unwrap().unwrap();
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
    let leaves = format!("SELECT count(*) FROM audit_entry WHERE action = '{action}'");
    usize::try_from(office.number(&leaves).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_in_two_processes_do_everything_once() {
    let office = Office::patient(1).await;
    let other = office.world.another_app();
    let mut expired = 0;
    for batch in 0..rounds().div_ceil(BATCH) {
        let count = BATCH.min(rounds() - batch * BATCH);
        let tasks = submitted(&office, count).await;
        run_everything(&office.world.app, &other).await;
        // Every second review is made over a year old, and all stored responses expire.
        for task in tasks.iter().step_by(2) {
            let uuid = id(task).parse::<TaskId>().unwrap().uuid();
            let aged = format!(
                "UPDATE task SET review_opened_at = review_opened_at - interval '400 days'
                  WHERE id = '{uuid}';
                 UPDATE scheduled_job SET at = now() - interval '1 day'
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
    assert_eq!(office.number("SELECT count(*) FROM scheduled_job WHERE at <= now()").await, 0);
    assert_eq!(office.number("SELECT count(*) FROM idempotency").await, 0);
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drivers_sharing_a_database_open_each_review_once() {
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

/// Submits one more task and waits until the worker has opened its review.
async fn reviewed(office: &Office) {
    submitted(office, 1).await;
    let waiting = "SELECT count(*) FROM task WHERE state = 'SUBMITTED'";
    eventually("the task is under review", SOON, async || match office.number(waiting).await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
}

/// A column of the worker's row in `worker_lease`.
async fn recorded(office: &Office, what: &str) -> usize {
    let sql = format!("SELECT {what} FROM worker_lease WHERE name = 'review_opener'");
    usize::try_from(office.number(&sql).await).unwrap()
}

fn opener(office: &Office) -> Driver {
    let (run, lease) = (vec!["review_opener".to_owned()], Duration::from_mins(1));
    Driver::start(&office.world.app, &WorkerPlan { run, lease, ..plan() })
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_woken_often_rarely_writes_its_status_but_all_of_it() {
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
    // The worker writes once a second and once more when it stops.
    let most = began.elapsed().as_secs() + 2;
    let written = office.number("SELECT last_value FROM written").await;
    // Releasing the lease is one more write.
    assert!(u64::try_from(written).unwrap() <= most + 1, "{written} writes");
    assert!(recorded(&office, "runs").await >= TASKS);
    assert_eq!(recorded(&office, "items").await, TASKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_status_that_was_refused_is_written_later() {
    let office = Office::open(1).await;
    // A sequence keeps its value when the write is rolled back.
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
    // The next write includes the counts of the refused one.
    eventually("a write was refused", SOON, async || match office.number(refused).await - before {
        0 => Err("no write was refused"),
        _ => Ok(()),
    })
    .await;
    assert_eq!(recorded(&office, "items").await, 0);
    office.world.database.run("DROP TRIGGER refuse ON worker_lease").await;
    reviewed(&office).await;
    driver.stop().await;
    assert_eq!(recorded(&office, "items").await, 2);
}

/// Stands for a separate process: dropping it stops everything that it does at once.
struct Process {
    runtime: Option<tokio::runtime::Runtime>,
}

impl Process {
    fn work(app: impl FnOnce() -> Arc<App>, plan: &WorkerPlan) -> Self {
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
async fn worker_that_dies_is_replaced_and_nothing_is_done_twice() {
    let office = Office::open(1).await;
    let tasks = submitted(&office, 8).await;
    // The fourth task is locked, so the worker waits there.
    let uuid = id(&tasks[3]).parse::<TaskId>().unwrap().uuid();
    let mut holder = office.world.database.session().await;
    holder.run(&format!("BEGIN; SELECT FROM task WHERE id = '{uuid}' FOR UPDATE")).await;
    // The lease is long enough to be observed after the kill.
    let plan = WorkerPlan { lease: Duration::from_secs(6), ..plan() };
    let first = Process::work(|| office.world.another_app(), &plan);
    holder.wait_for_waiting(1, SOON).await;
    first.kill();
    let opened = done(&office, "task.open_review").await;
    assert!(opened < tasks.len(), "the worker died in the middle");
    let fence = "SELECT fence FROM worker_lease WHERE name = 'review_opener'";
    assert_eq!(office.number(fence).await, 1);
    let held = "SELECT (deadline > clock_timestamp())::int::bigint FROM worker_lease
                 WHERE name = 'review_opener'";
    assert_eq!(office.number(held).await, 1, "the dead worker still has its lease");
    holder.run("COMMIT").await;

    let second = Process::work(|| office.world.another_app(), &plan);
    let waiting = "SELECT count(*) FROM task WHERE state = 'SUBMITTED'";
    eventually("all are under review", SOON, async || match office.number(waiting).await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    assert_eq!(office.number(fence).await, 2, "another worker has the lease now");
    second.kill();
    assert_eq!(done(&office, "task.open_review").await, tasks.len());
    invariants::assert_hold(&office.world.database, 1).await;
}
