//! The rows of a decision. Each statement is set-based and keeps to one table; the guarded one
//! comes first and locks the task, so that the rest is written by whoever won.

use ade_core::actor::Role;
use ade_core::approval::{Approval, Vote};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::task::{Decision, Task, Write};
use ade_core::time::Timestamp;
use uuid::Uuid;

use super::rows::{integer, text, word};
use super::{Body, Heading, asides};
use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

pub(super) async fn task(tx: &mut Tx, task: &Task, heading: &Heading) -> Result<i64, Error> {
    let people = &task.involvement;
    let query = sqlx::query_as::<_, (i64,)>(
        "WITH next AS (
             INSERT INTO task_number AS n (tenant_id, last) VALUES ($1, 1)
             ON CONFLICT ON CONSTRAINT task_number_pkey DO UPDATE SET last = n.last + 1
             RETURNING last)
         INSERT INTO task (tenant_id, id, number, state, since, version, revision, title,
             task_type, priority, risk, level, digest, author_id, agent_id, submitter_id,
             editors, team, ticket, resubmits, created_at, updated_at)
         SELECT $1, $2, last, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                $17, $18, $19, $4, $4
           FROM next
         RETURNING number",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(task.state.as_str())
    .bind(Moment(task.since))
    .bind(integer::<i64, _>("version", task.version)?)
    .bind(integer::<i32, _>("revision", task.revision)?)
    .bind(&heading.title)
    .bind(&task.content.subject.task_type)
    .bind(i16::from(heading.priority))
    .bind(i16::from(task.content.subject.risk.points()))
    .bind(word(&task.content.level)?)
    .bind(task.content.digest.bytes().to_vec())
    .bind(people.author.uuid())
    .bind(people.agent.map(AgentId::uuid))
    .bind(people.submitter.map(UserId::uuid))
    .bind(uuids(&people.editors))
    .bind(&heading.team)
    .bind(&heading.ticket)
    .bind(heading.resubmits.map(TaskId::uuid));
    let rows = tx.write_rows(query).await?;
    rows.first().map(|(number,)| *number).ok_or(Error::Conflict { object: task.id.to_string() })
}

pub(super) async fn revision(
    tx: &mut Tx,
    task: &Task,
    editor: Option<UserId>,
    body: &Body,
) -> Result<(), Error> {
    let content = &task.content;
    let subject = &content.subject;
    let roles: Vec<&str> = subject.author_roles.iter().map(Role::as_str).collect();
    let resources: Vec<String> = subject.resources.iter().map(ToString::to_string).collect();
    let modes: Vec<Option<String>> =
        subject.resources.iter().map(|resource| body.modes.get(resource).cloned()).collect();
    let query = sqlx::query(
        "WITH revision AS (
             INSERT INTO task_revision (tenant_id, task_id, revision, digest, shape, task_type,
                 risk, level, origin, author_kind, author_roles, parameters, effect,
                 preview_versions, editor_id, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::json, $13::json,
                 $14::json, $15, $16)),
         resources AS (
             INSERT INTO task_resource (tenant_id, task_id, revision, resource, mode)
             SELECT $1, $2, $3, resource, mode
               FROM unnest($17::text[], $18::text[]) AS listed (resource, mode))
         INSERT INTO task_tag (tenant_id, task_id, revision, tag)
         SELECT $1, $2, $3, tag FROM unnest($19::text[]) AS listed (tag)",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(integer::<i32, _>("revision", task.revision)?)
    .bind(content.digest.bytes().to_vec())
    .bind(content.shape.bytes().to_vec())
    .bind(&subject.task_type)
    .bind(i16::from(subject.risk.points()))
    .bind(word(&content.level)?)
    .bind(word(&subject.origin)?)
    .bind(word(&subject.author_kind)?)
    .bind(roles)
    .bind(text(&body.parameters)?)
    .bind(text(&body.effect)?)
    .bind(text(&body.versions)?)
    .bind(editor.map(UserId::uuid))
    .bind(Moment(tx.now()))
    .bind(resources)
    .bind(modes)
    .bind(subject.tags.iter().cloned().collect::<Vec<String>>());
    tx.write(query).await?;
    Ok(())
}

pub(super) async fn delete_if_unchanged(tx: &mut Tx, task: &Task) -> Result<(), Error> {
    let query = sqlx::query(
        "DELETE FROM task WHERE tenant_id = $1 AND id = $2 AND state = $3 AND version = $4",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(task.state.as_str())
    .bind(integer::<i64, _>("version", task.version)?);
    tx.write_one(&task.id, query).await
}

pub(super) async fn update_if_unchanged(
    tx: &mut Tx,
    task: &Task,
    next: &Task,
    decision: &Decision,
) -> Result<(), Error> {
    let closed_at = next.is_closed().then_some(Moment(next.since));
    let basis = next.basis.as_ref().map(text).transpose()?;
    let query = sqlx::query(
        "UPDATE task SET state = $5, since = $6, version = $7, revision = $8, task_type = $9,
                risk = $10, level = $11, digest = $12, submitter_id = $13, editors = $14,
                round = $15, review_opened_at = $16, escalated_to_us = $17, basis = $18::json,
                attempts = $19, closed_at = $20, updated_at = $21,
                not_before = CASE WHEN $5 = 'APPROVED' THEN $22 END,
                hurried_at = CASE WHEN $23 THEN $21 ELSE hurried_at END
          WHERE tenant_id = $1 AND id = $2 AND state = $3 AND version = $4",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(task.state.as_str())
    .bind(integer::<i64, _>("version", task.version)?)
    .bind(next.state.as_str())
    .bind(Moment(next.since))
    .bind(integer::<i64, _>("version", next.version)?)
    .bind(integer::<i32, _>("revision", next.revision)?)
    .bind(&next.content.subject.task_type)
    .bind(i16::from(next.content.subject.risk.points()))
    .bind(word(&next.content.level)?)
    .bind(next.content.digest.bytes().to_vec())
    .bind(next.involvement.submitter.map(UserId::uuid))
    .bind(uuids(&next.involvement.editors))
    .bind(integer::<i32, _>("round", next.round)?)
    .bind(next.review_opened_at.map(Moment))
    .bind(integer::<i64, _>("escalated_to_us", next.escalated_to.as_micros())?)
    .bind(basis)
    .bind(integer::<i32, _>("attempts", next.attempts)?)
    .bind(closed_at)
    .bind(Moment(tx.now()))
    .bind(not_before(decision).map(Moment))
    .bind(decision.writes.contains(&Write::FrontOfQueue));
    tx.write_one(&task.id, query).await
}

fn not_before(decision: &Decision) -> Option<Timestamp> {
    decision.writes.iter().find_map(|write| match write {
        Write::NotBefore(at) => Some(*at),
        _ => None,
    })
}

/// What `Task::after` changed in the tables around the task's row.
pub(super) async fn difference(
    tx: &mut Tx,
    task: &Task,
    next: &Task,
    decision: &Decision,
    body: Option<&Body>,
) -> Result<(), Error> {
    if next.revision != task.revision {
        let body = body.ok_or_else(|| Error::Unstorable {
            value: format!("revision {} of {}", next.revision, next.id),
            why: "its body was not given".to_owned(),
        })?;
        let editor = decision.writes.iter().find_map(|write| match write {
            Write::Revise { editor, .. } => *editor,
            _ => None,
        });
        revision(tx, next, editor, body).await?;
    }
    if next.pins != task.pins {
        pins(tx, next).await?;
    }
    let asked: Vec<&Approval> =
        next.approvals.iter().filter(|approval| !task.approvals.contains(approval)).collect();
    if !asked.is_empty() {
        approvals(tx, next, &asked).await?;
    }
    let known = task.votes.len();
    if let Some(fresh) = next.votes.get(known..).filter(|fresh| !fresh.is_empty()) {
        votes(tx, next, fresh).await?;
    }
    for (place, (before, after)) in task.votes.iter().zip(&next.votes).enumerate() {
        if after.withdrawn && !before.withdrawn {
            withdrawal(tx, next, place).await?;
        }
    }
    if next.break_glass != task.break_glass {
        asides::break_glass(tx, task, next).await?;
    }
    if next.execution != task.execution {
        asides::execution(tx, task, next).await?;
    }
    Ok(())
}

async fn pins(tx: &mut Tx, task: &Task) -> Result<(), Error> {
    // Two statements: rows that one statement deletes still stand in the way of its inserts.
    let cleared = sqlx::query("DELETE FROM task_policy_pin WHERE tenant_id = $1 AND task_id = $2")
        .bind(tx.tenant().uuid())
        .bind(task.id.uuid());
    tx.write(cleared).await?;
    let versions = task
        .pins
        .iter()
        .map(|pin| integer::<i32, _>("version", pin.version))
        .collect::<Result<Vec<i32>, Error>>()?;
    let query = sqlx::query(
        "INSERT INTO task_policy_pin (tenant_id, task_id, policy_id, version, place)
         SELECT $1, $2, policy, version, place
           FROM unnest($3::uuid[], $4::int4[]) WITH ORDINALITY AS pin (policy, version, place)",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(task.pins.iter().map(|pin| pin.id.uuid()).collect::<Vec<Uuid>>())
    .bind(versions);
    tx.write(query).await?;
    Ok(())
}

async fn approvals(tx: &mut Tx, task: &Task, asked: &[&Approval]) -> Result<(), Error> {
    let mut revisions = Vec::new();
    let mut statuses = Vec::new();
    let mut places = Vec::new();
    for approval in asked {
        revisions.push(integer::<i32, _>("revision", approval.revision)?);
        statuses.push(word(&approval.status)?);
        places.push(text(&approval.places)?);
    }
    let query = sqlx::query(
        "INSERT INTO approval (tenant_id, task_id, revision, reviewer_id, status, places,
             requested_at, due_at)
         SELECT $1, $2, revision, reviewer, status, places::json, requested_at, due_at
           FROM unnest($3::int4[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[],
                       $8::timestamptz[]) WITH ORDINALITY
                AS asked (revision, reviewer, status, places, requested_at, due_at, place)
          ORDER BY place
         ON CONFLICT ON CONSTRAINT approval_pkey DO UPDATE
            SET status = excluded.status, places = excluded.places, due_at = excluded.due_at",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(revisions)
    .bind(asked.iter().map(|approval| approval.reviewer.uuid()).collect::<Vec<Uuid>>())
    .bind(statuses)
    .bind(places)
    .bind(asked.iter().map(|approval| Moment(approval.requested_at)).collect::<Vec<Moment>>())
    .bind(asked.iter().map(|approval| Moment(approval.due_at)).collect::<Vec<Moment>>());
    tx.write(query).await?;
    Ok(())
}

/// One by one: there are as many as one person gives, or as an amendment carries over.
async fn votes(tx: &mut Tx, task: &Task, votes: &[Vote]) -> Result<(), Error> {
    for vote in votes {
        let carried_from =
            vote.carried_from.map(|from| integer::<i32, _>("carried_from", from)).transpose()?;
        let query = sqlx::query(
            "INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round,
                 places, reason, at, effectual, carried_from)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(tx.tenant().uuid())
        .bind(task.id.uuid())
        .bind(vote.voter.uuid())
        .bind(word(&vote.answer)?)
        .bind(integer::<i32, _>("revision", vote.revision)?)
        .bind(vote.digest.bytes().to_vec())
        .bind(integer::<i32, _>("round", vote.round)?)
        .bind(uuids(&vote.places))
        .bind(&vote.reason)
        .bind(Moment(vote.at))
        .bind(vote.effectual)
        .bind(carried_from);
        tx.write(query).await?;
    }
    Ok(())
}

/// The task's row is locked, so the votes stand in the order in which they were loaded.
async fn withdrawal(tx: &mut Tx, task: &Task, place: usize) -> Result<(), Error> {
    let query = sqlx::query(
        "INSERT INTO vote_withdrawal (tenant_id, task_id, vote_seq, at)
         SELECT tenant_id, task_id, seq, $4 FROM vote
          WHERE tenant_id = $1 AND task_id = $2 ORDER BY seq OFFSET $3 LIMIT 1",
    )
    .bind(tx.tenant().uuid())
    .bind(task.id.uuid())
    .bind(i64::try_from(place).unwrap_or(i64::MAX))
    .bind(Moment(tx.now()));
    tx.write_one(&task.id, query).await
}

fn uuids<'a>(people: impl IntoIterator<Item = &'a UserId>) -> Vec<Uuid> {
    people.into_iter().map(|id| id.uuid()).collect()
}
