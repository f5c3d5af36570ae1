//! `ade tasks`: shows, creates, changes and awaits tasks. Decisions have their own commands.

mod apply;
mod content;
mod diff;
mod explain;
mod shown;

use std::path::Path;

use ade_api::code::Code;
use ade_api::executions::Reconciliation;
use ade_api::page::PageQuery;
use ade_api::tasks::{Amendment, Cancellation, Extension, NewComment, NewTask, Task, TaskSummary};
use ade_client::{Client, TaskFilter, Waited, gather};
use ade_core::task::{State, SubState};
use ade_core::task_ref::TaskRef;
use serde_json::json;
use tokio::time::Instant;

use crate::args::{ListArgs, TaskArg, TasksCommand, WaitArgs};
use crate::browser::open;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::progress::Progress;
pub use content::effect;
pub use diff::short;
pub use explain::{line as gate, word};
pub use shown::whole;

/// The maximum number of attempts to cancel a task that changes concurrently.
const RUN_CANCEL_TRIES: usize = 4;

type Ended = Result<Exit, Failure>;

pub async fn run(command: TasksCommand, cx: &Context) -> Ended {
    let client = cx.client()?;
    let tasks = client.tasks();
    match command {
        TasksCommand::List(args) => list(&client, &args, cx).await,
        TasksCommand::Get(TaskArg { id }) => {
            let task = tasks.get(id).await?;
            cx.output.show(&task, || whole(&task, cx.output.paint))?;
            Ok(Exit::Done)
        }
        TasksCommand::Create { file, submit } => create(&client, &file, submit, cx).await,
        TasksCommand::Evaluate { file } => explain::evaluate(&client, &file, cx).await,
        TasksCommand::Amend { task, file } => {
            let amendment: Amendment = context::read(&file)?;
            let version = tasks.get(task.id).await?.summary.version;
            let task = tasks.amend(task.id, version, &amendment).await?;
            cx.output.show(&task, || whole(&task, cx.output.paint))?;
            Ok(Exit::Done)
        }
        TasksCommand::Submit(TaskArg { id }) => {
            let version = tasks.get(id).await?.summary.version;
            let task = tasks.submit(id, version).await?;
            handed_in(&task, cx)
        }
        TasksCommand::Cancel { task, reason } => cancel(&client, task.id, reason, cx).await,
        TasksCommand::Wait(args) => wait(&args, cx).await,
        TasksCommand::Explain(TaskArg { id }) => explain::explain(&client, id, cx).await,
        TasksCommand::Open { task, browser } => page(&client, task.id, browser, cx).await,
        TasksCommand::Diff { task, rev, exit_code } => {
            diff::diff(&client, task.id, rev.as_deref(), exit_code, cx).await
        }
        TasksCommand::Revisions(TaskArg { id }) => diff::revisions(&client, id, cx).await,
        TasksCommand::Approvals(TaskArg { id }) => explain::approvals(&client, id, cx).await,
        TasksCommand::Executions(TaskArg { id }) => apply::executions(&client, id, cx).await,
        TasksCommand::Logs { task, follow } => apply::logs(&client, task.id, follow, cx).await,
        TasksCommand::Comments(TaskArg { id }) => explain::comments(&client, id, cx).await,
        other => change(&client, other, cx).await,
    }
}

/// Runs the commands that change a task in one step and print its new state.
async fn change(client: &Client, command: TasksCommand, cx: &Context) -> Ended {
    let tasks = client.tasks();
    let version = async |id: TaskRef| tasks.get(id).await.map(|task| task.summary.version);
    let (summary, what) = match command {
        TasksCommand::Retry(TaskArg { id }) => {
            (tasks.retry(id, version(id).await?).await?, "is being retried")
        }
        TasksCommand::Resubmit(TaskArg { id }) => (
            tasks.resubmit(id, version(id).await?).await?.summary,
            "was created with the same content",
        ),
        TasksCommand::Delete(TaskArg { id }) => {
            (tasks.delete(id, version(id).await?).await?, "was deleted")
        }
        TasksCommand::Comment { task, text } => {
            (tasks.comment(task.id, &NewComment { text }).await?, "has a new comment")
        }
        TasksCommand::Extend { task, until, reason } => {
            let extension = Extension { until, reason };
            let version = version(task.id).await?;
            (tasks.extend(task.id, version, &extension).await?, "has a new review deadline")
        }
        TasksCommand::Reconcile { task, found, reason } => {
            let found = Reconciliation { found, reason };
            let version = version(task.id).await?;
            (tasks.reconcile(task.id, version, &found).await?, "was reconciled")
        }
        _ => return Err(Failure::new(Exit::Usage, "unsupported task command")),
    };
    let id = summary.id;
    let state = look::state_text(summary.state, cx.output.paint);
    cx.output.done(&summary, &format!("{id} {what}: {state}"), &format!("ade tasks get {id}"))?;
    Ok(Exit::Done)
}

/// Prints the URL of a task's page, after checking that the task exists.
async fn page(client: &Client, id: TaskRef, browser: bool, cx: &Context) -> Ended {
    let task = client.tasks().get(id).await?;
    let page = format!("{}/tasks/{}", client.server(), task.summary.id);
    cx.output.show(&json!({ "page": page }), || format!("{page}\n"))?;
    if browser {
        open(&page, &cx.output);
    }
    Ok(Exit::Done)
}

async fn create(client: &Client, file: &Path, is_submitted: bool, cx: &Context) -> Ended {
    let mut new: NewTask = context::read(file)?;
    new.submit |= is_submitted;
    let task = client.tasks().create(&new).await?;
    if new.submit {
        return handed_in(&task, cx);
    }
    cx.output.show(&task, || whole(&task, cx.output.paint))?;
    Ok(Exit::Done)
}

fn handed_in(task: &Task, cx: &Context) -> Ended {
    let id = task.summary.id;
    let risk = look::risk(task.summary.risk);
    let what = format!("Submitted {id} with risk {risk}");
    cx.output.done(task, &what, &format!("ade watch {id}"))?;
    Ok(Exit::Done)
}

async fn list(client: &Client, args: &ListArgs, cx: &Context) -> Ended {
    let filter = TaskFilter {
        states: args.states.clone(),
        author: args.author,
        agent: args.agent,
        task_type: args.task_type.clone(),
        resource: args.resource.clone(),
        tag: args.tag.clone(),
        level: args.level,
        is_mine: args.mine,
        title: args.search.clone(),
        created_from: args.since,
        created_before: args.before,
        is_oldest_first: args.oldest,
    };
    let ask = async |page: PageQuery| client.tasks().list(&filter, &page).await;
    let found = gather(args.limit.count(), ask).await?;
    let tasks: Vec<TaskSummary> = found.items;
    cx.output.show(&tasks, || shown::list(&tasks, &args.states, &cx.output))?;
    cx.more(found.has_more, args.limit.limit);
    Ok(Exit::Done)
}

async fn wait(args: &WaitArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let is_over = |task: &Task| outcome(task, &args.states).is_some();
    end(client.tasks().until(args.task.id, deadline, is_over).await?, args, cx)
}

/// Waits for a task and prints one line per state.
pub async fn watch(args: &WaitArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let mut progress = Progress::new(cx.output.talk);
    let mut last = None;
    let is_over = |task: &Task| {
        let state = task.summary.state;
        if last.replace(state) != Some(state) {
            progress.reached(&state.as_str().to_lowercase(), &args.task.id.to_string());
            progress.spins("waiting", &crate::text::visible(&task.next_action.message));
        }
        outcome(task, &args.states).is_some()
    };
    let waited = client.tasks().until(args.task.id, deadline, is_over).await?;
    progress.clear();
    end(waited, args, cx)
}

fn end(waited: Waited, args: &WaitArgs, cx: &Context) -> Ended {
    match waited {
        Waited::TimedOut(task) => Err(timed_out(&task, args)),
        Waited::Reached(task) => {
            cx.output.show(&task, || shown::line(&task, cx.output.paint))?;
            Ok(outcome(&task, &args.states).unwrap_or(Exit::Done))
        }
    }
}

fn outcome(task: &Task, wanted: &[State]) -> Option<Exit> {
    verdict(task.summary.state, task.summary.sub_state, wanted)
}

/// Returns how the wait ended, if it did. A final state ends it even if it was not asked for.
fn verdict(state: State, sub_state: Option<SubState>, wanted: &[State]) -> Option<Exit> {
    if wanted.contains(&state) {
        return Some(Exit::Done);
    }
    match sub_state {
        Some(SubState::ChangesRequested) => return Some(Exit::Rejected),
        // The result is not known, so this is never a success.
        Some(SubState::ReleasedToHost) if wanted.is_empty() => return Some(Exit::NotSo),
        Some(SubState::ReleasedToHost) | None => {}
    }
    match state {
        State::Draft | State::Submitted | State::Reviewing | State::Approved | State::Applying => {
            None
        }
        State::Completed if wanted.is_empty() => Some(Exit::Done),
        State::Completed | State::Failed | State::Unknown => Some(Exit::Failed),
        State::Rejected => Some(Exit::Rejected),
        State::Cancelled | State::Expired => Some(Exit::Ended),
    }
}

fn timed_out(task: &Task, args: &WaitArgs) -> Failure {
    let TaskSummary { id, state, .. } = &task.summary;
    Failure::new(Exit::TimedOut, format!("timed out: {id} is still {state}"))
        .detail(task.next_action.message.clone())
        .or_next(format!("ade tasks wait {}", args.task.id))
}

async fn cancel(client: &Client, id: TaskRef, reason: Option<String>, cx: &Context) -> Ended {
    let task = withdraw(client, id, reason).await?;
    cx.output.show(&task, || {
        let meaning = match task.state {
            State::Applying => "it is being applied, and its executor was asked to stop",
            _ => "it will not be applied",
        };
        format!("{} {id} is {}: {meaning}\n", cx.output.paint.green("✓"), task.state)
    })?;
    Ok(Exit::Done)
}

/// Cancels a task. If the task changes concurrently, it is read again and retried a few times.
pub async fn withdraw(
    client: &Client,
    id: impl Into<TaskRef>,
    reason: Option<String>,
) -> Result<TaskSummary, ade_client::Error> {
    let (id, cancellation) = (id.into(), Cancellation { reason });
    let mut tries = 1;
    loop {
        let version = client.tasks().get(id).await?.summary.version;
        match client.tasks().cancel(id, version, &cancellation).await {
            Err(error) if error.is(Code::VersionMismatch) && tries < RUN_CANCEL_TRIES => tries += 1,
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_states_either_move_on_or_end_a_wait() {
        for state in State::ALL {
            assert_eq!(verdict(state, None, &[state]), Some(Exit::Done), "{state}");
            let is_open = matches!(
                state,
                State::Draft
                    | State::Submitted
                    | State::Reviewing
                    | State::Approved
                    | State::Applying
            );
            assert_eq!(verdict(state, None, &[]).is_none(), is_open, "{state}");
        }
        assert_eq!(verdict(State::Completed, None, &[]), Some(Exit::Done));
        assert_eq!(verdict(State::Completed, None, &[State::Approved]), Some(Exit::Failed));
        assert_eq!(verdict(State::Rejected, None, &[State::Completed]), Some(Exit::Rejected));
        let returned = verdict(State::Draft, Some(SubState::ChangesRequested), &[]);
        assert_eq!(returned, Some(Exit::Rejected), "the author has to act");
        let released = verdict(State::Completed, Some(SubState::ReleasedToHost), &[]);
        assert_eq!(released, Some(Exit::NotSo), "the result is not known");
    }
}
