//! Explains the state of a task, its approval requests, votes and comments.

use std::fmt::Write as _;
use std::path::Path;

use ade_api::explain::{Explanation, Gate, Group};
use ade_api::policies::Evaluation;
use ade_api::tasks::NewTask;
use ade_client::{Client, gather};
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use super::Ended;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::look;
use crate::output::{Paint, Tone};
use crate::text::visible;

/// The maximum number of comments to show.
const COMMENTS: usize = 200;
/// The maximum length of a reason in a table.
const REASON_CHARS: usize = 40;

pub async fn explain(client: &Client, id: TaskRef, cx: &Context) -> Ended {
    let explanation = client.tasks().explain(id).await?;
    cx.output.show(&explanation, || {
        let state = look::state_text(explanation.state, cx.output.paint);
        format!("{id}  {state}\n{}", whole(&explanation, cx.output.paint))
    })?;
    Ok(Exit::Done)
}

fn whole(explanation: &Explanation, paint: Paint) -> String {
    let mut out = String::new();
    if let Some(decision) = &explanation.decision {
        let _ = writeln!(out, "  {:<8} {}", "decision", super::shown::decided(decision));
    }
    for gate in &explanation.gates {
        out.push_str(&line(gate, paint));
    }
    out.push_str(&groups(&explanation.groups, paint));
    if !explanation.may_answer.is_empty() {
        let _ = writeln!(out, "  may decide");
        for reviewer in &explanation.may_answer {
            let because: Vec<String> = reviewer.because.iter().map(|why| visible(why)).collect();
            let _ = writeln!(out, "    {}  {}", reviewer.user_id, because.join(", "));
        }
    }
    let missing = explanation.approvals_missing;
    let _ = writeln!(out, "  {:<8} {missing}", "missing");
    let _ = writeln!(out, "  {:<8} {}", "advice", visible(&explanation.next_action.message));
    out
}

/// Formats a gate; `ade can-i apply` uses it too.
pub fn line(gate: &Gate, paint: Paint) -> String {
    let mark = if gate.passed { paint.green("✓") } else { paint.yellow("○") };
    let mut out = format!("  {mark} {:<10} {}\n", visible(&gate.name), visible(&gate.evidence));
    if let Some(how) = gate.how_to_pass.as_ref().filter(|_| !gate.passed) {
        let _ = writeln!(out, "               {}", visible(how));
    }
    out
}

fn groups(groups: &[Group], paint: Paint) -> String {
    let mut out = String::new();
    for group in groups {
        let members: Vec<String> = group.member_ids.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {:<8} {} of {}", "needs", group.min, members.join(", "));
        for excluded in &group.excluded {
            let text = format!("not {}: {}", excluded.user_id, visible(&excluded.because));
            let _ = writeln!(out, "           {}", paint.dim(&text));
        }
    }
    out
}

pub async fn evaluate(client: &Client, file: &Path, cx: &Context) -> Ended {
    let new: NewTask = context::read(file)?;
    let evaluation = client.tasks().evaluate(&new).await?;
    cx.output.show(&evaluation, || evaluation_text(&evaluation, cx.output.paint))?;
    Ok(Exit::Done)
}

fn evaluation_text(evaluation: &Evaluation, paint: Paint) -> String {
    let person = if evaluation.would_pass_without_a_person {
        paint.yellow("the task would be approved without a person")
    } else {
        "the task would need approval".to_owned()
    };
    let risk = look::bars(evaluation.risk.risk);
    let effect = super::effect(&evaluation.effect, paint);
    let whole = whole(&evaluation.explanation, paint);
    format!("Evaluation, nothing was saved: {person}\n  {:<8} {risk}\n{effect}{whole}", "risk")
}

pub async fn approvals(client: &Client, id: TaskRef, cx: &Context) -> Ended {
    let all = client.tasks().approvals(id).await?;
    let output = &cx.output;
    output.show(&all, || {
        let asked = all.approvals.iter().map(|approval| {
            vec![
                Cell::new(approval.id),
                Cell::new(approval.reviewer_id),
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
            let counts = if vote.withdrawn { "withdrawn" } else { look::yes(vote.counted) };
            let reason = vote.reason.as_deref().unwrap_or_default();
            let marks: Vec<String> = vote.marks.iter().map(word).collect();
            vec![
                Cell::new(vote.voter_id),
                Cell::new(word(&vote.answer)),
                Cell::new(vote.revision),
                Cell::new(counts),
                output.cell(&marks.join(", "), marked(&marks)),
                Cell::new(output.when(vote.at)),
                Cell::new(output.text(reason, REASON_CHARS)),
            ]
        });
        out.push('\n');
        let head = ["VOTER", "VOTE", "REV", "COUNTS", "MARKS", "WHEN", "REASON"];
        out.push_str(&output.table(&head, votes.collect()));
        out
    })?;
    Ok(Exit::Done)
}

fn marked(marks: &[String]) -> Tone {
    if marks.is_empty() { Tone::Plain } else { Tone::Bad }
}

fn late(is_overdue: bool) -> Tone {
    if is_overdue { Tone::Bad } else { Tone::Plain }
}

/// Returns a value as the API spells it.
pub fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_lowercase().replace('_', " ")
}

pub async fn comments(client: &Client, id: TaskRef, cx: &Context) -> Ended {
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
            let by = visible(by.unwrap_or("unknown"));
            let head = format!("{by} · {}", output.when(comment.at));
            let _ = writeln!(out, "{}\n  {}", output.paint.dim(&head), visible(&comment.text));
        }
        out
    })?;
    Ok(Exit::Done)
}
