//! `ade tasks`: looking at tasks, proposing them, waiting for them, and all that people do to one
//! besides deciding.

mod apply;
mod diff;
mod explain;
mod shown;

use std::cmp::Reverse;
use std::path::Path;

use ade_api::code::Code;
use ade_api::executions::Reconciliation;
use ade_api::page::PageQuery;
use ade_api::tasks::{Amendment, Cancellation, Extension, NewComment, NewTask, Task, TaskSummary};
use ade_client::{Client, TaskFilter, Waited, gather};
use ade_core::ids::TaskId;
use ade_core::limits::RUN_CANCEL_TRIES;
use ade_core::task::State;
use serde_json::json;
use tokio::time::Instant;

use crate::args::{ListArgs, TaskArg, TasksCommand, WaitArgs};
use crate::browser::open;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::progress::Progress;
pub use diff::short;
pub use explain::{line as gate, word};
pub use shown::{effect, whole};

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
        TasksCommand::Simulate { file } => explain::simulate(&client, &file, cx).await,
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

/// What changes a task in one step and answers how it stands then.
async fn change(client: &Client, command: TasksCommand, cx: &Context) -> Ended {
    let tasks = client.tasks();
    let version = async |id: TaskId| tasks.get(id).await.map(|task| task.summary.version);
    let (summary, what) = match command {
        TasksCommand::Retry(TaskArg { id }) => {
            (tasks.retry(id, version(id).await?).await?, "is tried again")
        }
        TasksCommand::Resubmit(TaskArg { id }) => {
            (tasks.resubmit(id, version(id).await?).await?.summary, "takes it up again")
        }
        TasksCommand::Delete(TaskArg { id }) => {
            (tasks.delete(id, version(id).await?).await?, "is thrown away")
        }
        TasksCommand::Comment { task, text } => {
            (tasks.comment(task.id, &NewComment { text }).await?, "has one comment more")
        }
        TasksCommand::Extend { task, until, reason } => {
            let extension = Extension { until, reason };
            let version = version(task.id).await?;
            (tasks.extend(task.id, version, &extension).await?, "is reviewed for longer")
        }
        TasksCommand::Reconcile { task, found, reason } => {
            let found = Reconciliation { found, reason };
            let version = version(task.id).await?;
            (tasks.reconcile(task.id, version, &found).await?, "has a known end")
        }
        _ => return Err(Failure::new(Exit::Usage, "that is no change of a task")),
    };
    let id = summary.id;
    let state = look::state_text(summary.state, cx.output.paint);
    cx.output.done(&summary, &format!("{id} {what}: {state}"), &format!("ade tasks get {id}"))?;
    Ok(Exit::Done)
}

/// One that is there: the address of any other would lead nowhere.
async fn page(client: &Client, id: TaskId, browser: bool, cx: &Context) -> Ended {
    let task = client.tasks().get(id).await?;
    let page = format!("{}/tasks/{}", client.server(), task.summary.id);
    cx.output.show(&json!({ "page": page }), || format!("{page}\n"))?;
    if browser {
        open(&page, &cx.output);
    }
    Ok(Exit::Done)
}

async fn create(client: &Client, file: &Path, is_submitted: bool, cx: &Context) -> Ended {
    let new: NewTask = context::read(file)?;
    let task = client.tasks().create(&new).await?;
    if !is_submitted {
        cx.output.show(&task, || whole(&task, cx.output.paint))?;
        return Ok(Exit::Done);
    }
    let (id, version) = (task.summary.id, task.summary.version);
    let task = client
        .tasks()
        .submit(id, version)
        .await
        .map_err(|error| Failure::from(error).or_next(format!("ade tasks submit {id}")))?;
    handed_in(&task, cx)
}

fn handed_in(task: &Task, cx: &Context) -> Ended {
    let id = task.summary.id;
    let risk = look::risk(task.summary.risk);
    let what = format!("{id} is handed in, with risk {risk}");
    cx.output.done(task, &what, &format!("ade watch {id}"))?;
    Ok(Exit::Done)
}

async fn list(client: &Client, args: &ListArgs, cx: &Context) -> Ended {
    let mut states: Vec<Option<State>> = args.states.iter().copied().map(Some).collect();
    if states.is_empty() {
        states.push(None);
    }
    let limit = args.limit.count();
    let mut tasks: Vec<TaskSummary> = Vec::new();
    let mut has_more = false;
    for state in states {
        let filter = TaskFilter {
            state,
            author: args.author,
            agent: args.agent,
            task_type: args.task_type.clone(),
            resource: args.resource.clone(),
            tag: args.tag.clone(),
            level: args.level,
        };
        let ask = async |page: PageQuery| client.tasks().list(&filter, &page).await;
        let found = gather(limit, ask).await?;
        has_more |= found.has_more;
        tasks.extend(found.items);
    }
    tasks.sort_by_key(|task| Reverse(task.id));
    tasks.dedup_by_key(|task| task.id);
    has_more |= tasks.len() > limit;
    tasks.truncate(limit);
    cx.output.show(&tasks, || shown::list(&tasks, &args.states, &cx.output))?;
    cx.more(has_more, args.limit.limit);
    Ok(Exit::Done)
}

async fn wait(args: &WaitArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let is_over = |task: &Task| verdict(task.summary.state, &args.states).is_some();
    end(client.tasks().until(args.task.id, deadline, is_over).await?, args, cx)
}

/// The same, with a line for each state on the way.
pub async fn watch(args: &WaitArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let mut progress = Progress::new(cx.output.talk);
    let mut last = None;
    let is_over = |task: &Task| {
        let state = task.summary.state;
        if last.replace(state) != Some(state) {
            progress.reached(&state.as_str().to_lowercase(), &args.task.id.to_string());
            progress.spins("waits", &crate::text::visible(&task.next_action));
        }
        verdict(state, &args.states).is_some()
    };
    let waited = client.tasks().until(args.task.id, deadline, is_over).await?;
    progress.clear();
    end(waited, args, cx)
}

fn end(waited: Waited, args: &WaitArgs, cx: &Context) -> Ended {
    match waited {
        Waited::InVain(task) => Err(in_vain(&task, args)),
        Waited::Reached(task) => {
            cx.output.show(&task, || shown::line(&task, cx.output.paint))?;
            Ok(verdict(task.summary.state, &args.states).unwrap_or(Exit::Done))
        }
    }
}

/// Whether the wait is over, and how. A state that nobody asked for ends it too if nothing moves
/// on from there by itself.
fn verdict(state: State, wanted: &[State]) -> Option<Exit> {
    if wanted.contains(&state) {
        return Some(Exit::Done);
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

fn in_vain(task: &Task, args: &WaitArgs) -> Failure {
    let TaskSummary { id, state, .. } = &task.summary;
    Failure::new(Exit::TimedOut, format!("{id} is still {state}"))
        .detail(task.next_action.clone())
        .or_next(format!("ade tasks wait {}", args.task.id))
}

async fn cancel(client: &Client, id: TaskId, reason: Option<String>, cx: &Context) -> Ended {
    let task = withdraw(client, id, reason).await?;
    cx.output.show(&task, || {
        let told = match task.state {
            State::Applying => "it is being applied: whoever does that was asked to stop",
            _ => "it will not be applied",
        };
        format!("{} {id} is {}: {told}\n", cx.output.paint.green("✓"), task.state)
    })?;
    Ok(Exit::Done)
}

/// A task moves while one looks at it: read again and tried again, a few times.
pub async fn withdraw(
    client: &Client,
    id: TaskId,
    reason: Option<String>,
) -> Result<TaskSummary, ade_client::Error> {
    let cancellation = Cancellation { reason };
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
    fn every_state_either_moves_on_by_itself_or_ends_a_wait() {
        for state in State::ALL {
            assert_eq!(verdict(state, &[state]), Some(Exit::Done), "{state}");
            let is_open = matches!(
                state,
                State::Draft
                    | State::Submitted
                    | State::Reviewing
                    | State::Approved
                    | State::Applying
            );
            assert_eq!(verdict(state, &[]).is_none(), is_open, "{state}");
        }
        assert_eq!(verdict(State::Completed, &[]), Some(Exit::Done));
        assert_eq!(verdict(State::Completed, &[State::Approved]), Some(Exit::Failed));
        assert_eq!(verdict(State::Rejected, &[State::Completed]), Some(Exit::Rejected));
    }
}
