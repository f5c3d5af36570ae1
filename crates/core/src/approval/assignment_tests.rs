//! Who is asked and why; and that no delegation makes two humans of one.

use super::*;
use crate::approval::delegation::Kind;
use crate::policy::{self, Document, Exempt};
use crate::samples::{
    ADMIN, ALICE, AUTHOR, BOB, CAROL, STRANGER, World, at, delegation, group, person, roles,
    two_dbas, user, worker, yes,
};
use crate::task::{Command, Rules, State};
use crate::times::ApprovalTimes;
use proptest::prelude::*;

fn assigned(world: &World) -> Assignment {
    let task = world.submitted(at(0));
    let actor = worker();
    let facts = world.facts(&actor);
    let requirement = policy::requirement(
        &world.current,
        &task.content.subject,
        at(0),
        &ApprovalTimes::default(),
    );
    Seating::new(&[&requirement], facts.situation(&task, at(0))).assign()
}

fn asked(world: &World) -> Vec<UserId> {
    assigned(world).requests.iter().map(|request| request.reviewer).collect()
}

fn requiring(groups: Vec<policy::Group>) -> World {
    World::new([Document { require: groups, ..two_dbas() }])
}

#[test]
fn members_sit_by_role_or_name_and_the_reason_is_kept() {
    let world = requiring(vec![group(&["dba", "security"], &[ADMIN], 1)]);
    let assignment = assigned(&world);
    let members = &assignment.groups[0][0].members;
    assert_eq!(members.get(&ADMIN), Some(&Because::Named));
    assert_eq!(members.get(&ALICE), Some(&Because::Role { role: Role::new("dba") }));
    assert_eq!(members.get(&CAROL), Some(&Because::Role { role: Role::new("security") }));
    assert_eq!(members.len(), 4);
    assert_eq!(assignment.groups[0][0].asked_by, world.pins().into_iter().collect());
    let place = Place { owner: ALICE, route: Route::Own };
    assert_eq!(assignment.requests[0], Request { reviewer: ALICE, places: vec![place] });
}

#[test]
fn those_with_a_part_in_it_are_left_out_by_name() {
    let mut world = requiring(vec![group(&["dba"], &[AUTHOR], 1)]);
    world.edit(BOB, |person| person.aliases = [AUTHOR].into());
    let assignment = assigned(&world);
    assert_eq!(assignment.requests.len(), 1);
    let excluded: Vec<UserId> = assignment.groups[0][0].excluded.keys().copied().collect();
    assert_eq!(excluded, [AUTHOR, BOB]);
}

#[test]
fn an_authors_delegate_does_not_sit_in_the_authors_place() {
    let mut world = requiring(vec![group(&[], &[AUTHOR, ALICE], 1)]);
    world.delegations = vec![delegation(1, AUTHOR, CAROL, Kind::Transfer)];
    assert_eq!(asked(&world), [ALICE]);
}

#[test]
fn exempt_people_and_roles_are_not_asked() {
    let exempt = |roles_: &[&str], people: &[UserId]| Exempt {
        roles: roles(roles_),
        people: people.iter().copied().collect(),
    };
    let world = |exempt| World::new([Document { exempt, ..two_dbas() }]);
    assert_eq!(asked(&world(exempt(&[], &[ALICE]))), [BOB]);
    assert_eq!(asked(&world(exempt(&["dba"], &[]))), []);
    assert_eq!(asked(&world(exempt(&["security"], &[CAROL]))), [ALICE, BOB]);
}

#[test]
fn a_transfer_moves_the_request_and_a_follow_adds_one() {
    let mut world = World::new([two_dbas()]);
    world.delegations = vec![delegation(1, ALICE, CAROL, Kind::Transfer)];
    let assignment = assigned(&world);
    let who: Vec<UserId> = assignment.requests.iter().map(|request| request.reviewer).collect();
    assert_eq!(who, [BOB, CAROL]);
    let route = Route::Transfer { chain: vec![ALICE, CAROL] };
    assert_eq!(assignment.requests[1].places, [Place { owner: ALICE, route }]);
    world.delegations = vec![delegation(1, ALICE, CAROL, Kind::Follow)];
    let assignment = assigned(&world);
    let route = Route::Follow { chain: vec![ALICE, CAROL] };
    assert_eq!(asked(&world), [ALICE, BOB, CAROL], "the owner stays free to vote");
    assert_eq!(assignment.requests[2].places, [Place { owner: ALICE, route }]);
}

#[test]
fn a_policy_that_forbids_delegation_asks_the_owners() {
    let document = Document { delegation: DelegationRule::Forbidden, ..two_dbas() };
    let mut world = World::new([document]);
    world.delegations =
        vec![delegation(1, ALICE, CAROL, Kind::Transfer), delegation(2, BOB, CAROL, Kind::Follow)];
    assert_eq!(asked(&world), [ALICE, BOB]);
}

#[test]
fn a_faulty_delegation_is_told_and_the_owner_is_asked() {
    let mut world = World::new([two_dbas()]);
    world.delegations = vec![
        delegation(1, ALICE, STRANGER, Kind::Transfer),
        delegation(2, BOB, STRANGER, Kind::Follow),
    ];
    let assignment = assigned(&world);
    assert_eq!(asked(&world), [ALICE, BOB]);
    assert_eq!(assignment.faults.len(), 2);
}

#[test]
fn a_named_person_who_left_is_replaced_by_delegate_or_manager() {
    let mut world = requiring(vec![group(&[], &[ALICE], 1)]);
    world.edit(ALICE, |person| {
        person.active = false;
        person.manager = Some(ADMIN);
    });
    let assignment = assigned(&world);
    let route = Route::Reassigned { chain: vec![ALICE, ADMIN] };
    let place = Place { owner: ALICE, route };
    assert_eq!(assignment.requests, [Request { reviewer: ADMIN, places: vec![place] }]);
    world.delegations = vec![delegation(1, ALICE, CAROL, Kind::Transfer)];
    assert_eq!(asked(&world), [CAROL]);
    world.delegations.clear();
    world.edit(ALICE, |person| person.manager = Some(AUTHOR));
    assert_eq!(asked(&world), [], "the author is nobody's replacement");
    assert_eq!(assigned(&world).shortages.len(), 1);
}

#[test]
fn somebody_who_left_has_no_seat_by_role() {
    let mut world = World::new([two_dbas()]);
    world.edit(ALICE, |person| person.active = false);
    assert_eq!(asked(&world), [BOB]);
    let shortages = assigned(&world).shortages;
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
    assert_eq!(shortages[0].roles, roles(&["dba"]));
}

#[test]
fn distinct_humans_are_needed_across_groups() {
    let both = vec![group(&["dba"], &[], 2), group(&["reviewer"], &[], 2)];
    let shortages = assigned(&requiring(both)).shortages;
    assert_eq!(shortages.len(), 1, "three humans cannot be four");
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
}

#[test]
fn every_requirement_asks_for_itself() {
    let world = World::new([two_dbas()]);
    let task = world.submitted(at(0));
    let actor = worker();
    let facts = world.facts(&actor);
    let named = Document { require: vec![group(&[], &[CAROL, ALICE], 1)], ..two_dbas() };
    let subject = &task.content.subject;
    let first = policy::requirement(&world.current, subject, at(0), &ApprovalTimes::default());
    let second = policy::requirement(
        &[crate::samples::policy(1, 2, named)],
        subject,
        at(0),
        &ApprovalTimes::default(),
    );
    let assignment = Seating::new(&[&first, &second], facts.situation(&task, at(0))).assign();
    let who: Vec<UserId> = assignment.requests.iter().map(|request| request.reviewer).collect();
    assert_eq!(who, [ALICE, BOB, CAROL]);
    assert_eq!(assignment.requests[0].places.len(), 1, "the same place is one place");
    assert_eq!(assignment.groups.len(), 2);
}

#[test]
fn may_approve_needs_activity_a_right_and_no_part() {
    let mut world = World::new([two_dbas()]);
    world.edit(CAROL, |person| person.active = false);
    world.people.push(person(UserId::from_u128(50), &["dba"]));
    world.edit(AUTHOR, |person| {
        person.roles = roles(&["author", "reviewer", "dba"]);
    });
    let task = world.submitted(at(0));
    let actor = worker();
    let facts = world.facts(&actor);
    let requirement = policy::requirement(
        &world.current,
        &task.content.subject,
        at(0),
        &ApprovalTimes::default(),
    );
    let seating = Seating::new(&[&requirement], facts.situation(&task, at(0)));
    let may = |id| seating.may_approve(id);
    assert!(may(ALICE) && may(ADMIN) && may(UserId::from_u128(50)));
    assert!(!may(CAROL) && !may(STRANGER) && !may(AUTHOR) && !may(UserId::from_u128(99)));
}

#[test]
fn two_accounts_of_one_human_are_one_seat_whoever_fills_it() {
    let second = UserId::from_u128(50);
    let mut world = requiring(vec![group(&[], &[ALICE, second], 2)]);
    world.people.push(person(second, &["reviewer"]));
    world.edit(ALICE, |person| person.aliases = [second].into());
    world.delegations = vec![delegation(1, second, CAROL, Kind::Follow)];
    let shortages = assigned(&world).shortages;
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
}

#[test]
fn a_request_handed_to_somebody_who_lost_the_right_is_theirs_no_more() {
    let mut world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let hand_over = Command::Delegate { to: CAROL, reason: None };
    let task = world.step(&task, &user(ALICE), &hand_over, at(0));
    let asked = |world: &World| {
        let actor = worker();
        let facts = world.facts(&actor);
        let rules = Rules::of(&task, &facts, at(1));
        let requests = facts.seating(&task, &rules, at(1)).requests();
        requests.iter().map(|request| request.reviewer).collect::<Vec<UserId>>()
    };
    assert_eq!(asked(&world), [ALICE, BOB, CAROL]);
    world.edit(CAROL, |person| person.roles.clear());
    assert_eq!(asked(&world), [ALICE, BOB]);
}

fn any_delegations() -> impl Strategy<Value = Vec<Delegation>> {
    let people = [ALICE, BOB, CAROL, ADMIN];
    let pick = move || (0usize..4).prop_map(move |index| people[index]);
    let kind = prop_oneof![Just(Kind::Transfer), Just(Kind::Follow)];
    prop::collection::vec((pick(), pick(), kind), 0..6).prop_map(|triples| {
        (1..).zip(triples).map(|(id, (owner, to, kind))| delegation(id, owner, to, kind)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the delegations: two are needed, so one human's votes never suffice, and two
    /// humans' votes suffice only if each stands in a seat of their own.
    #[test]
    fn delegation_never_inflates_a_quorum(
        delegations in any_delegations(),
        voters in prop::sample::subsequence(vec![ALICE, BOB, CAROL, ADMIN], 1..=2),
    ) {
        let world = World { delegations, ..World::new([two_dbas()]) };
        let mut task = world.reviewing(at(0));
        let mut places: Vec<BTreeSet<UserId>> = Vec::new();
        for voter in &voters {
            if let Ok(decision) = world.decide(&task, &user(*voter), &yes(&task), at(1)) {
                task = task.after(&decision, at(1)).unwrap();
                places.push(task.votes.last().unwrap().places.clone());
            }
        }
        let seats = |set: &BTreeSet<UserId>| -> Vec<UserId> {
            set.iter().copied().filter(|owner| [ALICE, BOB].contains(owner)).collect()
        };
        let has_two_seats = match &places[..] {
            [one, other] => seats(one)
                .iter()
                .any(|seat| seats(other).iter().any(|second| second != seat)),
            _ => false,
        };
        prop_assert_eq!(task.state == State::Approved, has_two_seats);
    }
}
