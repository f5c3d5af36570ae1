//! Runs a permitted command and reports the result. The lease is kept alive from the start; the
//! command runs only under a confirmed lease, and its process group is stopped when the lease ends.

use std::os::fd::AsRawFd as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use ade_api::claims::Permit;
use ade_api::executions::{Beginning, Finish, FinishOutcome, Left, NewLog, Stream};
use ade_client::{Client, Error, KeepAliveStatus, LeaseKeepAlive, margin};
use ade_core::limits::{REASON_MAX_BYTES, RUN_ASIDE_TIMEOUT, RUN_DRAIN};
use rustix::process::Signal;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::declare::Declaration;
use super::group::ProcessGroup;
use super::interrupt::{self, Interrupts};
use super::log::Log;
use super::outcome::{self, RunOutcome, Why};
use super::program::Program;
use super::pump::{feed, pump};
use super::{environment, files, preview};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::progress::Progress;
use crate::tasks;
use crate::text::within;

/// The error code for a changed effect.
const DRIFTED: &str = "effect_drifted";
const ABORT_REQUESTED: &str = "abort_requested";
const LEASE_LOST: &str = "lease_lost";
const FROZEN: &str = "frozen";
const BASIS_LOST: &str = "basis_lost";
/// Why a task is cancelled whose command does not run.
pub const HAS_ENDED: &str = "the `ade run` process that proposed the task has ended";

#[derive(Debug)]
pub struct Attempt<'a> {
    client: &'a Client,
    permit: Permit,
    declaration: &'a Declaration,
    preview: Option<&'a str>,
    keep_alive: LeaseKeepAlive,
    progress: &'a mut Progress,
    interrupts: &'a mut Interrupts,
}

/// Why the command did not start.
enum Halt {
    Lost(Error),
    AbortRequested,
    /// Applies are frozen, or the approval is no longer valid.
    Withdrawn(Error),
    Signal(Signal),
    /// The command is not what was approved.
    Changed(Failure),
    Failure(Failure),
}

impl<'a> Attempt<'a> {
    pub fn new(
        client: &'a Client,
        permit: Permit,
        (declaration, preview): (&'a Declaration, Option<&'a str>),
        progress: &'a mut Progress,
        interrupts: &'a mut Interrupts,
    ) -> Self {
        let keep_alive = client.executions().keep(&permit);
        Self { client, permit, declaration, preview, keep_alive, progress, interrupts }
    }

    /// Returns the exit code, or `None` if the permit was withdrawn before the command began.
    pub async fn apply(mut self) -> Result<Option<Exit>, Failure> {
        let (program, begun) = match self.begin().await {
            Ok(begun) => begun,
            Err(halt) => return self.halt(halt).await,
        };
        let id = self.permit.task.summary.id;
        let fence = self.permit.fence;
        let attempt = self.permit.attempt;
        self.progress.reached("applying", &format!("{id} · attempt {attempt} · token {fence}"));
        let log = log(self.client, &self.permit);
        log.sink().note(&format!("running {}", self.declaration.line()));
        let outcome = match self.start(&program) {
            Ok(group) => self.run(group, &log, begun).await,
            Err(error) => RunOutcome::not_started(&self.declaration.line(), &error),
        };
        log.sink().note(&outcome.error().unwrap_or_else(|| "succeeded".to_owned()));
        let is_lost = matches!(outcome.why, Why::Lost(_));
        let output = if is_lost { log.abandon().await } else { log.close().await };
        self.report(outcome, output).await.map(Some)
    }

    /// Checks everything that must hold before the first side effect. Returns the open program, and
    /// a time shortly before the one from which the server measures the duration.
    async fn begin(&mut self) -> Result<(Program, Instant), Halt> {
        let settled =
            self.interrupts.during(self.keep_alive.settled()).await.map_err(Halt::Signal)?;
        Halt::check(settled)?;
        let plan = match self.preview {
            None => None,
            Some(command) => {
                self.progress.awaits("previewing", "again, now that the locks are held");
                self.progress.clear();
                let seen = preview::preview(command, &self.declaration.environment);
                Some(self.guarded(seen).await?.map_err(Halt::Failure)?)
            }
        };
        let program = self.guarded(self.declaration.reopen()).await?.map_err(Halt::Changed)?;
        let beginning = Beginning { lease_id: self.permit.lease_id, plan };
        let client = self.client.clone();
        let execution = self.permit.execution_id;
        let sent = Instant::now();
        let begun = async move { client.executions().begin(execution, &beginning).await };
        match self.guarded(begun).await? {
            Ok(_) => Ok((program, sent)),
            Err(error) => Err(match error.refusal().map(|refusal| refusal.code.as_str()) {
                Some(ABORT_REQUESTED) => Halt::AbortRequested,
                Some(LEASE_LOST) => Halt::Lost(error),
                Some(FROZEN | BASIS_LOST) => Halt::Withdrawn(error),
                _ => Halt::Failure(self.not_begun(error)),
            }),
        }
    }

    fn not_begun(&self, error: Error) -> Failure {
        let look = format!("ade tasks get {}", self.permit.task.summary.id);
        match error.refusal() {
            Some(refusal) if refusal.code == DRIFTED => Failure::new(
                Exit::Drifted,
                "the effect of the command differs from what was approved",
            )
            .detail(format!(
                "{}; the command did not run, and the task goes back to review",
                refusal.detail
            ))
            .or_next(look),
            _ => Failure::from(error).or_next(look),
        }
    }

    /// Runs the work until it ends, the lease is lost or the run is interrupted.
    async fn guarded<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            status = self.keep_alive.stopped() => {
                Err(Halt::check(status).err().unwrap_or(Halt::AbortRequested))
            }
            signal = self.interrupts.next() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
        }
    }

    /// Reports to the server and the user that the command did not run.
    async fn halt(self, halt: Halt) -> Result<Option<Exit>, Failure> {
        let id = self.permit.task.summary.id;
        let next = format!("ade tasks get {id}");
        match halt {
            Halt::Lost(error) => {
                Err(outcome::lost(id, "the lease was lost", &error, "the command did not run"))
            }
            Halt::AbortRequested => {
                self.give_back(FinishOutcome::Cancelled, "a cancellation was requested").await;
                let what = format!("{id} was cancelled, and the command did not run");
                Err(outcome::cancelled(id, &what, self.keep_alive.abort().as_ref()).advice(
                    "Nothing was changed. If the change is still wanted, propose it again.",
                ))
            }
            Halt::Signal(signal) => {
                self.withdraw(HAS_ENDED).await;
                let why = format!("interrupted by {}", interrupt::name(signal));
                self.give_back(FinishOutcome::Cancelled, &why).await;
                self.progress.warn("cancelled", &format!("{id} · the command did not run"));
                Ok(Some(interrupt::exit(signal)))
            }
            Halt::Withdrawn(error) => {
                self.progress.warn("withdrawn", &look::obstacle(&error));
                Ok(None)
            }
            Halt::Changed(failure) => {
                let why = failure.what();
                self.withdraw(&why).await;
                self.give_back(FinishOutcome::Failed, &why).await;
                Err(failure.or_next(next))
            }
            Halt::Failure(failure) => {
                if failure.exit != Exit::Drifted {
                    self.withdraw(HAS_ENDED).await;
                    self.give_back(FinishOutcome::Failed, "the execution could not begin").await;
                }
                Err(failure.or_next(next))
            }
        }
    }

    /// Cancels the task, because no agent is left to retry it.
    async fn withdraw(&self, why: &str) {
        let id = self.permit.task.summary.id;
        let reason = Some(within(why, REASON_MAX_BYTES).to_owned());
        let _ = timeout(RUN_ASIDE_TIMEOUT, tasks::withdraw(self.client, id, reason)).await;
    }

    /// Reports that nothing was changed. Errors are ignored, because the lease expires anyway.
    async fn give_back(&self, outcome: FinishOutcome, error: &str) {
        let (error, left_behind) = (Some(error.to_owned()), Some(Left::Nothing));
        let finish =
            Finish { outcome, error, left_behind, ..Finish::succeeded(self.permit.lease_id) };
        let report = self.client.executions().finish(self.permit.execution_id, &finish);
        let _ = timeout(RUN_ASIDE_TIMEOUT, report).await;
    }

    /// Starts the program that was opened. The receipt is in a file in memory, whose descriptor the
    /// command keeps; `ade` closes its own copies on return.
    fn start(&self, program: &Program) -> std::io::Result<ProcessGroup> {
        let receipt = files::sealed("receipt", self.permit.receipt.as_bytes())?;
        files::inherit(&receipt)?;
        let granted = environment::granted(&self.permit, program.path(), receipt.as_raw_fd());
        let has_input = self.declaration.input.is_some();
        let arguments = self.declaration.argv.get(1..).unwrap_or_default();
        // The command starts in the directory of `ade`, which was compared with the approved one.
        let mut command = program.command(arguments)?;
        command
            .env_clear()
            .envs(self.declaration.environment.variables())
            .envs(granted)
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ProcessGroup::spawn(&mut command)
    }

    async fn run(&mut self, mut group: ProcessGroup, log: &Log, begun: Instant) -> RunOutcome {
        self.progress.clear();
        let (stdin, stdout, stderr) = group.streams();
        let input = self.declaration.input.clone().unwrap_or_default();
        let feeding = stdin.map(|stdin| tokio::spawn(feed(stdin, input)));
        let pumps = [
            stdout.map(|out| {
                tokio::spawn(pump(out, tokio::io::stdout(), Stream::Stdout, log.sink()))
            }),
            stderr.map(|err| {
                tokio::spawn(pump(err, tokio::io::stderr(), Stream::Stderr, log.sink()))
            }),
        ];
        let outcome = self.watch(&mut group, begun).await;
        if group.clear(self.grace()).await {
            self.progress.warn("ended", "processes left behind by the command");
        }
        drain(pumps.into_iter().flatten().chain(feeding)).await;
        outcome
    }

    /// Returns the grace period before the kill. The rest of the margin is for the kill itself.
    fn grace(&self) -> Duration {
        margin(Duration::from_secs(self.permit.ttl_seconds)) * 2 / 3
    }

    /// Waits until the command has ended or was stopped.
    async fn watch(&mut self, group: &mut ProcessGroup, begun: Instant) -> RunOutcome {
        let time = Duration::from_secs(u64::from(self.permit.timeout_seconds));
        let mut interrupted = None;
        loop {
            tokio::select! {
                biased;
                status = self.keep_alive.stopped() => {
                    let why = match status {
                        KeepAliveStatus::Lost(why) => Why::Lost(why),
                        _ if begun.elapsed() >= time => Why::TookTooLong,
                        KeepAliveStatus::AbortRequested
                        | KeepAliveStatus::Uncertain
                        | KeepAliveStatus::Held => Why::AbortRequested,
                    };
                    if let (Why::AbortRequested, Some(abort)) = (&why, self.keep_alive.abort()) {
                        self.progress.warn("cancelled", &outcome::cancelled_by(&abort));
                    }
                    return RunOutcome::of(self.end(group).await, why);
                }
                signal = self.interrupts.next() => {
                    self.pass_on(group, signal, interrupted.is_none());
                    interrupted.get_or_insert(signal);
                }
                status = group.wait() => {
                    let why = interrupted.map_or(Why::Itself, Why::Interrupted);
                    return RunOutcome::of(status, why);
                }
            }
        }
    }

    fn pass_on(&mut self, group: &ProcessGroup, signal: Signal, is_first: bool) {
        let name = interrupt::name(signal);
        if is_first {
            let text = format!("sent {name} to the command; repeat to kill it");
            self.progress.warn("interrupted", &text);
            group.signal(signal);
        } else {
            self.progress.warn("killed", "the command and its child processes");
            group.signal(Signal::KILL);
        }
    }

    async fn end(&mut self, group: &mut ProcessGroup) -> std::io::Result<ExitStatus> {
        self.progress.warn("stopping", "the command");
        let grace = self.grace();
        tokio::select! {
            status = group.end(grace) => return status,
            _ = self.interrupts.next() => {}
        }
        group.signal(Signal::KILL);
        group.wait().await
    }

    async fn report(self, ended: RunOutcome, output: Option<String>) -> Result<Exit, Failure> {
        let (execution, lease_id) = (self.permit.execution_id, self.permit.lease_id);
        let id = self.permit.task.summary.id;
        let details = Some(ended.details());
        let Some(error) = ended.error() else {
            let finish = Finish { output, details, ..Finish::succeeded(lease_id) };
            let reported = self.client.executions().finish(execution, &finish).await;
            reported.map_err(|error| outcome::unreported(id, error))?;
            self.progress.reached("completed", &id.to_string());
            return Ok(ended.exit());
        };
        let finish = Finish {
            lease_id,
            outcome: ended.outcome(),
            error: Some(within(&error, REASON_MAX_BYTES).to_owned()),
            left_behind: Some(ended.left()),
            output,
            details,
        };
        if ended.left() == Left::Nothing {
            self.withdraw(HAS_ENDED).await;
        }
        let telling = self.client.executions().finish(execution, &finish);
        if let Why::Lost(why) = &ended.why {
            // The report is too late to count, but the server keeps it as evidence.
            let _ = timeout(RUN_ASIDE_TIMEOUT, telling).await;
            let what = "the lease was lost, and the command was stopped";
            return Err(outcome::lost(id, what, why, "changes made before that remain"));
        }
        match telling.await {
            Ok(_) => self.progress.warn("failed", &format!("{error} · ade tasks get {id}")),
            Err(unreported) => {
                let text = format!("{error}; reporting to the server failed: {unreported}");
                self.progress.warn("failed", &format!("{text} · ade tasks get {id}"));
            }
        }
        if matches!(ended.why, Why::AbortRequested) {
            let what = format!("{id} was cancelled, and the command was stopped");
            return Err(outcome::cancelled(id, &what, self.keep_alive.abort().as_ref())
                .advice("If the change must not stay, undo what the command did."));
        }
        Ok(ended.exit())
    }
}

impl Halt {
    fn check(status: KeepAliveStatus) -> Result<(), Self> {
        match status {
            KeepAliveStatus::Held | KeepAliveStatus::Uncertain => Ok(()),
            KeepAliveStatus::AbortRequested => Err(Self::AbortRequested),
            KeepAliveStatus::Lost(why) => Err(Self::Lost(why)),
        }
    }
}

fn log(client: &Client, permit: &Permit) -> Log {
    let (client, execution, lease_id) = (client.clone(), permit.execution_id, permit.lease_id);
    Log::start(move |first, lines| {
        let client = client.clone();
        async move { client.executions().log(execution, &NewLog { lease_id, first, lines }).await }
    })
}

/// Drains the output with a timeout: a process that left the group may keep a pipe open forever.
async fn drain(tasks: impl Iterator<Item = JoinHandle<()>>) {
    for mut task in tasks {
        if timeout(RUN_DRAIN, &mut task).await.is_err() {
            task.abort();
        }
    }
}
