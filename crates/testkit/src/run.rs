//! What one test run shares although each of its tests is a separate process: a directory named
//! after the owner of the run. A watchdog stops everything that was started there once the owner is
//! gone; if the watchdog dies too, the next run sweeps. Nothing is stopped by name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::ledger::{Ledger, Record, make_dir, write_whole};
use crate::process::{Process, Stop};

/// The variable with the pid of the owner: everything that this process starts then shares its
/// servers. It shares the template databases too, so use another owner after changing a migration.
pub const OWNER_VARIABLE: &str = "ADE_TESTKIT_OWNER";
/// The variable with the directory that holds the runs.
pub const ROOT_VARIABLE: &str = "ADE_TESTKIT_DIR";
const NEXTEST_RUN: &str = "NEXTEST_RUN_ID";
const WATCHDOG: &str = include_str!("watchdog.sh");
/// Memory makes a durable commit cheap (`fsync` stays on), but a small memory disk would fill up
/// midway.
const SHARED_MEMORY: &str = "/dev/shm";
const SHARED_MEMORY_MIN_BYTES: u64 = 2 * 1024 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Run {
    owner: Process,
    ledger: Ledger,
}

impl Run {
    /// Returns the run of this process: under nextest the whole run, otherwise this process alone.
    pub fn shared() -> Result<Self, Failure> {
        Self::open(&root(), owner()?)
    }

    /// Returns a run of this process alone, for servers that a test breaks.
    pub fn own() -> Result<Self, Failure> {
        Self::open(&root(), Process::current()?)
    }

    pub fn open(root: &Path, owner: Process) -> Result<Self, Failure> {
        if !owner.is_alive() {
            let what = format!("open the run of pid {}", owner.pid());
            return Err(Failure::new(what, "its owner is gone, and so is all it had"));
        }
        make_dir(root)?;
        check_ours(root)?;
        let dir = root.join(format!("run-{}-{}", owner.pid(), owner.born()));
        let ledger = Ledger::open(&dir)?;
        let run = Self { owner, ledger };
        let _guard = run.ledger.lock_now("run")?;
        if run.watchdog().is_none() {
            // A failed sweep is not an error of this run, but its developer should know.
            if let Err(failure) = sweep(root) {
                eprintln!("ade-testkit: leftovers of another run stay: {failure}");
            }
            run.start_watchdog()?;
        }
        Ok(run)
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn owner(&self) -> Process {
        self.owner
    }

    fn watchdog_path(&self) -> PathBuf {
        self.ledger.dir().join("watchdog")
    }

    pub fn watchdog(&self) -> Option<Process> {
        let record = Record::parse(&fs::read_to_string(self.watchdog_path()).ok()?)?;
        record.process.is_alive().then_some(record.process)
    }

    fn start_watchdog(&self) -> Result<(), Failure> {
        let script = self.ledger.dir().join("watchdog.sh");
        write_whole(&script, WATCHDOG)?;
        let mut command = Command::new("sh");
        command
            .arg(script)
            .arg(self.ledger.dir())
            .args([self.owner.pid().to_string(), self.owner.born().to_string()])
            // An open pipe would make the test runner wait for it.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/");
        let process = Process::spawn(&mut command)?;
        let stop = Stop::Kill;
        write_whole(&self.watchdog_path(), &Record { process, stop }.line())
    }
}

/// Stops what dead owners left behind under this root, and returns the runs that were removed.
pub fn sweep(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(root)
        .map_err(|error| Failure::new(format!("sweep {}", root.display()), error))?;
    let mut swept = Vec::new();
    for dir in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(owner) = owner_of(&dir) else {
            continue;
        };
        if owner.is_alive() {
            continue;
        }
        let ledger = Ledger::at(&dir);
        ledger.stop_all()?;
        ledger.remove()?;
        swept.push(dir);
    }
    Ok(swept)
}

fn owner_of(dir: &Path) -> Option<Process> {
    let name = dir.file_name()?.to_str()?.strip_prefix("run-")?;
    let (pid, born) = name.split_once('-')?;
    Some(Process::new(pid.parse().ok()?, born.parse().ok()?))
}

fn owner() -> Result<Process, Failure> {
    if let Ok(named) = std::env::var(OWNER_VARIABLE) {
        let what = format!("{OWNER_VARIABLE}={named}");
        let pid = named.parse().map_err(|_| Failure::new(&what, "a pid is expected"))?;
        return Process::of(pid).ok_or_else(|| Failure::new(&what, "no such process"));
    }
    let this = Process::current()?;
    match std::env::var(NEXTEST_RUN) {
        Ok(run) => Ok(nextest_above(this, &run)),
        Err(_) => Ok(this),
    }
}

/// Finds nextest. It passes its run id to every test, and so to every child of a test, but does not
/// have the id in its own environment: the first ancestor without it is nextest.
fn nextest_above(this: Process, run: &str) -> Process {
    let marker = format!("{NEXTEST_RUN}={run}");
    let mut process = this;
    while let Some(parent) = process.parent() {
        let environment = fs::read(format!("/proc/{}/environ", parent.pid())).unwrap_or_default();
        let is_inside =
            environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes());
        process = parent;
        if !is_inside {
            break;
        }
    }
    process
}

/// Returns the directory of the runs, chosen by what cannot change during a run, so that every
/// process of a run finds the same one.
pub fn root() -> PathBuf {
    if let Some(named) = std::env::var_os(ROOT_VARIABLE) {
        return PathBuf::from(named);
    }
    let has_room = rustix::fs::statvfs(SHARED_MEMORY)
        .is_ok_and(|stat| stat.f_blocks.saturating_mul(stat.f_frsize) >= SHARED_MEMORY_MIN_BYTES);
    let parent = if has_room { PathBuf::from(SHARED_MEMORY) } else { std::env::temp_dir() };
    // Another pid namespace may see the same directory, but not the same processes.
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let namespace: String =
        namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let user = rustix::process::geteuid().as_raw();
    parent.join(format!("ade-testkit-{user}-{namespace}"))
}

/// Checks that the directory is ours, because every user can write to its parent.
fn check_ours(root: &Path) -> Result<(), Failure> {
    let what = format!("use {}", root.display());
    let metadata = fs::symlink_metadata(root).map_err(|error| Failure::new(&what, error))?;
    if metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(Failure::new(what, "it belongs to another user"))
}
