//! Decides on a tool call. The call becomes a task, policies and reviewers decide, and an approval
//! is consumed by the one call it allows. Repeating a call in the same session uses the same task
//! until that task ends. While the host runs the tool, the task is being applied.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ade_api::claims::{Claim, Permit};
use ade_api::code::Code;
use ade_api::executions::{Beginning, Finish};
use ade_api::page::PageQuery;
use ade_api::tasks::{Change, Mode, NewTask, Plan, Rollback, Task, TouchedResource};
use ade_client::{Client, TaskFilter, Waited};
use ade_core::actor::Actor;
use ade_core::change::ChangeKind;
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::{CHANGE_SUMMARY_MAX_BYTES, RUN_CLAIM_PAUSE, TASK_TITLE_MAX_BYTES};
use ade_core::resource::ResourceRef;
use ade_core::task::{DecisionOutcome, GateCode, State};
use serde_json::json;
use tokio::time::Instant;

use super::host::{HookEvent, Host, ToolCall, Verdict};
use super::open_calls::{self, OpenCall, OpenCalls};
use super::{keeper, servers};
use crate::args::HookArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::text::shortened;

/// Read-only tools, by the names that hosts give them. A tool that sends its input elsewhere, such
/// as a search on the web or a read from an MCP server, is not among them.
const LOOKS: [&str; 7] =
    ["Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "ListMcpResources"];
const PRIORITY: u8 = 50;

pub async fn judge(
    host: Host,
    call: &ToolCall,
    args: &HookArgs,
    cx: &Context,
) -> Result<Verdict, Failure> {
    if is_look(&call.tool) {
        return Ok(Verdict::NoOpinion);
    }
    let client = cx.client()?;
    // The server authorizes the tools of ADE itself.
    if servers::is_ours(&call.tool) && is_from_us(host, call, client.server()) {
        return Ok(Verdict::NoOpinion);
    }
    let agent = agent(&client).await?;
    let name = call.name();
    let new = proposal(call, args, &name)?;
    let task = attach(&client, agent, &name, &new).await?;
    let deadline = Some(Instant::now() + args.wait);
    let is_it = |task: &Task| !matches!(task.summary.state, State::Submitted | State::Reviewing);
    let task = match client.tasks().until(task.summary.id, deadline, is_it).await? {
        Waited::Reached(task) | Waited::TimedOut(task) => task,
    };
    let asked = Asked { call, args, cx, client: &client, agent, name: &name };
    asked.settle(&task).await
}

/// Returns whether a tool only reads.
pub fn is_look(tool: &str) -> bool {
    LOOKS.contains(&tool)
}

/// Returns whether no other server of the host is called `ade`. Settings that cannot be read may
/// name one.
fn is_from_us(host: Host, call: &ToolCall, url: &str) -> bool {
    let folder = match &call.folder {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => std::env::current_dir(),
    };
    let found = folder.map_err(|error| error.to_string());
    let found = found.and_then(|folder| servers::configured(host, &folder, url));
    found.is_ok_and(|all| all.iter().all(|server| server.why_not.is_none()))
}

async fn agent(client: &Client) -> Result<AgentId, Failure> {
    let me = client.me().await?;
    match serde_json::from_value(me.actor) {
        Ok(Actor::Agent { id, .. }) => Ok(id),
        _ => Err(Failure::new(Exit::NotAllowed, "the current token does not belong to an agent")
            .detail(format!("it belongs to {}", me.name))
            .or_next("ade login --token -")),
    }
}

fn proposal(call: &ToolCall, args: &HookArgs, name: &str) -> Result<NewTask, Failure> {
    let about = about(call);
    let word: String = call.tool.chars().map(|sign| plain(sign, &['_', '-'])).collect();
    let resources = match args.resource.as_slice() {
        [] => vec![TouchedResource { resource: workspace(call)?, mode: Some(Mode::Shared) }],
        named => named.to_vec(),
    };
    let changes = resources.iter().map(|touched| Change {
        resource: touched.resource.clone(),
        action: ChangeKind::Change,
        // The effect of a host's tool is unknown, so it is treated as irreversible.
        irreversible: true,
        summary: shortened(&about, CHANGE_SUMMARY_MAX_BYTES),
        rows: None,
        before: None,
        after: None,
    });
    let plan = Plan { changes: changes.collect(), warnings: Vec::new() };
    Ok(NewTask {
        title: shortened(&about, TASK_TITLE_MAX_BYTES),
        task_type: format!("tool.{}", word.to_lowercase()),
        parameters: json!({
            "session": call.session, "tool": call.tool, "input": call.input, "cwd": call.folder,
        }),
        resources,
        tags: BTreeSet::from([name.to_owned()]),
        priority: PRIORITY,
        team: None,
        ticket: None,
        timeout_seconds: u32::try_from(args.tool_timeout.as_secs()).ok(),
        rollback: Rollback::default(),
        plan: Some(plan),
        submit: false,
    })
}

/// Summarizes a call in one line.
fn about(call: &ToolCall) -> String {
    let member = ["command", "file_path", "url"].into_iter().find_map(|name| call.input.get(name));
    let text = member.and_then(|value| value.as_str()).map(str::to_owned);
    let text = text.unwrap_or_else(|| call.input.to_string());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}: {line}", call.tool)
}

fn workspace(call: &ToolCall) -> Result<ResourceRef, Failure> {
    let folder = call.folder.as_deref().unwrap_or_default().trim_end_matches('/');
    let last = folder.rsplit('/').next().unwrap_or_default();
    let word: String = last.chars().map(|sign| plain(sign, &['_', '-', '.'])).collect();
    let word = if word.is_empty() { "unknown" } else { &word };
    format!("workspace:{word}").parse().map_err(|error| {
        Failure::new(Exit::Usage, format!("the directory is not a valid resource name: {error}"))
            .or_next("ade hook --help")
    })
}

fn plain(sign: char, more: &[char]) -> char {
    if sign.is_ascii_alphanumeric() || more.contains(&sign) { sign } else { '-' }
}

/// Returns the task of this call: the newest open one, or a new one.
async fn attach(
    client: &Client,
    agent: AgentId,
    name: &str,
    new: &NewTask,
) -> Result<Task, Failure> {
    let filter =
        TaskFilter { agent: Some(agent), tag: Some(name.to_owned()), ..TaskFilter::default() };
    let page = PageQuery { page_size: Some(1), page_token: None };
    let newest = client.tasks().list(&filter, &page).await?.items.into_iter().next();
    let mut key = name.to_owned();
    if let Some(summary) = newest {
        let task = client.tasks().get(summary.id).await?;
        // Anyone can set a tag, so the task's content must match this call exactly.
        if is_same(&task, new) {
            if !is_over(task.summary.state) {
                return submitted(client, task, &key).await;
            }
            key = format!("{name}:{}", task.summary.id);
        }
    }
    // The idempotency key gives two concurrent calls the same task.
    let task = client.tasks().create_as(new, Some(key.clone())).await?;
    submitted(client, client.tasks().get(task.summary.id).await?, &key).await
}

/// Submits a draft, unless a reviewer has requested changes to it.
async fn submitted(client: &Client, task: Task, key: &str) -> Result<Task, Failure> {
    if task.summary.state != State::Draft || task.summary.submitter_id.is_some() {
        return Ok(task);
    }
    let key = Some(format!("{key}:submit"));
    Ok(client.tasks().submit_as(task.summary.id, task.summary.version, key).await?)
}

fn is_same(task: &Task, new: &NewTask) -> bool {
    let planned = new.plan.as_ref().map(|plan| &plan.changes);
    task.summary.task_type == new.task_type
        && task.parameters == new.parameters
        && task.resources == new.resources
        && planned.is_some_and(|planned| *planned == task.effect.changes)
}

/// Checks whether a task is over. A rejection stays in force for the session; a used approval and
/// an unanswered request can be repeated with a new task.
const fn is_over(state: State) -> bool {
    match state {
        State::Completed | State::Cancelled | State::Expired | State::Failed | State::Unknown => {
            true
        }
        State::Draft
        | State::Submitted
        | State::Reviewing
        | State::Approved
        | State::Applying
        | State::Rejected => false,
    }
}

/// A call that waits for its answer.
struct Asked<'a> {
    call: &'a ToolCall,
    args: &'a HookArgs,
    cx: &'a Context,
    client: &'a Client,
    agent: AgentId,
    name: &'a str,
}

impl Asked<'_> {
    async fn settle(&self, task: &Task) -> Result<Verdict, Failure> {
        let id = task.summary.id;
        let deny = |code, reason| Verdict::Deny { code, reason, task: Some(id.to_string()) };
        let page = format!("{}/tasks/{id}", self.client.server());
        Ok(match task.summary.state {
            State::Approved => return self.use_up(task).await,
            State::Submitted | State::Reviewing => deny(
                GateCode::ApprovalsMissing.as_str(),
                format!(
                    "not approved yet: {page}. Repeat the same call later; it uses the same review."
                ),
            ),
            State::Rejected => deny(
                DecisionOutcome::Rejected.as_str(),
                format!(
                    "rejected{}. Do not repeat the call or work around the rejection: {page}",
                    because(task)
                ),
            ),
            State::Draft => deny(
                DecisionOutcome::ChangesRequested.as_str(),
                format!(
                    "changes requested{}. Make a different call that follows the request: {page}",
                    because(task)
                ),
            ),
            // The hook before the tool has allowed this call.
            State::Applying
                if self.call.event == HookEvent::PermissionRequest && self.is_open(id) =>
            {
                Verdict::Allow { reason: format!("approved in {id}"), task: Some(id.to_string()) }
            }
            State::Applying => deny(
                GateCode::InProgress.as_str(),
                format!(
                    "the same call is running, or its result was not reported: {page}. Repeat it \
                     when that task has ended."
                ),
            ),
            State::Cancelled => deny(DecisionOutcome::Cancelled.as_str(), ended(task)),
            State::Expired => deny(DecisionOutcome::Expired.as_str(), ended(task)),
            State::Completed | State::Failed | State::Unknown => {
                deny(Code::WrongState.as_str(), ended(task))
            }
        })
    }

    fn is_open(&self, task: TaskId) -> bool {
        let open = OpenCalls::locate().ok().and_then(|calls| calls.get(self.name));
        open.is_some_and(|open| open.task == task)
    }

    /// Claims and begins the task: the approval covers one call. The hook after the tool ends it;
    /// if there will be none, the call is released to the host at once.
    async fn use_up(&self, task: &Task) -> Result<Verdict, Failure> {
        let (client, id) = (self.client, task.summary.id);
        let claim = Claim { task_id: Some(id.into()), ..Claim::default() };
        let claimed = client.agents().claim(self.agent, &claim, RUN_CLAIM_PAUSE).await?;
        let Some(permit) = claimed.permit else {
            let code = claimed.blocked_by.first().map_or(GateCode::NoTaskReady, |first| first.code);
            let reason = format!(
                "approved, but the tool may not run now ({}). Repeat the same call later; see \
                 `ade tasks explain {id}`.",
                look::blocked(&claimed.blocked_by)
            );
            return Ok(Verdict::Deny { code: code.as_str(), reason, task: Some(id.to_string()) });
        };
        // The plan cannot have changed: this program created it.
        let (changes, warnings) = (task.effect.changes.clone(), task.effect.warnings.clone());
        let plan = Plan { changes, warnings };
        let begin = Beginning { lease_id: permit.lease_id, plan: Some(plan) };
        client.executions().begin(permit.execution_id, &begin).await?;
        if !self.stays_open(&permit) {
            let finish = Finish::released_to_host(permit.lease_id);
            client.executions().finish(permit.execution_id, &finish).await?;
        }
        Ok(Verdict::Allow { reason: format!("approved in {id}"), task: Some(id.to_string()) })
    }

    /// Hands the attempt to a process that keeps its locks until the result is reported. Returns
    /// whether that was possible.
    fn stays_open(&self, permit: &Permit) -> bool {
        // A host reports results of tools, not of permissions.
        if self.args.no_report || self.call.event != HookEvent::PreToolUse {
            return false;
        }
        let kept = OpenCalls::locate().map_err(|failure| failure.what()).and_then(|calls| {
            let open = OpenCall {
                task: permit.task.summary.id,
                execution: permit.execution_id,
                lease: permit.lease_id,
                ttl_seconds: permit.ttl_seconds,
                tool_use: self.call.tool_use.clone(),
                until: open_calls::now().saturating_add(self.args.tool_timeout.as_secs()),
            };
            calls.keep(self.name, &open).map_err(|error| error.to_string())?;
            keeper::start(self.name, self.cx).map_err(|error| {
                calls.forget(self.name);
                error.to_string()
            })
        });
        if let Err(why) = &kept {
            eprintln!("the result of the tool will not be recorded: {why}");
        }
        kept.is_ok()
    }
}

/// Says that the task of a call has ended, and what to do.
fn ended(task: &Task) -> String {
    let (id, state) = (task.summary.id, task.summary.state);
    format!(
        "{id} has ended ({state}){}. If it is still wanted, repeat the call to ask again.",
        because(task)
    )
}

/// Returns who decided the task and why, as the continuation of a sentence.
fn because(task: &Task) -> String {
    task.summary
        .decision
        .as_ref()
        .map(|one| format!(" by {}", look::decided(one)))
        .unwrap_or_default()
}
