//! A role counts once it is old enough, for the vote and for the permit, and never while its age is
//! unknown.

use super::*;
use crate::approval::VoteMark;
use crate::approval::delegation::DelegationKind;
use crate::ids::UserId;
use crate::policy::Document;
use crate::risk::{Level, Score, Thresholds};
use crate::samples::{
    ADMIN, ALICE, BOB, CAROL, SECOND_ADMIN, World, agent, at, delegation, group, hours, person,
    policy, seen, two_dbas, user, worker, yes,
};
use crate::task::{
    AuthorityAge, BasisLost, Command, Content, GateName, Refusal, State, Task, explain,
};
use proptest::prelude::*;

const DAY: i64 = 86_400;

/// Requires two database administrators who have had the role for a day.
fn two_old_dbas() -> Document {
    Document { role_age_min: Some(hours(24)), ..two_dbas() }
}

/// Grants a role at the given second, or grants it again.
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
fn role_age_counts_from_the_minimum_and_unknown_never_does() {
    let asks = |now| Tenure { min: Some(hours(24)), now };
    let mut ann = person(ALICE, &["dba"]);
    let dba = Role::new("dba");
    for (now, counts) in [(0, false), (DAY - 1, false), (DAY, true), (DAY * 9, true)] {
        assert_eq!(asks(at(now)).counts(&ann, "dba"), counts, "{now}");
        let refusal = asks(at(now)).too_new(&ann, &dba);
        assert_eq!(refusal, (!counts).then(|| too_new(Some(at(DAY)))), "{now}");
    }
    assert!(!asks(at(DAY)).counts(&ann, "sre"), "a role they do not have");
    assert_eq!(asks(at(DAY)).too_new(&ann, &Role::new("sre")), None);
    ann.roles_since.insert(Role::new("sre"), at(0));
    assert!(!asks(at(DAY)).counts(&ann, "sre"), "a grant time without the role");
    ann.roles_since.clear();
    let end_of_time = Timestamp::from_micros(i64::MAX);
    assert!(!asks(end_of_time).counts(&ann, "dba"), "its age is unknown");
    assert_eq!(asks(end_of_time).too_new(&ann, &dba), Some(too_new(None)));
    let asks_nothing = Tenure { min: None, now: at(0) };
    assert!(asks_nothing.counts(&ann, "dba") && !asks_nothing.counts(&ann, "sre"));
    assert_eq!(asks_nothing.too_new(&ann, &dba), None);
    ann.roles_since.insert(Role::new("dba"), at(DAY * 2));
    assert!(!asks(at(DAY)).counts(&ann, "dba"), "a grant in the future");
}

#[test]
fn role_too_new_is_not_asked_and_reports_when_it_counts() {
    let mut world = World::new([two_old_dbas()]);
    give(&mut world, CAROL, "dba", DAY);
    let task = world.reviewing(at(DAY + 10));
    assert_eq!(asked(&task), [ALICE, BOB]);
    let refused = world.decide(&task, &user(CAROL), &yes(&task), at(DAY + 11));
    let refusal = Refusal::RoleTooNew(too_new(Some(at(DAY * 2))));
    let words = format!(
        "you cannot decide this task yet: the role dba counts once it has been held for 1d, at {}",
        at(DAY * 2)
    );
    assert_eq!(refusal.to_string(), words);
    assert_eq!(refused, Err(refusal));
    let refused = world.decide(&task, &user(ADMIN), &yes(&task), at(DAY + 11));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "not for its role age: {refused:?}");
    assert_eq!(asked(&world.reviewing(at(DAY * 2))), [ALICE, BOB, CAROL]);
}

#[test]
fn role_granted_again_after_the_request_has_no_vote() {
    let mut world = World::new([two_old_dbas()]);
    let task = world.reviewing(at(DAY + 5));
    give(&mut world, ALICE, "dba", DAY + 6);
    let refused = world.decide(&task, &user(ALICE), &yes(&task), at(DAY + 7));
    assert_eq!(refused, Err(Refusal::RoleTooNew(too_new(Some(at(DAY * 2 + 6))))));
    let task = world.step(&task, &user(BOB), &yes(&task), at(DAY + 7));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(DAY * 2 + 6));
    assert_eq!(task.state, State::Approved, "the role is old enough now");
}

#[test]
fn role_too_new_at_apply_refuses_the_permit() {
    let mut world = World::new([two_dbas()]);
    give(&mut world, ALICE, "dba", DAY);
    let task = world.approved(at(DAY + 5));
    let start = world.start();
    assert!(world.decide(&task, &agent(), &start, at(DAY + 6)).is_ok());
    world.current = vec![policy(1, 2, two_old_dbas())];
    let refused = world.decide(&task, &agent(), &start, at(DAY * 2 - 1));
    let lost = BasisLost::QuorumShort { missing: 1 };
    assert_eq!(refused, Err(Refusal::BasisLost(lost)));
    assert!(world.decide(&task, &agent(), &start, at(DAY * 2)).is_ok());
}

#[test]
fn role_too_new_cannot_answer_for_others() {
    let mut world = World::new([two_old_dbas()]);
    world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Transfer)];
    assert_eq!(asked(&world.reviewing(at(DAY))), [BOB, CAROL]);
    give(&mut world, CAROL, "reviewer", 5);
    assert_eq!(asked(&world.reviewing(at(DAY))), [ALICE, BOB]);
}

#[test]
fn role_age_is_met_by_name_or_by_any_old_role() {
    let require = vec![group(&["security", "dba"], &[ADMIN], 1)];
    let mut world = World::new([Document { require, ..two_old_dbas() }]);
    for (who, role) in [(ADMIN, "admin"), (CAROL, "dba"), (BOB, "dba")] {
        give(&mut world, who, role, DAY);
    }
    assert_eq!(asked(&world.reviewing(at(DAY))), [ALICE, CAROL, ADMIN]);
}

#[test]
fn explain_names_people_whose_role_is_too_new() {
    let mut world = World::new([two_old_dbas()]);
    give(&mut world, CAROL, "dba", DAY);
    let task = world.reviewing(at(DAY));
    let actor = worker();
    let explained = explain(&task, &world.gates(), &world.facts(&actor), at(DAY));
    let gate = explained.gates.iter().find(|gate| gate.name == GateName::Policy).unwrap();
    assert_eq!(gate.evidence, "1 policy asks for 2 of dba, by roles held for at least 1d");
    let excluded = &explained.assignment.groups[0][0].excluded[&CAROL];
    assert_eq!(excluded.to_string(), too_new(Some(at(DAY * 2))).to_string());
    world.edit(CAROL, |person| person.roles_since.clear());
    let explained = explain(&task, &world.gates(), &world.facts(&actor), at(DAY));
    let excluded = explained.assignment.groups[0][0].excluded[&CAROL].to_string();
    assert!(excluded.ends_with("it is unknown since when it has been held"), "{excluded}");
}

/// Roles must be a day old for tasks of high risk, whatever the policies require.
fn aged(is_in_setup: bool) -> World {
    let authority =
        AuthorityAge { min: hours(24), installation: Thresholds::default(), is_in_setup };
    World { authority, ..World::new([two_dbas()]) }
}

fn of_level(level: Level, task: Task) -> Task {
    Task { content: Content { level, ..task.content }, ..task }
}

#[test]
fn new_role_counts_below_high_risk_only() {
    let mut world = aged(false);
    give(&mut world, ALICE, "dba", DAY);
    for (level, counts) in
        [(Level::Low, true), (Level::Medium, true), (Level::High, false), (Level::Critical, false)]
    {
        let task = of_level(level, world.reviewing(at(DAY + 1)));
        let decided = world.decide(&task, &user(ALICE), &yes(&task), at(DAY + 2));
        assert_eq!(decided.is_ok(), counts, "{level:?}: {decided:?}");
        if !counts {
            assert_eq!(decided, Err(Refusal::RoleTooNew(too_new(Some(at(DAY * 2))))));
        }
        assert!(world.decide(&task, &user(ALICE), &yes(&task), at(DAY * 2)).is_ok());
    }
}

#[test]
fn new_role_is_judged_by_the_installation_thresholds_too() {
    let mut world = aged(false);
    give(&mut world, ALICE, "dba", DAY);
    let mut task = of_level(Level::Low, world.reviewing(at(DAY + 1)));
    task.content.subject.risk = Score::new(100);
    let refused = world.decide(&task, &user(ALICE), &yes(&task), at(DAY + 2));
    assert_eq!(refused, Err(Refusal::RoleTooNew(too_new(Some(at(DAY * 2))))));
}

#[test]
fn new_role_in_setup_counts_and_marks_the_vote() {
    let mut world = aged(true);
    give(&mut world, ALICE, "dba", DAY);
    world.edit(BOB, |person| person.is_unconfirmed = true);
    for (voter, level, marks) in [
        (ALICE, Level::High, vec![VoteMark::NewRole]),
        (ALICE, Level::Medium, vec![]),
        (BOB, Level::Medium, vec![VoteMark::Unconfirmed]),
        (BOB, Level::Critical, vec![VoteMark::Unconfirmed]),
    ] {
        let task = of_level(level, world.reviewing(at(DAY + 1)));
        let decision = world.decide(&task, &user(voter), &yes(&task), at(DAY + 2)).unwrap();
        assert_eq!(decision.marks().into_iter().collect::<Vec<_>>(), marks, "{voter} {level:?}");
    }
}

#[test]
fn role_that_was_too_new_to_be_asked_votes_later() {
    let mut world = aged(false);
    give(&mut world, ALICE, "dba", DAY);
    let task = of_level(Level::High, world.submitted(at(DAY + 1)));
    let task = world.step(&task, &worker(), &Command::OpenReview, at(DAY + 1));
    assert_eq!(asked(&task), [BOB]);
    let early = world.decide(&task, &user(ALICE), &yes(&task), at(DAY * 2 - 1));
    assert_eq!(early, Err(Refusal::RoleTooNew(too_new(Some(at(DAY * 2))))));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(DAY * 2));
    assert_eq!(world.step(&task, &user(BOB), &yes(&task), at(DAY * 2)).state, State::Approved);
    // A role that was granted after the review began is no reason to be asked.
    let mut world = aged(false);
    let task = of_level(Level::High, world.reviewing(at(DAY)));
    give(&mut world, ADMIN, "dba", DAY + 1);
    let refused = world.decide(&task, &user(ADMIN), &yes(&task), at(DAY * 3));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn permit_for_high_risk_needs_old_roles() {
    let mut world = aged(false);
    let task = of_level(Level::High, world.approved(at(DAY)));
    let start = world.start();
    assert!(world.decide(&task, &agent(), &start, at(DAY + 1)).is_ok());
    give(&mut world, ALICE, "dba", DAY);
    let refused = world.decide(&task, &agent(), &start, at(DAY + 1));
    assert_eq!(refused, Err(Refusal::BasisLost(BasisLost::QuorumShort { missing: 1 })));
}

#[test]
fn override_of_high_risk_needs_old_admin_roles() {
    let mut world = aged(false);
    let task = of_level(Level::High, world.reviewing(at(DAY)));
    let ask = Command::Override { ticket: "INC-1".to_owned(), reason: "outage".to_owned() };
    let asked = world.step(&task, &user(ADMIN), &ask, at(DAY));
    let confirm = Command::ConfirmOverride { seen: seen(&asked) };
    let is_possible =
        |world: &World, now| world.decide(&asked, &user(SECOND_ADMIN), &confirm, now).map(|_| ());
    assert_eq!(is_possible(&world, at(DAY + 1)), Ok(()));
    let too_new =
        |from| TooNew { role: Role::new(Role::ADMIN), min: hours(24), counts_from: Some(at(from)) };
    give(&mut world, SECOND_ADMIN, "admin", 10);
    let refusal = Refusal::RoleTooNew(too_new(DAY + 10));
    assert_eq!(is_possible(&world, at(DAY + 1)), Err(refusal));
    assert_eq!(is_possible(&world, at(DAY + 10)), Ok(()));
    give(&mut world, ADMIN, "admin", 20);
    let gone = Refusal::BasisLost(BasisLost::OverrideAdminGone);
    assert_eq!(is_possible(&world, at(DAY + 10)), Err(gone), "the requesting admin");
    let refused = world.decide(&task, &user(ADMIN), &ask, at(DAY));
    assert_eq!(refused, Err(Refusal::RoleTooNew(too_new(DAY + 20))));
}

#[test]
fn passkey_after_a_reset_waits_except_in_setup() {
    let judge = |is_in_setup, from: Option<i64>, now| {
        aged(is_in_setup).authority.judge_passkey(from.map(at), at(now))
    };
    assert_eq!(judge(false, None, 0), Ok(None), "it was not enrolled after a reset");
    let refusal = Refusal::PasskeyTooNew { counts_from: at(DAY) };
    assert_eq!(judge(false, Some(DAY), DAY - 1), Err(refusal));
    assert_eq!(judge(true, Some(DAY), DAY - 1), Ok(Some(VoteMark::NewPasskey)));
    for is_in_setup in [false, true] {
        assert_eq!(judge(is_in_setup, Some(DAY), DAY), Ok(None));
    }
}

proptest! {
    #[test]
    fn role_counts_iff_held_for_the_minimum_age(
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
