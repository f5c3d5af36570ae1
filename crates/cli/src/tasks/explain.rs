//! Why a task is where it is, who was asked and what they said.

use std::fmt::Write as _;
use std::path::Path;

use ade_api::explain::{Explanation, Gate, Group};
use ade_api::policies::Simulated;
use ade_api::tasks::NewTask;
use ade_client::{Client, gather};
use ade_core::ids::TaskId;
use comfy_table::Cell;

use super::Ended;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::look;
use crate::output::{Paint, Tone};
use crate::text::visible;

/// Comments that are shown.
const COMMENTS: usize = 200;
/// A reason in a table.
const REASON_CHARS: usize = 40;

pub async fn explain(client: &Client, id: TaskId, cx: &Context) -> Ended {
    let explanation = client.tasks().explain(id).await?;
    cx.output.show(&explanation, || {
        let state = look::state_text(explanation.state, cx.output.paint);
        format!("{id}  {state}\n{}", whole(&explanation, cx.output.paint))
    })?;
    Ok(Exit::Done)
}

fn whole(explanation: &Explanation, paint: Paint) -> String {
    let mut out = String::new();
    for gate in &explanation.gates {
        out.push_str(&line(gate, paint));
    }
    out.push_str(&groups(&explanation.groups, paint));
    if !explanation.may_answer.is_empty() {
        let _ = writeln!(out, "  may answer");
        for reviewer in &explanation.may_answer {
            let because: Vec<String> = reviewer.because.iter().map(|why| visible(why)).collect();
            let _ = writeln!(out, "    {}  {}", reviewer.user, because.join(", "));
        }
    }
    let missing = explanation.approvals_missing;
    let _ = writeln!(out, "  {:<8} {missing}", "missing");
    let _ = writeln!(out, "  {:<8} {}", "means", visible(&explanation.next_action));
    out
}

/// Also for whoever asks whether something may be applied.
pub fn line(gate: &Gate, paint: Paint) -> String {
    let mark = if gate.is_open { paint.green("✓") } else { paint.yellow("○") };
    let mut out = format!("  {mark} {:<10} {}\n", visible(&gate.name), visible(&gate.evidence));
    if let Some(how) = gate.opens_with.as_ref().filter(|_| !gate.is_open) {
        let _ = writeln!(out, "               {}", visible(how));
    }
    out
}

fn groups(groups: &[Group], paint: Paint) -> String {
    let mut out = String::new();
    for group in groups {
        let members: Vec<String> = group.members.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {:<8} {} of {}", "needs", group.min, members.join(", "));
        for excluded in &group.excluded {
            let text = format!("not {}: {}", excluded.user, visible(&excluded.because));
            let _ = writeln!(out, "           {}", paint.dim(&text));
        }
    }
    out
}

pub async fn simulate(client: &Client, file: &Path, cx: &Context) -> Ended {
    let new: NewTask = context::read(file)?;
    let simulated = client.policies().simulate(&new).await?;
    cx.output.show(&simulated, || told(&simulated, cx.output.paint))?;
    Ok(Exit::Done)
}

fn told(simulated: &Simulated, paint: Paint) -> String {
    let person = if simulated.would_pass_without_a_person {
        paint.yellow("it would pass without a person")
    } else {
        "people would be asked".to_owned()
    };
    let risk = look::bars(simulated.risk.risk);
    let effect = super::effect(&simulated.effect, paint);
    let whole = whole(&simulated.explanation, paint);
    format!("Nothing was written: {person}\n  {:<8} {risk}\n{effect}{whole}", "risk")
}

pub async fn approvals(client: &Client, id: TaskId, cx: &Context) -> Ended {
    let all = client.tasks().approvals(id).await?;
    let output = &cx.output;
    output.show(&all, || {
        let asked = all.approvals.iter().map(|approval| {
            vec![
                Cell::new(approval.id),
                Cell::new(approval.reviewer),
                Cell::new(word(&approval.status)),
                Cell::new(approval.revision),
                output.cell(&output.when(approval.due_at), late(approval.overdue)),
            ]
        });
        let head = ["REQUEST", "REVIEWER", "STATUS", "REV", "DUE"];
        let mut out = output.table(&head, asked.collect());
        if all.votes.is_empty() {
            return out;
        }
        let votes = all.votes.iter().map(|vote| {
            let counts = if vote.withdrawn { "withdrawn" } else { look::yes(vote.effectual) };
            let reason = vote.reason.as_deref().unwrap_or_default();
            vec![
                Cell::new(vote.voter),
                Cell::new(word(&vote.answer)),
                Cell::new(vote.revision),
                Cell::new(counts),
                Cell::new(output.when(vote.at)),
                Cell::new(output.text(reason, REASON_CHARS)),
            ]
        });
        out.push('\n');
        let head = ["VOTER", "ANSWER", "REV", "COUNTS", "WHEN", "REASON"];
        out.push_str(&output.table(&head, votes.collect()));
        out
    })?;
    Ok(Exit::Done)
}

fn late(is_overdue: bool) -> Tone {
    if is_overdue { Tone::Bad } else { Tone::Plain }
}

/// As the API writes it.
pub fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_lowercase().replace('_', " ")
}

pub async fn comments(client: &Client, id: TaskId, cx: &Context) -> Ended {
    let ask = async |page| client.tasks().comments(id, &page).await;
    let found = gather(COMMENTS, ask).await?;
    let output = &cx.output;
    output.show(&found.items, || {
        if found.items.is_empty() {
            return format!("No comments.\n  next     ade tasks comment {id} TEXT\n");
        }
        let mut out = String::new();
        for comment in &found.items {
            let by = ["id", "worker"].iter().find_map(|name| comment.by.get(name)?.as_str());
            let by = visible(by.unwrap_or("somebody"));
            let head = format!("{by} · {}", output.when(comment.at));
            let _ = writeln!(out, "{}\n  {}", output.paint.dim(&head), visible(&comment.text));
        }
        out
    })?;
    Ok(Exit::Done)
}
