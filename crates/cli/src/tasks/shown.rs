//! How a task looks to a person: an icon and a word for its state, colour third. Text of other
//! people goes through `visible`.

use std::fmt::Write as _;

use ade_api::tasks::{Effect, Mode, Task, TaskSummary, TouchedResource};
use ade_core::change::{ChangeKind, Origin};
use ade_core::task::State;
use comfy_table::Cell;

use crate::look::{self, time};
use crate::output::{Output, Paint};
use crate::text::{named, visible};

/// A title of a list on a terminal: the rest of the line is for the rest of the task.
const TITLE_CHARS: usize = 48;
/// Changes that are shown; nobody reads a thousand lines on a terminal.
const CHANGES_SHOWN: usize = 20;

fn risk(task: &TaskSummary) -> String {
    look::risk(task.risk)
}

const HEAD: [&str; 6] = ["ID", "STATE", "RISK", "TITLE", "TYPE", "SINCE"];
const HEAD_WIDE: [&str; 11] =
    ["ID", "STATE", "RISK", "TITLE", "TYPE", "SINCE", "NUMBER", "REV", "AUTHOR", "AGENT", "TICKET"];

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
        Cell::new(task.id),
        output.cell(&format!("{icon} {}", task.state), tone),
        output.cell(&risk(task), look::level_tone(task.risk.level)),
        Cell::new(output.name(&task.title, TITLE_CHARS)),
        Cell::new(visible(&task.task_type)),
        Cell::new(output.when(task.since)),
    ];
    if output.is_wide() {
        row.extend([
            Cell::new(task.number),
            Cell::new(task.revision),
            Cell::new(task.author),
            Cell::new(task.agent.map(|agent| agent.to_string()).unwrap_or_default()),
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
            (format!("No task is {}.", names.join(" or ")), "ade tasks list")
        }
    };
    format!("{what}\n  next     {}\n", paint.bold(next))
}

/// One line for a script's log.
pub fn line(task: &Task, paint: Paint) -> String {
    let summary = &task.summary;
    format!("{} {} {}\n", summary.id, look::state_text(summary.state, paint), named(&summary.title))
}

pub fn whole(task: &Task, paint: Paint) -> String {
    let summary = &task.summary;
    let mut out = format!(
        "{}  {}\n",
        paint.bold(&named(&summary.title)),
        paint.dim(&format!("#{}", summary.number))
    );
    let since = time::second(summary.since);
    let mut rows = vec![
        ("task", summary.id.to_string()),
        ("state", format!("{} since {since}", look::state_text(summary.state, paint))),
        ("risk", risk(summary)),
        ("type", visible(&summary.task_type)),
        ("author", author(summary)),
    ];
    if let Some(ticket) = &summary.ticket {
        rows.push(("ticket", visible(ticket)));
    }
    if !task.tags.is_empty() {
        let tags: Vec<String> = task.tags.iter().map(|tag| visible(tag)).collect();
        rows.push(("tags", tags.join(", ")));
    }
    rows.push(("touches", task.resources.iter().map(touched).collect::<Vec<_>>().join(", ")));
    rows.push(("revision", format!("{} {}", summary.revision, summary.digest)));
    for (label, text) in rows {
        let _ = writeln!(out, "  {label:<8} {text}");
    }
    out.push_str(&effect(&task.effect, paint));
    let _ = writeln!(out, "  {:<8} {}", "means", visible(&task.next_action));
    let _ = writeln!(out, "  {:<8} {}", "next", paint.bold(&next(summary)));
    out
}

fn author(task: &TaskSummary) -> String {
    match task.agent {
        Some(agent) => format!("{agent} for {}", task.author),
        None => task.author.to_string(),
    }
}

fn touched(touched: &TouchedResource) -> String {
    match touched.mode {
        Some(Mode::Shared) => format!("{} (shared)", touched.resource),
        Some(Mode::Exclusive) | None => touched.resource.to_string(),
    }
}

pub fn effect(effect: &Effect, paint: Paint) -> String {
    let counts = effect.counts;
    let origin = match effect.origin {
        Origin::Observed => "seen by a preview",
        Origin::Declared => "as its author says",
    };
    let mut out = format!(
        "  {:<8} {} to add, {} to change, {} to remove; {} cannot be undone ({origin})\n",
        "effect", counts.adds, counts.changes, counts.removes, counts.irreversible
    );
    for change in effect.changes.iter().take(CHANGES_SHOWN) {
        let mark = match change.action {
            ChangeKind::Add => paint.green("+"),
            ChangeKind::Change => paint.yellow("~"),
            ChangeKind::Remove => paint.red("-"),
        };
        let forever =
            if change.irreversible { paint.red(" (cannot be undone)") } else { String::new() };
        let summary = visible(&change.summary);
        let _ = writeln!(out, "           {mark} {}  {summary}{forever}", change.resource);
    }
    if let Some(more) = effect.changes.len().checked_sub(CHANGES_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(out, "           … and {more} more");
    }
    for warning in &effect.warnings {
        let _ = writeln!(out, "  {:<8} {}", "warning", paint.yellow(&visible(warning)));
    }
    for error in &effect.errors {
        let _ = writeln!(out, "  {:<8} {}", "error", paint.red(&visible(error)));
    }
    out
}

/// The command that most want to run now.
fn next(task: &TaskSummary) -> String {
    let id = task.id;
    match task.state {
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
    fn an_empty_list_says_what_to_do() {
        assert!(nothing(&[], Paint::OFF).contains("ade run --resource"));
        let told = nothing(&[State::Failed, State::Unknown], Paint::OFF);
        assert!(told.starts_with("No task is FAILED or UNKNOWN.\n"), "{told}");
        assert!(told.ends_with("ade tasks list\n"), "{told}");
    }
}
