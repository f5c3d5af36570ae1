//! Pending changes as they are shown and confirmed.

use ade_api::pending_changes::{
    ChangeFinding, PendingChange as Shown, PendingChangeOutcome as Outcome,
};
use ade_api::policies::ReplayedTask;
use ade_api::problem::NextAction;
use ade_core::change::Digest;
use ade_core::limits::PENDING_CHANGE_MAX_AGE;
use ade_core::rule_change;
use ade_core::time::Timestamp;
use ade_store::pending_changes::{ChangeOutcome, PendingChange};

use crate::error::Error;

/// Returns the digest that a passkey confirms: it covers the change and its consequences.
pub(super) fn digest(change: &PendingChange) -> Result<Digest, Error> {
    rule_change::digest(&change.command, &change.findings)
        .map_err(|error| Error::invalid("command", error))
}

pub(super) fn is_too_old(change: &PendingChange, now: Timestamp) -> bool {
    now.since(change.proposed_at) > PENDING_CHANGE_MAX_AGE
}

pub(super) fn shown(change: &PendingChange, now: Timestamp) -> Result<Shown, Error> {
    let findings = change.findings.iter().map(|finding| ChangeFinding {
        verdict: finding.verdict,
        sentence: finding.sentence.clone(),
    });
    let tasks: Vec<ReplayedTask> = serde_json::from_value(change.evidence.clone())
        .map_err(|error| Error::invalid("tasks", error))?;
    let closed = change.closed.as_ref();
    Ok(Shown {
        id: change.id,
        kind: change.kind.clone(),
        object: change.object.clone(),
        command: change.command.clone(),
        verdict: change.verdict,
        findings: findings.collect(),
        tasks,
        reason: change.reason.clone(),
        proposed_by: change.proposed_by,
        proposed_at: change.proposed_at,
        takes_effect_at: change.takes_effect_at,
        digest: digest(change)?.to_string(),
        outcome: closed.map(|closed| outcome(closed.outcome)),
        closed_by: closed.and_then(|closed| closed.by),
        closed_at: closed.map(|closed| closed.at),
        objection: closed.and_then(|closed| closed.objection.clone()),
        next_action: next_action(change, now),
    })
}

const fn outcome(outcome: ChangeOutcome) -> Outcome {
    match outcome {
        ChangeOutcome::Published => Outcome::Published,
        ChangeOutcome::Withdrawn => Outcome::Withdrawn,
        ChangeOutcome::Objected => Outcome::Objected,
        ChangeOutcome::Applied => Outcome::Applied,
        ChangeOutcome::Outdated => Outcome::Outdated,
    }
}

fn next_action(change: &PendingChange, now: Timestamp) -> NextAction {
    if change.closed.is_some() {
        return NextAction::new("nothing: the change is closed");
    }
    if is_too_old(change, now) {
        return NextAction::new("propose the change again: it is too old to be published");
    }
    match change.takes_effect_at {
        Some(at) => NextAction::new(format!(
            "wait until {at}, when the change takes effect unless someone objects"
        )),
        None => NextAction::new("another admin must publish it")
            .with_call(format!("POST /v1/pending-changes/{}/publish", change.id))
            .with_command(format!("ade changes publish {}", change.id)),
    }
}
