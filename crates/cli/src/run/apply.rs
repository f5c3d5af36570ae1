//! From a permit to a report. The lease is kept from the first moment; the command runs only
//! under one that was confirmed, and is ended with all it started when the lease is.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use ade_api::executions::{Beginning, Fail, FailureKind, Finish, Left, NewLog, Permit, Stream};
use ade_client::{Client, Error, Keeper, Standing, margin};
use ade_core::limits::{REASON_MAX_BYTES, RUN_ASIDE_TIMEOUT, RUN_DRAIN};
use rustix::process::Signal;
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::declare::Declaration;
use super::group::Group;
use super::interrupt::{self, Interrupts};
use super::log::Log;
use super::outcome::{self, Outcome, Why};
use super::pump::{feed, pump};
use super::{environment, preview};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::tasks;
use crate::text::within;

/// The code that ends an attempt whose effect has changed.
const DRIFTED: &str = "effect_drifted";
const ABORT_ASKED: &str = "abort_asked";
const LEASE_LOST: &str = "lease_lost";

#[derive(Debug)]
pub struct Attempt<'a> {
    client: &'a Client,
    permit: Permit,
    declaration: &'a Declaration,
    preview: Option<&'a str>,
    keeper: Keeper,
    progress: &'a mut Progress,
    interrupts: &'a mut Interrupts,
}

/// What came before the command could begin.
enum Halt {
    Lost(String),
    AbortAsked,
    Signal(Signal),
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
        let keeper = client.executions().keep(&permit);
        Self { client, permit, declaration, preview, keeper, progress, interrupts }
    }

    pub async fn apply(mut self) -> Result<Exit, Failure> {
        let begun = match self.begin().await {
            Ok(begun) => begun,
            Err(halt) => return self.halt(halt).await,
        };
        let id = self.permit.task.summary.id;
        let token = self.permit.token;
        let attempt = self.permit.attempt;
        self.progress.reached("applying", &format!("{id} · attempt {attempt} · token {token}"));
        let log = log(self.client, &self.permit);
        log.sink().note(&format!("runs {}", self.declaration.line()));
        let outcome = match self.command().and_then(|mut command| Group::spawn(&mut command)) {
            Ok(group) => self.run(group, &log, begun).await,
            Err(error) => Outcome::not_started(&self.declaration.line(), &error),
        };
        log.sink().note(&outcome.error().unwrap_or_else(|| "ended well".to_owned()));
        let is_lost = matches!(outcome.why, Why::Lost(_));
        let output = if is_lost { log.abandon().await } else { log.close().await };
        self.report(outcome, output).await
    }

    /// Everything that has to hold before the first side effect. Answers a moment before that from
    /// which the server counts how long it takes.
    async fn begin(&mut self) -> Result<Instant, Halt> {
        let settled = self.interrupts.during(self.keeper.settled()).await.map_err(Halt::Signal)?;
        Halt::check(settled)?;
        let plan = match self.preview {
            None => None,
            Some(command) => {
                self.progress.awaits("previewing", "once more, now that its locks are held");
                self.progress.clear();
                let seen = self.guarded(preview::preview(command)).await?;
                Some(seen.map_err(Halt::Failure)?)
            }
        };
        let beginning = Beginning { lease: self.permit.lease, plan };
        let client = self.client.clone();
        let execution = self.permit.execution;
        let sent = Instant::now();
        let begun = async move { client.executions().begin(execution, &beginning).await };
        match self.guarded(begun).await? {
            Ok(_) => Ok(sent),
            Err(error) => Err(match error.refusal().map(|refusal| refusal.code.as_str()) {
                Some(ABORT_ASKED) => Halt::AbortAsked,
                Some(LEASE_LOST) => Halt::Lost(error.to_string()),
                _ => Halt::Failure(self.not_begun(error)),
            }),
        }
    }

    fn not_begun(&self, error: Error) -> Failure {
        let look = format!("ade tasks get {}", self.permit.task.summary.id);
        match error.refusal() {
            Some(refusal) if refusal.code == DRIFTED => {
                Failure::new(Exit::Drifted, "it would no longer do what people agreed to")
                    .detail(format!(
                        "{}; nothing was run, and it is reviewed again",
                        refusal.detail
                    ))
                    .or_next(look)
            }
            _ => Failure::from(error).or_next(look),
        }
    }

    /// The work's answer, unless the lease or a person ends it first.
    async fn guarded<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            standing = self.keeper.stopped() => {
                Err(Halt::check(standing).err().unwrap_or(Halt::AbortAsked))
            }
            signal = self.interrupts.next() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
        }
    }

    /// Nothing was run: says so to the server and to the person.
    async fn halt(self, halt: Halt) -> Result<Exit, Failure> {
        let id = self.permit.task.summary.id;
        let look = format!("ade tasks get {id}");
        match halt {
            Halt::Lost(why) => Err(Failure::new(Exit::LeaseLost, "the lock was lost")
                .detail(format!("{why}; nothing was run"))
                .or_next(look)),
            Halt::AbortAsked => {
                self.give_back(FailureKind::Cancelled, "somebody asked to stop it").await;
                let what = format!("{id}: somebody cancelled it; nothing was run");
                Err(Failure::new(Exit::Ended, what).or_next(look))
            }
            Halt::Signal(signal) => {
                self.withdraw().await;
                let why = format!("interrupted by {}", interrupt::name(signal));
                self.give_back(FailureKind::Cancelled, &why).await;
                self.progress.warn("cancelled", &format!("{id} · nothing was run"));
                Ok(interrupt::exit(signal))
            }
            Halt::Failure(failure) => {
                if failure.exit != Exit::Drifted {
                    self.withdraw().await;
                    self.give_back(FailureKind::Failure, "it could not begin").await;
                }
                Err(failure.or_next(look))
            }
        }
    }

    /// Else the attempt that is given back would be tried again, by nobody.
    async fn withdraw(&self) {
        let id = self.permit.task.summary.id;
        let reason = Some("whoever wanted to run it has gone".to_owned());
        let _ = timeout(RUN_ASIDE_TIMEOUT, tasks::withdraw(self.client, id, reason)).await;
    }

    /// Before anything was changed, and only as a courtesy: the lease runs out anyway.
    async fn give_back(&self, result: FailureKind, error: &str) {
        let fail = Fail {
            lease: self.permit.lease,
            result,
            left: Left::Nothing,
            error: error.to_owned(),
            output: None,
            details: None,
        };
        let told = self.client.executions().fail(self.permit.execution, &fail);
        let _ = timeout(RUN_ASIDE_TIMEOUT, told).await;
    }

    fn command(&self) -> std::io::Result<Command> {
        let (program, arguments) =
            self.declaration.argv.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        let has_input = self.declaration.input.is_some();
        command
            .args(arguments)
            .current_dir(&self.declaration.directory)
            .env_clear()
            .envs(environment::inherited())
            .envs(environment::granted(&self.permit))
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    async fn run(&mut self, mut group: Group, log: &Log, begun: Instant) -> Outcome {
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
            self.progress.warn("ended", "processes that the command had left behind");
        }
        drain(pumps.into_iter().flatten().chain(feeding)).await;
        outcome
    }

    /// The rest of the margin is for the kill itself, which a busy machine does not do at once.
    fn grace(&self) -> Duration {
        margin(Duration::from_millis(self.permit.ttl_ms)) * 2 / 3
    }

    /// Until the command has ended, by itself or by force.
    async fn watch(&mut self, group: &mut Group, begun: Instant) -> Outcome {
        let time = Duration::from_secs(u64::from(self.permit.timeout_seconds));
        let mut interrupted = None;
        loop {
            tokio::select! {
                biased;
                standing = self.keeper.stopped() => {
                    let why = match standing {
                        Standing::Lost(why) => Why::Lost(why),
                        _ if begun.elapsed() >= time => Why::TookTooLong,
                        Standing::AbortAsked | Standing::Unsure | Standing::Held => Why::AbortAsked,
                    };
                    return Outcome::of(self.end(group).await, why);
                }
                signal = self.interrupts.next() => {
                    self.pass_on(group, signal, interrupted.is_none());
                    interrupted.get_or_insert(signal);
                }
                status = group.wait() => {
                    let why = interrupted.map_or(Why::Itself, Why::Interrupted);
                    return Outcome::of(status, why);
                }
            }
        }
    }

    fn pass_on(&mut self, group: &Group, signal: Signal, is_first: bool) {
        let name = interrupt::name(signal);
        if is_first {
            let text = format!("{name} was handed to the command; once more kills it");
            self.progress.warn("interrupted", &text);
            group.signal(signal);
        } else {
            self.progress.warn("killed", "the command and all it started");
            group.signal(Signal::KILL);
        }
    }

    async fn end(&mut self, group: &mut Group) -> std::io::Result<ExitStatus> {
        self.progress.warn("stopping", "the command may not go on");
        let grace = self.grace();
        tokio::select! {
            status = group.end(grace) => return status,
            _ = self.interrupts.next() => {}
        }
        group.signal(Signal::KILL);
        group.wait().await
    }

    async fn report(self, ended: Outcome, output: Option<String>) -> Result<Exit, Failure> {
        let (execution, lease) = (self.permit.execution, self.permit.lease);
        let id = self.permit.task.summary.id;
        let details = Some(ended.details());
        let Some(error) = ended.error() else {
            let finish = Finish { lease, output, details };
            let told = self.client.executions().finish(execution, &finish).await;
            told.map_err(|error| outcome::unreported(id, error))?;
            self.progress.reached("completed", &id.to_string());
            return Ok(ended.exit());
        };
        let fail = Fail {
            lease,
            result: ended.kind(),
            left: ended.left(),
            error: within(&error, REASON_MAX_BYTES).to_owned(),
            output,
            details,
        };
        if ended.left() == Left::Nothing {
            self.withdraw().await;
        }
        let telling = self.client.executions().fail(execution, &fail);
        if let Why::Lost(why) = &ended.why {
            // Too late to count; the server keeps it as evidence if it hears it at all.
            let _ = timeout(RUN_ASIDE_TIMEOUT, telling).await;
            return Err(outcome::lost(id, why));
        }
        match telling.await {
            Ok(_) => self.progress.warn("failed", &format!("{error} · ade tasks get {id}")),
            Err(told) => {
                let text = format!("{error}, and the server was not told: {told}");
                self.progress.warn("failed", &format!("{text} · ade tasks get {id}"));
            }
        }
        Ok(ended.exit())
    }
}

impl Halt {
    fn check(standing: Standing) -> Result<(), Self> {
        match standing {
            Standing::Held | Standing::Unsure => Ok(()),
            Standing::AbortAsked => Err(Self::AbortAsked),
            Standing::Lost(why) => Err(Self::Lost(why)),
        }
    }
}

fn log(client: &Client, permit: &Permit) -> Log {
    let (client, execution, lease) = (client.clone(), permit.execution, permit.lease);
    Log::start(move |first, lines| {
        let client = client.clone();
        async move { client.executions().log(execution, &NewLog { lease, first, lines }).await }
    })
}

/// A process that left the group may hold a pipe open for ever: it is not waited for.
async fn drain(tasks: impl Iterator<Item = JoinHandle<()>>) {
    for mut task in tasks {
        if timeout(RUN_DRAIN, &mut task).await.is_err() {
            task.abort();
        }
    }
}
