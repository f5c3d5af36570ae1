//! However a run ends, the watchdog or the sweep of the next run stops everything it started, and
//! no process that merely reuses a pid is touched.

use std::process::{Command, Stdio};

use ade_testkit::eventually;
use ade_testkit::ledger::Ledger;
use ade_testkit::process::{Process, Stop};
use ade_testkit::run::{Run, sweep};

use crate::child::{Other, SOON, private_root, root_setting};

struct Left {
    server: Process,
    watchdog: Process,
    dir: std::path::PathBuf,
}

fn left_by(other: &Other) -> Left {
    let words = other.words();
    let process =
        |at: usize| Process::new(words[at].parse().unwrap(), words[at + 1].parse().unwrap());
    Left { server: process(0), watchdog: process(2), dir: words[4].into() }
}

fn sleeper() -> Process {
    // The process ends on its own if the test fails, and holds no pipe of the test open.
    let mut command = Command::new("sleep");
    command.arg("30").stdout(Stdio::null()).stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

async fn until_gone(left: &Left) {
    eventually("the run has left nothing", SOON, async || {
        if left.server.is_alive() {
            return Err("the server lives");
        }
        if left.watchdog.is_alive() {
            return Err("the watchdog lives");
        }
        if left.dir.exists() {
            return Err("the directory is there");
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn watchdog_stops_the_processes_of_a_killed_run() {
    let root = private_root("watchdog");
    let other = Other::start("owns_postgres", &[root_setting(&root)]);
    let left = left_by(&other);
    assert!(left.server.is_alive() && left.watchdog.is_alive() && left.dir.exists());
    other.kill();
    until_gone(&left).await;
    std::fs::remove_dir_all(root).unwrap();
}

#[tokio::test]
async fn sweep_stops_leftovers_when_the_watchdog_was_killed() {
    let root = private_root("sweep");
    let other = Other::start("owns_postgres", &[root_setting(&root)]);
    let left = left_by(&other);
    assert!(left.watchdog.stop(Stop::Kill, SOON));
    other.kill();
    assert!(left.server.is_alive(), "the watchdog is gone and cannot stop the server");
    assert_eq!(sweep(&root).unwrap(), std::slice::from_ref(&left.dir));
    until_gone(&left).await;
    std::fs::remove_dir_all(root).unwrap();
}

#[tokio::test]
async fn sweep_spares_a_run_that_is_alive() {
    let root = private_root("living");
    let run = Run::open(&root, Process::current().unwrap()).unwrap();
    let process = sleeper();
    run.ledger().record("sleeper", process, Stop::Kill).unwrap();
    assert!(sweep(&root).unwrap().is_empty());
    assert!(process.is_alive());
    assert!(run.watchdog().is_some());
    run.ledger().stop_all().unwrap();
    assert!(!process.is_alive());
    std::fs::remove_dir_all(root).unwrap();
}

#[tokio::test]
async fn sweep_and_watchdog_spare_a_reused_pid() {
    let root = private_root("reused");
    let stranger = sleeper();
    let recorded = Process::new(stranger.pid(), stranger.born() + 7);
    // The first run has a dead owner; the owner of the second run is killed below.
    let dead = sleeper();
    assert!(dead.stop(Stop::Kill, SOON));
    assert!(Run::open(&root, dead).is_err());
    let dir = root.join(format!("run-{}-{}", dead.pid(), dead.born()));
    let ledger = Ledger::open(&dir).unwrap();
    ledger.record("reused", recorded, Stop::Kill).unwrap();
    assert_eq!(sweep(&root).unwrap(), [dir]);
    assert!(stranger.is_alive(), "after the sweep");

    let owner = sleeper();
    let run = Run::open(&root, owner).unwrap();
    let own = sleeper();
    run.ledger().record("reused", recorded, Stop::Kill).unwrap();
    run.ledger().record("own", own, Stop::Quit).unwrap();
    let watchdog = run.watchdog().unwrap();
    assert!(owner.stop(Stop::Kill, SOON));
    let left = Left { server: own, watchdog, dir: run.ledger().dir().to_owned() };
    until_gone(&left).await;
    assert!(stranger.is_alive(), "after the watchdog");
    assert!(stranger.stop(Stop::Kill, SOON));
    std::fs::remove_dir_all(root).unwrap();
}

#[tokio::test]
async fn watchdog_is_started_once_per_run() {
    let root = private_root("one");
    let owner = Process::current().unwrap();
    let first = Run::open(&root, owner).unwrap().watchdog().unwrap();
    let second = Run::open(&root, owner).unwrap().watchdog().unwrap();
    assert_eq!(first, second);
    assert!(first.stop(Stop::Kill, SOON));
    let third = Run::open(&root, owner).unwrap().watchdog().unwrap();
    assert_ne!(first, third, "a dead watchdog is replaced");
    // The watchdog ends when its directory is gone.
    std::fs::remove_dir_all(root).unwrap();
    eventually("the watchdog has ended", SOON, async || {
        if third.is_alive() { Err("it lives") } else { Ok(()) }
    })
    .await;
}
