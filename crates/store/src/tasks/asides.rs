//! What a decision leaves beside the task: break-glass requests, executions, comments, reviews
//! that are owed, and what is only told.

use ade_core::ids::UserId;
use ade_core::task::{BreakGlass, Decision, Execution, Remains, Task, Write};
use serde_json::{Value, json};

use super::rows::{integer, text};
use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

pub(super) async fn break_glass(tx: &mut Tx, task: &Task, next: &Task) -> Result<(), Error> {
    let (before, after) = (task.break_glass.as_ref(), next.break_glass.as_ref());
    let is_same_request = |glass: &BreakGlass| {
        before.is_some_and(|before| {
            BreakGlass { confirmed: None, ..before.clone() }
                == BreakGlass { confirmed: None, ..glass.clone() }
        })
    };
    match after {
        Some(glass) if is_same_request(glass) => confirm(tx, next, glass).await,
        Some(glass) => {
            drop_live(tx, task).await?;
            ask(tx, next, glass).await
        }
        None => drop_live(tx, task).await,
    }
}

async fn drop_live(tx: &mut Tx, task: &Task) -> Result<(), Error> {
    let query = sqlx::query(
        "UPDATE override SET dropped_at = $3
          WHERE tenant_id = $1 AND task_id = $2 AND dropped_at IS NULL",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(Moment(tx.now()));
    tx.write(query).await?;
    Ok(())
}

async fn ask(tx: &mut Tx, task: &Task, glass: &BreakGlass) -> Result<(), Error> {
    let query = sqlx::query(
        "INSERT INTO override (tenant_id, task_id, revision, digest, asked_by, ticket, reason,
             asked_at, confirm_before)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(integer::<i32, _>("revision", glass.revision)?)
    .bind(glass.digest.bytes().to_vec())
    .bind(glass.asked_by.uuid())
    .bind(&glass.ticket)
    .bind(&glass.reason)
    .bind(Moment(tx.now()))
    .bind(Moment(glass.confirm_before));
    tx.write(query).await?;
    Ok(())
}

async fn confirm(tx: &mut Tx, task: &Task, glass: &BreakGlass) -> Result<(), Error> {
    let query = sqlx::query(
        "UPDATE override SET confirmed_by = $3, valid_until = $4
          WHERE tenant_id = $1 AND task_id = $2 AND dropped_at IS NULL
            AND confirmed_by IS NULL",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(glass.confirmed.map(|confirmed| confirmed.by.uuid()))
    .bind(glass.confirmed.map(|confirmed| Moment(confirmed.until)));
    tx.write_one(&task.id, query).await
}

pub(super) async fn execution(tx: &mut Tx, task: &Task, next: &Task) -> Result<(), Error> {
    let is_same_hold = |execution: &Execution| {
        task.execution.as_ref().is_some_and(|old| old.hold == execution.hold)
    };
    match &next.execution {
        Some(execution) if is_same_hold(execution) => mark(tx, next, execution).await,
        Some(execution) => start(tx, next, execution).await,
        None => {
            let query = sqlx::query(
                "UPDATE execution SET ended_at = $3
                  WHERE tenant_id = $1 AND task_id = $2 AND ended_at IS NULL",
            )
            .bind(tx.tenant().uuid())
            .bind(task.id.uuid())
            .bind(Moment(tx.now()));
            tx.write_one(&task.id, query).await
        }
    }
}

async fn start(tx: &mut Tx, task: &Task, execution: &Execution) -> Result<(), Error> {
    let query = sqlx::query(
        "INSERT INTO execution (tenant_id, task_id, revision, holder, lease_id, token,
             started_at, begun_at, abort_requested)
         VALUES ($1, $2, $3, $4::json, $5, $6, $7, $8, $9)",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(integer::<i32, _>("revision", task.revision)?)
    .bind(text(&execution.holder)?)
    .bind(execution.hold.lease.uuid())
    .bind(integer::<i64, _>("token", execution.hold.token)?)
    .bind(Moment(execution.started_at))
    .bind(execution.begun_at.map(Moment))
    .bind(execution.abort_requested);
    tx.write(query).await?;
    Ok(())
}

async fn mark(tx: &mut Tx, task: &Task, execution: &Execution) -> Result<(), Error> {
    let query = sqlx::query(
        "UPDATE execution SET begun_at = $3, abort_requested = $4
          WHERE tenant_id = $1 AND task_id = $2 AND lease_id = $5 AND ended_at IS NULL",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(execution.begun_at.map(Moment))
    .bind(execution.abort_requested)
    .bind(execution.hold.lease.uuid());
    tx.write_one(&task.id, query).await
}

/// Rows of writes that leave no trace on the task itself.
pub(super) async fn kept_beside(
    tx: &mut Tx,
    task: &Task,
    decision: &Decision,
) -> Result<(), Error> {
    for write in &decision.writes {
        match write {
            Write::Comment { text } => comment(tx, task, text).await?,
            Write::OpenAfterReview { due_at } => {
                let query = sqlx::query(
                    "INSERT INTO after_review (tenant_id, task_id, opened_at, due_at)
                     VALUES ($1, $2, $3, $4)",
                )
                .bind(tx.tenant().uuid())
                .bind(task.id.uuid())
                .bind(Moment(tx.now()))
                .bind(Moment(*due_at));
                tx.write(query).await?;
            }
            Write::LateReport { remains } => late_report(tx, task, *remains).await?,
            // Part of the task, or of what is told.
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
            | Write::Notify { .. }
            | Write::SetBasis(_)
            | Write::ClearBasis
            | Write::AskOverride(_)
            | Write::ConfirmOverride(_)
            | Write::DropOverride
            | Write::StartExecution(_)
            | Write::Begin
            | Write::RequestAbort
            | Write::EndExecution
            | Write::ResetAttempts
            | Write::NotBefore(_)
            | Write::FrontOfQueue => {}
        }
    }
    Ok(())
}

async fn comment(tx: &mut Tx, task: &Task, body: &str) -> Result<(), Error> {
    let query = sqlx::query(
        "INSERT INTO comment (tenant_id, task_id, actor, body, at)
         VALUES ($1, $2, $3::json, $4, $5)",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(text(tx.actor())?)
    .bind(body.to_owned())
    .bind(Moment(tx.now()));
    tx.write(query).await?;
    Ok(())
}

async fn late_report(tx: &mut Tx, task: &Task, remains: Option<Remains>) -> Result<(), Error> {
    let said = match remains {
        None => "finished",
        Some(Remains::Nothing) => "nothing",
        Some(Remains::RolledBack) => "rolled_back",
        Some(Remains::Changed) => "changed",
    };
    let query = sqlx::query(
        "UPDATE execution SET late_report = $3
          WHERE tenant_id = $1 AND task_id = $2 AND ended_at IS NULL",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(said);
    tx.write_one(&task.id, query).await
}

/// What subscribers must hear besides the state: who is to be notified, and which groups nobody
/// can meet.
pub(super) fn told(decision: &Decision) -> Vec<Value> {
    let mut told = Vec::new();
    for write in &decision.writes {
        if let Write::Notify { roles, people } = write {
            let people: Vec<String> = people.iter().map(UserId::to_string).collect();
            told.push(json!({ "notify": { "roles": roles, "people": people } }));
        }
        if let Write::TellShortages(shortages) = write {
            told.push(json!({ "shortages": shortages }));
        }
    }
    told
}
