//! Applying: one grant per attempt, every report under that grant, and unknown outcomes that stay
//! unknown.

use std::collections::BTreeSet;

use crate::actor::Actor;
use crate::change::Drift;
use crate::event::EventKind;
use crate::freeze::{Freeze, FreezeExtent};
use crate::ids::{AgentId, FreezeId, TaskId};
use crate::limits::APPLY_ATTEMPTS_MAX;
use crate::policy::{Document, Pattern};
use crate::resource::ResourceRef;
use crate::samples::*;
use crate::task::*;

fn world() -> World {
    World::new([two_dbas()])
}

fn fail(remains: Remains) -> Command {
    Command::FailApply { hold: HOLD, remains }
}

fn aborted(world: &World, task: &Task) -> Task {
    let task = world.step(task, &user(AUTHOR), &Command::Cancel { reason: None }, at(1));
    assert_eq!(task.state, State::Applying);
    task
}

#[test]
fn permit_checks_freeze_capacity_locks_and_attempts() {
    let base = world();
    let task = base.approved(at(0));
    let refused =
        |world: &World, task: &Task| world.decide(task, &agent(), &world.start(), at(1)).err();
    assert_eq!(refused(&base, &task), None);

    let mut frozen = base.clone();
    frozen.freezes = vec![Freeze {
        id: FreezeId::from_u128(1),
        scope: FreezeExtent::Resources(Pattern::new("database:prod-*").unwrap()),
        reason: "incident".to_owned(),
        set_by: ADMIN,
        ends_at: Some(at(9)),
    }];
    let expected = Refusal::Frozen {
        id: FreezeId::from_u128(1),
        reason: "incident".to_owned(),
        ends_at: Some(at(9)),
    };
    assert_eq!(refused(&frozen, &task), Some(expected));

    let mut full = base.clone();
    full.has_capacity = false;
    assert_eq!(refused(&full, &task), Some(Refusal::NoCapacity));

    let mut blocked = base.clone();
    let resource = "database:prod-db-01".parse().unwrap();
    blocked.blocked = vec![Blocked { resource, by: Holder::Task(TaskId::from_u128(9)) }];
    let expected = Refusal::ResourcesBlocked(blocked.blocked.clone());
    assert_eq!(refused(&blocked, &task), Some(expected));

    let tired = Task { attempts: APPLY_ATTEMPTS_MAX, ..task.clone() };
    assert_eq!(refused(&base, &tired), Some(Refusal::AttemptsExhausted));
    let nearly = Task { attempts: APPLY_ATTEMPTS_MAX - 1, ..task };
    assert_eq!(refused(&base, &nearly), None);
}

#[test]
fn installation_freeze_stops_starts_but_not_running_tasks() {
    let base = world();
    let mut frozen = base.clone();
    let stop = World::closed_gates().installation().unwrap().clone();
    frozen.installation = Some(stop.clone());
    let start_refused = frozen.decide(&base.approved(at(0)), &agent(), &frozen.start(), at(1));
    let expected = Refusal::InstallationFrozen(stop);
    let words = expected.to_string();
    for part in ["whole installation", "by root", "number 3", "incident 9", "1970-01-01"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(start_refused, Err(expected));

    let finished = frozen.step(
        &base.begun(at(1)),
        &agent(),
        &Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded },
        at(3),
    );
    assert_eq!(finished.state, State::Completed);
}

#[test]
fn freeze_of_an_environment_consults_the_registry() {
    let mut world = world();
    let task = world.approved(at(0));
    world.freezes = vec![Freeze {
        id: FreezeId::from_u128(1),
        scope: FreezeExtent::Environment("prod".to_owned()),
        reason: "incident".to_owned(),
        set_by: ADMIN,
        ends_at: None,
    }];
    assert!(world.decide(&task, &agent(), &world.start(), at(1)).is_ok());
    world.environments = BTreeSet::from(["prod".to_owned()]);
    let refused = world.decide(&task, &agent(), &world.start(), at(1));
    assert!(matches!(refused, Err(Refusal::Frozen { .. })));
}

#[test]
fn start_records_the_holder_and_counts_the_attempt() {
    let world = world();
    let task = world.applying(at(3));
    let execution = task.execution.clone().unwrap();
    assert_eq!((execution.holder, execution.hold), (agent(), HOLD));
    assert_eq!((execution.started_at, execution.begun_at), (at(3), None));
    assert_eq!(task.attempts, 1);
}

#[test]
fn report_with_another_grant_is_refused() {
    let world = world();
    let applying = world.applying(at(0));
    let begun = world.begun(at(0));
    let lost = world.unknown(at(0));
    let hold = OTHER_HOLD;
    let content = content("drifted");
    let gates = world.gates();
    for (task, command) in [
        (&applying, Command::BeginApply { hold, gates: gates.clone() }),
        (&applying, Command::DriftApply { hold, content, moved: Vec::new() }),
        (&applying, Command::WithdrawPermit { hold, gates }),
        (&begun, Command::FinishApply { hold, result: ApplyResult::Succeeded }),
        (&begun, Command::FailApply { hold, remains: Remains::Nothing }),
        (&lost, Command::FinishApply { hold, result: ApplyResult::Succeeded }),
        (&lost, Command::FailApply { hold, remains: Remains::Nothing }),
    ] {
        let refused = world.decide(task, &agent(), &command, at(1));
        assert_eq!(refused, Err(Refusal::NotTheHold), "{command:?}");
    }
}

#[test]
fn begin_is_refused_twice_and_after_an_abort() {
    let world = world();
    let task = world.begun(at(5));
    assert_eq!(task.execution.as_ref().unwrap().begun_at, Some(at(5)));
    let begin = world.begin();
    let again = world.decide(&task, &agent(), &begin, at(6));
    assert_eq!(again, Err(Refusal::AlreadyBegun { at: at(5) }));
    let task = aborted(&world, &world.applying(at(0)));
    assert_eq!(world.decide(&task, &agent(), &begin, at(6)), Err(Refusal::AbortRequested));
}

#[test]
fn drift_before_begin_reopens_the_review_with_the_effect() {
    let world = world();
    let drift = |content| Command::DriftApply { hold: HOLD, content, moved: Vec::new() };
    let applying = world.applying(at(0));
    let same = world.decide(&applying, &agent(), &drift(content("first")), at(1));
    assert_eq!(same, Err(Refusal::NotDrifted));
    let begun = world.begun(at(0));
    let late = world.decide(&begun, &agent(), &drift(content("drifted")), at(1));
    assert_eq!(late, Err(Refusal::AlreadyBegun { at: at(0) }));
    let task = world.step(&applying, &agent(), &drift(content("drifted")), at(1));
    assert_eq!((task.state, task.revision), (State::Submitted, 2));
    assert_eq!((task.execution.clone(), task.basis.clone()), (None, None));
    assert_eq!(task.content.digest, content("drifted").digest);
    let task = world.step(&task, &worker(), &Command::OpenReview, at(2));
    assert_eq!(task.state, State::Reviewing, "the old votes were about another effect");
}

#[test]
fn drift_of_a_version_reopens_the_review_of_an_equal_effect() {
    let world = world();
    let resource = "database:prod-db-01".parse().unwrap();
    let seen = Some("1".to_owned());
    for found in [Some("2".to_owned()), None] {
        let moved =
            vec![Drift { resource: ResourceRef::clone(&resource), seen: seen.clone(), found }];
        let drift = Command::DriftApply { hold: HOLD, content: content("first"), moved };
        let task = world.step(&world.applying(at(0)), &agent(), &drift, at(1));
        assert_eq!((task.state, task.revision), (State::Submitted, 2));
        assert_eq!((task.execution.clone(), task.basis.clone()), (None, None));
        let task = world.step(&task, &worker(), &Command::OpenReview, at(2));
        assert_eq!(task.state, State::Reviewing, "the old votes were about another version");
    }
}

/// The worlds in which a permit would not be granted any more, and where the task belongs then.
fn worlds_without_a_permit() -> Vec<(&'static str, World, State)> {
    let freeze = |scope| Freeze {
        id: FreezeId::from_u128(1),
        scope,
        reason: "incident".to_owned(),
        set_by: ADMIN,
        ends_at: None,
    };
    let changed = |change: &dyn Fn(&mut World)| {
        let mut world = world();
        change(&mut world);
        world
    };
    let tightened = |world: &mut World| {
        let require = vec![group(&["dba"], &[], 2), group(&["security"], &[], 1)];
        world.current = vec![policy(1, 2, Document { require, ..two_dbas() })];
    };
    let installation = World::closed_gates().installation().cloned();
    vec![
        (
            "the tenant is frozen",
            changed(&|world| world.freezes = vec![freeze(FreezeExtent::Tenant)]),
            State::Approved,
        ),
        (
            "the environment is frozen",
            changed(&|world| {
                world.freezes = vec![freeze(FreezeExtent::Environment("prod".to_owned()))];
                world.environments = BTreeSet::from(["prod".to_owned()]);
            }),
            State::Approved,
        ),
        (
            "the installation is frozen",
            changed(&|world| world.installation.clone_from(&installation)),
            State::Approved,
        ),
        (
            "a voter lost the role",
            changed(&|world| world.edit(ALICE, |person| person.roles = roles(&["reviewer"]))),
            State::Submitted,
        ),
        (
            "a voter was deactivated",
            changed(&|world| world.edit(BOB, |person| person.active = false)),
            State::Submitted,
        ),
        ("a policy was tightened", changed(&tightened), State::Submitted),
        (
            "frozen, and the approval is lost",
            changed(&|world| {
                world.freezes = vec![freeze(FreezeExtent::Tenant)];
                world.edit(BOB, |person| person.active = false);
            }),
            State::Submitted,
        ),
    ]
}

#[test]
fn begin_repeats_the_checks_of_the_permit() {
    let base = world();
    let (approved, applying) = (base.approved(at(0)), base.applying(at(0)));
    for (what, world, state) in worlds_without_a_permit() {
        let start = world.decide(&approved, &agent(), &world.start(), at(1)).unwrap_err();
        let begin = world.decide(&applying, &agent(), &world.begin(), at(1)).unwrap_err();
        assert_eq!(start, begin, "{what}");
        let withdraw = Command::WithdrawPermit { hold: HOLD, gates: world.gates() };
        let task = world.step(&applying, &agent(), &withdraw, at(1));
        assert_eq!(task.state, state, "{what}");
        assert_eq!((task.execution.clone(), task.attempts), (None, 0), "{what}");
        assert_eq!(task.basis.is_some(), state == State::Approved, "{what}");
        let late = world.decide(&base.begun(at(0)), &agent(), &withdraw, at(1));
        assert_eq!(late, Err(Refusal::AlreadyBegun { at: at(0) }), "{what}");
        let asked = aborted(&base, &applying);
        let stopped = world.decide(&asked, &agent(), &withdraw, at(1));
        assert_eq!(stopped, Err(Refusal::AbortRequested), "{what}");
    }
    let late = base.decide(&applying, &agent(), &base.begin(), at(0).plus(hours(24 * 365)));
    assert!(matches!(late, Err(Refusal::BasisLost(_))), "{late:?}");
}

#[test]
fn permit_is_not_withdrawn_while_its_conditions_hold() {
    let world = world();
    let withdraw = Command::WithdrawPermit { hold: HOLD, gates: world.gates() };
    let refused = world.decide(&world.applying(at(0)), &agent(), &withdraw, at(1));
    assert!(matches!(refused, Err(Refusal::BasisStands { .. })), "{refused:?}");
}

#[test]
fn finish_needs_a_begin() {
    let world = world();
    let finish = Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded };
    let early = world.decide(&world.applying(at(0)), &agent(), &finish, at(1));
    assert_eq!(early, Err(Refusal::NotBegun));
    let task = world.step(&world.begun(at(0)), &agent(), &finish, at(1));
    assert_eq!((task.state, task.execution), (State::Completed, None));
    let raced = aborted(&world, &world.begun(at(0)));
    let task = world.step(&raced, &agent(), &finish, at(2));
    assert_eq!(task.state, State::Completed, "a completion prevails over an abort");
}

#[test]
fn clean_failure_is_retried_with_backoff_until_attempts_end() {
    let world = world();
    for remains in [Remains::Nothing, Remains::RolledBack] {
        let mut waits = Vec::new();
        for attempts in 1..=APPLY_ATTEMPTS_MAX {
            let task = Task { attempts, ..world.begun(at(0)) };
            let decision = world.decide(&task, &agent(), &fail(remains), at(100)).unwrap();
            let wait = decision.writes.iter().find_map(|write| match write {
                Write::NotBefore(until) => Some(until.since(at(100)).as_secs()),
                _ => None,
            });
            let is_last = attempts == APPLY_ATTEMPTS_MAX;
            let to = if is_last { State::Failed } else { State::Approved };
            assert_eq!(decision.to, To::State(to), "{attempts}");
            let event = if is_last { EventKind::TaskFailed } else { EventKind::TaskRequeued };
            assert_eq!(decision.events, [event]);
            waits.extend(wait);
        }
        assert_eq!(waits, [5, 10, 20, 40]);
    }
}

#[test]
fn failure_that_changed_something_is_final() {
    let world = world();
    let task = world.step(&world.begun(at(0)), &agent(), &fail(Remains::Changed), at(1));
    assert_eq!((task.state, task.execution), (State::Failed, None));
}

#[test]
fn abort_cancels_before_begin_and_fails_after_it() {
    let world = world();
    let unbegun = aborted(&world, &world.applying(at(0)));
    for remains in [Remains::Nothing, Remains::RolledBack, Remains::Changed] {
        let task = world.step(&unbegun, &agent(), &fail(remains), at(2));
        assert_eq!((task.state, task.basis), (State::Cancelled, None));
    }
    let task = world.step(&unbegun, &worker(), &Command::RequeueApply, at(2));
    assert_eq!(
        (task.state, task.execution),
        (State::Cancelled, None),
        "an aborted attempt is not requeued"
    );
    let begun = aborted(&world, &world.begun(at(0)));
    for remains in [Remains::Nothing, Remains::RolledBack, Remains::Changed] {
        let task = world.step(&begun, &agent(), &fail(remains), at(2));
        assert_eq!(task.state, State::Failed);
    }
}

#[test]
fn requeue_needs_a_fenced_holder_that_never_began() {
    let mut world = world();
    let applying = world.applying(at(0));
    let task = world.step(&applying, &worker(), &Command::RequeueApply, at(1));
    assert_eq!((task.state, task.execution.clone()), (State::Approved, None));
    assert_eq!(task.basis, Some(Basis::Quorum));
    let begun = world.begun(at(0));
    let refused = world.decide(&begun, &worker(), &Command::RequeueApply, at(1));
    assert_eq!(refused, Err(Refusal::AlreadyBegun { at: at(0) }));
    world.hold_is_fenced = false;
    let refused = world.decide(&applying, &worker(), &Command::RequeueApply, at(1));
    assert_eq!(refused, Err(Refusal::HolderMayLive));
}

#[test]
fn holder_lost_after_begin_leaves_an_unknown_outcome() {
    let mut world = world();
    let begun = world.begun(at(0));
    let lose = Command::LoseApply;
    let early = world.decide(&world.applying(at(0)), &worker(), &lose, at(1));
    assert_eq!(early, Err(Refusal::NotBegun));
    let task = world.step(&begun, &worker(), &lose, at(1));
    assert_eq!(task.state, State::Unknown);
    assert!(task.execution.is_some(), "kept for reconciliation");
    world.hold_is_over = false;
    let alive = world.decide(&begun, &worker(), &lose, at(1));
    assert_eq!(alive, Err(Refusal::HolderMayLive));
}

#[test]
fn late_report_is_recorded_and_changes_nothing() {
    let world = world();
    let task = world.unknown(at(0));
    for (command, remains) in [
        (Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded }, None),
        (fail(Remains::RolledBack), Some(Remains::RolledBack)),
    ] {
        let decision = world.decide(&task, &agent(), &command, at(1)).unwrap();
        assert_eq!(decision.to, To::State(State::Unknown));
        assert_eq!(decision.writes, [Write::LateReport { remains }]);
    }
}

#[test]
fn release_to_host_completes_without_a_known_result() {
    let world = world();
    let release = Command::FinishApply { hold: HOLD, result: ApplyResult::ReleasedToHost };
    let early = world.decide(&world.applying(at(0)), &agent(), &release, at(1));
    assert_eq!(early, Err(Refusal::NotBegun));
    let task = world.step(&world.begun(at(0)), &agent(), &release, at(1));
    assert_eq!((task.state, task.sub_state()), (State::Completed, Some(SubState::ReleasedToHost)));
    let success = Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded };
    let task = world.step(&world.begun(at(0)), &agent(), &success, at(1));
    assert_eq!((task.state, task.sub_state()), (State::Completed, None));
    // Reported late, it is no evidence that the change was made.
    let late = world.decide(&world.unknown(at(0)), &agent(), &release, at(1)).unwrap();
    assert_eq!(late.writes, [Write::LateReport { remains: Some(Remains::Changed) }]);
}

#[test]
fn reconcile_records_outcome_and_reason() {
    let mut world = world();
    world.resource_owners = [CAROL].into();
    let task = world.unknown(at(0));
    let reconcile = |found, reason: &str| Command::Reconcile { found, reason: reason.to_owned() };
    for (found, state) in [
        (ReconcileFinding::Completed, State::Completed),
        (ReconcileFinding::Failed, State::Failed),
        (ReconcileFinding::NotApplied, State::Approved),
    ] {
        for by in [ADMIN, CAROL] {
            let task = world.step(&task, &user(by), &reconcile(found, "looked"), at(1));
            assert_eq!((task.state, task.execution), (state, None));
        }
    }
    let silent = world.decide(&task, &user(ADMIN), &reconcile(ReconcileFinding::Failed, ""), at(1));
    assert_eq!(silent, Err(Refusal::ReasonRequired));
    let outsider =
        world.decide(&task, &user(ALICE), &reconcile(ReconcileFinding::Failed, "x"), at(1));
    assert!(matches!(outsider, Err(Refusal::Denied(_))));
    for (fenced, delay_over) in [(false, true), (true, false)] {
        world.hold_is_fenced = fenced;
        world.lock_delay_is_over = delay_over;
        let again =
            world.decide(&task, &user(ADMIN), &reconcile(ReconcileFinding::NotApplied, "x"), at(1));
        assert_eq!(again, Err(Refusal::HolderMayLive));
        let done =
            world.decide(&task, &user(ADMIN), &reconcile(ReconcileFinding::Completed, "x"), at(1));
        assert!(done.is_ok());
    }
}

#[test]
fn retry_returns_to_the_state_the_approval_supports() {
    let mut world = world();
    let failed = world.step(&world.begun(at(0)), &agent(), &fail(Remains::Changed), at(1));
    let task = world.step(&failed, &user(AUTHOR), &Command::Retry, at(2));
    assert_eq!((task.state, task.attempts), (State::Approved, 0));
    assert_eq!(task.basis, Some(Basis::Quorum));
    world.edit(ALICE, |person| person.active = false);
    let task = world.step(&failed, &user(AUTHOR), &Command::Retry, at(2));
    assert_eq!((task.state, task.attempts, task.basis), (State::Submitted, 0, None));
}

#[test]
fn report_by_another_agent_is_refused() {
    let world = world();
    let begun = world.begun(at(0));
    let other = Actor::agent(AgentId::from_u128(2), AUTHOR);
    for actor in [other, worker(), user(ADMIN)] {
        let refused = world.decide(
            &begun,
            &actor,
            &Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded },
            at(1),
        );
        assert!(matches!(refused, Err(Refusal::Denied(_))), "{actor:?}");
    }
}

#[test]
fn agent_revoked_or_without_active_owner_is_refused() {
    let base = world();
    let task = base.approved(at(0));
    let mut revoked = base.clone();
    revoked.agent.is_active = false;
    let mut left = base.clone();
    left.edit(AUTHOR, |person| person.active = false);
    for world in [revoked, left] {
        let refused = world.decide(&task, &agent(), &world.start(), at(1));
        assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
    }
}
