//! A directory that records which processes were started for it and how to stop them. Every record
//! carries the start time, so stopping processes from an old ledger is safe. Other users can only
//! pass through the directories, because a server may run as another user.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::process::{Process, Stop};

/// Long enough for PostgreSQL to write its buffers; killing it later costs only a recovery.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// The suffix of a file that is still being written.
const ASIDE: &str = ".new";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub process: Process,
    pub stop: Stop,
}

impl Record {
    /// Formats the record as one line, which the shell script of the watchdog reads as well.
    pub(crate) fn line(self) -> String {
        let Self { process, stop } = self;
        format!("{} {} {}\n", process.pid(), process.born(), stop.name())
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let pid = words.next()?.parse().ok()?;
        let born = words.next()?.parse().ok()?;
        let stop = Stop::named(words.next()?)?;
        let process = Process::new(pid, born);
        Some(Self { process, stop })
    }
}

impl Ledger {
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        make_dir(&dir.join("processes"))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// Opens a ledger without creating its directory, to inspect one that may not exist.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn folder(&self, label: &str) -> PathBuf {
        self.dir.join(label)
    }

    fn record_path(&self, label: &str) -> PathBuf {
        self.dir.join("processes").join(label)
    }

    /// Waits for the lock of this name. The lock is released when the file is dropped, also at the
    /// end of the process.
    pub async fn lock(&self, name: &str) -> Result<File, Failure> {
        let path = self.dir.join(format!("{name}.lock"));
        let what = format!("lock {}", path.display());
        // A separate thread waits, because the holder may be another task of this thread.
        let taken = tokio::task::spawn_blocking(move || lock_file(&path)).await;
        taken
            .map_err(|error| Failure::new(&what, error))?
            .map_err(|error| Failure::new(&what, error))
    }

    pub(crate) fn lock_now(&self, name: &str) -> Result<File, Failure> {
        let path = self.dir.join(format!("{name}.lock"));
        lock_file(&path).map_err(|error| Failure::new(format!("lock {}", path.display()), error))
    }

    pub fn record(&self, label: &str, process: Process, stop: Stop) -> Result<(), Failure> {
        write_whole(&self.record_path(label), &Record { process, stop }.line())
    }

    pub fn recorded(&self, label: &str) -> Option<Record> {
        Record::parse(&fs::read_to_string(self.record_path(label)).ok()?)
    }

    /// Returns the recorded process if it still runs.
    pub fn running(&self, label: &str) -> Option<Process> {
        let process = self.recorded(label)?.process;
        process.is_alive().then_some(process)
    }

    pub fn stop(&self, label: &str) -> Result<(), Failure> {
        if let Some(Record { process, stop }) = self.recorded(label)
            && !process.stop(stop, STOP_GRACE)
        {
            let what = format!("stop {label}");
            let why = format!("pid {} does not end, not even by SIGKILL", process.pid());
            return Err(Failure::new(what, why));
        }
        let _ = fs::remove_file(self.record_path(label));
        Ok(())
    }

    pub fn labels(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.join("processes"));
        let mut labels: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.ends_with(ASIDE))
            .collect();
        labels.sort();
        labels
    }

    /// Stops every recorded process, and returns the first failure after all were tried.
    pub fn stop_all(&self) -> Result<(), Failure> {
        let outcomes: Vec<_> = self.labels().iter().map(|label| self.stop(label)).collect();
        outcomes.into_iter().collect()
    }

    pub fn remove(&self) -> Result<(), Failure> {
        remove_tree(&self.dir)
    }
}

fn lock_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

pub(crate) fn make_dir(dir: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(dir)
        .map_err(|error| Failure::new(format!("make {}", dir.display()), error))
}

/// Writes a temporary file and renames it, so that a reader finds all of the text or none of it.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let aside = path.with_extension(ASIDE.trim_start_matches('.'));
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&aside, path)
    };
    write().map_err(|error| Failure::new(format!("write {}", path.display()), error))
}

/// Removes a directory. A missing one is fine, and a server that was just killed may still be
/// deleting its files.
pub(crate) fn remove_tree(dir: &Path) -> Result<(), Failure> {
    const TRIES: usize = 5;
    let mut outcome = Ok(());
    for _ in 0..TRIES {
        outcome = fs::remove_dir_all(dir);
        if outcome.is_ok() || !dir.exists() {
            return Ok(());
        }
    }
    outcome.map_err(|error| Failure::new(format!("remove {}", dir.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_record_round_trips_and_other_lines_are_refused() {
        let process = Process::new(42, 7_777);
        for stop in [Stop::Kill, Stop::Quit, Stop::Interrupt] {
            let record = Record { process, stop };
            assert_eq!(Record::parse(&record.line()), Some(record));
        }
        for line in ["", "42", "42 7777", "42 7777 SOON", "x 7777 KILL", "42 x KILL"] {
            assert_eq!(Record::parse(line), None, "{line}");
        }
    }
}
