//! What is answered: the call becomes a task, the rules and people say, and a yes is used up by
//! the call that it lets through. The same call of the same session is the same task until it is
//! over, however often the agent tries.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ade_api::executions::{Beginning, Claim, Finish};
use ade_api::page::PageQuery;
use ade_api::tasks::{Change, Mode, NewTask, Plan, Rollback, Task, TouchedResource};
use ade_client::{Client, TaskFilter, Waited};
use ade_core::actor::Actor;
use ade_core::change::ChangeKind;
use ade_core::ids::AgentId;
use ade_core::limits::RUN_CLAIM_PAUSE;
use ade_core::resource::ResourceRef;
use ade_core::task::State;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::host::{Call, Verdict};
use crate::args::HookArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Tools that only look, by the names that hosts give them.
const LOOKS: [&str; 9] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "TodoWrite",
    "WebSearch",
    "ListMcpResources",
    "ReadMcpResource",
];
/// Our own tools, which ask the server themselves.
const OURS: &str = "mcp__ade__";
const TITLE_CHARS: usize = 120;
const SUMMARY_CHARS: usize = 400;
const NAME_BYTES: usize = 16;
const PRIORITY: u8 = 50;

pub async fn judge(call: &Call, args: &HookArgs, cx: &Context) -> Result<Verdict, Failure> {
    if LOOKS.contains(&call.tool.as_str()) || call.tool.starts_with(OURS) {
        return Ok(Verdict::NoOpinion);
    }
    let client = cx.client()?;
    let agent = agent(&client).await?;
    let name = name(call);
    let new = proposal(call, args, &name)?;
    let task = attach(&client, agent, &name, &new).await?;
    let deadline = Some(Instant::now() + args.wait);
    let is_it = |task: &Task| !matches!(task.summary.state, State::Submitted | State::Reviewing);
    let task = match client.tasks().until(task.summary.id, deadline, is_it).await? {
        Waited::Reached(task) | Waited::InVain(task) => task,
    };
    settle(&client, agent, &task).await
}

async fn agent(client: &Client) -> Result<AgentId, Failure> {
    let me = client.me().await?;
    match serde_json::from_value(me.actor) {
        Ok(Actor::Agent { id, .. }) => Ok(id),
        _ => Err(Failure::new(Exit::NotAllowed, "the token in use is no agent's")
            .detail(format!("it is that of {}", me.name))
            .or_next("ade login --token -")),
    }
}

/// What makes two calls one: who asks, with what, for what.
fn name(call: &Call) -> String {
    let whole = json!([call.session, call.tool, call.input]).to_string();
    let digest = Sha256::digest(whole.as_bytes());
    let mut name = "hook-".to_owned();
    for byte in digest.iter().take(NAME_BYTES) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

fn proposal(call: &Call, args: &HookArgs, name: &str) -> Result<NewTask, Failure> {
    let about = about(call);
    let word: String = call.tool.chars().map(|sign| plain(sign, &['_', '-'])).collect();
    let resources = match args.resource.as_slice() {
        [] => vec![TouchedResource { resource: workspace(call)?, mode: Some(Mode::Shared) }],
        named => named.to_vec(),
    };
    let changes = resources.iter().map(|touched| Change {
        resource: touched.resource.clone(),
        action: ChangeKind::Change,
        // Nobody can say what a tool of a host does; what cannot be said is not played down.
        irreversible: true,
        summary: cut(&about, SUMMARY_CHARS),
        before: None,
        after: None,
    });
    let plan = Plan { changes: changes.collect(), warnings: Vec::new() };
    Ok(NewTask {
        title: cut(&about, TITLE_CHARS),
        task_type: format!("tool.{}", word.to_lowercase()),
        parameters: json!({
            "session": call.session, "tool": call.tool, "input": call.input, "cwd": call.folder,
        }),
        resources,
        tags: BTreeSet::from([name.to_owned()]),
        priority: PRIORITY,
        team: None,
        ticket: None,
        timeout_seconds: None,
        rollback: Rollback::default(),
        plan: Some(plan),
    })
}

/// The one line that says most.
fn about(call: &Call) -> String {
    let member = ["command", "file_path", "url"].into_iter().find_map(|name| call.input.get(name));
    let told = member.and_then(|value| value.as_str()).map(str::to_owned);
    let told = told.unwrap_or_else(|| call.input.to_string());
    let line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}: {line}", call.tool)
}

fn workspace(call: &Call) -> Result<ResourceRef, Failure> {
    let folder = call.folder.as_deref().unwrap_or_default().trim_end_matches('/');
    let last = folder.rsplit('/').next().unwrap_or_default();
    let word: String = last.chars().map(|sign| plain(sign, &['_', '-', '.'])).collect();
    let word = if word.is_empty() { "unknown" } else { &word };
    format!("workspace:{word}").parse().map_err(|error| {
        Failure::new(Exit::Usage, format!("the folder has no name for a resource: {error}"))
            .or_next("ade hook --help")
    })
}

fn plain(sign: char, more: &[char]) -> char {
    if sign.is_ascii_alphanumeric() || more.contains(&sign) { sign } else { '-' }
}

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// The task of this call: the newest that is not over, or a new one.
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
        // A tag is a hint that anybody can write; what people agreed to must be this.
        if is_same(&task, new) {
            if !is_over(task.summary.state) {
                return submitted(client, task, &key).await;
            }
            key = format!("{name}:{}", task.summary.id);
        }
    }
    // Of two who come at the same time, both get the one task of the key.
    let task = client.tasks().create_as(new, Some(key.clone())).await?;
    submitted(client, client.tasks().get(task.summary.id).await?, &key).await
}

/// A draft that nobody has sent back yet.
async fn submitted(client: &Client, task: Task, key: &str) -> Result<Task, Failure> {
    if task.summary.state != State::Draft || task.summary.submitter.is_some() {
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

/// A no stays a no for the session; a yes that was used, and what nobody answered, is asked anew.
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

async fn settle(client: &Client, agent: AgentId, task: &Task) -> Result<Verdict, Failure> {
    let id = task.summary.id;
    let deny = |reason: String| Verdict::Deny { reason, task: Some(id.to_string()) };
    let page = format!("{}/tasks/{id}", client.server());
    Ok(match task.summary.state {
        State::Approved => return use_up(client, agent, task).await,
        State::Submitted | State::Reviewing => deny(format!(
            "people have not agreed yet: {page}. Make the same call again later; it waits for \
             the same answer."
        )),
        State::Rejected => deny(format!("people said no: {page}. Do not try it another way.")),
        State::Draft => deny(format!("people ask for something else: {page}")),
        State::Applying => deny(format!("the same call is just being let through: {page}")),
        State::Completed | State::Cancelled | State::Expired | State::Failed | State::Unknown => {
            deny(format!("{id} is over ({})", task.summary.state))
        }
    })
}

/// The permit is taken and ended at once: what was agreed to is one call, and whether it went
/// well is between the host and its tool.
async fn use_up(client: &Client, agent: AgentId, task: &Task) -> Result<Verdict, Failure> {
    let id = task.summary.id;
    let claim = Claim { task: Some(id), ..Claim::default() };
    let claimed = client.agents().claim(agent, &claim, RUN_CLAIM_PAUSE).await?;
    let Some(permit) = claimed.permit else {
        let reason = format!(
            "it is agreed to, but may not be applied now: `ade tasks explain {id}` says why; the \
             agent needs a capability for {}",
            task.summary.task_type
        );
        return Ok(Verdict::Deny { reason, task: Some(id.to_string()) });
    };
    // Nothing can have changed: it was said by us, and is said again.
    let (changes, warnings) = (task.effect.changes.clone(), task.effect.warnings.clone());
    let plan = Plan { changes, warnings };
    let begin = Beginning { lease: permit.lease, plan: Some(plan) };
    client.executions().begin(permit.execution, &begin).await?;
    let output = Some("let through to the host".to_owned());
    let finish = Finish { lease: permit.lease, output, details: None };
    client.executions().finish(permit.execution, &finish).await?;
    Ok(Verdict::Allow { reason: format!("agreed to in {id}"), task: Some(id.to_string()) })
}
