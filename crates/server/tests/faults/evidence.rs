//! Nothing changes while the audit log is unavailable: a locked table, a full disk and a missing
//! partition are reported as such, in time, and the server recovers without a restart.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::process::Command;
use std::time::{Duration, Instant};

use ade_engine::admin::bootstrap;
use ade_testkit::postgres::PostgresSettings;
use ade_testkit::{Database, OwnedPostgres, within};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::invariants;
use crate::meetings::Office;
use crate::world::{Answer, World, id, plan, quoted};

const IN_TIME: Duration = Duration::from_secs(2);
const RECORD: &str = "
    SELECT (SELECT count(*) FROM task) + (SELECT sum(version)::bigint FROM task)
         + (SELECT count(*) FROM vote) + (SELECT count(*) FROM app_user)
         + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM idempotency)";
/// Raises the error that PostgreSQL raises when the file of a table cannot grow.
const FULL: &str = "
    CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file \"%\": No space left on device',
            pg_relation_filepath(TG_RELID) USING ERRCODE = 'disk_full';
    END $$;";
const MONTH: &str = "SELECT 'audit_entry_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')";

/// Makes one change of every kind: creating, submitting and approving tasks, and an admin's change.
async fn change_everything(
    office: &Office,
    reviewing: &Value,
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
        timed(Box::pin(office.approve(&office.rea, reviewing))),
    );
    // This call comes last: it takes the exclusive lock of the tenant, and the others would wait.
    let eve = json!({ "name": "Eve", "roles": [] });
    let four = timed(Box::pin(world.post(&world.admin.token, "/v1/users", eve))).await;
    [one, two, three, four]
}

/// Asserts that every change is refused because of the audit log. Returns how long the slowest
/// refusal took.
async fn refused_after(office: &Office, reviewing: &Value, draft: &Value) -> Duration {
    let mut slowest = Duration::ZERO;
    for (answer, took) in change_everything(office, reviewing, draft).await {
        answer.refused(503, "audit_unavailable");
        slowest = took.max(slowest);
    }
    slowest
}

/// Asserts that nothing changes while the audit log is unavailable, that every refusal gives this
/// reason, and that all changes succeed once the log is back.
async fn assert_stops_and_goes_on(
    office: &Office,
    stop: impl AsyncFnOnce(&Office),
    go_on: impl AsyncFnOnce(&Office),
) {
    let reviewing = office.reviewing(1).await.remove(0);
    let draft = office.world.draft(&office.bob, "Add a currency").await;
    let before = office.number(RECORD).await;
    stop(office).await;
    within(IN_TIME, async || refused_after(office, &reviewing, &draft).await).await;
    assert_eq!(office.number(RECORD).await, before, "nothing was changed");
    go_on(office).await;
    let statuses = change_everything(office, &reviewing, &draft).await;
    let statuses: Vec<u16> = statuses.iter().map(|(answer, _)| answer.status).collect();
    assert_eq!(statuses, [201, 202, 200, 201], "recovered without a restart");
    assert_eq!(office.task(id(&reviewing)).await["state"], "APPROVED");
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
async fn audit_table_locked_stops_every_change_in_time() {
    let office = Office::open(1).await;
    hold(&office, "audit_entry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_partition_locked_stops_every_change_in_time() {
    let office = Office::open(1).await;
    let month = office.world.database.session().await.text(MONTH).await;
    hold(&office, &month).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_without_the_audit_leaves_its_work_for_later() {
    let office = Office::open(1).await;
    let draft = office.world.draft(&office.bob, "Add a currency").await;
    let task = office.world.submit(&office.bob, &draft).await;
    let mut holder = office.world.database.session().await;
    holder.run("BEGIN; LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE").await;
    assert_eq!(office.world.work("review_opener").await.items, 0);
    assert_eq!(office.task(id(&task)).await["state"], "SUBMITTED");
    holder.run("COMMIT").await;
    assert_eq!(office.world.work("review_opener").await.items, 1);
    assert_eq!(office.task(id(&task)).await["state"], "REVIEWING");
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_on_a_full_disk_stops_every_change_in_time() {
    let office = Office::open(1).await;
    office.world.database.run(FULL).await;
    assert_stops_and_goes_on(
        &office,
        async |office| {
            let database = &office.world.database;
            database
                .run(
                    "CREATE TRIGGER is_full BEFORE INSERT ON audit_entry
                        FOR EACH ROW EXECUTE FUNCTION no_space()",
                )
                .await;
        },
        async |office| office.world.database.run("DROP TRIGGER is_full ON audit_entry").await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_partition_missing_is_reported_in_time_and_created() {
    let office = Office::open(1).await;
    // All other partitions exist now, however long ago this run created the first ones.
    office.world.work("partition_maker").await;
    let month = office.world.database.session().await.text(MONTH).await;
    assert_stops_and_goes_on(
        &office,
        async |office| {
            let away = format!(
                "ALTER TABLE audit_entry DETACH PARTITION {month};
                 ALTER TABLE {month} RENAME TO put_away"
            );
            office.world.database.run(&away).await;
        },
        async |office| {
            assert_eq!(office.world.work("partition_maker").await.items, 1);
            let back = "INSERT INTO audit_entry SELECT * FROM put_away";
            office.world.database.run(back).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_outside_the_audit_is_not_reported_as_audit_failure() {
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

/// A small file system in memory that is unmounted when its handle is dropped.
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
        // Large blocks come first, then small ones up to the last byte.
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
#[ignore = "mounts a file system, which needs root; see docs/how-to/faults.md"]
async fn audit_on_a_mounted_full_disk_stops_every_change_in_time() {
    let server = OwnedPostgres::start(PostgresSettings::test()).await;
    let migrate = async |url: String| bootstrap::migrate(&url).await;
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
    // The rest of the last page has room for a few more audit entries.
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
    assert_eq!(made, tries - 1, "a refused change was not made");
    disk.free();
    office.world.draft(&office.bob, "Add a currency").await;
    println!("full after {} tasks", tries - 1);
    invariants::assert_hold(&office.world.database, 1).await;
}
