//! Converts stored types to wire types. Nothing is decided here; permissions were checked before.

use ade_api::approvals::{Approval, AskedTask, Vote};
use ade_api::problem::NextAction;
use ade_api::tasks::{
    Change, Comment, Counts, Effect, Factor, Mode, Revision, RevisionHead, Risk, RiskAssessment,
    Rollback, RollbackStrategy, Task, TaskDecision, TaskSummary, TaskWarning, TouchedResource,
};
use ade_core::approval;
use ade_core::change;
use ade_core::ids::TaskId;
use ade_core::resource::ResourceRef;
use ade_core::risk::{Assessment, Level, Score};
use ade_core::task::{self, State, SubState};
use ade_core::time::Timestamp;
use ade_store::approvals::ApprovalRequest;
use ade_store::tasks::{self, RevisionContent, Summary, TaskHeader, View};
use ade_store::tenant_config::TenantConfig;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::error::Error;
use crate::services::rulebook_cache::is_covered;

/// Converts to JSON. Stored values are JSON already; a value that cannot be shown is an error, and
/// is not hidden.
pub fn value(of: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(of).map_err(|error| Error::invalid("answer", error))
}

/// Returns the name under which a value of an enumeration is serialized.
pub fn word(of: &impl Serialize) -> Result<String, Error> {
    Ok(value(of)?.as_str().unwrap_or_default().to_owned())
}

fn risk(score: Score, level: Level) -> Risk {
    Risk { score: score.points(), level }
}

pub fn effect(effect: &change::Effect) -> Result<Effect, Error> {
    let counts = effect.counts();
    let changes = effect.changes().iter().map(|change| {
        Ok(Change {
            resource: change.resource.clone(),
            action: change.action,
            irreversible: change.irreversible,
            summary: change.summary.clone(),
            rows: change.rows.map(Into::into),
            before: change.before.as_ref().map(value).transpose()?,
            after: change.after.as_ref().map(value).transpose()?,
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

/// Returns the page on which people review a task.
pub fn url(app: &App, task: TaskId) -> String {
    format!("{}/tasks/{task}", app.notify.page)
}

pub fn decision(decision: &task::TaskDecision) -> TaskDecision {
    TaskDecision {
        outcome: decision.outcome,
        reason: decision.reason.clone(),
        by: decision.by.clone(),
        at: decision.at,
        revision: decision.revision,
    }
}

/// Returns the summary of a task after a decision.
pub fn decided(app: &App, label: &TaskHeader, task: &task::Task, now: Timestamp) -> TaskSummary {
    let sub_state = task.sub_state();
    TaskSummary {
        id: task.id,
        number: label.number,
        title: label.heading.title.clone(),
        task_type: task.content.subject.task_type.clone(),
        state: task.state,
        sub_state,
        decision: task.decision.as_ref().map(decision),
        is_decided: task::is_decided(task.state, sub_state),
        is_final: task.state.is_final(),
        url: url(app, task.id),
        state_since: task.since,
        version: task.version,
        revision: task.revision,
        digest: task.content.digest,
        risk: risk(task.content.subject.risk, task.content.level),
        priority: label.heading.priority,
        author_id: task.involvement.author,
        agent_id: task.involvement.agent,
        submitter_id: task.involvement.submitter,
        team: label.heading.team.clone(),
        ticket: label.heading.ticket.clone(),
        created_at: label.created_at,
        updated_at: now,
        closed_at: task.is_closed().then_some(task.since),
    }
}

/// Returns the whole task after a decision, with new or unchanged content.
pub fn decided_with(
    app: &App,
    label: &TaskHeader,
    task: &task::Task,
    body: &RevisionContent,
    now: Timestamp,
) -> Result<Task, Error> {
    let subject = &task.content.subject;
    Ok(Task {
        summary: decided(app, label, task, now),
        parameters: value(&body.parameters)?,
        resources: subject
            .resources
            .iter()
            .map(|resource| touched(resource, body.modes.get(resource)))
            .collect(),
        tags: subject.tags.clone(),
        effect: effect(&body.effect)?,
        shape: task.content.shape,
        timeout_seconds: label.heading.timeout_seconds,
        rollback: rollback(&label.heading.rollback),
        resubmission_of: label.heading.resubmits,
        warnings: Vec::new(),
        next_action: next_action(task.id, task.state, task.sub_state()),
    })
}

/// Returns the whole task after a decision that left its content unchanged.
pub fn decided_whole(
    app: &App,
    label: &TaskHeader,
    task: &task::Task,
    revision: &tasks::Revision,
    now: Timestamp,
) -> Result<Task, Error> {
    let resources = revision.resources.iter();
    Ok(Task {
        summary: decided(app, label, task, now),
        parameters: value(&revision.parameters)?,
        resources: resources.map(|(name, mode)| touched(name, mode.as_ref())).collect(),
        tags: revision.tags.iter().cloned().collect(),
        effect: effect(&revision.effect)?,
        shape: task.content.shape,
        timeout_seconds: label.heading.timeout_seconds,
        rollback: rollback(&label.heading.rollback),
        resubmission_of: label.heading.resubmits,
        warnings: Vec::new(),
        next_action: next_action(task.id, task.state, task.sub_state()),
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
    TouchedResource { resource: resource.clone(), mode: text.and_then(|text| Mode::parse(text)) }
}

pub fn viewed(app: &App, view: &View) -> Result<Task, Error> {
    let revision = &view.revision;
    let sub_state = view.sub_state();
    Ok(Task {
        summary: TaskSummary {
            id: view.id,
            number: view.number,
            title: view.heading.title.clone(),
            task_type: revision.head.task_type.clone(),
            state: view.state,
            sub_state,
            decision: view.decision.as_ref().map(decision),
            is_decided: task::is_decided(view.state, sub_state),
            is_final: view.state.is_final(),
            url: url(app, view.id),
            state_since: view.since,
            version: view.version,
            revision: revision.head.revision,
            digest: revision.head.digest,
            risk: risk(revision.head.risk, revision.head.level),
            priority: view.heading.priority,
            author_id: view.involvement.author,
            agent_id: view.involvement.agent,
            submitter_id: view.involvement.submitter,
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
        shape: revision.shape,
        timeout_seconds: view.heading.timeout_seconds,
        rollback: rollback(&view.heading.rollback),
        resubmission_of: view.heading.resubmits,
        warnings: Vec::new(),
        next_action: next_action(view.id, view.state, sub_state),
    })
}

pub fn listed(app: &App, summary: Summary) -> TaskSummary {
    let sub_state = summary.sub_state();
    TaskSummary {
        id: summary.id,
        number: summary.number,
        title: summary.title,
        task_type: summary.task_type,
        state: summary.state,
        sub_state,
        decision: summary.decision.as_ref().map(decision),
        is_decided: task::is_decided(summary.state, sub_state),
        is_final: summary.state.is_final(),
        url: url(app, summary.id),
        state_since: summary.since,
        version: summary.version,
        revision: summary.revision,
        digest: summary.digest,
        risk: risk(summary.risk, summary.level),
        priority: summary.priority,
        author_id: summary.author,
        agent_id: summary.agent,
        submitter_id: summary.submitter,
        team: summary.team,
        ticket: summary.ticket,
        created_at: summary.created_at,
        updated_at: summary.updated_at,
        closed_at: summary.closed_at,
    }
}

/// Adds what the author should know, by the tenant's current agents.
pub fn warn(app: &App, book: &TenantConfig, shown: &mut Task) {
    let (state, task_type) = (shown.summary.state, &shown.summary.task_type);
    let has_applier = app.executors.of(&book.tenant).runs(task_type) || is_covered(book, task_type);
    let found = task::warnings(state, task_type, has_applier).into_iter();
    shown.warnings =
        found.map(|one| TaskWarning { code: one.code, message: one.message }).collect();
}

pub fn revision_head(head: &tasks::RevisionHead) -> RevisionHead {
    RevisionHead {
        revision: head.revision,
        digest: head.digest,
        task_type: head.task_type.clone(),
        risk: risk(head.risk, head.level),
        origin: head.origin,
        editor_id: head.editor,
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
            name: word(&factor.name)?,
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

pub fn request(request: ApprovalRequest, now: Timestamp) -> Result<Approval, Error> {
    let seats = request.approval.places.iter().map(value).collect::<Result<_, Error>>()?;
    let is_open = request.approval.status == approval::ApprovalStatus::Pending;
    Ok(Approval {
        id: request.id,
        reviewer_id: request.approval.reviewer,
        status: request.approval.status,
        revision: request.approval.revision,
        requested_at: request.approval.requested_at,
        due_at: request.approval.due_at,
        overdue: is_open && request.approval.due_at <= now,
        seats,
        urgency: request.score,
        task: AskedTask {
            id: request.task,
            number: request.number,
            title: request.title,
            task_type: request.task_type,
            state: request.state,
            risk: risk(request.risk, request.level),
            digest: request.digest,
            priority: request.priority,
            author_id: request.author,
        },
    })
}

pub fn vote(vote: approval::Vote) -> Vote {
    Vote {
        voter_id: vote.voter,
        answer: vote.answer,
        revision: vote.revision,
        digest: vote.digest,
        reason: vote.reason,
        at: vote.at,
        counted: vote.effectual,
        withdrawn: vote.withdrawn,
        carried_from: vote.carried_from,
        marks: vote.marks,
    }
}

/// Returns what the task needs next, and who can do it.
pub fn next_action(task: TaskId, state: State, sub_state: Option<SubState>) -> NextAction {
    let call = |method: &str, rest: &str| format!("{method} /v1/tasks/{task}{rest}");
    match sub_state {
        Some(SubState::ChangesRequested) => {
            return NextAction::new("amend the task as the decision asks, then submit it")
                .with_call(call("PATCH", ""))
                .with_command(format!("ade tasks amend {task} --file FILE"));
        }
        Some(SubState::ReleasedToHost) => {
            return NextAction::new(
                "check the result at the agent's host, which made the change and did not report it",
            );
        }
        None => {}
    }
    let then = |message: &str, method: &str, rest: &str, command: &str| {
        NextAction::new(message)
            .with_call(call(method, rest))
            .with_command(format!("ade tasks {command} {task}"))
    };
    match state {
        State::Draft => then("submit the task", "POST", "/submit", "submit"),
        State::Submitted => {
            let message = "wait: the server opens the review within seconds";
            then(message, "GET", "?wait=55s&until=decided", "wait")
        }
        State::Reviewing => {
            then("wait for the reviewers", "GET", "?wait=55s&until=decided", "wait")
        }
        State::Approved => NextAction::new("ready to apply: an agent can claim the task")
            .with_call(call("POST", "/claim")),
        State::Applying => {
            then("wait for the apply to finish", "GET", "?wait=55s&until=ended", "wait")
        }
        State::Completed => NextAction::new("nothing: the task was applied"),
        State::Rejected => NextAction::new(
            "do not repeat the request unchanged; read the reason of the decision first",
        ),
        State::Cancelled | State::Expired => {
            then("nothing, or resubmit the task", "POST", "/resubmit", "resubmit")
        }
        State::Failed => then("retry or resubmit the task", "POST", "/retry", "retry"),
        State::Unknown => {
            let message = "find out whether the task was applied, then reconcile it";
            then(message, "POST", "/reconcile", "reconcile")
        }
    }
}
