//! Every state with every command, compared with a table that is written by hand and not derived
//! from `MOVES`.

use crate::actor::Actor;
use crate::approval::Answer;
use crate::ids::AgentId;
use crate::policy::{Document, EscalationAction, EscalationStep};
use crate::samples::*;
use crate::task::*;
use crate::time::Timestamp;

/// Columns: DRAFT, SUBMITTED, REVIEWING, APPROVED, APPLYING, COMPLETED, REJECTED, CANCELLED,
/// FAILED, UNKNOWN, EXPIRED. A cell names every state the command may lead to (by its column
/// letter), `*` for a note that changes nothing, `x` for deletion, `n` for a new draft, `.` for
/// a refusal.
const EXPECTED: &str = "
    |                 D   S   R   A   P   C   J   L   F   U   E
    | create          .   .   .   .   .   .   .   .   .   .   .
    | delete          x   .   .   .   .   .   .   .   .   .   .
    | comment         .   .   R   A   P   C   J   L   F   U   E
    | amend           D   S   S   S   .   .   .   .   .   .   .
    | submit          S   .   .   .   .   .   .   .   .   .   .
    | open_review     .   RA  .   .   .   .   .   .   .   .   .
    | auto_approve    .   A   .   .   .   .   .   .   .   .   .
    | approve         *   .   RA  *   *   *   *   *   *   *   *
    | reject          *   .   RJ  *   *   *   *   *   *   *   *
    | request_changes *   .   D   *   *   *   *   *   *   *   *
    | withdraw_vote   .   .   R   AS  .   .   .   .   .   .   .
    | delegate        .   .   R   .   .   .   .   .   .   .   .
    | escalate        .   .   R   .   .   .   .   .   .   .   .
    | extend          .   .   R   .   .   .   .   .   .   .   .
    | warn_expiry     .   .   R   A   .   .   .   .   .   .   .
    | cancel          L   L   L   L   P   .   .   .   .   .   .
    | expire          .   E   E   E   .   .   .   .   .   .   .
    | reopen_review   .   .   .   S   .   .   .   .   .   .   .
    | start_apply     .   .   .   P   .   .   .   .   .   .   .
    | begin_apply     .   .   .   .   P   .   .   .   .   .   .
    | drift_apply     .   .   .   .   S   .   .   .   .   .   .
    | withdraw_permit .   .   .   .   AS  .   .   .   .   .   .
    | requeue_apply   .   .   .   .   ALF .   .   .   .   .   .
    | finish_apply    .   .   .   .   C   .   .   .   .   *   .
    | fail_apply      .   .   .   .   FAL .   .   .   .   *   .
    | lose_apply      .   .   .   .   U   .   .   .   .   .   .
    | reconcile       .   .   .   .   .   .   .   .   .   CFA .
    | retry           .   .   .   .   .   .   .   .   AS  .   .
    | resubmit        .   .   .   .   .   .   n   n   n   .   n
    | override        .   S   R   .   .   .   .   .   .   .   .
    | confirm_override .  A   A   .   .   .   .   .   .   .   .
    | lapse_override  .   S   R   .   .   .   .   .   .   .   .
";

fn letter(state: State) -> char {
    match state {
        State::Draft => 'D',
        State::Submitted => 'S',
        State::Reviewing => 'R',
        State::Approved => 'A',
        State::Applying => 'P',
        State::Completed => 'C',
        State::Rejected => 'J',
        State::Cancelled => 'L',
        State::Failed => 'F',
        State::Unknown => 'U',
        State::Expired => 'E',
    }
}

fn expected(command: CommandKind, state: State) -> String {
    let column = State::ALL.iter().position(|known| *known == state).unwrap();
    let row = EXPECTED
        .lines()
        .map(|line| line.trim().trim_start_matches('|').split_whitespace().collect::<Vec<_>>())
        .find(|cells| cells.first() == Some(&command.as_str()))
        .unwrap_or_else(|| panic!("{command} is missing in the table"));
    row[column + 1].to_owned()
}

fn cell(command: CommandKind, state: State) -> String {
    let Some(row) = find_move(command, state) else {
        return ".".to_owned();
    };
    if row.weight == Weight::Evidence {
        return "*".to_owned();
    }
    if row.to.is_empty() {
        return letter(state).to_string();
    }
    row.to
        .iter()
        .map(|to| match to {
            To::State(state) => letter(*state),
            To::Gone => 'x',
            To::NewDraft => 'n',
        })
        .collect()
}

#[test]
fn moves_agree_with_the_handwritten_table() {
    for command in CommandKind::ALL {
        for state in State::ALL {
            let found = cell(*command, state);
            assert_eq!(found, expected(*command, state), "{command} from {state}");
        }
    }
}

#[test]
fn refusal_names_the_states_that_allow_the_command() {
    assert_eq!(acts_from(CommandKind::Approve), [State::Reviewing], "late answers are excluded");
    assert_eq!(acts_from(CommandKind::FinishApply), [State::Applying]);
    let amend = [State::Draft, State::Submitted, State::Reviewing, State::Approved];
    assert_eq!(acts_from(CommandKind::Amend), amend);
}

/// Returns a task in the state, reached by commands wherever possible.
fn task_in(state: State, world: &World) -> Task {
    let now = at(0);
    match state {
        State::Draft => {
            // A draft that came back from a review, so that late answers are possible.
            let task = world.reviewing(now);
            world.step(&task, &user(ALICE), &vote(&task, Answer::RequestChanges), now)
        }
        State::Submitted => world.submitted(now),
        State::Reviewing => {
            let task = world.reviewing(now);
            world.step(&task, &user(ALICE), &yes(&task), now)
        }
        State::Approved => world.approved(now),
        State::Applying => world.applying(now),
        State::Completed => {
            let finish = Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded };
            world.step(&world.begun(now), &agent(), &finish, now)
        }
        State::Rejected => {
            let task = world.reviewing(now);
            world.step(&task, &user(ALICE), &no(&task), now)
        }
        State::Cancelled => {
            let task = world.reviewing(now);
            world.step(&task, &user(AUTHOR), &Command::Cancel { reason: None }, now)
        }
        State::Failed => {
            let fail = Command::FailApply { hold: HOLD, remains: Remains::Changed };
            world.step(&world.begun(now), &agent(), &fail, now)
        }
        State::Unknown => world.unknown(now),
        State::Expired => {
            let late = now.plus(hours(50));
            world.step(&world.reviewing(now), &worker(), &Command::Expire, late)
        }
    }
}

/// The command as an entitled actor would give it, and a time at which its rule accepts it.
fn order(kind: CommandKind, task: &Task, world: &World) -> (Actor, Command, Timestamp) {
    let later = at(0).plus(hours(24 * 30));
    let reason = "because".to_owned();
    let (actor, command) = match kind {
        CommandKind::Create => (user(AUTHOR), Command::Create),
        CommandKind::Delete => (user(AUTHOR), Command::Delete),
        CommandKind::Comment => (user(STRANGER), Command::Comment { text: reason }),
        CommandKind::Amend => (user(AUTHOR), Command::Amend { content: content("next") }),
        CommandKind::Submit => {
            let content = task.content.clone();
            (user(AUTHOR), Command::Submit { content, pins: world.pins() })
        }
        CommandKind::OpenReview => (worker(), Command::OpenReview),
        CommandKind::AutoApprove => (worker(), Command::AutoApprove),
        CommandKind::Approve => (user(BOB), yes(task)),
        CommandKind::Reject => (user(BOB), no(task)),
        CommandKind::RequestChanges => (user(BOB), vote(task, Answer::RequestChanges)),
        CommandKind::WithdrawVote => (user(ALICE), Command::WithdrawVote),
        CommandKind::Delegate => (user(BOB), Command::Delegate { to: CAROL, reason: None }),
        CommandKind::Escalate => return (worker(), Command::Escalate(Escalation::Step), later),
        CommandKind::Extend => {
            let until = at(0).plus(hours(24 * 6));
            (user(BOB), Command::Extend { until, reason })
        }
        CommandKind::WarnExpiry => return (worker(), Command::WarnExpiry, later),
        CommandKind::Cancel => (user(AUTHOR), Command::Cancel { reason: None }),
        CommandKind::Expire => return (worker(), Command::Expire, later),
        CommandKind::ReopenReview => {
            let reopen = Reopen::EffectDrifted { content: content("drifted") };
            (worker(), Command::ReopenReview(reopen))
        }
        CommandKind::StartApply => (agent(), world.start()),
        CommandKind::BeginApply => (agent(), world.begin()),
        CommandKind::DriftApply => {
            let (content, moved) = (content("drifted"), Vec::new());
            (agent(), Command::DriftApply { hold: HOLD, content, moved })
        }
        CommandKind::WithdrawPermit => {
            (agent(), Command::WithdrawPermit { hold: HOLD, gates: World::closed_gates() })
        }
        CommandKind::RequeueApply => (worker(), Command::RequeueApply),
        CommandKind::FinishApply => {
            (agent(), Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded })
        }
        CommandKind::FailApply => {
            (agent(), Command::FailApply { hold: HOLD, remains: Remains::Changed })
        }
        CommandKind::LoseApply => (worker(), Command::LoseApply),
        CommandKind::Reconcile => {
            (user(ADMIN), Command::Reconcile { found: ReconcileFinding::Completed, reason })
        }
        CommandKind::Retry => (user(AUTHOR), Command::Retry),
        CommandKind::Resubmit => (user(AUTHOR), Command::Resubmit),
        CommandKind::Override => {
            (user(ADMIN), Command::Override { ticket: "INC-1".to_owned(), reason })
        }
        CommandKind::ConfirmOverride => {
            (user(SECOND_ADMIN), Command::ConfirmOverride { seen: seen(task) })
        }
        CommandKind::LapseOverride => return (worker(), Command::LapseOverride, later),
    };
    (actor, command, at(0))
}

/// Prepares what a command needs besides the state.
fn prepare(kind: CommandKind, task: Task, world: &World) -> Task {
    let needs_override = matches!(kind, CommandKind::ConfirmOverride | CommandKind::LapseOverride);
    let needs_begin = matches!(kind, CommandKind::FinishApply | CommandKind::LoseApply);
    if needs_override && matches!(task.state, State::Submitted | State::Reviewing) {
        let (actor, ask, now) = order(CommandKind::Override, &task, world);
        return world.step(&task, &actor, &ask, now);
    }
    if needs_begin && task.state == State::Applying {
        return world.begun(at(0));
    }
    task
}

/// One policy under which every command is possible.
fn world() -> World {
    let notify = EscalationAction::Notify { roles: roles(&["operator"]), people: [].into() };
    World::new([Document {
        auto_approve_if: passes_below(50).auto_approve_if,
        escalation: vec![EscalationStep { after: hours(1), action: notify }],
        ..two_dbas()
    }])
}

#[test]
fn decision_of_every_state_and_command_follows_the_table() {
    let world = world();
    for kind in CommandKind::ALL {
        for state in State::ALL {
            let task = prepare(*kind, task_in(state, &world), &world);
            assert_eq!(task.state, state, "the setup reaches the state");
            let (actor, command, now) = order(*kind, &task, &world);
            assert_eq!(command.kind(), *kind);
            let answer = world.decide(&task, &actor, &command, now);
            check(*kind, state, &expected(*kind, state), &task, answer);
        }
    }
}

/// Uninvolved actors: a person without a role, the agent of another person, and a worker for
/// commands of people. Every person of the tenant may comment.
#[test]
fn decision_for_an_uninvolved_actor_is_always_refused() {
    let world = World { agent: AgentFacts { is_active: true, is_capable: false }, ..world() };
    let foreign = Actor::agent(AgentId::from_u128(9), STRANGER);
    for kind in CommandKind::ALL {
        for state in State::ALL {
            let task = prepare(*kind, task_in(state, &self::world()), &world);
            if expected(*kind, state) == "." || *kind == CommandKind::Comment {
                continue;
            }
            let (_, command, now) = order(*kind, &task, &world);
            for actor in [user(STRANGER), foreign.clone()] {
                let answer = world.decide(&task, &actor, &command, now);
                assert!(
                    matches!(answer, Err(Refusal::Denied(_))),
                    "{kind} from {state} by {actor:?}: {answer:?}"
                );
            }
        }
    }
}

fn check(
    kind: CommandKind,
    state: State,
    wanted: &str,
    task: &Task,
    answer: Result<Decision, Refusal>,
) {
    match (wanted, answer) {
        (".", Err(Refusal::AlreadyExists)) => assert_eq!(kind, CommandKind::Create),
        (".", Err(Refusal::WrongState { command, state: actual, .. })) => {
            assert_eq!((command, actual), (kind, state));
        }
        (".", answer) => panic!("{kind} from {state} must be refused by state: {answer:?}"),
        ("*", Ok(decision)) => {
            assert_eq!(decision.to, To::State(state), "{kind} from {state} is a note only");
            let before = Task { votes: Vec::new(), version: 0, ..task.clone() };
            let after = task.after(&decision, task.since).unwrap();
            assert!(after.votes.iter().skip(task.votes.len()).all(|vote| !vote.effectual));
            assert_eq!(Task { votes: Vec::new(), version: 0, ..after }, before);
        }
        (letters, Ok(decision)) => {
            let to = match decision.to {
                To::State(state) => letter(state),
                To::Gone => 'x',
                To::NewDraft => 'n',
            };
            assert!(letters.contains(to), "{kind} from {state} led to {to}");
            assert_eq!(decision.from, Some(state));
            assert!(!decision.events.is_empty(), "{kind} from {state} emits no event");
        }
        (_, Err(refusal)) => panic!("{kind} from {state} was refused: {refusal}"),
    }
}
