//! The one door: state, permission, then the rule of the command. What comes out is the whole
//! of what must be written, so that the shell can commit it as one transaction.

use std::collections::BTreeSet;
use std::time::Duration;

use super::basis::Basis;
use super::break_glass::{self, BreakGlass, Confirmation};
use super::command::{Command, CommandKind, Content, Remains};
use super::moves::{To, Weight, acts_from, find_move};
use super::{
    Execution, Facts, Refusal, Rules, State, Task, apply, content, deadline, review, voting,
};
use crate::access::{Object, Question, Standing};
use crate::actor::{Actor, Role};
use crate::approval::assignment::{Request, Shortage};
use crate::approval::{Status, Vote};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::policy::PolicyRef;
use crate::time::Timestamp;

/// One thing to be written. `Task::after` says what each means for the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The next revision.
    Revise {
        content: Content,
        editor: Option<UserId>,
    },
    /// Approving votes that an identical effect keeps.
    CarryVotes(Vec<Vote>),
    Pin {
        pins: Vec<PolicyRef>,
        submitter: UserId,
    },
    OpenReview,
    Ask {
        requests: Vec<Request>,
        due_at: Timestamp,
    },
    /// Groups that nobody could meet: told at once.
    TellShortages(Vec<Shortage>),
    CloseApprovals {
        status: Status,
    },
    CloseApproval {
        reviewer: UserId,
        status: Status,
    },
    Record(Vote),
    WithdrawVote {
        voter: UserId,
    },
    NextRound,
    /// Steps up to here have run; groups are as wide as these made them.
    EscalatedTo(Duration),
    /// The review does not end before.
    ExtendTo(Timestamp),
    Notify {
        roles: BTreeSet<Role>,
        people: BTreeSet<UserId>,
    },
    SetBasis(Basis),
    ClearBasis,
    AskOverride(BreakGlass),
    ConfirmOverride(Confirmation),
    DropOverride,
    OpenAfterReview {
        due_at: Timestamp,
    },
    StartExecution(Execution),
    Begin,
    RequestAbort,
    EndExecution,
    ResetAttempts,
    /// The next attempt waits at least this long; the shell adds its jitter.
    NotBefore(Timestamp),
    /// What a lost holder said afterwards.
    LateReport {
        remains: Option<Remains>,
    },
    Comment {
        text: String,
    },
    FrontOfQueue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `None` for a task that is being created.
    pub from: Option<State>,
    pub to: To,
    pub writes: Vec<Write>,
    pub events: Vec<EventKind>,
}

impl Decision {
    pub(super) fn to(task: &Task, state: State) -> Self {
        Self {
            from: Some(task.state),
            to: To::State(state),
            writes: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn stay(task: &Task) -> Self {
        Self::to(task, task.state)
    }

    pub(super) fn leave(task: &Task, to: To) -> Self {
        Self { to, ..Self::stay(task) }
    }

    pub(super) fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    pub(super) fn tell(mut self, event: EventKind) -> Self {
        self.events.push(event);
        self
    }
}

/// Decides a command, or refuses it with the facts. Asks for permission itself, so that no
/// caller can forget to.
pub fn decide(
    task: &Task,
    command: &Command,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let kind = command.kind();
    require_move(task, kind)?;
    permit(task, kind, facts).map_err(|refusal| told_by_age(task, command, refusal, facts, now))?;
    transition(task, command, facts, now)
}

/// Whoever was not asked because of the age of a role is told so: waiting helps them.
fn told_by_age(
    task: &Task,
    command: &Command,
    refusal: Refusal,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Refusal {
    let (Command::Vote { .. }, Refusal::Denied(_)) = (command, &refusal) else { return refusal };
    let Ok(person) = facts.person() else { return refusal };
    let rules = Rules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    seating.too_new(person).cloned().map_or(refusal, Refusal::RoleTooNew)
}

/// A task that does not exist yet: `draft` is what it would be.
pub fn create(draft: &Task, facts: &Facts<'_>) -> Result<Decision, Refusal> {
    permit(draft, CommandKind::Create, facts)?;
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
    })
}

/// Asks access what the actor, being what it is to this task, may do.
fn permit(task: &Task, command: CommandKind, facts: &Facts<'_>) -> Result<(), Refusal> {
    let nobody = BTreeSet::new();
    let human = facts.actor.human();
    let person = human.and_then(|id| facts.directory.person(id));
    let active = match facts.actor {
        Actor::User { .. } => person.is_some_and(|person| person.active),
        Actor::Agent { .. } => facts.agent.is_active && person.is_some_and(|person| person.active),
        Actor::System { .. } => true,
    };
    let object = if command == CommandKind::Create {
        Object::Tenant
    } else {
        Object::Task(standing(task, facts))
    };
    let question = Question {
        actor: facts.actor,
        roles: person.map_or(&nobody, |person| &person.roles),
        active,
        action: command.action(),
        object,
    };
    facts.access.check(&question).map_err(|denied| {
        // Access knows that there is a conflict; which one is more use to the reader.
        match human.and_then(|id| facts.conflict(task, id)) {
            Some(conflict) if denied.rule.as_deref() == Some("separation") => {
                Refusal::SelfApproval(conflict)
            }
            Some(_) | None => Refusal::Denied(denied),
        }
    })
}

fn standing(task: &Task, facts: &Facts<'_>) -> Standing {
    let directory = facts.directory;
    let human = facts.actor.human();
    let is_human = |other: UserId| human.is_some_and(|id| directory.same_human(id, other));
    let (person, agent) = match facts.actor {
        Actor::User { id, .. } => (Some(*id), None),
        Actor::Agent { id, .. } => (None, Some(*id)),
        Actor::System { .. } => (None, None),
    };
    let is_author = is_human(task.involvement.author);
    Standing {
        is_author: person.is_some() && is_author,
        is_own_agent: agent.is_some() && (is_author || agent == task.involvement.agent),
        is_assigned: person.is_some_and(|id| voting::was_asked(task, id)),
        is_voter: person.is_some_and(|id| task.votes.iter().any(|vote| vote.voter == id)),
        is_separated: person.is_some_and(|id| facts.conflict(task, id).is_some()),
        is_executor: agent.is_some() && facts.agent.is_capable,
        holds_permit: task
            .execution
            .as_ref()
            .is_some_and(|execution| execution.holder == *facts.actor),
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

/// The rule of each command, once state and permission are known to allow it.
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
        Command::Cancel { reason } => content::cancel(task, reason.as_deref()),
        Command::Expire => deadline::expire(task, facts, now),
        Command::ReopenReview(reopen) => review::reopen(task, reopen, facts, now),
        Command::StartApply { execution, hold } => {
            apply::start(task, *execution, *hold, facts, now)
        }
        Command::BeginApply { hold } => apply::begin(task, *hold),
        Command::DriftApply { hold, content } => apply::drift(task, *hold, content),
        Command::RequeueApply => apply::requeue(task, facts, now),
        Command::FinishApply { hold } if is_late => apply::report_late(task, *hold, None),
        Command::FinishApply { hold } => apply::finish(task, *hold),
        Command::FailApply { hold, remains } if is_late => {
            apply::report_late(task, *hold, Some(*remains))
        }
        Command::FailApply { hold, remains } => apply::fail(task, *hold, *remains, now),
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
