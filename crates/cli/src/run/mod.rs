//! `ade run`: proposes a command, waits for approval, acquires its locks, runs it and reports the
//! result. If `ade` ends before the command runs, the task is cancelled.

mod apply;
mod binding;
mod declare;
mod environment;
mod files;
mod group;
pub mod interrupt;
mod lines;
mod log;
pub mod outcome;
mod preview;
mod program;
mod pump;
mod review;

use std::pin::pin;

use ade_api::tasks::{NewTask, Task};
use ade_client::Client;
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::RUN_ASIDE_TIMEOUT;
use ade_core::policy::Pattern;
use rustix::process::Signal;
use tokio::time::{Instant, timeout};

use crate::args::RunArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::tasks;
use crate::text::named;
use apply::Attempt;
use declare::Declaration;
use interrupt::Interrupts;
use review::{Denied, Review};

/// Why a run ended before its command started.
enum Halt {
    Failure(Failure),
    Signal(Signal),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<ade_client::Error> for Halt {
    fn from(error: ade_client::Error) -> Self {
        Self::Failure(error.into())
    }
}

impl From<Signal> for Halt {
    fn from(signal: Signal) -> Self {
        Self::Signal(signal)
    }
}

pub async fn run(args: RunArgs, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let mut interrupts = Interrupts::listen()?;
    let mut progress = Progress::new(cx.output.talk);
    match attempts(&client, &args, &mut progress, &mut interrupts).await {
        Ok(exit) => Ok(exit),
        Err(Halt::Failure(failure)) => Err(failure),
        Err(Halt::Signal(signal)) => Ok(interrupt::exit(signal)),
    }
}

/// Proposes the command, and runs it with the first permit that still holds when it begins.
async fn attempts(
    client: &Client,
    args: &RunArgs,
    progress: &mut Progress,
    interrupts: &mut Interrupts,
) -> Result<Exit, Halt> {
    // The timeout limits the wait for reviewers and starts when the caller starts to wait.
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let agent = interrupts.during(agent(client, &args.task_type)).await??;
    let declaration = interrupts.during(Declaration::gather(args, progress)).await??;
    let plan = match &args.preview {
        Some(command) => {
            interrupts.during(preview::preview(command, &declaration.environment)).await??
        }
        None => declaration.plan(args),
    };
    let new = declaration.task(args, plan, client);
    let mut task = propose(client, &new, progress, interrupts).await?;
    let id = task.summary.id;
    let risk = task.summary.risk.score;
    let title = named(&task.summary.title);
    progress.reached("proposed", &format!("{id} · risk {risk} · {title}"));
    progress.reached("submitted", &format!("show it: ade tasks get {id}"));
    loop {
        let reviewed = {
            let timing = (args.ttl, deadline);
            let review = Review::new(client, agent, timing, &mut *progress).permit(task);
            interrupts.during(pin!(review)).await
        };
        let permit = match reviewed {
            Ok(Ok(permit)) => permit,
            Ok(Err(Denied::Over(failure))) => return Err(failure.into()),
            Ok(Err(Denied::GivenUp(failure))) => {
                take_back(client, id, progress, interrupts).await;
                return Err(failure.or_next(format!("ade tasks get {id}")).into());
            }
            Err(signal) => {
                take_back(client, id, progress, interrupts).await;
                return Err(signal.into());
            }
        };
        let what = (&declaration, args.preview.as_deref());
        let attempt = Attempt::new(client, permit, what, progress, interrupts);
        if let Some(exit) = attempt.apply().await? {
            return Ok(exit);
        }
        task = client.tasks().get(id).await?;
    }
}

/// Returns the agent of the token. Only agents can apply tasks, and an agent without a capability
/// for this task type would wait forever.
async fn agent(client: &Client, task_type: &str) -> Result<AgentId, Failure> {
    let me = client.me().await?;
    let Ok(Actor::Agent { id, .. }) = serde_json::from_value::<Actor>(me.actor) else {
        return Err(Failure::new(Exit::NotAllowed, "only agents can run commands")
            .detail(format!(
                "the current token belongs to {}; log in with an agent's token",
                me.name
            ))
            .or_next("ade login --token -"));
    };
    let agent = client.agents().get(id).await?;
    let covers = |capability: &String| {
        Pattern::new(capability).is_ok_and(|pattern| pattern.matches_text(task_type))
    };
    if agent.capabilities.iter().any(covers) {
        return Ok(id);
    }
    let known: Vec<&str> = agent.capabilities.iter().map(String::as_str).collect();
    let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let what = format!("{} may not apply tasks of type {task_type}", agent.name);
    Err(Failure::new(Exit::NotAllowed, what)
        .detail(format!("its capabilities are: {has}; an admin can add more"))
        .or_next(format!("ade agents change {id} --capability {task_type}")))
}

/// Creates the task. An interrupt waits for the response, so that the task can be cancelled.
async fn propose(
    client: &Client,
    new: &NewTask,
    progress: &mut Progress,
    interrupts: &mut Interrupts,
) -> Result<Task, Halt> {
    let mut creating = pin!(client.tasks().create(new));
    match interrupts.during(&mut creating).await {
        Ok(created) => Ok(created?),
        Err(signal) => {
            if let Ok(Ok(task)) = timeout(RUN_ASIDE_TIMEOUT, creating).await {
                take_back(client, task.summary.id, progress, interrupts).await;
            }
            Err(signal.into())
        }
    }
}

/// Cancels the task, because no one will run it. A second interrupt does not wait for the response.
async fn take_back(
    client: &Client,
    id: TaskId,
    progress: &mut Progress,
    interrupts: &mut Interrupts,
) {
    progress.awaits("cancelling", &id.to_string());
    let reason = Some(apply::HAS_ENDED.to_owned());
    let asked = timeout(RUN_ASIDE_TIMEOUT, tasks::withdraw(client, id, reason));
    match interrupts.during(asked).await {
        Ok(Ok(Ok(_))) => progress.warn("cancelled", &format!("{id} · the command did not run")),
        _ => progress.warn("not cancelled", &format!("{id} · ade tasks cancel {id}")),
    }
}
