//! A program in a process group of its own. Signals go to the whole group, and nothing of it
//! outlives its handle: what it started must not go on without the lock it was started under.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout_at};

/// How often a group is asked whether anybody is left in it: nobody can be told.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Group {
    leader: Child,
    id: Option<Pid>,
}

impl Group {
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).spawn()?;
        let id = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { leader, id })
    }

    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// An empty group is no error: whoever should hear it has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Until the leader has ended; those it left behind may go on.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    fn is_empty(&self) -> bool {
        self.id.is_none_or(|id| test_kill_process_group(id).is_err())
    }

    /// Asks all of the group to end, and kills who has not done so within `grace`.
    pub async fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + grace;
        self.signal(Signal::TERM);
        // Who was stopped hears nothing else.
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

    /// After the leader has ended: ends who is left. Says whether there was anybody.
    pub async fn clear(&mut self, grace: Duration) -> bool {
        let has_left = !self.is_empty();
        if has_left {
            let _ = self.end(grace).await;
        }
        // The number may be given to another group from now on.
        self.id = None;
        has_left
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
