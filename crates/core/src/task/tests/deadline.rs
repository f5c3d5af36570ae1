//! The end of a review: who is warned, who may extend it, and by how much.

use std::collections::BTreeSet;

use crate::event::EventKind;
use crate::samples::*;
use crate::task::*;
use crate::time::Timestamp;

fn extend(until: Timestamp) -> Command {
    Command::Extend { until, reason: "the owner is back on Monday".to_owned() }
}

fn ends_at(world: &World, task: &Task, now: Timestamp) -> Timestamp {
    let actor = worker();
    expires_at(task, &world.facts(&actor), now).unwrap()
}

#[test]
fn extension_by_reviewer_or_admin_moves_the_deadline() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let end = ends_at(&world, &task, at(0));
    let until = end.plus(hours(24));
    for actor in [user(ALICE), user(ADMIN)] {
        let decision = world.decide(&task, &actor, &extend(until), at(1)).unwrap();
        assert_eq!(decision.events, [EventKind::TaskExtended]);
        let later = task.after(&decision, at(1)).unwrap();
        assert_eq!((later.state, ends_at(&world, &later, at(1))), (State::Reviewing, until));
        let expire = |now| world.decide(&later, &worker(), &Command::Expire, now);
        assert_eq!(expire(end), Err(Refusal::NotDue { at: until }));
        assert!(expire(until).is_ok());
    }
    for actor in [user(AUTHOR), user(STRANGER), agent(), worker()] {
        let refused = world.decide(&task, &actor, &extend(until), at(1));
        assert!(matches!(refused, Err(Refusal::Denied(_))), "{actor:?}: {refused:?}");
    }
}

#[test]
fn extension_is_after_the_deadline_and_within_a_week() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let (ends_at, latest) = (ends_at(&world, &task, at(9)), at(9).plus(hours(24 * 7)));
    let micro = Duration::from_micros(1);
    let ask = |until| world.decide(&task, &user(ALICE), &extend(until), at(9));
    for until in [at(9), ends_at, latest.plus(micro)] {
        assert_eq!(ask(until), Err(Refusal::ExtensionOutOfRange { ends_at, latest }), "{until}");
    }
    assert!(ask(ends_at.plus(micro)).is_ok() && ask(latest).is_ok());
    let silent = Command::Extend { until: latest, reason: " ".to_owned() };
    assert_eq!(world.decide(&task, &user(ALICE), &silent, at(9)), Err(Refusal::ReasonRequired));
}

#[test]
fn extension_does_not_carry_over_to_the_next_review() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let end = ends_at(&world, &task, at(0));
    let task = world.step(&task, &user(ALICE), &extend(end.plus(hours(24))), at(1));
    let amend = Command::Amend { content: content("next") };
    let task = world.step(&task, &user(AUTHOR), &amend, at(2));
    assert_eq!(task.extended_to, None);
}

#[test]
fn deadline_warning_goes_to_open_reviewers_and_author() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let end = ends_at(&world, &task, at(0));
    let actor = worker();
    let soon = warns_at(&task, &world.facts(&actor), at(0)).unwrap();
    assert_eq!(soon, end.minus(hours(4)));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let warn = |now| world.decide(&task, &worker(), &Command::WarnExpiry, now);
    assert_eq!(warn(soon.minus(hours(1))), Err(Refusal::NotDue { at: soon }));
    let decision = warn(soon).unwrap();
    assert_eq!(decision.events, [EventKind::TaskExpiring]);
    let people = [AUTHOR, BOB].into();
    assert_eq!(decision.writes, [Write::Notify { roles: BTreeSet::new(), people }]);
    let draft = draft();
    assert_eq!(warns_at(&draft, &world.facts(&actor), at(0)), None);
}
