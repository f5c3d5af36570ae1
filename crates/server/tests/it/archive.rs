//! Logs in the blob store: they are moved there after their attempt has ended, read as before, and
//! reported as unavailable when the store is down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::executions::{permit, runner, say};
use crate::world::{LockBackend, Person, TestServerOptions, World};

const LINES: u64 = 2_500;
const PAGES: [u64; 4] = [0, 1_000, 1_999, 2_400];

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ade-blobs-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn files(below: &Path) -> usize {
    let entries = std::fs::read_dir(below).unwrap().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

struct Stage {
    folder: Folder,
    world: World,
    bob: Person,
    bot: Person,
    held: Value,
}

impl Stage {
    /// Starts an attempt with a log of three pages; the last page is short.
    async fn new() -> Self {
        let folder = Folder::new();
        let blobs = Some(format!("file://{}", folder.0.display()));
        let fittings =
            TestServerOptions { blobs, ..LockBackend::Rows(LockBackend::SETTINGS).into() };
        let world = World::fitted(fittings).await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let bot = runner(&world, "infra-bot", &bob).await;
        world.approved(&bob, &rea, "Add a currency").await;
        let held = permit(&world, &bot).await;
        say(&world, &bot, &held, "begin", json!({})).await.expect(200);
        for first in (0..LINES).step_by(1_000) {
            let numbers = first..LINES.min(first + 1_000);
            let text = |number: u64| format!("line\t{number} \u{202e}");
            let lines: Vec<Value> =
                numbers.map(|number| json!({ "stream": "stdout", "text": text(number) })).collect();
            let log = json!({ "first": first, "lines": lines });
            say(&world, &bot, &held, "log", log).await.expect(200);
        }
        Self { folder, world, bob, bot, held }
    }

    fn path(&self) -> String {
        format!("/v1/executions/{}", self.held["execution_id"].as_str().unwrap())
    }

    async fn page(&self, from: u64) -> Value {
        let path = format!("{}/log?from={from}", self.path());
        self.world.get(&self.bob.token, &path).await.expect(200)
    }

    async fn rows(&self) -> i64 {
        self.world.database.number("SELECT count(*) FROM execution_line").await
    }
}

#[tokio::test]
async fn log_read_from_the_archive_is_unchanged() {
    let stage = Stage::new().await;
    stage.world.pass(Duration::from_mins(61)).await;
    stage.world.work("output_archiver").await;
    assert_eq!(stage.rows().await, 2_500, "the log of a running attempt stays in the database");
    say(&stage.world, &stage.bot, &stage.held, "finish", json!({})).await.expect(200);
    let mut before = Vec::new();
    for from in PAGES {
        before.push(stage.page(from).await["lines"].as_array().unwrap().clone());
    }
    stage.world.pass(Duration::from_mins(122)).await;
    stage.world.work("output_archiver").await;
    assert_eq!(stage.rows().await, 0);
    assert_eq!(files(&stage.folder.0), 3);
    let seen = stage.world.get(&stage.bob.token, &stage.path()).await.expect(200);
    assert!(seen["output_key"].as_str().unwrap().starts_with("logs/"), "{seen}");
    for (from, before) in PAGES.into_iter().zip(before) {
        let after = stage.page(from).await["lines"].as_array().unwrap().clone();
        // A page of the database has a fixed number of lines, and one of the store a fixed range of
        // line numbers.
        assert!(!after.is_empty() && before.starts_with(&after), "from {from}");
    }
    let mut read = 0;
    let mut from = 0;
    loop {
        let page = stage.page(from).await;
        read += page["lines"].as_array().unwrap().len();
        from = page["next"].as_u64().unwrap();
        if page["is_complete"] == true {
            break;
        }
    }
    assert_eq!((read, from), (2_500, LINES));
    assert_eq!(stage.page(LINES).await["is_complete"], true);
    let (_, stranger) = stage.world.tenant("globex").await;
    let path = format!("{}/log", stage.path());
    assert_eq!(stage.world.get(&stranger.token, &path).await.status, 404);
}

#[tokio::test]
async fn log_store_outage_loses_nothing_and_is_reported() {
    let stage = Stage::new().await;
    say(&stage.world, &stage.bot, &stage.held, "finish", json!({})).await.expect(200);
    stage.world.pass(Duration::from_mins(61)).await;
    let away = stage.folder.0.with_extension("away");
    let put_away = || {
        std::fs::rename(&stage.folder.0, &away).unwrap();
        // A file in place of the directory makes the store unavailable.
        std::fs::write(&stage.folder.0, "").unwrap();
    };
    let bring_back = || {
        std::fs::remove_file(&stage.folder.0).unwrap();
        std::fs::rename(&away, &stage.folder.0).unwrap();
    };
    put_away();
    assert_eq!(stage.world.work("output_archiver").await.items, 0);
    assert_eq!(stage.rows().await, 2_500);
    bring_back();
    assert_eq!(stage.world.work("output_archiver").await.items, 1);
    put_away();
    let path = format!("{}/log", stage.path());
    let refused = stage.world.get(&stage.bob.token, &path).await;
    let refused = refused.refused(503, "log_unavailable");
    assert_eq!(refused["retriable"], true);
    bring_back();
    assert_eq!(stage.page(0).await["lines"].as_array().unwrap().len(), 1_000);
}
