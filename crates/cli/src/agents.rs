//! `ade agents`: registers, changes and controls agents.

use ade_api::agent_configs::{
    AgentConfig, AgentConfigRollback, AgentConfigVersion, NewAgentConfig,
};
use ade_api::agents::{Agent, AgentChange, AgentDirective, NewAgent};
use ade_api::policies::FieldChange;
use ade_client::{Client, gather};
use ade_core::limits::AGENT_TASKS_DEFAULT;
use comfy_table::Cell;

use crate::args::{AgentArg, AgentsCommand, ConfigCommand, OrderArgs};
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look::{self, capabilities, seen};
use crate::output::Output;
use crate::proposal::{remark_open, report};
use crate::screen;
use crate::text::{cut, named, visible};

/// The maximum length of a capability list in a table.
const CAPABILITIES_CHARS: usize = 32;
/// The maximum number of agents to search by name; an installation has no more.
const AGENTS: usize = 10_000;
/// The maximum length of a configuration value on a line.
const VALUE_CHARS: usize = 60;

type Ended = Result<Exit, Failure>;

pub async fn run(command: AgentsCommand, cx: &Context) -> Ended {
    let client = cx.client()?;
    let agents = client.agents();
    match command {
        AgentsCommand::List(limit) => {
            let found = gather(limit.count(), async |page| agents.list(&page).await).await?;
            let mut head = vec!["ID", "STATUS", "NAME", "SEEN", "LOAD", "CAPABILITIES"];
            if cx.output.is_wide() {
                head.push("OWNER");
            }
            let nothing = ("No agents yet.", "ade agents create NAME --owner USER");
            cx.output.list(&found.items, &head, |agent| row(agent, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
            remark_open(&client, &["agent.change"], cx).await;
            Ok(Exit::Done)
        }
        AgentsCommand::Top => screen::agents(&client, cx).await,
        AgentsCommand::Get(AgentArg { id }) => shown(&agents.get(id).await?, cx),
        AgentsCommand::Create { name, owner, change } => {
            let new = NewAgent {
                name,
                owner_id: owner,
                capabilities: change.capabilities.into_iter().collect(),
                max_tasks: change.max_tasks.unwrap_or(AGENT_TASKS_DEFAULT),
            };
            created(&agents.create(&new).await?, cx)
        }
        AgentsCommand::Apply { file } => apply(&client, context::read(&file)?, cx).await,
        AgentsCommand::Change { agent, name, change } => {
            let given = change.capabilities;
            let change = AgentChange {
                name,
                capabilities: (!given.is_empty()).then(|| given.into_iter().collect()),
                max_tasks: change.max_tasks,
            };
            report(&agents.change(agent.id, &change).await?, cx, |agent| shown(agent, cx))
        }
        AgentsCommand::Pause(args) => shown(&agents.pause(args.agent.id, &order(args)).await?, cx),
        AgentsCommand::Drain(args) => shown(&agents.drain(args.agent.id, &order(args)).await?, cx),
        AgentsCommand::Resume(args) => {
            shown(&agents.resume(args.agent.id, &order(args)).await?, cx)
        }
        AgentsCommand::Delete { agent, yes } => {
            let known = agents.get(agent.id).await?;
            let name = named(&known.name);
            cx.confirm(&format!("Permanently revoke agent {name}?"), yes)?;
            shown(&agents.revoke(agent.id).await?, cx)
        }
        AgentsCommand::Config(command) => config(&client, command, cx).await,
    }
}

/// Creates or updates the agent that a file describes; applying the same file again changes
/// nothing. The owner of an agent cannot be changed.
async fn apply(client: &Client, wanted: NewAgent, cx: &Context) -> Ended {
    let agents = client.agents();
    let found = gather(AGENTS, async |page| agents.list(&page).await).await?;
    let is_it = |agent: &&Agent| agent.name == wanted.name && agent.revoked_at.is_none();
    let Some(known) = found.items.iter().find(is_it) else {
        return created(&agents.create(&wanted).await?, cx);
    };
    if known.owner_id != wanted.owner_id {
        let why = format!("the owner is {}, but the file says {}", known.owner_id, wanted.owner_id);
        return Err(Failure::new(Exit::Failed, "the owner of an agent cannot be changed")
            .detail(why)
            .or_next(format!("ade agents delete {}", known.id)));
    }
    let is_same = known.capabilities == wanted.capabilities && known.max_tasks == wanted.max_tasks;
    if is_same {
        let what = format!("Agent {} is up to date", named(&known.name));
        cx.output.done(known, &what, &format!("ade agents get {}", known.id))?;
        return Ok(Exit::Done);
    }
    let change = AgentChange {
        name: None,
        capabilities: Some(wanted.capabilities),
        max_tasks: Some(wanted.max_tasks),
    };
    report(&agents.change(known.id, &change).await?, cx, |agent| shown(agent, cx))
}

fn created(agent: &Agent, cx: &Context) -> Ended {
    let what = format!("Registered agent {} as {}", named(&agent.name), agent.id);
    let next = format!("ade tokens create --agent {} --scope execute", agent.id);
    cx.output.done(agent, &what, &next)?;
    Ok(Exit::Done)
}

fn order(args: OrderArgs) -> AgentDirective {
    AgentDirective { reason: args.reason }
}

fn row(agent: &Agent, output: &Output) -> Vec<Cell> {
    let (icon, tone) = look::agent(agent.status);
    let mut row = vec![
        Cell::new(agent.id),
        output.cell(&format!("{icon} {}", agent.status.as_str()), tone),
        Cell::new(output.name(&agent.name, CAPABILITIES_CHARS)),
        Cell::new(seen(agent, |at| output.when(at))),
        Cell::new(format!("{}/{}", agent.load.unwrap_or(0), agent.max_tasks)),
        Cell::new(output.text(&capabilities(agent), CAPABILITIES_CHARS)),
    ];
    if output.is_wide() {
        row.push(Cell::new(agent.owner_id));
    }
    row
}

fn shown(agent: &Agent, cx: &Context) -> Ended {
    let output = &cx.output;
    output.show(agent, || {
        let (icon, tone) = look::agent(agent.status);
        let status = output.paint.tone(&format!("{icon} {}", agent.status.as_str()), tone);
        let rows = [
            ("agent", agent.id.to_string()),
            ("status", status),
            ("owner", agent.owner_id.to_string()),
            ("seen", seen(agent, |at| output.when(at))),
            ("load", format!("{} of {}", agent.load.unwrap_or(0), agent.max_tasks)),
            ("can apply", visible(&capabilities(agent))),
            ("config", format!("version {}", agent.config_version)),
            ("revoked", agent.revoked_at.map(|at| output.when(at)).unwrap_or_default()),
            ("next", output.paint.bold(&format!("ade tasks list --agent {}", agent.id))),
        ];
        output.facts(&named(&agent.name), &rows)
    })?;
    Ok(Exit::Done)
}

async fn config(client: &Client, command: ConfigCommand, cx: &Context) -> Ended {
    let agents = client.agents();
    match command {
        ConfigCommand::Get(AgentArg { id }) => configured(&agents.config(id).await?, cx),
        ConfigCommand::Set { agent, file, reason } => {
            let config = context::read(&file)?;
            let version = agents.config(agent.id).await?.version;
            let new = NewAgentConfig { config, reason };
            configured(&agents.configure(agent.id, version, &new).await?, cx)
        }
        ConfigCommand::Versions(AgentArg { id }) => {
            let all = agents.config_versions(id).await?;
            let output = &cx.output;
            let row = |one: &AgentConfigVersion| {
                vec![
                    Cell::new(one.version),
                    Cell::new(one.set_by),
                    Cell::new(output.when(one.set_at)),
                    Cell::new(output.text(one.reason.as_deref().unwrap_or_default(), VALUE_CHARS)),
                ]
            };
            let next = format!("ade agents config set {id} -f FILE");
            let nothing = ("No configuration versions.", next.as_str());
            output.list(&all.items, &["VERSION", "BY", "WHEN", "REASON"], row, nothing)?;
            Ok(Exit::Done)
        }
        ConfigCommand::Diff { agent, version, against } => {
            let found = agents.config_difference(agent.id, version, against).await?;
            cx.output.show(&found, || {
                let head = format!("version {} → {}\n", found.against, found.version);
                head + &field_changes(&found.changes, &cx.output)
            })?;
            Ok(Exit::Done)
        }
        ConfigCommand::Rollback { agent, to, reason } => {
            let rollback = AgentConfigRollback { to, reason };
            configured(&agents.roll_back_config(agent.id, &rollback).await?, cx)
        }
    }
}

fn configured(config: &AgentConfig, cx: &Context) -> Ended {
    cx.output.show(config, || {
        let text = serde_json::to_string_pretty(&config.config).unwrap_or_default();
        let head = cx.output.paint.bold(&format!("version {}", config.version));
        format!("{head}\n{}\n", crate::text::quiet_json(&text))
    })?;
    Ok(Exit::Done)
}

/// Formats field changes, one per line. Policy drafts use it too.
pub fn field_changes(changes: &[FieldChange], output: &Output) -> String {
    let value = |value: &Option<serde_json::Value>| match value {
        Some(value) => cut(&visible(&value.to_string()), VALUE_CHARS),
        None => "(none)".to_owned(),
    };
    let lines = changes.iter().map(|change| {
        let path = if change.path.is_empty() { "(everything)" } else { &change.path };
        let mark = match (&change.before, &change.after) {
            (None, _) => output.paint.green("+"),
            (_, None) => output.paint.red("-"),
            _ => output.paint.yellow("~"),
        };
        format!(
            "  {mark} {}: {} → {}\n",
            visible(path),
            value(&change.before),
            value(&change.after)
        )
    });
    lines.collect()
}
