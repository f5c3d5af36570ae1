//! The permit checks the basis again with the current rules, roles and effects.

use crate::approval::Answer;
use crate::approval::delegation::DelegationKind;
use crate::change::Origin;
use crate::policy::{AutoApproval, AutoApprove, Document};
use crate::risk::Score;
use crate::samples::*;
use crate::task::*;

fn lost(world: &World, task: &Task, seconds: i64) -> Option<BasisLost> {
    match world.decide(task, &agent(), &world.start(), at(seconds)) {
        Err(Refusal::BasisLost(lost)) => Some(lost),
        Err(refusal) => panic!("{refusal}"),
        Ok(_) => None,
    }
}

fn reopens(world: &World, task: &Task, seconds: i64) -> bool {
    let command = Command::ReopenReview(Reopen::BasisLost);
    match world.decide(task, &worker(), &command, at(seconds)) {
        Ok(decision) => {
            let next = task.after(&decision, at(seconds)).unwrap();
            assert_eq!((next.state, next.basis), (State::Submitted, None));
            true
        }
        Err(Refusal::BasisStands { .. }) => false,
        Err(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn policy_weakened_during_review_does_not_lower_the_quorum() {
    let mut world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let weak = Document { require: vec![group(&["dba"], &[], 1)], ..two_dbas() };
    world.current = vec![policy(1, 2, weak)];
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    assert_eq!(task.state, State::Reviewing, "the pinned version still asks for two");
    let task = world.step(&task, &user(BOB), &yes(&task), at(2));
    assert_eq!(task.state, State::Approved);
    assert_eq!(lost(&world, &task, 3), None);
}

#[test]
fn policy_tightened_after_approval_sends_it_back() {
    let mut world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    assert!(!reopens(&world, &task, 1));
    let both = vec![group(&["dba"], &[], 2), group(&["security"], &[], 1)];
    world.current = vec![policy(1, 2, Document { require: both, ..two_dbas() })];
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::QuorumShort { missing: 1 }));
    assert!(reopens(&world, &task, 1));
    let command = Command::ReopenReview(Reopen::BasisLost);
    let task = world.step(&task, &worker(), &command, at(1));
    let task = world.step(&task, &worker(), &Command::OpenReview, at(1));
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(CAROL), &yes(&task), at(2));
    assert_eq!(task.state, State::Approved, "the votes on this effect still count");
}

#[test]
fn basis_needs_each_policy_version_separately() {
    // Merged, the two versions would require three humans.
    let mut world = World::new([two_dbas()]);
    world.current =
        vec![policy(1, 2, Document { require: vec![group(&["reviewer"], &[], 1)], ..two_dbas() })];
    let task = world.approved(at(0));
    assert_eq!(lost(&world, &task, 1), None);
}

#[test]
fn pins_that_are_missing_are_an_error_not_an_empty_rule_set() {
    let mut world = World::new([two_dbas()]);
    let submitted = world.submitted(at(0));
    let approved = world.approved(at(0));
    world.pinned.clear();
    for (task, actor, command) in [
        (&submitted, worker(), Command::OpenReview),
        (&submitted, worker(), Command::AutoApprove),
        (&approved, agent(), world.start()),
    ] {
        assert_eq!(world.decide(task, &actor, &command, at(1)), Err(Refusal::PinsMissing));
    }
}

#[test]
fn basis_is_lost_with_a_role_between_vote_and_apply() {
    let mut world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    world.edit(ALICE, |person| person.roles = roles(&["reviewer"]));
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::QuorumShort { missing: 1 }));
}

#[test]
fn basis_counts_votes_of_later_found_aliases_once() {
    let mut world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    world.edit(ALICE, |person| person.aliases = [BOB].into());
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::QuorumShort { missing: 1 }));
}

#[test]
fn basis_expires_with_the_vote_that_completes_it() {
    let document = Document { approval_valid_for: hours(1), ..two_dbas() };
    let mut world = World::new([document]);
    world.edit(CAROL, |person| person.roles = roles(&["dba"]));
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(0));
    let task = world.step(&task, &user(BOB), &yes(&task), at(100));
    let last = 3600;
    assert_eq!(lost(&world, &task, last - 1), None);
    assert_eq!(lost(&world, &task, last), Some(BasisLost::QuorumShort { missing: 1 }));
    let facts_of = worker();
    let facts = world.facts(&facts_of);
    let rules = TaskRules::of(&task, &facts, at(200));
    let until = |task: &Task| {
        Agreement::of(task, &facts.seating(task, &rules, at(200)), at(200)).valid_until
    };
    assert_eq!(until(&task), Some(at(last)));
    // A third, later approval makes the oldest one unnecessary.
    let mut task = task;
    let mut third = task.votes[1].clone();
    (third.voter, third.at, third.places) = (CAROL, at(150), [CAROL].into());
    task.votes.push(third);
    assert_eq!(until(&task), Some(at(100 + last)));
}

#[test]
fn expire_waits_for_the_end_of_the_approval() {
    let document = Document { approval_valid_for: hours(1), ..two_dbas() };
    let world = World::new([document]);
    let task = world.approved(at(0));
    let expire = |seconds| world.decide(&task, &worker(), &Command::Expire, at(seconds));
    assert_eq!(expire(3599), Err(Refusal::NotDue { at: at(3600) }));
    assert_eq!(expire(3600).unwrap().to, To::State(State::Expired));
}

#[test]
fn expire_is_refused_for_a_basis_lost_otherwise() {
    let mut world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    world.edit(ALICE, |person| person.active = false);
    let refused = world.decide(&task, &worker(), &Command::Expire, at(1));
    assert_eq!(refused, Err(Refusal::BasisLost(BasisLost::QuorumShort { missing: 1 })));
}

fn risky(points: u8) -> Content {
    let mut content = content("first");
    content.subject.risk = Score::new(points);
    content
}

#[test]
fn basis_by_auto_approval_holds_while_the_clause_does() {
    let mut world = World::new([passes_below(50)]);
    let submitted = world.submitted(at(0));
    let task = world.step(&submitted, &worker(), &Command::AutoApprove, at(10));
    let Some(Basis::AutoClause { clauses, approved_at }) = task.basis.clone() else {
        panic!("{:?}", task.basis)
    };
    assert_eq!((clauses, approved_at), (world.pins(), at(10)));
    assert_eq!(lost(&world, &task, 20), None);
    let riskier = Task { content: risky(50), ..task.clone() };
    assert_eq!(lost(&world, &riskier, 20), Some(BasisLost::ClauseGone));
    world.current = vec![policy(1, 2, two_dbas())];
    assert_eq!(lost(&world, &task, 20), Some(BasisLost::ClauseGone), "the current one forbids");
    world.current = world.pinned.clone();
    let week = 7 * 24 * 3600 + 10;
    assert_eq!(lost(&world, &task, week - 1), None);
    assert_eq!(lost(&world, &task, week), Some(BasisLost::RunOut { until: at(week) }));
}

#[test]
fn auto_approval_needs_a_clause_in_every_policy() {
    let world = World::new([passes_below(50), two_dbas()]);
    let task = world.submitted(at(0));
    let refused = world.decide(&task, &worker(), &Command::AutoApprove, at(0));
    assert!(matches!(refused, Err(Refusal::AutoApprovalRefused { .. })), "{refused:?}");
    let world = World::new([]);
    let task = world.submitted(at(0));
    let refused = world.decide(&task, &worker(), &Command::AutoApprove, at(0));
    assert!(matches!(refused, Err(Refusal::AutoApprovalRefused { .. })), "no policy has a clause");
}

#[test]
fn declared_effect_is_auto_approved_only_if_accepted() {
    for accepts in [false, true] {
        let mut document = passes_below(50);
        document.auto_approve_if = document
            .auto_approve_if
            .map(|clause| AutoApprove { accept_declared_effect: accepts, ..clause });
        let world = World::new([document]);
        let mut task = world.submitted(at(0));
        task.content.subject.origin = Origin::Declared;
        let answer = world.decide(&task, &worker(), &Command::AutoApprove, at(0));
        assert_eq!(answer.is_ok(), accepts, "{answer:?}");
        let facts_of = worker();
        let rules = TaskRules::of(&task, &world.facts(&facts_of), at(0));
        let is_allowed = matches!(rules.all()[0].auto_approve, AutoApproval::Allowed { .. });
        assert_eq!(is_allowed, accepts);
    }
}

#[test]
fn basis_missing_refuses_the_permit() {
    let world = World::new([two_dbas()]);
    let task = Task { basis: None, ..world.approved(at(0)) };
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::NoBasis));
}

#[test]
fn effect_drift_reopens_the_review_with_the_new_content() {
    let world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    let reopen = |content| Command::ReopenReview(Reopen::EffectDrifted { content });
    let same = world.decide(&task, &worker(), &reopen(content("first")), at(1));
    assert_eq!(same, Err(Refusal::NotDrifted));
    let task = world.step(&task, &worker(), &reopen(content("drifted")), at(1));
    assert_eq!((task.state, task.revision), (State::Submitted, 2));
    assert_eq!(task.content.digest, content("drifted").digest);
    let task = world.step(&task, &worker(), &Command::OpenReview, at(2));
    assert_eq!(task.state, State::Reviewing, "no reviewer has approved this effect");
}

#[test]
fn basis_ignores_votes_on_another_digest_of_the_revision() {
    let world = World::new([two_dbas()]);
    let task = Task { content: content("other"), ..world.approved(at(0)) };
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::QuorumShort { missing: 2 }));
}

#[test]
fn transferred_seat_cannot_be_filled_by_its_former_owner() {
    // Alice transferred her requests to Bob, and Bob lets Alice or an admin answer for him: two
    // people share one seat.
    let mut world = World::new([two_dbas()]);
    world.delegations = vec![
        delegation(1, ALICE, BOB, DelegationKind::Transfer),
        delegation(2, BOB, ALICE, DelegationKind::Follow),
        delegation(3, BOB, ADMIN, DelegationKind::Follow),
    ];
    let mut task = world.reviewing(at(0));
    for voter in [ALICE, ADMIN] {
        task = world.step(&task, &user(voter), &yes(&task), at(1));
    }
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(BOB), &yes(&task), at(2));
    assert_eq!(task.state, State::Approved, "Bob fills the seat of Alice, one of the two his");
}

#[test]
fn basis_does_not_count_rejections() {
    let mut document = two_dbas();
    document.reject_threshold = 2;
    let world = World::new([document]);
    let mut task = world.approved(at(0));
    task.votes[0].answer = Answer::Reject;
    assert_eq!(lost(&world, &task, 1), Some(BasisLost::QuorumShort { missing: 1 }));
}
