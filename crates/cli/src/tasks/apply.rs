//! The executions of a task and their output.

use ade_api::executions::{Execution, LogLine, Stream};
use ade_client::{Client, LogMessage};
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use super::Ended;
use super::explain::word;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;

/// The maximum length of an error in a table.
const ERROR_CHARS: usize = 40;

pub async fn executions(client: &Client, id: TaskRef, cx: &Context) -> Ended {
    let all = client.executions().list(id).await?;
    let output = &cx.output;
    let row = |one: &Execution| {
        let result = one.outcome.map_or_else(|| word(&one.state), |outcome| word(&outcome));
        vec![
            Cell::new(one.id),
            Cell::new(one.attempt),
            Cell::new(result),
            Cell::new(one.agent_id.map_or_else(|| "server".to_owned(), |agent| agent.to_string())),
            Cell::new(output.when(one.started_at)),
            Cell::new(one.ended_at.map(|at| output.when(at)).unwrap_or_default()),
            Cell::new(output.text(one.error.as_deref().unwrap_or_default(), ERROR_CHARS)),
        ]
    };
    let head = ["EXECUTION", "ATTEMPT", "RESULT", "BY", "STARTED", "ENDED", "ERROR"];
    let next = format!("ade tasks explain {id}");
    output.list(&all.items, &head, row, ("No executions yet.", &next))?;
    Ok(Exit::Done)
}

pub async fn logs(client: &Client, id: TaskRef, is_followed: bool, cx: &Context) -> Ended {
    if !is_followed {
        return so_far(client, id, cx).await;
    }
    let mut log = client.executions().follow(id);
    loop {
        match log.next().await? {
            LogMessage::Line(line) => shown(&line, cx)?,
            LogMessage::End(end) => {
                let result = end.outcome.map_or_else(String::new, |outcome| word(&outcome));
                cx.output
                    .remark(&cx.output.talk.dim(&format!("attempt {}: {result}", end.attempt)));
                return Ok(Exit::Done);
            }
        }
    }
}

async fn so_far(client: &Client, id: TaskRef, cx: &Context) -> Ended {
    let all = client.executions().list(id).await?;
    let Some(newest) = all.items.first() else {
        return Err(Failure::new(Exit::NotFound, format!("{id} has no executions yet"))
            .or_next(format!("ade tasks explain {id}")));
    };
    let mut from = 0;
    loop {
        let page = client.executions().lines(newest.id, from).await?;
        for line in &page.lines {
            shown(line, cx)?;
        }
        if page.lines.is_empty() && from == 0 {
            cx.output.remark(&cx.output.talk.dim("No output was recorded."));
        }
        if page.lines.is_empty() || page.next <= from {
            return Ok(Exit::Done);
        }
        from = page.next;
    }
}

fn shown(line: &LogLine, cx: &Context) -> Result<(), Failure> {
    cx.output.line(line, || {
        let text = visible(&line.text.replace('\t', "    "));
        match line.stream {
            Stream::Stdout => format!("{text}\n"),
            Stream::Stderr => format!("{}\n", cx.output.paint.yellow(&text)),
            Stream::Note => format!("{}\n", cx.output.paint.dim(&format!("[ade] {text}"))),
        }
    })
}
