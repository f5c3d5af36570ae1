//! From the record's words to the wire's. Nothing is decided here; what a caller may see was
//! asked before.

use ade_api::approvals::{Approval, AskedTask, Vote};
use ade_api::tasks::{
    Change, Comment, Counts, Effect, Factor, Mode, Revision, RevisionHead, Risk, RiskAssessment,
    Rollback, RollbackStrategy, Task, TaskSummary, TouchedResource,
};
use ade_core::approval;
use ade_core::change::{self, StrictValue};
use ade_core::resource::ResourceRef;
use ade_core::risk::{Assessment, Level, Score};
use ade_core::task::{self, State};
use ade_core::time::Timestamp;
use ade_store::approvals::Request;
use ade_store::tasks::{self, Body, Label, Summary, View};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

/// What was kept is JSON already; what cannot be shown is told, not hidden.
pub fn value(of: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(of).map_err(|error| Error::invalid("answer", error))
}

fn risk(score: Score, level: Level) -> Risk {
    Risk { score: score.points(), level }
}

fn mode(text: Option<&String>) -> Option<Mode> {
    text.and_then(|text| Mode::parse(text))
}

fn strict(of: Option<&StrictValue>) -> Result<Option<Value>, Error> {
    of.map(value).transpose()
}

pub fn effect(effect: &change::Effect) -> Result<Effect, Error> {
    let counts = effect.counts();
    let changes = effect.changes().iter().map(|change| {
        Ok(Change {
            resource: change.resource.clone(),
            action: change.action,
            irreversible: change.irreversible,
            summary: change.summary.clone(),
            before: strict(change.before.as_ref())?,
            after: strict(change.after.as_ref())?,
        })
    });
    Ok(Effect {
        origin: effect.origin(),
        counts: Counts {
            adds: counts.adds,
            changes: counts.changes,
            removes: counts.removes,
            irreversible: counts.irreversible,
        },
        changes: changes.collect::<Result<_, Error>>()?,
        warnings: effect.warnings().to_vec(),
        errors: effect.errors().to_vec(),
    })
}

/// A task as a decision has just left it.
pub fn decided(label: &Label, task: &task::Task, now: Timestamp) -> TaskSummary {
    TaskSummary {
        id: task.id,
        number: label.number,
        title: label.heading.title.clone(),
        task_type: task.content.subject.task_type.clone(),
        state: task.state,
        since: task.since,
        version: task.version,
        revision: task.revision,
        digest: task.content.digest,
        risk: risk(task.content.subject.risk, task.content.level),
        priority: label.heading.priority,
        author: task.involvement.author,
        agent: task.involvement.agent,
        submitter: task.involvement.submitter,
        team: label.heading.team.clone(),
        ticket: label.heading.ticket.clone(),
        created_at: label.created_at,
        updated_at: now,
        closed_at: task.is_closed().then_some(task.since),
    }
}

/// The whole of it, where the decision made a new content or left the old one.
pub fn decided_with(
    label: &Label,
    task: &task::Task,
    body: &Body,
    now: Timestamp,
) -> Result<Task, Error> {
    let subject = &task.content.subject;
    Ok(Task {
        summary: decided(label, task, now),
        parameters: value(&body.parameters)?,
        resources: subject
            .resources
            .iter()
            .map(|resource| touched(resource, body.modes.get(resource)))
            .collect(),
        tags: subject.tags.clone(),
        effect: effect(&body.effect)?,
        timeout_seconds: label.heading.timeout_seconds,
        rollback: rollback(&label.heading.rollback),
        resubmits: label.heading.resubmits,
        next_action: next_action(task.state).to_owned(),
    })
}

/// The whole of it, with a content that the decision left as it was.
pub fn decided_whole(
    label: &Label,
    task: &task::Task,
    revision: &tasks::Revision,
    now: Timestamp,
) -> Result<Task, Error> {
    let resources = revision.resources.iter();
    Ok(Task {
        summary: decided(label, task, now),
        parameters: value(&revision.parameters)?,
        resources: resources.map(|(name, mode)| touched(name, mode.as_ref())).collect(),
        tags: revision.tags.iter().cloned().collect(),
        effect: effect(&revision.effect)?,
        timeout_seconds: label.heading.timeout_seconds,
        rollback: rollback(&label.heading.rollback),
        resubmits: label.heading.resubmits,
        next_action: next_action(task.state).to_owned(),
    })
}

fn rollback(rollback: &task::Rollback) -> Rollback {
    let strategy = match rollback {
        task::Rollback::Automatic => RollbackStrategy::Automatic,
        task::Rollback::Manual { .. } => RollbackStrategy::Manual,
        task::Rollback::None => RollbackStrategy::None,
    };
    Rollback { strategy, steps: rollback.steps().map(str::to_owned) }
}

fn touched(resource: &ResourceRef, text: Option<&String>) -> TouchedResource {
    TouchedResource { resource: resource.clone(), mode: mode(text) }
}

pub fn viewed(view: &View) -> Result<Task, Error> {
    let revision = &view.revision;
    Ok(Task {
        summary: TaskSummary {
            id: view.id,
            number: view.number,
            title: view.heading.title.clone(),
            task_type: revision.head.task_type.clone(),
            state: view.state,
            since: view.since,
            version: view.version,
            revision: revision.head.revision,
            digest: revision.head.digest,
            risk: risk(revision.head.risk, revision.head.level),
            priority: view.heading.priority,
            author: view.involvement.author,
            agent: view.involvement.agent,
            submitter: view.involvement.submitter,
            team: view.heading.team.clone(),
            ticket: view.heading.ticket.clone(),
            created_at: view.created_at,
            updated_at: view.updated_at,
            closed_at: view.closed_at,
        },
        parameters: value(&revision.parameters)?,
        resources: revision.resources.iter().map(|(r, mode)| touched(r, mode.as_ref())).collect(),
        tags: revision.tags.iter().cloned().collect(),
        effect: effect(&revision.effect)?,
        timeout_seconds: view.heading.timeout_seconds,
        rollback: rollback(&view.heading.rollback),
        resubmits: view.heading.resubmits,
        next_action: next_action(view.state).to_owned(),
    })
}

pub fn listed(summary: Summary) -> TaskSummary {
    TaskSummary {
        id: summary.id,
        number: summary.number,
        title: summary.title,
        task_type: summary.task_type,
        state: summary.state,
        since: summary.since,
        version: summary.version,
        revision: summary.revision,
        digest: summary.digest,
        risk: risk(summary.risk, summary.level),
        priority: summary.priority,
        author: summary.author,
        agent: summary.agent,
        submitter: summary.submitter,
        team: summary.team,
        ticket: summary.ticket,
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        closed_at: summary.closed_at,
    }
}

pub fn revision_head(head: &tasks::RevisionHead) -> RevisionHead {
    RevisionHead {
        revision: head.revision,
        digest: head.digest,
        task_type: head.task_type.clone(),
        risk: risk(head.risk, head.level),
        origin: head.origin,
        editor: head.editor,
        created_at: head.created_at,
    }
}

pub fn revision(revision: &tasks::Revision) -> Result<Revision, Error> {
    Ok(Revision {
        head: revision_head(&revision.head),
        parameters: value(&revision.parameters)?,
        resources: revision.resources.iter().map(|(r, mode)| touched(r, mode.as_ref())).collect(),
        tags: revision.tags.iter().cloned().collect(),
        effect: effect(&revision.effect)?,
    })
}

pub fn comment(comment: &tasks::Comment) -> Result<Comment, Error> {
    Ok(Comment { by: value(&comment.actor)?, text: comment.body.clone(), at: comment.at })
}

pub fn assessment(revision: u32, assessment: &Assessment) -> Result<RiskAssessment, Error> {
    let factors = assessment.factors.iter().map(|factor| {
        Ok(Factor {
            name: value(&factor.name)?.as_str().unwrap_or_default().to_owned(),
            score: factor.score.points(),
            weight_bp: factor.weight_bp,
            contribution_bp: factor.contribution_bp,
            sentence: factor.sentence.clone(),
        })
    });
    Ok(RiskAssessment {
        revision,
        risk: risk(assessment.score, assessment.level),
        factors: factors.collect::<Result<_, Error>>()?,
        assessed_at: assessment.assessed_at,
        assessed_by: assessment.assessed_by.clone(),
    })
}

pub fn request(request: Request, now: Timestamp) -> Result<Approval, Error> {
    let places = request.approval.places.iter().map(value).collect::<Result<_, Error>>()?;
    let is_open = request.approval.status == approval::Status::Pending;
    Ok(Approval {
        id: request.id,
        reviewer: request.approval.reviewer,
        status: request.approval.status,
        revision: request.approval.revision,
        requested_at: request.approval.requested_at,
        due_at: request.approval.due_at,
        overdue: is_open && request.approval.due_at <= now,
        places,
        score: request.score,
        task: AskedTask {
            id: request.task,
            number: request.number,
            title: request.title,
            task_type: request.task_type,
            state: request.state,
            risk: risk(request.risk, request.level),
            priority: request.priority,
            author: request.author,
        },
    })
}

pub fn vote(vote: approval::Vote) -> Vote {
    Vote {
        voter: vote.voter,
        answer: vote.answer,
        revision: vote.revision,
        digest: vote.digest,
        reason: vote.reason,
        at: vote.at,
        effectual: vote.effectual,
        withdrawn: vote.withdrawn,
        carried_from: vote.carried_from,
    }
}

/// What moves a task on from here, and who can do it.
pub const fn next_action(state: State) -> &'static str {
    match state {
        State::Draft => "submit it: POST /v1/tasks/{id}/submit",
        State::Submitted => "wait: the review is opened by the server within seconds",
        State::Reviewing => "wait for its reviewers: GET /v1/tasks/{id}?wait=55s, or see explain",
        State::Approved => "it may be applied: an agent claims it",
        State::Applying => "wait for the apply to end",
        State::Completed => "nothing: it was applied",
        State::Rejected => "take it up again: POST /v1/tasks/{id}/resubmit",
        State::Cancelled | State::Expired => {
            "nothing, or take it up again: POST /v1/tasks/{id}/resubmit"
        }
        State::Failed => "try again: POST /v1/tasks/{id}/retry, or resubmit it",
        State::Unknown => "find out whether it was applied, then reconcile it",
    }
}
