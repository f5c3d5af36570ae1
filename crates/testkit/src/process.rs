//! Processes identified by pid and start time. Signals go through a pidfd that is opened before the
//! start time is compared, so a process that reuses the pid is never hit. Linux only (`/proc`,
//! pidfd). Processes are never looked up by name.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};

use crate::failure::Failure;

/// After SIGKILL a process needs only the kernel; if it takes longer than this, it hangs in a
/// device.
const KILL_WAIT: Duration = Duration::from_secs(30);

/// A busy machine may take a moment to stop a process.
const PAUSE_WAIT: Duration = Duration::from_secs(30);

/// How a process is stopped before it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Kills the process at once, because it has nothing to lose.
    Kill,
    /// PostgreSQL's immediate shutdown: no checkpoint, but the shared memory is freed.
    Quit,
    /// PostgreSQL's fast shutdown: connections are closed and data is written.
    Interrupt,
}

impl Stop {
    const ALL: [Self; 3] = [Self::Kill, Self::Quit, Self::Interrupt];

    /// Returns the name that `kill -s` accepts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::Quit => "QUIT",
            Self::Interrupt => "INT",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }

    fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::KILL,
            Self::Quit => Signal::QUIT,
            Self::Interrupt => Signal::INT,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    pid: i32,
    /// The start of the process, in clock ticks since boot.
    born: u64,
}

struct Stat {
    state: char,
    parent: i32,
    born: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The name of the command is in parentheses and may itself contain spaces and parentheses.
        let (_, rest) = text.rsplit_once(") ")?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            born: fields.nth(17)?.parse().ok()?,
        })
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

impl Process {
    pub fn new(pid: i32, born: u64) -> Self {
        Self { pid, born }
    }

    /// Returns the process that has this pid now, unless it has ended.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        (!stat.has_ended()).then_some(Self::new(pid, stat.born))
    }

    pub fn current() -> Result<Self, Failure> {
        i32::try_from(std::process::id())
            .ok()
            .and_then(Self::of)
            .ok_or_else(|| Failure::new("find this process", "/proc does not show it"))
    }

    /// Spawns the command in its own process group, so that neither Ctrl-C nor a test runner that
    /// ends the group of the test reaches it.
    pub fn spawn(command: &mut Command) -> Result<Self, Failure> {
        let what = format!("start {}", command.get_program().display());
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| Failure::new(&what, error))?;
        let gone = || Failure::new(&what, "it was gone before it could be looked at");
        let pid = i32::try_from(child.id()).map_err(|_| gone())?;
        // A child that has already ended is a zombie until it is reaped, so its start time is still
        // available.
        let stat = Stat::read(pid).ok_or_else(gone)?;
        Ok(Self::new(pid, stat.born))
    }

    pub fn pid(self) -> i32 {
        self.pid
    }

    pub fn born(self) -> u64 {
        self.born
    }

    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Returns whether SIGSTOP has stopped the process.
    pub fn is_paused(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.born == self.born && stat.state == 'T')
    }

    pub(crate) fn parent(self) -> Option<Self> {
        Stat::read(self.pid).and_then(|stat| Self::of(stat.parent))
    }

    /// Returns the direct children that still run.
    pub(crate) fn children(self) -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(Self::of).filter(|process| process.parent() == Some(self)).collect()
    }

    fn descriptor(self) -> Option<OwnedFd> {
        let descriptor = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // The process was ours and alive after the descriptor was opened, so the descriptor is ours
        // too.
        self.is_alive().then_some(descriptor)
    }

    /// Sends a signal. Returns false if the process is gone; a process that reuses its pid is left
    /// alone.
    pub fn signal(self, signal: Signal) -> bool {
        self.descriptor().is_some_and(|descriptor| pidfd_send_signal(descriptor, signal).is_ok())
    }

    /// Stops the process and returns once it is stopped, because the signal alone is only a
    /// request.
    pub fn pause(self) -> bool {
        let deadline = Instant::now() + PAUSE_WAIT;
        let mut paused = false;
        if self.signal(Signal::STOP) {
            while !paused && Instant::now() < deadline {
                std::thread::yield_now();
                paused = self.is_paused();
            }
        }
        paused
    }

    pub fn resume(self) -> bool {
        self.signal(Signal::CONT)
    }

    /// Sends the signal, waits up to `grace`, then kills. Returns true once the process is gone,
    /// whatever ended it.
    pub fn stop(self, how: Stop, grace: Duration) -> bool {
        let Some(descriptor) = self.descriptor() else {
            self.reap();
            return true;
        };
        let asked = pidfd_send_signal(&descriptor, how.signal());
        // A stopped process reacts to SIGKILL only.
        let _ = pidfd_send_signal(&descriptor, Signal::CONT);
        let mut gone = asked.is_ok() && has_ended_within(&descriptor, grace);
        if !gone {
            let _ = pidfd_send_signal(&descriptor, Signal::KILL);
            gone = has_ended_within(&descriptor, KILL_WAIT);
        }
        self.reap();
        gone
    }

    /// Reads the exit status of a child, which would otherwise stay a zombie.
    fn reap(self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn has_ended_within(descriptor: &OwnedFd, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else {
            return false;
        };
        let mut waited = [PollFd::new(descriptor, PollFlags::IN)];
        match poll(&mut waited, Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(error) if io::Error::from(error).kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
