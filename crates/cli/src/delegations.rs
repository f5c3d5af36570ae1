//! `ade delegations`: lists, creates, revokes and resolves approval delegations.

use std::fmt::Write as _;

use ade_api::delegations::{
    Delegation, DelegationConditions, DelegationMade, HandOver, NewDelegation, Resolved,
};
use ade_client::gather;
use comfy_table::Cell;

use crate::args::{DelegateArgs, DelegationsCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::output::{Output, Paint};
use crate::proposal::{remark_open, report};
use crate::tasks::word;
use crate::text::visible;

pub async fn run(command: DelegationsCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let delegations = client.delegations();
    match command {
        DelegationsCommand::List { owner, limit } => {
            let ask = async |page| delegations.list(owner, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head = ["ID", "OWNER", "TO", "KIND", "ACTIVE", "ENDS", "ONLY"];
            let nothing = ("No delegations.", "ade delegations create --to USER --until 48h");
            cx.output.list(&found.items, &head, |one| row(one, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
            remark_open(&client, &["delegation.create"], cx).await;
        }
        DelegationsCommand::Create(args) => {
            let submitted = delegations.create(&new(args)).await?;
            return report(&submitted, cx, |made| created(made, cx));
        }
        DelegationsCommand::Revoke { id } => {
            let ended = delegations.end(id).await?;
            cx.output.done(&ended, &format!("Revoked delegation {id}"), "ade delegations list")?;
        }
        DelegationsCommand::Resolve { user, task } => {
            let resolved = delegations.resolve(user, task).await?;
            cx.output.show(&resolved, || resolved_text(&resolved, cx.output.paint))?;
        }
        DelegationsCommand::HandOver { id, to, reason } => {
            let handed = HandOver { delegate_id: to, reason };
            let task = client.approvals().hand_over(id, &handed).await?;
            let what = format!("Handed over the request for {} to {to}", task.id);
            cx.output.done(&task, &what, "ade inbox")?;
        }
    }
    Ok(Exit::Done)
}

fn created(made: &DelegationMade, cx: &Context) -> Result<Exit, Failure> {
    let to = made.delegation.delegate_id;
    let mut what = format!("Delegated to {to} until {}", made.delegation.expires_at);
    if made.moved > 0 {
        let _ = write!(what, "; handed over {} pending request(s)", made.moved);
    }
    for stayed in &made.stayed {
        let why = visible(&stayed.detail);
        cx.output.remark(&format!("not handed over: {}: {why}", stayed.approval_id));
    }
    cx.output.done(made, &what, "ade delegations resolve")?;
    Ok(Exit::Done)
}

fn new(args: DelegateArgs) -> NewDelegation {
    NewDelegation {
        owner_id: args.owner,
        delegate_id: args.to,
        kind: args.kind,
        conditions: DelegationConditions {
            task_types: args.task_types.into_iter().collect(),
            resource_patterns: args.resources.into_iter().collect(),
            risk_above: args.risk_above,
        },
        cascade: args.cascade,
        starts_at: args.from,
        expires_at: args.until,
        move_pending: args.move_pending,
    }
}

fn row(one: &Delegation, output: &Output) -> Vec<Cell> {
    vec![
        Cell::new(one.id),
        Cell::new(one.owner_id),
        Cell::new(one.delegate_id),
        Cell::new(word(&one.kind)),
        Cell::new(look::yes(one.active)),
        Cell::new(output.when(one.expires_at)),
        Cell::new(only(&one.conditions)),
    ]
}

fn only(conditions: &DelegationConditions) -> String {
    let mut parts: Vec<String> = conditions.task_types.iter().map(|kind| visible(kind)).collect();
    parts.extend(conditions.resource_patterns.iter().map(|pattern| visible(pattern)));
    parts.extend(conditions.risk_above.map(|risk| format!("risk above {risk}")));
    parts.join(", ")
}

fn resolved_text(resolved: &Resolved, paint: Paint) -> String {
    let mut out = format!("{}\n", paint.bold(&format!("for {}", resolved.user_id)));
    for acting in &resolved.acting {
        let mark = paint.green("✓");
        let _ = writeln!(out, "  {mark} {}  {}", acting.user_id, visible(&acting.message));
    }
    for way in resolved.ways.iter().filter(|way| !way.acts) {
        let path: Vec<String> = way.path.iter().map(ToString::to_string).collect();
        let why: Vec<String> = way.because.iter().map(|why| visible(why)).collect();
        let _ = writeln!(out, "  {} {}: {}", paint.dim("○"), path.join(" → "), why.join("; "));
    }
    for fault in &resolved.faults {
        let _ = writeln!(out, "  {} {}", paint.red("✕"), visible(&fault.message));
    }
    let _ = writeln!(out, "  {:<8} {}", "advice", visible(&resolved.next_action.message));
    out
}
