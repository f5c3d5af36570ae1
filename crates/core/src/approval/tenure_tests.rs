//! A role counts from the moment it is old enough, for the vote and for the permit, and never while
//! nobody knows its age.

use super::*;
use crate::approval::delegation::Kind;
use crate::ids::UserId;
use crate::policy::Document;
use crate::samples::{
    ADMIN, ALICE, ATTEMPT, BOB, CAROL, HOLD, World, agent, at, delegation, group, hours, person,
    policy, two_dbas, user, worker, yes,
};
use crate::task::{BasisLost, Command, GateName, Refusal, State, Task, explain};
use proptest::prelude::*;

const DAY: i64 = 86_400;

/// Two of the database administrators, who have been that for a day.
fn two_old_dbas() -> Document {
    Document { role_age_min: Some(hours(24)), ..two_dbas() }
}

/// Gives somebody a role at a moment, or gives it anew.
fn give(world: &mut World, who: UserId, role: &str, seconds: i64) {
    world.edit(who, |person| {
        person.roles.insert(Role::new(role));
        person.roles_since.insert(Role::new(role), at(seconds));
    });
}

fn asked(task: &Task) -> Vec<UserId> {
    task.open_requests().map(|request| request.reviewer).collect()
}

fn too_new(counts_from: Option<Timestamp>) -> TooNew {
    TooNew { role: Role::new("dba"), min: hours(24), counts_from }
}

#[test]
fn a_role_counts_from_its_age_on_and_an_unknown_age_is_none() {
    let asks = |now| Tenure { min: Some(hours(24)), now };
    let mut ann = person(ALICE, &["dba"]);
    let dba = Role::new("dba");
    for (now, counts) in [(0, false), (DAY - 1, false), (DAY, true), (DAY * 9, true)] {
        assert_eq!(asks(at(now)).counts(&ann, "dba"), counts, "{now}");
        let told = asks(at(now)).too_new(&ann, &dba);
        assert_eq!(told, (!counts).then(|| too_new(Some(at(DAY)))), "{now}");
    }
    assert!(!asks(at(DAY)).counts(&ann, "sre"), "one that they do not have");
    assert_eq!(asks(at(DAY)).too_new(&ann, &Role::new("sre")), None);
    ann.roles_since.insert(Role::new("sre"), at(0));
    assert!(!asks(at(DAY)).counts(&ann, "sre"), "an age without the role");
    ann.roles_since.clear();
    let end_of_time = Timestamp::from_micros(i64::MAX);
    assert!(!asks(end_of_time).counts(&ann, "dba"), "since nobody knows when");
    assert_eq!(asks(end_of_time).too_new(&ann, &dba), Some(too_new(None)));
    let asks_nothing = Tenure { min: None, now: at(0) };
    assert!(asks_nothing.counts(&ann, "dba") && !asks_nothing.counts(&ann, "sre"));
    assert_eq!(asks_nothing.too_new(&ann, &dba), None);
    ann.roles_since.insert(Role::new("dba"), at(DAY * 2));
    assert!(!asks(at(DAY)).counts(&ann, "dba"), "one that is still to come");
}

#[test]
fn whoever_took_a_role_just_before_is_not_asked_and_told_from_when_it_counts() {
    let mut world = World::new([two_old_dbas()]);
    give(&mut world, CAROL, "dba", DAY);
    let task = world.reviewing(at(DAY + 10));
    assert_eq!(asked(&task), [ALICE, BOB]);
    let refused = world.decide(&task, &user(CAROL), &yes(&task), at(DAY + 11));
    let refusal = Refusal::RoleTooNew(too_new(Some(at(DAY * 2))));
    let words =
        format!("you have no say yet: the role dba counts once it is 1d old, at {}", at(DAY * 2));
    assert_eq!(refusal.to_string(), words);
    assert_eq!(refused, Err(refusal));
    let refused = world.decide(&task, &user(ADMIN), &yes(&task), at(DAY + 11));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "no role would help: {refused:?}");
    assert_eq!(asked(&world.reviewing(at(DAY * 2))), [ALICE, BOB, CAROL]);
}

#[test]
fn a_role_that_was_given_anew_after_the_request_has_no_vote() {
    let mut world = World::new([two_old_dbas()]);
    let task = world.reviewing(at(DAY + 5));
    give(&mut world, ALICE, "dba", DAY + 6);
    let refused = world.decide(&task, &user(ALICE), &yes(&task), at(DAY + 7));
    assert_eq!(refused, Err(Refusal::RoleTooNew(too_new(Some(at(DAY * 2 + 6))))));
    let task = world.step(&task, &user(BOB), &yes(&task), at(DAY + 7));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(DAY * 2 + 6));
    assert_eq!(task.state, State::Approved, "it counts from then on");
}

#[test]
fn no_permit_passes_on_a_role_that_is_too_new() {
    let mut world = World::new([two_dbas()]);
    give(&mut world, ALICE, "dba", DAY);
    let task = world.approved(at(DAY + 5));
    let start = Command::StartApply { execution: ATTEMPT, hold: HOLD };
    assert!(world.decide(&task, &agent(), &start, at(DAY + 6)).is_ok());
    world.current = vec![policy(1, 2, two_old_dbas())];
    let refused = world.decide(&task, &agent(), &start, at(DAY * 2 - 1));
    let lost = BasisLost::QuorumShort { missing: 1 };
    assert_eq!(refused, Err(Refusal::BasisLost(lost)));
    assert!(world.decide(&task, &agent(), &start, at(DAY * 2)).is_ok());
}

#[test]
fn nobody_answers_for_others_by_a_role_that_is_too_new() {
    let mut world = World::new([two_old_dbas()]);
    world.delegations = vec![delegation(1, ALICE, CAROL, Kind::Transfer)];
    assert_eq!(asked(&world.reviewing(at(DAY))), [BOB, CAROL]);
    give(&mut world, CAROL, "reviewer", 5);
    assert_eq!(asked(&world.reviewing(at(DAY))), [ALICE, BOB]);
}

#[test]
fn who_is_named_needs_no_role_and_one_old_role_of_several_is_enough() {
    let require = vec![group(&["security", "dba"], &[ADMIN], 1)];
    let mut world = World::new([Document { require, ..two_old_dbas() }]);
    for (who, role) in [(ADMIN, "admin"), (CAROL, "dba"), (BOB, "dba")] {
        give(&mut world, who, role, DAY);
    }
    assert_eq!(asked(&world.reviewing(at(DAY))), [ALICE, CAROL, ADMIN]);
}

#[test]
fn explain_says_whose_role_is_too_new() {
    let mut world = World::new([two_old_dbas()]);
    give(&mut world, CAROL, "dba", DAY);
    let task = world.reviewing(at(DAY));
    let actor = worker();
    let told = explain(&task, &world.facts(&actor), at(DAY));
    let gate = told.gates.iter().find(|gate| gate.name == GateName::Policy).unwrap();
    assert_eq!(gate.evidence, "1 policy asks for 2 of dba, by roles that are 1d old");
    let excluded = &told.assignment.groups[0][0].excluded[&CAROL];
    assert_eq!(excluded.to_string(), too_new(Some(at(DAY * 2))).to_string());
    world.edit(CAROL, |person| person.roles_since.clear());
    let told = explain(&task, &world.facts(&actor), at(DAY));
    let excluded = told.assignment.groups[0][0].excluded[&CAROL].to_string();
    assert!(excluded.ends_with("nobody knows since when it is held"), "{excluded}");
}

proptest! {
    #[test]
    fn a_role_counts_iff_it_was_had_for_so_long(
        since in 0..1_000_000_i64,
        min in 1..1_000_000_u64,
        now in 0..3_000_000_i64,
    ) {
        let mut ann = person(ALICE, &["dba"]);
        ann.roles_since.insert(Role::new("dba"), at(since));
        let tenure = Tenure { min: Some(Duration::from_secs(min)), now: at(now) };
        let counts = tenure.counts(&ann, "dba");
        prop_assert_eq!(counts, now - since >= i64::try_from(min).unwrap());
        prop_assert_eq!(tenure.too_new(&ann, &Role::new("dba")).is_none(), counts);
    }
}
