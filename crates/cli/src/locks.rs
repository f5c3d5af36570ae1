//! `ade locks`: inspects, acquires, releases and breaks locks.

mod graph;
pub mod lease;

use std::fmt::Write as _;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::locks::{
    Breaking, Deadlock, Heartbeat, LeaseState, LeaseSummary, LeaseView, Lock, NewIncident, NewLease,
};
use ade_api::seconds::Seconds;
use ade_client::{Client, gather};
use ade_core::ids::LeaseId;
use ade_core::limits::CLIENT_CALL_TIMEOUT;
use ade_core::resource::ResourceRef;
use comfy_table::Cell;

use crate::args::{AcquireArgs, LocksCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look::time;
use crate::output::Output;
use crate::tasks::word;
use crate::{screen, tasks};
use lease::{sole_holder, who};

type Ended = Result<Exit, Failure>;

pub async fn run(command: LocksCommand, cx: &Context) -> Ended {
    let client = cx.client()?;
    match command {
        LocksCommand::List(limit) => {
            let found = gather(limit.count(), async |page| client.locks().list(&page).await);
            let found = found.await?;
            let head = ["RESOURCE", "HELD", "WAITING", "HOLDER", "TOKEN", "EXPIRES"];
            let nothing = ("No locks are held.", "ade locks acquire TYPE:ID");
            cx.output.list(&found.items, &head, |lock| row(lock, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
        }
        LocksCommand::Get { resource } => {
            let lock = look_up(&client, resource).await?;
            cx.output.show(&lock, || whole(&lock, &cx.output))?;
        }
        LocksCommand::Top => return screen::locks(&client, cx).await,
        LocksCommand::Leases { agent, limit } => {
            let ask = async |page| client.locks().leases(agent, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head = ["LEASE", "STATE", "WHO", "RESOURCES", "TOKEN", "EXPIRES"];
            let nothing = ("No active leases.", "ade locks list");
            cx.output.list(&found.items, &head, |view| lease_row(view, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
        }
        LocksCommand::Graph { dot, mermaid } => {
            return graph::show(&client.locks().graph().await?, (dot, mermaid), cx);
        }
        LocksCommand::Deadlocks => deadlocks(&client, cx).await?,
        LocksCommand::Acquire(args) => return acquire(&client, args, cx).await,
        LocksCommand::Release { lease } => {
            let beat = client.locks().release(lease).await?;
            let what = format!("The lease is {}", beat.state.as_str());
            cx.output.done(&beat, &what, "ade locks list")?;
        }
        LocksCommand::Extend { lease } => return extend(&client, lease, cx).await,
        LocksCommand::Break { resource, reason, lease_hash, yes } => {
            let breaking = Breaking { reason, lease_hash };
            return break_lock(&client, &resource, breaking, yes, cx).await;
        }
        LocksCommand::Take { resources, reason, until } => {
            let incident = NewIncident { resources, reason, ends_at: until };
            let made = client.locks().incident(&incident).await?;
            let named: Vec<String> = made.resources.iter().map(ToString::to_string).collect();
            let until = cx.output.when(made.ends_at);
            let what = format!("Held for the incident until {until}: {}", named.join(", "));
            let first = named.first().cloned().unwrap_or_default();
            cx.output.done(&made, &what, &format!("ade locks break {first} --reason over"))?;
        }
    }
    Ok(Exit::Done)
}

async fn extend(client: &Client, lease: LeaseId, cx: &Context) -> Ended {
    let heartbeat = Heartbeat { process_id: None, lease_ids: vec![lease] };
    let beats = client.locks().heartbeat(&heartbeat, CLIENT_CALL_TIMEOUT).await?;
    let first = beats.leases.first();
    let state = first.map_or(LeaseState::Unknown, |beat| beat.state);
    let refused = first.and_then(|beat| beat.refused);
    let why = refused.map(|code| format!(" and was not extended: {}", code.next_action()));
    let what = format!("The lease is {}{}", state.as_str(), why.unwrap_or_default());
    cx.output.done(&beats, &what, "ade locks leases")?;
    let is_kept = state == LeaseState::Granted && refused.is_none();
    Ok(if is_kept { Exit::Done } else { Exit::LeaseLost })
}

/// Returns a lock. The server reports a free lock without waiters as not found.
async fn look_up(client: &Client, resource: ResourceRef) -> Result<Lock, Failure> {
    match client.locks().get(&resource).await {
        Err(error) if error.is(Code::NotFound) => {
            Ok(Lock { resource, holding: 0, waiting: 0, holders: Vec::new(), queue: Vec::new() })
        }
        found => Ok(found?),
    }
}

fn row(lock: &Lock, output: &Output) -> Vec<Cell> {
    let first = lock.holders.first().map(|holder| &holder.summary);
    let more = lock.holding.saturating_sub(1);
    let holder = first.map(who).unwrap_or_default();
    let holder = if more > 0 { format!("{holder} and {more} more") } else { holder };
    vec![
        Cell::new(&lock.resource),
        Cell::new(lock.holding),
        Cell::new(lock.waiting),
        Cell::new(holder),
        Cell::new(fence(first)),
        Cell::new(first.map(|first| output.when(first.expires_at)).unwrap_or_default()),
    ]
}

fn fence(view: Option<&LeaseSummary>) -> String {
    view.and_then(|view| view.fence).map(|fence| fence.to_string()).unwrap_or_default()
}

fn lease_row(LeaseView { summary: view, resources }: &LeaseView, output: &Output) -> Vec<Cell> {
    let resources: Vec<String> = resources.iter().map(|held| held.resource.to_string()).collect();
    let hash = view.lease_hash.to_string();
    let hash = if output.is_wide() || !output.is_terminal() {
        hash
    } else {
        tasks::short(view.lease_hash)
    };
    vec![
        Cell::new(hash),
        Cell::new(view.state.as_str()),
        Cell::new(who(view)),
        Cell::new(resources.join(", ")),
        Cell::new(fence(Some(view))),
        Cell::new(output.when(view.expires_at)),
    ]
}

/// Describes the holders and waiters of a lock and the next command.
fn whole(lock: &Lock, output: &Output) -> String {
    let mut out = output.paint.bold(&lock.resource.to_string());
    out.push('\n');
    if lock.holding == 0 {
        out.push_str("  not held\n");
    }
    for entry in &lock.holders {
        let (holder, mode) = (&entry.summary, word(&entry.mode));
        let left = time::clock(holder.expires_at.since(time::now()));
        let fenced = if holder.fenced { "fenced" } else { "advisory" };
        let fence = holder.fence.map(|fence| format!(", token {fence}")).unwrap_or_default();
        let hash = output.paint.dim(&holder.lease_hash.to_string());
        let _ = writeln!(out, "  held by  {} {mode}, {fenced}{fence}, {left} left", who(holder));
        let _ = writeln!(out, "           lease hash {hash}");
    }
    for (place, entry) in (1..).zip(&lock.queue) {
        let (waiter, mode) = (&entry.summary, word(&entry.mode));
        let since = time::long(time::now().since(waiter.since));
        let _ = writeln!(out, "  #{place:<6}  {} {mode}, for {since}", who(waiter));
    }
    let hidden = lock.waiting.saturating_sub(lock.queue.len());
    if hidden > 0 {
        let _ = writeln!(out, "           … and {hidden} more waiting");
    }
    let next = match lock.holding {
        0 => format!("ade locks acquire {}", lock.resource),
        _ => format!("ade locks break {} --reason TEXT", lock.resource),
    };
    let _ = writeln!(out, "  next     {}", output.paint.bold(&next));
    out
}

async fn deadlocks(client: &Client, cx: &Context) -> Result<(), Failure> {
    let all = client.locks().deadlocks().await?;
    let output = &cx.output;
    let row = |one: &Deadlock| {
        let leases = || one.cycle.iter().map(|lease| &lease.summary);
        let cycle: Vec<String> = leases().map(who).collect();
        let victim = leases().find(|view| view.lease_hash == one.victim);
        vec![
            Cell::new(output.when(one.at)),
            Cell::new(victim.map(who).unwrap_or_default()),
            Cell::new(cycle.join(" → ")),
        ]
    };
    let nothing = ("No deadlocks.", "ade locks graph");
    output.list(&all.items, &["WHEN", "VICTIM", "CYCLE"], row, nothing)
}

async fn acquire(client: &Client, args: AcquireArgs, cx: &Context) -> Ended {
    let new = NewLease {
        lease_id: None,
        process_id: None,
        resources: args.resources,
        ttl_seconds: args.ttl.map(Seconds::rounded_up),
        wait: None,
        priority: args.priority,
        fenced: args.fenced,
        purpose: args.purpose,
        held_fence: None,
    };
    let wait = args.wait.unwrap_or(Duration::ZERO);
    let lease = client.locks().acquire(new, wait).await?;
    let output = &cx.output;
    output.show(&lease, || {
        let named: Vec<String> = lease.resources.iter().map(ToString::to_string).collect();
        let rows = [
            ("lease", lease.lease_id.to_string()),
            ("token", lease.fence.to_string()),
            ("expires", output.when(lease.expires_at)),
            ("next", output.paint.bold(&format!("ade locks extend {}", lease.lease_id))),
        ];
        let headline = format!("Acquired {}", named.join(", "));
        format!("{} {}", output.paint.green("✓"), output.facts(&headline, &rows))
    })?;
    Ok(Exit::Done)
}

/// Breaks a lock after describing the consequences and asking for confirmation.
async fn break_lock(
    client: &Client,
    resource: &ResourceRef,
    mut breaking: Breaking,
    is_yes: bool,
    cx: &Context,
) -> Ended {
    let lock = look_up(client, resource.clone()).await?;
    let holders: Vec<String> = lock.holders.iter().map(|holder| who(&holder.summary)).collect();
    let question = format!(
        "{} will no longer be able to commit, and {} waiting request(s) move up. Break the lock on \
         {resource}?",
        if holders.is_empty() { "No one".to_owned() } else { holders.join(", ") },
        lock.waiting
    );
    cx.confirm(&question, is_yes)?;
    breaking.lease_hash = breaking.lease_hash.or_else(|| sole_holder(&lock));
    let broken = client.locks().break_lock(resource, &breaking).await?;
    let what = format!("Broke the lock on {resource} for {} holder(s)", broken.leases.len());
    cx.output.done(&broken, &what, &format!("ade locks get {resource}"))?;
    Ok(Exit::Done)
}
