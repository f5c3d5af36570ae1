//! Reviews over time: who is asked when, and what the passage of time may do.

use std::collections::BTreeSet;

use crate::approval::delegation::DelegationKind;
use crate::approval::{ApprovalStatus, Route};
use crate::event::EventKind;
use crate::ids::UserId;
use crate::policy::{Document, EscalationAction, EscalationStep, ReassignTo};
use crate::samples::*;
use crate::task::*;

const HOUR: i64 = 3600;

fn step(after: u64, action: EscalationAction) -> EscalationStep {
    EscalationStep { after: hours(after), action }
}

fn notify(role: &str) -> EscalationAction {
    EscalationAction::Notify { roles: roles(&[role]), people: BTreeSet::new() }
}

fn widen(role: &str) -> EscalationAction {
    EscalationAction::Widen { roles: roles(&[role]), people: BTreeSet::new() }
}

fn escalating(steps: Vec<EscalationStep>) -> World {
    World::new([Document { escalation: steps, ..two_dbas() }])
}

fn escalate(world: &World, task: &Task, seconds: i64) -> Result<Decision, Refusal> {
    world.decide(task, &worker(), &Command::Escalate(Escalation::Step), at(seconds))
}

fn reviewers(task: &Task) -> Vec<UserId> {
    task.approvals.iter().map(|open| open.reviewer).collect()
}

#[test]
fn review_opening_asks_all_assigned_with_a_deadline() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(10));
    assert_eq!(reviewers(&task), [ALICE, BOB]);
    assert!(task.approvals.iter().all(|open| open.due_at == at(10).plus(hours(48))));
    assert_eq!(task.review_opened_at, Some(at(10)));
    let submitted = world.submitted(at(10));
    let decision = world.decide(&submitted, &worker(), &Command::OpenReview, at(10)).unwrap();
    assert_eq!(decision.events, [EventKind::TaskReviewing, EventKind::ApprovalRequested]);
}

#[test]
fn review_reports_a_group_that_cannot_be_met_at_once() {
    let world = World::new([Document { require: vec![group(&["dba"], &[], 3)], ..two_dbas() }]);
    let submitted = world.submitted(at(0));
    let decision = world.decide(&submitted, &worker(), &Command::OpenReview, at(0)).unwrap();
    let reported = decision.writes.iter().find_map(|write| match write {
        Write::TellShortages(shortages) => Some(shortages.clone()),
        _ => None,
    });
    let shortage = &reported.unwrap()[0];
    assert_eq!((shortage.needed, shortage.possible), (3, 2));
    assert!(decision.events.contains(&EventKind::ApprovalEscalated));
}

#[test]
fn escalation_steps_run_once_in_order_and_not_early() {
    let world = escalating(vec![step(2, notify("operator")), step(4, widen("security"))]);
    let task = world.reviewing(at(0));
    assert_eq!(escalate(&world, &task, 2 * HOUR - 1), Err(Refusal::NotDue { at: at(2 * HOUR) }));
    let decision = escalate(&world, &task, 2 * HOUR).unwrap();
    let reported = Write::Notify { roles: roles(&["operator"]), people: BTreeSet::new() };
    assert!(decision.writes.contains(&reported));
    let task = task.after(&decision, at(2 * HOUR)).unwrap();
    assert_eq!(escalate(&world, &task, 2 * HOUR), Err(Refusal::NotDue { at: at(4 * HOUR) }));
    let task = task.after(&escalate(&world, &task, 4 * HOUR).unwrap(), at(4 * HOUR)).unwrap();
    assert_eq!(reviewers(&task), [ALICE, BOB, CAROL], "earlier reviewers stay");
    assert_eq!(escalate(&world, &task, 9 * HOUR), Err(Refusal::NoStepLeft));
    let task = world.step(&task, &user(CAROL), &yes(&task), at(5 * HOUR));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(5 * HOUR));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn review_group_is_not_widened_before_its_step_has_run() {
    let world = escalating(vec![step(4, widen("security"))]);
    let task = world.reviewing(at(0));
    let refused = world.decide(&task, &user(CAROL), &yes(&task), at(5 * HOUR));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn escalation_steps_of_one_moment_run_together() {
    let mut world = escalating(vec![step(2, notify("operator"))]);
    let second = Document { escalation: vec![step(2, widen("security"))], ..two_dbas() };
    world.current.push(policy(2, 1, Document { name: "second".to_owned(), ..second }));
    world.pinned = world.current.clone();
    let task = world.reviewing(at(0));
    let decision = escalate(&world, &task, 2 * HOUR).unwrap();
    assert!(decision.writes.iter().any(|write| matches!(write, Write::Notify { .. })));
    let task = task.after(&decision, at(2 * HOUR)).unwrap();
    assert_eq!(escalate(&world, &task, 9 * HOUR), Err(Refusal::NoStepLeft));
}

#[test]
fn reassignment_asks_manager_or_delegate_for_the_same_seat() {
    for to in [ReassignTo::Manager, ReassignTo::Delegate] {
        let mut world = escalating(vec![step(2, EscalationAction::Reassign(to))]);
        let task = world.reviewing(at(0));
        match to {
            ReassignTo::Manager => {
                world.edit(ALICE, |person| person.manager = Some(CAROL));
                world.edit(BOB, |person| person.manager = Some(STRANGER));
            }
            ReassignTo::Delegate => {
                world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Transfer)];
            }
        }
        let task = task.after(&escalate(&world, &task, 2 * HOUR).unwrap(), at(2 * HOUR)).unwrap();
        assert_eq!(reviewers(&task), [ALICE, BOB, CAROL], "{to:?}; a stranger is never asked");
        let open = &task.approvals[2];
        assert_eq!((open.places.len(), open.places[0].owner), (1, ALICE));
        assert_eq!(open.places[0].route, Route::Reassigned { chain: vec![ALICE, CAROL] });
        let task = world.step(&task, &user(CAROL), &yes(&task), at(3 * HOUR));
        let task = world.step(&task, &user(BOB), &yes(&task), at(3 * HOUR));
        assert_eq!(task.state, State::Approved);
    }
}

#[test]
fn reassignment_moves_unanswered_requests_only() {
    let to_manager = EscalationAction::Reassign(ReassignTo::Manager);
    let mut world = escalating(vec![step(2, to_manager)]);
    world.edit(ALICE, |person| person.manager = Some(CAROL));
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let decision = escalate(&world, &task, 2 * HOUR).unwrap();
    assert!(!decision.writes.iter().any(|write| matches!(write, Write::Ask { .. })));
}

#[test]
fn deactivated_reviewer_is_replaced_by_delegate_then_manager() {
    let replace = |world: &World, task: &Task, reviewer| {
        let command = Command::Escalate(Escalation::Deactivated { reviewer });
        world.decide(task, &worker(), &command, at(1))
    };
    let mut world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let refused = Err(Refusal::NothingToReassign { reviewer: ALICE });
    assert_eq!(replace(&world, &task, ALICE), refused, "Alice is active");
    world.edit(ALICE, |person| {
        person.active = false;
        person.manager = Some(ADMIN);
    });
    let decision = replace(&world, &task, ALICE).unwrap();
    let after = task.after(&decision, at(1)).unwrap();
    assert_eq!(reviewers(&after), [ALICE, BOB, ADMIN]);
    assert_eq!(after.approvals[0].status, ApprovalStatus::Superseded);
    assert_eq!(replace(&world, &after, ALICE), refused, "only once");
    world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Transfer)];
    let after = task.after(&replace(&world, &task, ALICE).unwrap(), at(1)).unwrap();
    assert_eq!(reviewers(&after), [ALICE, BOB, CAROL], "a delegate comes before the manager");
}

#[test]
fn review_without_answers_expires_undecided() {
    let world = escalating(vec![step(4, widen("security"))]);
    let task = world.reviewing(at(0));
    let ends = (48 + 4) * HOUR;
    let expire = |seconds| world.decide(&task, &worker(), &Command::Expire, at(seconds));
    assert_eq!(expire(ends - 1), Err(Refusal::NotDue { at: at(ends) }));
    let task = task.after(&expire(ends).unwrap(), at(ends)).unwrap();
    assert_eq!(task.state, State::Expired);
    assert!(task.approvals.iter().all(|open| open.status == ApprovalStatus::Expired));
    assert!(task.votes.is_empty());
    let submitted = World::new([two_dbas()]).submitted(at(0));
    let refused = world.decide(&submitted, &worker(), &Command::Expire, at(1));
    assert!(matches!(refused, Err(Refusal::NotDue { .. } | Refusal::PinsMissing)));
}

/// The predicted expiry is the time from which the worker's command succeeds.
#[test]
fn expiry_happens_at_the_predicted_time() {
    let world = escalating(vec![step(4, widen("security"))]);
    let open = world.reviewing(at(0));
    let approved = world.approved(at(0));
    let draft = draft();
    let actor = worker();
    let mut reported = 0;
    for task in [&draft, &world.submitted(at(0)), &open, &approved] {
        for hours in [1, 51, 52, 24 * 7, 24 * 8] {
            let now = at(hours * HOUR);
            let said = expires_at(task, &world.facts(&actor), now);
            match decide(task, &Command::Expire, &world.facts(&actor), now) {
                Ok(_) => assert!(said.is_some_and(|at| at <= now), "{:?} {said:?}", task.state),
                Err(Refusal::NotDue { at }) => assert_eq!(said, Some(at), "{:?}", task.state),
                Err(_) => assert_eq!(said, None, "{:?}", task.state),
            }
            reported += usize::from(said.is_some());
        }
    }
    assert!(reported >= 10, "{reported}");
    assert_eq!(expires_at(&draft, &world.facts(&actor), at(0)), None);
}

#[test]
fn timer_never_approves() {
    // Any command of a worker at any time, without votes, clause or override.
    let world = escalating(vec![step(1, notify("operator")), step(2, widen("security"))]);
    let commands = || {
        [
            Command::OpenReview,
            Command::AutoApprove,
            Command::Escalate(Escalation::Step),
            Command::Escalate(Escalation::Deactivated { reviewer: ALICE }),
            Command::Expire,
            Command::ReopenReview(Reopen::BasisLost),
            Command::RequeueApply,
            Command::LoseApply,
            Command::LapseOverride,
            Command::Cancel { reason: None },
        ]
    };
    let mut frontier = vec![world.submitted(at(0))];
    for round in 0..4 {
        let mut next = Vec::new();
        for task in &frontier {
            for command in commands() {
                for hour in [0, 1, 2, 47, 48, 49, 200] {
                    let now = at((hour + round) * HOUR);
                    let Ok(decision) = world.decide(task, &worker(), &command, now) else {
                        continue;
                    };
                    let task = task.after(&decision, now).unwrap();
                    assert_ne!(task.state, State::Approved, "{command:?}");
                    if !next.contains(&task) && next.len() < 40 {
                        next.push(task);
                    }
                }
            }
        }
        frontier = next;
    }
}
