//! Without its audit nothing is done: a locked table, a full disk and a missing partition are
//! told as what they are, in time, and work goes on by itself once they are gone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::process::Command;
use std::time::{Duration, Instant};

use ade_engine::setup;
use ade_testkit::postgres::Settings;
use ade_testkit::{Database, OwnedPostgres, within};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::invariants;
use crate::meetings::{Asked, Office};
use crate::world::{Answer, World, id, plan, quoted};

const IN_TIME: Duration = Duration::from_secs(2);
const RECORD: &str = "
    SELECT (SELECT count(*) FROM task) + (SELECT sum(version)::bigint FROM task)
         + (SELECT count(*) FROM vote) + (SELECT count(*) FROM app_user)
         + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM idempotency)";
/// As PostgreSQL says it when a file of the table cannot grow.
const FULL: &str = "
    CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file \"%\": No space left on device',
            pg_relation_filepath(TG_RELID) USING ERRCODE = 'disk_full';
    END $$;";
const MONTH: &str = "SELECT 'audit_leaf_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')";

/// Every kind of change at once: a person's, an author's, a reviewer's, an admin's.
async fn change_everything(
    office: &Office,
    asked: &Asked,
    draft: &Value,
) -> [(Answer, Duration); 4] {
    let world = &office.world;
    let timed = async |call: std::pin::Pin<Box<dyn Future<Output = Answer> + '_>>| {
        let began = Instant::now();
        (call.await, began.elapsed())
    };
    let key = [("idempotency-key", "the-same")];
    let submit = format!("/v1/tasks/{}/submit", id(draft));
    let matching = [("if-match", &*quoted(draft))];
    let bob = &office.bob.token;
    let (one, two, three) = tokio::join!(
        timed(Box::pin(world.send("POST", bob, "/v1/tasks", Some(plan("new")), &key))),
        timed(Box::pin(world.send("POST", bob, &submit, None, &matching))),
        timed(Box::pin(office.approve(&office.rea, &asked.rea, &asked.task))),
    );
    // After the others: it closes the gate, and they would wait for it instead.
    let eve = json!({ "name": "Eve", "roles": [] });
    let four = timed(Box::pin(world.post(&world.admin.token, "/v1/users", eve))).await;
    [one, two, three, four]
}

/// Nothing is done, so it can be asked again. How long the slowest took to be told why.
async fn refused_after(office: &Office, asked: &Asked, draft: &Value) -> Duration {
    let mut slowest = Duration::ZERO;
    for (answer, took) in change_everything(office, asked, draft).await {
        answer.refused(503, "audit_unavailable");
        slowest = took.max(slowest);
    }
    slowest
}

/// Nothing changes while the audit is away, everything is told why, and all of it works once it
/// is back.
async fn assert_stops_and_goes_on(
    office: &Office,
    stop: impl AsyncFnOnce(&Office),
    go_on: impl AsyncFnOnce(&Office),
) {
    let asked = office.reviewing(1).await.remove(0);
    let draft = office.world.draft(&office.bob, "Add a currency").await;
    let before = office.number(RECORD).await;
    stop(office).await;
    within(IN_TIME, async || refused_after(office, &asked, &draft).await).await;
    assert_eq!(office.number(RECORD).await, before, "nothing was done");
    go_on(office).await;
    let statuses = change_everything(office, &asked, &draft).await;
    let statuses: Vec<u16> = statuses.iter().map(|(answer, _)| answer.status).collect();
    assert_eq!(statuses, [201, 202, 200, 201], "by itself");
    assert_eq!(office.task(id(&asked.task)).await["state"], "APPROVED");
    assert_eq!(office.task(id(&draft)).await["state"], "SUBMITTED");
    invariants::assert_hold(&office.world.database, 1).await;
}

async fn hold(office: &Office, table: &str) {
    let holder = Mutex::new(office.world.database.session().await);
    let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    assert_stops_and_goes_on(
        office,
        async |_| holder.lock().await.run(&lock).await,
        async |_| holder.lock().await.run("COMMIT").await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_audit_stops_every_change_in_time() {
    let office = Office::open(1).await;
    hold(&office, "audit_leaf").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_partition_of_the_audit_stops_every_change_in_time() {
    let office = Office::open(1).await;
    let month = office.world.database.session().await.text(MONTH).await;
    hold(&office, &month).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_leaves_what_it_cannot_write_down_for_later() {
    let office = Office::open(1).await;
    let draft = office.world.draft(&office.bob, "Add a currency").await;
    let task = office.world.submit(&office.bob, &draft).await;
    let mut holder = office.world.database.session().await;
    holder.run("BEGIN; LOCK TABLE audit_leaf IN ACCESS EXCLUSIVE MODE").await;
    assert_eq!(office.world.work("review_opener").await.items, 0);
    assert_eq!(office.task(id(&task)).await["state"], "SUBMITTED");
    holder.run("COMMIT").await;
    assert_eq!(office.world.work("review_opener").await.items, 1);
    assert_eq!(office.task(id(&task)).await["state"], "REVIEWING");
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_under_the_audit_stops_every_change_in_time() {
    let office = Office::open(1).await;
    office.world.database.run(FULL).await;
    assert_stops_and_goes_on(
        &office,
        async |office| {
            let database = &office.world.database;
            database
                .run(
                    "CREATE TRIGGER is_full BEFORE INSERT ON audit_leaf
                        FOR EACH ROW EXECUTE FUNCTION no_space()",
                )
                .await;
        },
        async |office| office.world.database.run("DROP TRIGGER is_full ON audit_leaf").await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_partition_of_this_month_is_missed_in_time_and_made() {
    let office = Office::open(1).await;
    // All others are there, however long ago the first of this run were made.
    office.world.work("partition_maker").await;
    let month = office.world.database.session().await.text(MONTH).await;
    assert_stops_and_goes_on(
        &office,
        async |office| {
            let away = format!(
                "ALTER TABLE audit_leaf DETACH PARTITION {month};
                 ALTER TABLE {month} RENAME TO put_away"
            );
            office.world.database.run(&away).await;
        },
        async |office| {
            assert_eq!(office.world.work("partition_maker").await.items, 1);
            let back = "INSERT INTO audit_leaf SELECT * FROM put_away";
            office.world.database.run(back).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_the_audits_fault_is_not_told_as_such() {
    let office = Office::open(1).await;
    let database = &office.world.database;
    let create = async || {
        let body = plan("Add a currency");
        office.world.post(&office.bob.token, "/v1/tasks", body).await
    };
    let mut holder = database.session().await;
    holder.run("BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE").await;
    create().await.refused(503, "busy");
    holder.run("COMMIT").await;

    database.run(FULL).await;
    database
        .run(
            "CREATE TRIGGER is_full BEFORE INSERT ON outbox
                FOR EACH ROW EXECUTE FUNCTION no_space()",
        )
        .await;
    create().await.refused(503, "database_unavailable");
    database.run("DROP TRIGGER is_full ON outbox").await;

    let day = "SELECT 'outbox_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM_DD')";
    let day = database.session().await.text(day).await;
    database.run(&format!("ALTER TABLE outbox DETACH PARTITION {day}; DROP TABLE {day}")).await;
    create().await.refused(503, "database_unavailable");
    office.world.work("partition_maker").await;
    create().await.expect(201);
}

/// A small file system in memory, gone with its handle.
struct SmallDisk {
    path: std::path::PathBuf,
}

impl SmallDisk {
    fn mount(beside: &std::path::Path) -> Self {
        let path = beside.with_file_name("small_disk");
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "none"])
            .arg(&path)
            .status();
        assert!(mounted.unwrap().success(), "mounting needs root");
        let owner = fs::metadata(beside).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        Self { path }
    }

    fn fill(&self) {
        // Whole pages first, then to the last byte.
        for (name, block) in [("pages", vec![0; 64 * 1024]), ("bytes", vec![0; 512])] {
            use std::io::Write as _;
            let mut file = fs::File::create(self.path.join(name)).unwrap();
            while file.write_all(&block).is_ok() {}
        }
    }

    fn free(&self) {
        for name in ["pages", "bytes"] {
            fs::remove_file(self.path.join(name)).unwrap();
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "mounts a file system, for which it must be root; see docs/how-to/faults.md"]
async fn a_disk_that_is_really_full_stops_every_change_in_time() {
    let server = OwnedPostgres::start(Settings::test()).await;
    let migrate = async |url: String| setup::migrate(&url).await;
    let database = Database::clone_on(server.clone(), "server", migrate).await.unwrap();
    let port = server.port();
    let disk = SmallDisk::mount(&server.data_dir());
    let office = Office::in_world(World::through(database, port).await, 1).await;
    let month = office.world.database.session().await.text(MONTH).await;
    let path = disk.path.display();
    let database = &office.world.database;
    database.run(&format!("CREATE TABLESPACE small LOCATION '{path}'")).await;
    database.run(&format!("ALTER TABLE {month} SET TABLESPACE small")).await;
    disk.fill();
    // What is left of the last page takes a few leaves more.
    let mut tries = 0;
    let refused = loop {
        tries += 1;
        assert!(tries < 1_000, "the disk never filled up");
        let began = Instant::now();
        let body = plan(&format!("task {tries}"));
        let answer = office.world.post(&office.bob.token, "/v1/tasks", body).await;
        assert!(began.elapsed() < IN_TIME);
        if answer.status != 201 {
            break answer;
        }
    };
    refused.refused(503, "audit_unavailable");
    let made = office.number("SELECT count(*) FROM task").await;
    assert_eq!(made, tries - 1, "what was refused was not done");
    disk.free();
    office.world.draft(&office.bob, "Add a currency").await;
    println!("full after {} tasks", tries - 1);
    invariants::assert_hold(&office.world.database, 1).await;
}
