//! The single entry point for commands: it checks the state, then the permission, then the rule of
//! the command. The result contains everything that must be written, so that the caller can commit
//! it in one transaction.

use super::command::{Command, CommandKind};
use super::decision::Decision;
use super::moves::{To, Weight, acts_from, find_move};
use super::{
    Facts, Refusal, State, Task, TaskRules, apply, break_glass, content, deadline, review, voting,
};
use crate::access::{Object, Question, TaskRelation};
use crate::actor::Actor;
use crate::event::EventKind;
use crate::ids::UserId;
use crate::time::Timestamp;

/// Decides a command, or refuses it with the facts. The permission is checked here, so that no
/// caller can forget it.
pub fn decide(
    task: &Task,
    command: &Command,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let kind = command.kind();
    require_move(task, kind)?;
    let is_asked = voting::is_asked(task, command, facts, now);
    permit(task, kind, facts, is_asked)
        .map_err(|refusal| explain_role_age(task, command, refusal, facts, now))?;
    transition(task, command, facts, now)
}

/// Explains to people who were not asked that their role is too new, because waiting helps them.
fn explain_role_age(
    task: &Task,
    command: &Command,
    refusal: Refusal,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Refusal {
    let (Command::Vote { .. }, Refusal::Denied(_)) = (command, &refusal) else { return refusal };
    let Ok(person) = facts.person() else { return refusal };
    let rules = TaskRules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    seating.too_new(person).cloned().map_or(refusal, Refusal::RoleTooNew)
}

/// Decides the creation of a task; `draft` is the task to be created.
pub fn create(draft: &Task, facts: &Facts<'_>) -> Result<Decision, Refusal> {
    permit(draft, CommandKind::Create, facts, false)?;
    Ok(Decision {
        from: None,
        to: To::State(State::Draft),
        writes: Vec::new(),
        events: vec![EventKind::TaskCreated],
    })
}

fn require_move(task: &Task, command: CommandKind) -> Result<(), Refusal> {
    if find_move(command, task.state).is_some() {
        return Ok(());
    }
    if command == CommandKind::Create {
        return Err(Refusal::AlreadyExists);
    }
    Err(Refusal::WrongState {
        command,
        state: task.state,
        since: task.since,
        holder: task.execution.as_ref().map(|execution| name_of(&execution.holder)),
        works_from: acts_from(command),
        decision: task.decision.clone().map(Box::new),
    })
}

/// Checks the permission of the actor, given its relation to this task.
fn permit(
    task: &Task,
    command: CommandKind,
    facts: &Facts<'_>,
    is_asked: bool,
) -> Result<(), Refusal> {
    let human = facts.actor.human();
    let object = if command == CommandKind::Create {
        Object::Tenant
    } else {
        Object::Task(relation(task, facts, is_asked))
    };
    let is_agent_active = facts.agent.is_active;
    let question =
        Question::new(facts.actor, facts.directory, is_agent_active, command.action(), object);
    facts.access.check(&question).map_err(|denied| {
        // Access only reports that there is a conflict; the specific one helps the reader more.
        match human.and_then(|id| facts.conflict(task, id)) {
            Some(conflict) if denied.rule.as_deref() == Some("separation") => {
                Refusal::SelfApproval(conflict)
            }
            Some(_) | None => Refusal::Denied(denied),
        }
    })
}

fn relation(task: &Task, facts: &Facts<'_>, is_asked: bool) -> TaskRelation {
    let directory = facts.directory;
    let human = facts.actor.human();
    let is_human = |other: UserId| human.is_some_and(|id| directory.same_human(id, other));
    let (person, agent) = match facts.actor {
        Actor::User { id, .. } => (Some(*id), None),
        Actor::Agent { id, .. } => (None, Some(*id)),
        Actor::System { .. } => (None, None),
    };
    let is_author = is_human(task.involvement.author);
    TaskRelation {
        is_author: person.is_some() && is_author,
        is_own_agent: agent.is_some() && (is_author || agent == task.involvement.agent),
        is_assigned: is_asked,
        is_voter: person.is_some_and(|id| task.votes.iter().any(|vote| vote.voter == id)),
        is_separated: person.is_some_and(|id| facts.conflict(task, id).is_some()),
        is_executor: agent.is_some() && facts.agent.is_capable,
        holds_permit: task
            .execution
            .as_ref()
            .is_some_and(|execution| execution.holder.is_same_as(facts.actor)),
        is_resource_owner: person.is_some_and(|id| facts.resource_owners.contains(&id)),
        is_first_override_admin: task
            .break_glass
            .as_ref()
            .is_some_and(|glass| is_human(glass.asked_by)),
    }
}

fn name_of(actor: &Actor) -> String {
    match actor {
        Actor::User { id, .. } => id.to_string(),
        Actor::Agent { id, .. } => format!("agent {id}"),
        Actor::System { worker } => worker.clone(),
    }
}

/// Applies the rule of each command, once state and permission allow it.
pub fn transition(
    task: &Task,
    command: &Command,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let is_late =
        find_move(command.kind(), task.state).is_some_and(|row| row.weight == Weight::Evidence);
    match command {
        Command::Create => Err(Refusal::AlreadyExists),
        Command::Delete => Ok(Decision::leave(task, To::Gone).tell(EventKind::TaskDeleted)),
        Command::Comment { text } => content::comment(task, text),
        Command::Amend { content } => content::amend(task, content, facts),
        Command::Submit { content, pins } => content::submit(task, content, pins, facts),
        Command::OpenReview => review::open(task, facts, now),
        Command::AutoApprove => review::auto_approve(task, facts, now),
        Command::Vote { answer, seen, reason } if is_late => {
            voting::record_late(task, *answer, *seen, reason.as_deref(), facts, now)
        }
        Command::Vote { answer, seen, reason } => {
            voting::vote(task, *answer, *seen, reason.as_deref(), facts, now)
        }
        Command::WithdrawVote => voting::withdraw(task, facts, now),
        Command::Delegate { to, reason } => {
            voting::delegate(task, *to, reason.as_deref(), facts, now)
        }
        Command::Escalate(escalation) => review::escalate(task, escalation, facts, now),
        Command::Extend { until, reason } => deadline::extend(task, *until, reason, facts, now),
        Command::WarnExpiry => deadline::warn(task, facts, now),
        Command::Cancel { reason } => content::cancel(task, reason.as_deref(), facts, now),
        Command::Expire => deadline::expire(task, facts, now),
        Command::ReopenReview(reopen) => review::reopen(task, reopen, facts, now),
        Command::StartApply { execution, hold, gates } => {
            apply::start(task, *execution, *hold, gates, facts, now)
        }
        Command::BeginApply { hold, gates } => apply::begin(task, *hold, gates, facts, now),
        Command::DriftApply { hold, content, moved } => apply::drift(task, *hold, content, moved),
        Command::WithdrawPermit { hold, gates } => {
            apply::withdraw_permit(task, *hold, gates, facts, now)
        }
        Command::RequeueApply => apply::requeue(task, facts, now),
        Command::FinishApply { hold, result } if is_late => {
            apply::report_late(task, *hold, result.remains())
        }
        Command::FinishApply { hold, result } => apply::finish(task, *hold, *result),
        Command::FailApply { hold, remains } if is_late => {
            apply::report_late(task, *hold, Some(*remains))
        }
        Command::FailApply { hold, remains } => apply::fail(task, *hold, *remains, facts, now),
        Command::LoseApply => apply::lose(task, facts),
        Command::Reconcile { found, reason } => apply::reconcile(task, *found, reason, facts),
        Command::Retry => Ok(apply::retry(task, facts, now)),
        Command::Resubmit => {
            Ok(Decision::leave(task, To::NewDraft).tell(EventKind::TaskResubmitted))
        }
        Command::Override { ticket, reason } => break_glass::ask(task, ticket, reason, facts, now),
        Command::ConfirmOverride { seen } => break_glass::confirm(task, *seen, facts, now),
        Command::LapseOverride => break_glass::lapse(task, facts, now),
    }
}
