//! Display of a task: an icon and a word for its state, with colour in addition. Untrusted text
//! goes through `visible`.

use std::fmt::Write as _;

use ade_api::tasks::{Task, TaskDecision, TaskSummary};
use ade_core::task::{State, SubState};
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use super::content::content;
use crate::look::{self, time};
use crate::output::{Output, Paint};
use crate::text::{named, visible};

/// The maximum length of a title in a list on a terminal.
const TITLE_CHARS: usize = 48;

fn risk(task: &TaskSummary) -> String {
    look::risk(task.risk)
}

const HEAD: [&str; 7] = ["NUMBER", "ID", "STATE", "RISK", "TITLE", "TYPE", "SINCE"];
const HEAD_WIDE: [&str; 11] =
    ["NUMBER", "ID", "STATE", "RISK", "TITLE", "TYPE", "SINCE", "REV", "AUTHOR", "AGENT", "TICKET"];

pub fn list(tasks: &[TaskSummary], states: &[State], output: &Output) -> String {
    if tasks.is_empty() {
        return nothing(states, output.paint);
    }
    let rows = tasks.iter().map(|task| row(task, output)).collect();
    if output.is_wide() { output.table(&HEAD_WIDE, rows) } else { output.table(&HEAD, rows) }
}

fn row(task: &TaskSummary, output: &Output) -> Vec<Cell> {
    let (icon, tone) = look::state(task.state);
    let mut row = vec![
        Cell::new(TaskRef::Number(task.number)),
        Cell::new(task.id),
        output.cell(&format!("{icon} {}", task.state), tone),
        output.cell(&risk(task), look::level_tone(task.risk.level)),
        Cell::new(output.name(&task.title, TITLE_CHARS)),
        Cell::new(visible(&task.task_type)),
        Cell::new(output.when(task.state_since)),
    ];
    if output.is_wide() {
        row.extend([
            Cell::new(task.revision),
            Cell::new(task.author_id),
            Cell::new(task.agent_id.map(|agent| agent.to_string()).unwrap_or_default()),
            Cell::new(visible(task.ticket.as_deref().unwrap_or_default())),
        ]);
    }
    row
}

fn nothing(states: &[State], paint: Paint) -> String {
    let (what, next) = match states {
        [] => ("No tasks yet.".to_owned(), "ade run --resource TYPE:ID -- CMD ARGS…"),
        some => {
            let names: Vec<String> = some.iter().map(|state| state.as_str().to_owned()).collect();
            (format!("No tasks in state {}.", names.join(" or ")), "ade tasks list")
        }
    };
    format!("{what}\n  next     {}\n", paint.bold(next))
}

/// Formats a task as one line, for logs of scripts.
pub fn line(task: &Task, paint: Paint) -> String {
    let summary = &task.summary;
    let state = state(summary, paint);
    let line = format!("{} {state} {}\n", summary.id, named(&summary.title));
    let decision = summary.decision.as_ref().filter(|one| one.reason.is_some());
    match decision {
        Some(decision) => format!("{line}  {:<8} {}\n", "decision", decided(decision)),
        None => line,
    }
}

pub fn whole(task: &Task, paint: Paint) -> String {
    let summary = &task.summary;
    let mut out = format!(
        "{}  {}\n",
        paint.bold(&named(&summary.title)),
        paint.dim(&TaskRef::Number(summary.number).to_string())
    );
    let since = time::second(summary.state_since);
    let mut rows = vec![
        ("task", summary.id.to_string()),
        ("state", format!("{} since {since}", state(summary, paint))),
        ("risk", risk(summary)),
        ("author", author(summary)),
    ];
    if let Some(decision) = &summary.decision {
        rows.insert(2, ("decision", decided(decision)));
    }
    if let Some(ticket) = &summary.ticket {
        rows.push(("ticket", visible(ticket)));
    }
    if !task.tags.is_empty() {
        let tags: Vec<String> = task.tags.iter().map(|tag| visible(tag)).collect();
        rows.push(("tags", tags.join(", ")));
    }
    rows.push(("revision", format!("{} {}", summary.revision, summary.digest)));
    for (label, text) in rows {
        let _ = writeln!(out, "  {label:<8} {text}");
    }
    out.push_str(&content(task, paint));
    for warning in &task.warnings {
        let _ = writeln!(out, "  {:<8} {}", "warning", paint.yellow(&visible(&warning.message)));
    }
    let _ = writeln!(out, "  {:<8} {}", "advice", visible(&task.next_action.message));
    let _ = writeln!(out, "  {:<8} {}", "next", paint.bold(&next(summary)));
    out
}

/// Returns the state with its detail, such as `● completed (released to host)`.
fn state(task: &TaskSummary, paint: Paint) -> String {
    let state = look::state_text(task.state, paint);
    match task.sub_state {
        Some(detail) => {
            format!("{state} ({})", detail.as_str().to_lowercase().replace('_', " "))
        }
        None => state,
    }
}

pub fn decided(decision: &TaskDecision) -> String {
    format!("{} by {}", decision.outcome.as_str().replace('_', " "), look::decided(decision))
}

fn author(task: &TaskSummary) -> String {
    match task.agent_id {
        Some(agent) => format!("{agent} for {}", task.author_id),
        None => task.author_id.to_string(),
    }
}

/// Returns the most likely next command.
fn next(task: &TaskSummary) -> String {
    let id = task.id;
    match task.state {
        State::Draft if task.sub_state == Some(SubState::ChangesRequested) => {
            format!("ade tasks amend {id} --file FILE")
        }
        State::Draft => format!("ade tasks submit {id}"),
        State::Submitted | State::Reviewing => format!("ade tasks wait {id} --for approved"),
        State::Approved | State::Applying => format!("ade tasks wait {id}"),
        State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Failed
        | State::Unknown
        | State::Expired => format!("ade tasks get {id} --json"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_list_names_the_next_command() {
        assert!(nothing(&[], Paint::OFF).contains("ade run --resource"));
        let text = nothing(&[State::Failed, State::Unknown], Paint::OFF);
        assert!(text.starts_with("No tasks in state FAILED or UNKNOWN.\n"), "{text}");
        assert!(text.ends_with("ade tasks list\n"), "{text}");
    }
}
