//! `ade changes`: changes to the rules that wait for a second admin, and how they ended.

use ade_api::pending_changes::{ChangeFinding, ChangeObjection, PendingChange};
use ade_client::gather;
use ade_core::policy::Strictness;
use comfy_table::Cell;

use crate::args::{ChangeArg, ChangesCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::policies::replayed_tasks;
use crate::proposal::waits_for;
use crate::tasks::word;
use crate::text::{named, visible};

/// The maximum length of the changed object in a table.
const OBJECT_CHARS: usize = 40;

pub async fn run(command: ChangesCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let (changes, output) = (client.pending_changes(), &cx.output);
    match command {
        ChangesCommand::List { closed, limit } => {
            let ask = async |page| changes.list(closed, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head = ["CHANGE", "KIND", "OBJECT", "VERDICT", "BY", "PROPOSED", "STATUS"];
            let nothing = if closed {
                ("No closed changes.", "ade changes list")
            } else {
                ("No pending changes.", "ade changes list --closed")
            };
            output.list(&found.items, &head, |change| row(change, output), nothing)?;
            cx.more(found.has_more, limit.limit);
        }
        ChangesCommand::Show(ChangeArg { id }) => {
            let change = changes.get(id).await?;
            output.show(&change, || shown(&change, output))?;
        }
        ChangesCommand::Publish(ChangeArg { id }) => {
            let body = changes.publish(id).await?;
            let what = format!("Published {id}; the change is in force");
            output.done(&body, &what, &format!("ade changes show {id}"))?;
        }
        ChangesCommand::Withdraw(ChangeArg { id }) => {
            let closed = changes.withdraw(id).await?;
            output.done(&closed, &format!("Withdrew {id}"), "ade changes list")?;
        }
        ChangesCommand::Object { change: ChangeArg { id }, reason } => {
            let closed = changes.object(id, &ChangeObjection { reason }).await?;
            let what = format!("Objected to {id}; it does not take effect");
            output.done(&closed, &what, "ade changes list")?;
        }
    }
    Ok(Exit::Done)
}

fn row(change: &PendingChange, output: &Output) -> Vec<Cell> {
    let (status, tone) = match (change.outcome, change.takes_effect_at) {
        (Some(outcome), _) => (word(&outcome), Tone::Quiet),
        (None, Some(at)) => (format!("takes effect {}", output.when(at)), Tone::Busy),
        (None, None) => (waits_for(change), Tone::Busy),
    };
    vec![
        Cell::new(change.id),
        Cell::new(visible(&change.kind)),
        Cell::new(output.name(&change.object, OBJECT_CHARS)),
        output.cell(&word(&change.verdict), verdict_tone(change.verdict)),
        Cell::new(change.proposed_by),
        Cell::new(output.when(change.proposed_at)),
        output.cell(&status, tone),
    ]
}

fn verdict_tone(verdict: Strictness) -> Tone {
    match verdict {
        Strictness::Same => Tone::Quiet,
        Strictness::Stricter => Tone::Good,
        Strictness::Mixed => Tone::Busy,
        Strictness::Looser => Tone::Bad,
    }
}

fn shown(change: &PendingChange, output: &Output) -> String {
    let id = change.id;
    let (status, next) = match (change.outcome, change.takes_effect_at) {
        (Some(outcome), _) => (word(&outcome), "ade changes list".to_owned()),
        (None, Some(_)) => (waits_for(change), format!("ade changes object {id} --reason TEXT")),
        (None, None) => {
            // A change that is too old cannot be published, so the server suggests no command.
            let suggested = change.next_action.command.as_deref().map(visible);
            let next = suggested.unwrap_or_else(|| format!("ade changes withdraw {id}"));
            (waits_for(change), next)
        }
    };
    let closed = change.closed_at.map(|at| match change.closed_by {
        Some(by) => format!("{by}, {}", output.when(at)),
        None => output.when(at),
    });
    let rows = [
        ("change", id.to_string()),
        ("object", named(&change.object)),
        ("verdict", word(&change.verdict)),
        ("by", format!("{}, {}", change.proposed_by, output.when(change.proposed_at))),
        ("reason", visible(change.reason.as_deref().unwrap_or_default())),
        ("status", status),
        ("closed", closed.unwrap_or_default()),
        ("objection", visible(change.objection.as_deref().unwrap_or_default())),
        ("advice", visible(&change.next_action.message)),
        ("next", output.paint.bold(&next)),
    ];
    let mut out = output.facts(&visible(&change.kind), &rows);
    if !change.findings.is_empty() {
        out.push('\n');
        out.push_str(&findings(&change.findings, output));
    }
    if !change.tasks.is_empty() {
        out.push_str("\nRecent tasks that would have needed fewer people:\n");
        out.push_str(&replayed_tasks(&change.tasks, output));
    }
    out
}

fn findings(findings: &[ChangeFinding], output: &Output) -> String {
    let row = |finding: &ChangeFinding| {
        let verdict = output.cell(&word(&finding.verdict), verdict_tone(finding.verdict));
        vec![verdict, Cell::new(named(&finding.sentence))]
    };
    output.table(&["VERDICT", "CONSEQUENCE"], findings.iter().map(row).collect())
}
