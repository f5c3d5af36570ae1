//! Tests who is asked and why, and that no delegation makes one human count as two.

use super::*;
use crate::approval::delegation::DelegationKind;
use crate::policy::{self, Document, Exempt};
use crate::samples::{
    ADMIN, ALICE, AUTHOR, BOB, CAROL, STRANGER, World, at, delegation, group, person, roles,
    two_dbas, user, worker, yes,
};
use crate::task::{Command, State, TaskRules};
use crate::timeouts::ApprovalTimeouts;
use proptest::prelude::*;

fn assigned(world: &World) -> AssignmentPlan {
    let task = world.submitted(at(0));
    let actor = worker();
    let facts = world.facts(&actor);
    let requirement = policy::requirement(
        &world.current,
        &task.content.subject,
        at(0),
        &ApprovalTimeouts::default(),
    );
    Assignment::new(&[&requirement], facts.situation(&task, at(0))).assign()
}

fn asked(world: &World) -> Vec<UserId> {
    assigned(world).requests.iter().map(|request| request.reviewer).collect()
}

fn requiring(groups: Vec<policy::Group>) -> World {
    World::new([Document { require: groups, ..two_dbas() }])
}

#[test]
fn assignment_by_role_or_name_records_the_reason() {
    let world = requiring(vec![group(&["dba", "security"], &[ADMIN], 1)]);
    let assignment = assigned(&world);
    let members = &assignment.groups[0][0].members;
    assert_eq!(members.get(&ADMIN), Some(&Because::Named));
    assert_eq!(members.get(&ALICE), Some(&Because::Role { role: Role::new("dba") }));
    assert_eq!(members.get(&CAROL), Some(&Because::Role { role: Role::new("security") }));
    assert_eq!(members.len(), 4);
    assert_eq!(assignment.groups[0][0].asked_by, world.pins().into_iter().collect());
    let place = Slot { owner: ALICE, route: Route::Own };
    assert_eq!(assignment.requests[0], ReviewRequest { reviewer: ALICE, places: vec![place] });
}

#[test]
fn assignment_excludes_involved_people_by_name() {
    let mut world = requiring(vec![group(&["dba"], &[AUTHOR], 1)]);
    world.edit(BOB, |person| person.aliases = [AUTHOR].into());
    let assignment = assigned(&world);
    assert_eq!(assignment.requests.len(), 1);
    let excluded: Vec<UserId> = assignment.groups[0][0].excluded.keys().copied().collect();
    assert_eq!(excluded, [AUTHOR, BOB]);
}

#[test]
fn assignment_skips_the_delegate_of_the_author() {
    let mut world = requiring(vec![group(&[], &[AUTHOR, ALICE], 1)]);
    world.delegations = vec![delegation(1, AUTHOR, CAROL, DelegationKind::Transfer)];
    assert_eq!(asked(&world), [ALICE]);
}

#[test]
fn assignment_skips_exempt_people_and_roles() {
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
fn assignment_transfer_moves_a_request_and_follow_adds_one() {
    let mut world = World::new([two_dbas()]);
    world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Transfer)];
    let assignment = assigned(&world);
    let who: Vec<UserId> = assignment.requests.iter().map(|request| request.reviewer).collect();
    assert_eq!(who, [BOB, CAROL]);
    let route = Route::Transfer { chain: vec![ALICE, CAROL] };
    assert_eq!(assignment.requests[1].places, [Slot { owner: ALICE, route }]);
    world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Follow)];
    let assignment = assigned(&world);
    let route = Route::Follow { chain: vec![ALICE, CAROL] };
    assert_eq!(asked(&world), [ALICE, BOB, CAROL], "the owner stays free to vote");
    assert_eq!(assignment.requests[2].places, [Slot { owner: ALICE, route }]);
}

#[test]
fn assignment_ignores_delegation_where_forbidden() {
    let document = Document { delegation: DelegationRule::Forbidden, ..two_dbas() };
    let mut world = World::new([document]);
    world.delegations = vec![
        delegation(1, ALICE, CAROL, DelegationKind::Transfer),
        delegation(2, BOB, CAROL, DelegationKind::Follow),
    ];
    assert_eq!(asked(&world), [ALICE, BOB]);
}

#[test]
fn assignment_reports_a_bad_delegation_and_asks_the_owner() {
    let mut world = World::new([two_dbas()]);
    world.delegations = vec![
        delegation(1, ALICE, STRANGER, DelegationKind::Transfer),
        delegation(2, BOB, STRANGER, DelegationKind::Follow),
    ];
    let assignment = assigned(&world);
    assert_eq!(asked(&world), [ALICE, BOB]);
    assert_eq!(assignment.faults.len(), 2);
}

#[test]
fn assignment_replaces_inactive_people_by_delegate_or_manager() {
    let mut world = requiring(vec![group(&[], &[ALICE], 1)]);
    world.edit(ALICE, |person| {
        person.active = false;
        person.manager = Some(ADMIN);
    });
    let assignment = assigned(&world);
    let route = Route::Reassigned { chain: vec![ALICE, ADMIN] };
    let place = Slot { owner: ALICE, route };
    assert_eq!(assignment.requests, [ReviewRequest { reviewer: ADMIN, places: vec![place] }]);
    world.delegations = vec![delegation(1, ALICE, CAROL, DelegationKind::Transfer)];
    assert_eq!(asked(&world), [CAROL]);
    world.delegations.clear();
    world.edit(ALICE, |person| person.manager = Some(AUTHOR));
    assert_eq!(asked(&world), [], "the author cannot act for a reviewer");
    assert_eq!(assigned(&world).shortages.len(), 1);
}

#[test]
fn assignment_by_role_skips_inactive_people() {
    let mut world = World::new([two_dbas()]);
    world.edit(ALICE, |person| person.active = false);
    assert_eq!(asked(&world), [BOB]);
    let shortages = assigned(&world).shortages;
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
    assert_eq!(shortages[0].roles, roles(&["dba"]));
}

#[test]
fn assignment_needs_distinct_humans_across_groups() {
    let both = vec![group(&["dba"], &[], 2), group(&["reviewer"], &[], 2)];
    let shortages = assigned(&requiring(both)).shortages;
    assert_eq!(shortages.len(), 1, "four are required and only three exist");
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
}

#[test]
fn assignment_covers_each_requirement_separately() {
    let world = World::new([two_dbas()]);
    let task = world.submitted(at(0));
    let actor = worker();
    let facts = world.facts(&actor);
    let named = Document { require: vec![group(&[], &[CAROL, ALICE], 1)], ..two_dbas() };
    let subject = &task.content.subject;
    let first = policy::requirement(&world.current, subject, at(0), &ApprovalTimeouts::default());
    let second = policy::requirement(
        &[crate::samples::policy(1, 2, named)],
        subject,
        at(0),
        &ApprovalTimeouts::default(),
    );
    let assignment = Assignment::new(&[&first, &second], facts.situation(&task, at(0))).assign();
    let who: Vec<UserId> = assignment.requests.iter().map(|request| request.reviewer).collect();
    assert_eq!(who, [ALICE, BOB, CAROL]);
    assert_eq!(assignment.requests[0].places.len(), 1, "identical slots are merged");
    assert_eq!(assignment.groups.len(), 2);
}

#[test]
fn may_approve_needs_an_active_entitled_uninvolved_person() {
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
        &ApprovalTimeouts::default(),
    );
    let seating = Assignment::new(&[&requirement], facts.situation(&task, at(0)));
    let may = |id| seating.may_approve(id);
    assert!(may(ALICE) && may(ADMIN) && may(UserId::from_u128(50)));
    assert!(!may(CAROL) && !may(STRANGER) && !may(AUTHOR) && !may(UserId::from_u128(99)));
}

#[test]
fn assignment_gives_two_accounts_of_one_human_one_seat() {
    let second = UserId::from_u128(50);
    let mut world = requiring(vec![group(&[], &[ALICE, second], 2)]);
    world.people.push(person(second, &["reviewer"]));
    world.edit(ALICE, |person| person.aliases = [second].into());
    world.delegations = vec![delegation(1, second, CAROL, DelegationKind::Follow)];
    let shortages = assigned(&world).shortages;
    assert_eq!((shortages[0].needed, shortages[0].possible), (2, 1));
}

#[test]
fn assignment_drops_a_transfer_target_without_the_right() {
    let mut world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let hand_over = Command::Delegate { to: CAROL, reason: None };
    let task = world.step(&task, &user(ALICE), &hand_over, at(0));
    let asked = |world: &World| {
        let actor = worker();
        let facts = world.facts(&actor);
        let rules = TaskRules::of(&task, &facts, at(1));
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
    let kind = prop_oneof![Just(DelegationKind::Transfer), Just(DelegationKind::Follow)];
    prop::collection::vec((pick(), pick(), kind), 0..6).prop_map(|triples| {
        (1..).zip(triples).map(|(id, (owner, to, kind))| delegation(id, owner, to, kind)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any delegations: two approvals are needed, so the votes of one human never suffice, and
    /// the votes of two suffice only if each has a seat of their own.
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
