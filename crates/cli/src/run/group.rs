//! A program in its own process group. Signals go to the whole group, and no process of it outlives
//! its handle, because none may run without the lock it was started under.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout_at};

/// The polling interval for remaining processes; the system offers no notification.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    id: Option<Pid>,
}

impl ProcessGroup {
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).spawn()?;
        let id = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { leader, id })
    }

    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// Sends a signal to the group; an empty group is not an error.
    pub fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Waits until the leader has ended; its child processes may still run.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    fn is_empty(&self) -> bool {
        self.id.is_none_or(|id| test_kill_process_group(id).is_err())
    }

    /// Asks the group to end, and kills the processes that have not ended within `grace`.
    pub async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + grace;
        self.signal(Signal::TERM);
        // A stopped process does not receive other signals.
        self.signal(Signal::CONT);
        let ended = timeout_at(deadline, self.leader.wait()).await;
        while ended.is_ok() && !self.is_empty() && Instant::now() < deadline {
            sleep(LOOK).await;
        }
        self.signal(Signal::KILL);
        let status = self.leader.wait().await;
        self.id = None;
        status
    }

    /// Ends the processes left after the leader has ended. Returns whether there were any.
    pub async fn clear(&mut self, grace: Duration) -> bool {
        let has_left = !self.is_empty();
        if has_left {
            let _ = self.end(grace).await;
        }
        // The group ID may be reused from now on.
        self.id = None;
        has_left
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
