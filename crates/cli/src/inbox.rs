//! `ade inbox`: lists the approval requests of the caller, most urgent first.

use ade_api::approvals::Approval;
use ade_client::gather;
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use crate::args::InboxArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::text::visible;
use crate::{look, screen};

/// The maximum length of a title in the table.
const TITLE_CHARS: usize = 44;
const HEAD: [&str; 7] = ["RISK", "NUMBER", "TASK", "TITLE", "TYPE", "DUE", "REQUESTED"];
const HEAD_WIDE: [&str; 11] = [
    "RISK",
    "NUMBER",
    "TASK",
    "TITLE",
    "TYPE",
    "DUE",
    "REQUESTED",
    "REQUEST",
    "REV",
    "SCORE",
    "AUTHOR",
];

pub async fn inbox(args: &InboxArgs, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    if args.watch {
        return screen::inbox(&client, args, cx).await;
    }
    let ask = async |page| client.approvals().inbox(args.status, &page).await;
    let mut found = gather(args.limit.count(), ask).await?;
    let least = args.risk.unwrap_or(0);
    found.items.retain(|approval| approval.task.risk.score >= least);
    let output = &cx.output;
    let row = |approval: &Approval| row(approval, output);
    let nothing = ("No requests are waiting for you.", "ade tasks list");
    if output.is_wide() {
        output.list(&found.items, &HEAD_WIDE, row, nothing)?;
    } else {
        output.list(&found.items, &HEAD, row, nothing)?;
    }
    cx.more(found.has_more, args.limit.limit);
    Ok(Exit::Done)
}

fn row(approval: &Approval, output: &Output) -> Vec<Cell> {
    let task = &approval.task;
    let tone = if approval.overdue { Tone::Bad } else { Tone::Plain };
    let mut row = vec![
        output.cell(&look::bars(task.risk), look::level_tone(task.risk.level)),
        Cell::new(TaskRef::Number(task.number)),
        Cell::new(task.id),
        Cell::new(output.name(&task.title, TITLE_CHARS)),
        Cell::new(visible(&task.task_type)),
        output.cell(&due(approval, output), tone),
        Cell::new(output.when(approval.requested_at)),
    ];
    if output.is_wide() {
        row.extend([
            Cell::new(approval.id),
            Cell::new(approval.revision),
            Cell::new(approval.urgency),
            Cell::new(task.author_id),
        ]);
    }
    row
}

/// Formats the due time. The word "overdue" makes the state readable without colour.
fn due(approval: &Approval, output: &Output) -> String {
    let when = output.when(approval.due_at);
    if approval.overdue { format!("overdue {when}") } else { when }
}
