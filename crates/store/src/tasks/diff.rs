//! The difference between a task before and after a decision, row by row; and the other rows that a
//! decision writes: comments, override reviews, and notifications.

use std::collections::BTreeSet;

use ade_core::actor::Actor;
use ade_core::approval::{Approval, VoteMark};
use ade_core::ids::UserId;
use ade_core::task::{BreakGlass, Decision, Execution, Notice, Remains, Task, Write};
use serde_json::{Value, json};

use super::RevisionContent;
use super::child_rows::{self, Parts};
use super::rows::{integer, text, word};
use super::write::{Batch, uuids};
use crate::error::StoreError;
use crate::timestamp::PgTimestamp;

/// Adds the rows around the row of the task that `Task::after` changed.
pub(super) fn difference(
    batch: &mut Batch,
    task: &Task,
    next: &Task,
    decision: &Decision,
    body: Option<&RevisionContent>,
) -> Result<(), StoreError> {
    if next.revision != task.revision {
        let body = body.ok_or_else(|| StoreError::Unstorable {
            value: format!("revision {} of {}", next.revision, next.id),
            why: "its body was not given".to_owned(),
        })?;
        let editor = decision.writes.iter().find_map(|write| match write {
            Write::Revise { editor, .. } => *editor,
            _ => None,
        });
        batch.revise(next, editor, body)?;
    }
    let parts = &mut batch.parts;
    if next.pins != task.pins {
        pins(parts, next)?;
    }
    approvals(parts, task, next)?;
    votes(parts, task, next)?;
    if next.break_glass != task.break_glass {
        break_glass(parts, task, next)?;
    }
    if next.execution != task.execution {
        execution(parts, task, next)?;
    }
    Ok(())
}

fn pins(parts: &mut Parts, next: &Task) -> Result<(), StoreError> {
    let id = next.id.uuid();
    parts.pinned.push(child_rows::Id { id });
    for (nth, pin) in (1..).zip(&next.pins) {
        let version = integer("version", pin.version)?;
        parts.pins.push(child_rows::Pin { id, policy: pin.id.uuid(), version, nth });
    }
    Ok(())
}

fn approvals(parts: &mut Parts, task: &Task, next: &Task) -> Result<(), StoreError> {
    let id = next.id.uuid();
    let changed = next.approvals.iter().filter(|approval| !task.approvals.contains(approval));
    for approval in changed {
        let (revision, reviewer) =
            (integer("revision", approval.revision)?, approval.reviewer.uuid());
        let status = word(&approval.status)?;
        // This is the usual change, and far cheaper than an insert that conflicts.
        let is_same_but_status =
            |known: &Approval| *known == Approval { status: known.status, ..approval.clone() };
        if task.approvals.iter().any(is_same_but_status) {
            parts.closed.push(child_rows::Close { id, revision, reviewer, status });
            continue;
        }
        parts.asked.push(child_rows::Ask {
            id,
            revision,
            reviewer,
            status,
            places: text(&approval.places)?,
            requested_at: PgTimestamp(approval.requested_at),
            due_at: PgTimestamp(approval.due_at),
            risk: i32::from(next.content.subject.risk.points()),
        });
    }
    Ok(())
}

fn votes(parts: &mut Parts, task: &Task, next: &Task) -> Result<(), StoreError> {
    let id = next.id.uuid();
    for vote in next.votes.iter().skip(task.votes.len()) {
        let carried_from = vote.carried_from.map(|from| integer("carried_from", from));
        parts.votes.push(child_rows::Vote {
            id,
            voter: vote.voter.uuid(),
            answer: word(&vote.answer)?,
            revision: integer("revision", vote.revision)?,
            digest: vote.digest.bytes().to_vec(),
            round: integer("round", vote.round)?,
            places: uuids(&vote.places),
            reason: vote.reason.clone(),
            at: PgTimestamp(vote.at),
            effectual: vote.effectual,
            carried_from: carried_from.transpose()?,
            marks: marks(&vote.marks),
        });
    }
    for (nth, (before, after)) in (0..).zip(task.votes.iter().zip(&next.votes)) {
        if after.withdrawn && !before.withdrawn {
            parts.withdrawals.push(child_rows::Withdrawal { id, nth });
        }
    }
    Ok(())
}

/// Returns the marks as an array literal; their names need no quotes.
fn marks(marks: &BTreeSet<VoteMark>) -> String {
    let names: Vec<&str> = marks.iter().map(|mark| mark.as_str()).collect();
    format!("{{{}}}", names.join(","))
}

fn break_glass(parts: &mut Parts, task: &Task, next: &Task) -> Result<(), StoreError> {
    let id = next.id.uuid();
    let before = task.break_glass.as_ref();
    let is_same_request = |glass: &BreakGlass| {
        before.is_some_and(|before| {
            BreakGlass { confirmed: None, ..before.clone() }
                == BreakGlass { confirmed: None, ..glass.clone() }
        })
    };
    let Some(glass) = &next.break_glass else {
        parts.dropped.push(child_rows::Id { id });
        return Ok(());
    };
    if is_same_request(glass) {
        if let Some(confirmed) = glass.confirmed {
            parts.confirmations.push(child_rows::Confirm {
                id,
                confirmed_by: confirmed.by.uuid(),
                valid_until: PgTimestamp(confirmed.until),
            });
        }
        return Ok(());
    }
    parts.dropped.push(child_rows::Id { id });
    parts.overrides.push(child_rows::Override {
        id,
        revision: integer("revision", glass.revision)?,
        digest: glass.digest.bytes().to_vec(),
        asked_by: glass.asked_by.uuid(),
        ticket: glass.ticket.clone(),
        reason: glass.reason.clone(),
        confirm_before: PgTimestamp(glass.confirm_before),
    });
    Ok(())
}

fn execution(parts: &mut Parts, task: &Task, next: &Task) -> Result<(), StoreError> {
    let id = next.id.uuid();
    let is_same_hold = |execution: &Execution| {
        task.execution.as_ref().is_some_and(|old| old.hold == execution.hold)
    };
    match &next.execution {
        None => parts.ends.push(child_rows::Id { id }),
        Some(execution) if is_same_hold(execution) => parts.marks.push(child_rows::Mark {
            id,
            lease: execution.hold.lease.uuid(),
            begun_at: execution.begun_at.map(PgTimestamp),
            abort_requested: execution.abort_requested,
        }),
        Some(execution) => parts.starts.push(child_rows::Start {
            id,
            execution: execution.id.uuid(),
            attempt: integer("attempts", next.attempts)?,
            revision: integer("revision", next.revision)?,
            holder: text(&execution.holder)?,
            lease: execution.hold.lease.uuid(),
            token: integer("token", execution.hold.token)?,
            started_at: PgTimestamp(execution.started_at),
            begun_at: execution.begun_at.map(PgTimestamp),
            abort_requested: execution.abort_requested,
        }),
    }
    Ok(())
}

/// Adds the rows of writes that do not change the task itself.
pub(super) fn kept_beside(
    parts: &mut Parts,
    task: &Task,
    decision: &Decision,
    actor: &Actor,
) -> Result<(), StoreError> {
    let id = task.id.uuid();
    for Notice { event, roles, people } in decision.notices(task) {
        let to = |person, role| child_rows::Notice { id, kind: event.as_str(), person, role };
        let people = people.iter().map(|person| to(Some(person.uuid()), None));
        let roles = roles.iter().map(|role| to(None, Some(role.as_str().to_owned())));
        people.chain(roles).for_each(|notice| parts.notices.push(notice));
    }
    for write in &decision.writes {
        match write {
            Write::Comment { text: body } => {
                let (actor, body) = (text(actor)?, body.clone());
                parts.comments.push(child_rows::Comment { id, actor, body });
            }
            Write::OpenAfterReview { due_at } => {
                parts.reviews.push(child_rows::Review { id, due_at: PgTimestamp(*due_at) });
            }
            Write::LateReport { remains } => {
                parts.reports.push(child_rows::LateReport { id, said: said(*remains) });
            }
            // These are part of the task or of the notifications.
            Write::Revise { .. }
            | Write::CarryVotes(_)
            | Write::Pin { .. }
            | Write::OpenReview
            | Write::Ask { .. }
            | Write::TellShortages(_)
            | Write::CloseApprovals { .. }
            | Write::CloseApproval { .. }
            | Write::Record(_)
            | Write::WithdrawVote { .. }
            | Write::NextRound
            | Write::EscalatedTo(_)
            | Write::ExtendTo(_)
            | Write::Notify { .. }
            | Write::SetBasis(_)
            | Write::ClearBasis
            | Write::Decide(_)
            | Write::AskOverride(_)
            | Write::ConfirmOverride(_)
            | Write::DropOverride
            | Write::StartExecution(_)
            | Write::Begin
            | Write::RequestAbort
            | Write::EndExecution
            | Write::ReleaseToHost
            | Write::ResetAttempts
            | Write::NotBefore(_)
            | Write::FrontOfQueue => {}
        }
    }
    Ok(())
}

fn said(remains: Option<Remains>) -> &'static str {
    match remains {
        None => "finished",
        Some(Remains::Nothing) => "nothing",
        Some(Remains::RolledBack) => "rolled_back",
        Some(Remains::Changed) => "changed",
    }
}

/// Returns what subscribers need besides the state: who must be notified, and which groups can
/// never be satisfied.
pub(super) fn notices(decision: &Decision) -> Vec<Value> {
    let mut notices = Vec::new();
    for write in &decision.writes {
        if let Write::Notify { roles, people } = write {
            let people: Vec<String> = people.iter().map(UserId::to_string).collect();
            notices.push(json!({ "notify": { "roles": roles, "people": people } }));
        }
        if let Write::TellShortages(shortages) = write {
            notices.push(json!({ "shortages": shortages }));
        }
    }
    notices
}
