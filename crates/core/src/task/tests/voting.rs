//! Votes: bound to what was seen, by people who had no part in it, counted once each.

use crate::actor::Actor;
use crate::approval::delegation::Fault;
use crate::approval::separation::Part;
use crate::approval::{Answer, Route, Seen, Status};
use crate::change::Digest;
use crate::event::EventKind;
use crate::ids::UserId;
use crate::limits::REASON_MAX_BYTES;
use crate::policy::{DelegationRule, Document};
use crate::samples::*;
use crate::task::*;

fn world() -> World {
    World::new([two_dbas()])
}

fn status(task: &Task, reviewer: UserId) -> Option<Status> {
    task.approvals.iter().find(|open| open.reviewer == reviewer).map(|open| open.status)
}

#[test]
fn two_approvals_approve_and_one_does_not() {
    let world = world();
    let task = world.reviewing(at(0));
    assert_eq!(status(&task, ALICE), Some(Status::Pending));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    assert_eq!((task.state, task.basis.clone()), (State::Reviewing, None));
    assert_eq!(status(&task, ALICE), Some(Status::Approved));
    assert_eq!(status(&task, BOB), Some(Status::Pending));
    let decision = world.decide(&task, &user(BOB), &yes(&task), at(2)).unwrap();
    assert_eq!(decision.events, [EventKind::TaskApproved, EventKind::ApprovalVoted]);
    let task = task.after(&decision, at(2)).unwrap();
    assert_eq!((task.state, task.basis), (State::Approved, Some(Basis::Quorum)));
    assert_eq!(task.since, at(2));
}

#[test]
fn an_answer_closes_the_request_of_its_voter_on_this_revision_only() {
    let world = world();
    let mut task = world.reviewing(at(0));
    let mut older = task.approvals[1].clone();
    older.revision = 0;
    task.approvals.insert(0, older);
    let task = world.step(&task, &user(BOB), &yes(&task), at(1));
    let statuses: Vec<_> =
        task.approvals.iter().map(|open| (open.reviewer, open.revision, open.status)).collect();
    let expected =
        [(BOB, 0, Status::Pending), (ALICE, 1, Status::Pending), (BOB, 1, Status::Approved)];
    assert_eq!(statuses, expected);
}

#[test]
fn the_same_yes_twice_counts_once() {
    let world = world();
    let mut task = world.reviewing(at(0));
    for second in 1..4 {
        task = world.step(&task, &user(ALICE), &yes(&task), at(second));
    }
    assert_eq!(task.state, State::Reviewing);
}

#[test]
fn the_latest_vote_of_a_reviewer_counts() {
    let mut document = two_dbas();
    document.reject_threshold = 2;
    let world = World::new([document]);
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let task = world.step(&task, &user(ALICE), &no(&task), at(2));
    assert_eq!(task.state, State::Reviewing, "one of two rejections");
    assert_eq!(status(&task, ALICE), Some(Status::Rejected));
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Reviewing, "Alice's yes is no longer there");
    let task = world.step(&task, &user(ALICE), &yes(&task), at(4));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn rejections_end_the_review_at_the_threshold() {
    let mut document = two_dbas();
    document.reject_threshold = 2;
    let world = World::new([document]);
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &no(&task), at(1));
    let task = world.step(&task, &user(BOB), &no(&task), at(2));
    assert_eq!(task.state, State::Rejected);
    let world = self::world();
    let task = world.reviewing(at(0));
    let decision = world.decide(&task, &user(ALICE), &no(&task), at(1)).unwrap();
    assert_eq!(decision.events, [EventKind::TaskRejected, EventKind::ApprovalVoted]);
    let task = task.after(&decision, at(1)).unwrap();
    assert_eq!(task.state, State::Rejected, "one is enough unless a policy says more");
    assert_eq!(status(&task, BOB), Some(Status::Superseded));
}

#[test]
fn a_stale_digest_or_revision_decides_nothing() {
    let world = world();
    let task = world.reviewing(at(0));
    let current = seen(&task);
    let stale = [
        Seen { revision: current.revision + 1, ..current },
        Seen { digest: Digest::of(b"another"), ..current },
    ];
    for seen in stale {
        for answer in [Answer::Approve, Answer::Reject, Answer::RequestChanges] {
            let reason = Some("why".to_owned());
            let command = Command::Vote { answer, seen, reason };
            let refused = world.decide(&task, &user(ALICE), &command, at(1));
            assert_eq!(refused, Err(Refusal::StaleRevision { seen, current }));
        }
    }
}

#[test]
fn an_answer_other_than_yes_needs_a_reason_of_bounded_length() {
    let world = world();
    let task = world.reviewing(at(0));
    let ask = |answer, reason: Option<&str>| {
        let command =
            Command::Vote { answer, seen: seen(&task), reason: reason.map(ToOwned::to_owned) };
        world.decide(&task, &user(ALICE), &command, at(1)).map(|decision| decision.to)
    };
    for answer in [Answer::Reject, Answer::RequestChanges] {
        assert_eq!(ask(answer, None), Err(Refusal::ReasonRequired));
        assert_eq!(ask(answer, Some("  ")), Err(Refusal::ReasonRequired));
    }
    assert!(ask(Answer::Approve, None).is_ok());
    let longest = "x".repeat(REASON_MAX_BYTES);
    assert!(ask(Answer::Approve, Some(&longest)).is_ok());
    let bytes = REASON_MAX_BYTES + 1;
    let longer = format!("{longest}x");
    assert_eq!(ask(Answer::Approve, Some(&longer)), Err(Refusal::ReasonTooLong { bytes }));
    assert_eq!(ask(Answer::Reject, Some(&longer)), Err(Refusal::ReasonTooLong { bytes }));
}

#[test]
fn self_approval_is_refused_on_every_path_even_for_an_admin() {
    // Everybody who had a part is also a database administrator and an admin.
    let all = &["author", "reviewer", "dba", "admin"][..];
    for part in [Part::Author, Part::Submitter, Part::Editor, Part::AgentsPrincipal] {
        for by_alias in [false, true] {
            let mut world = World::new([two_dbas()]);
            for id in [AUTHOR, ALICE, BOB, CAROL] {
                world.edit(id, |person| person.roles = roles(all));
            }
            let mut task = world.reviewing(at(0));
            task.involvement.author = STRANGER;
            task.involvement.submitter = Some(STRANGER);
            match part {
                Part::Author => task.involvement.author = ALICE,
                Part::Submitter => task.involvement.submitter = Some(ALICE),
                Part::Editor => task.involvement.editors = [ALICE].into(),
                Part::AgentsPrincipal => {
                    task.involvement.author = ALICE;
                    task.involvement.agent = Some(AGENT);
                }
            }
            let voter = if by_alias { CAROL } else { ALICE };
            if by_alias {
                world.edit(CAROL, |person| person.aliases = [ALICE].into());
            }
            for answer in [Answer::Approve, Answer::Reject, Answer::RequestChanges] {
                let refused = world.decide(&task, &user(voter), &vote(&task, answer), at(1));
                let Err(Refusal::SelfApproval(conflict)) = refused else {
                    panic!("{part:?} {answer:?} (alias: {by_alias}): {refused:?}")
                };
                assert_eq!((conflict.part, conflict.account), (part, ALICE));
            }
        }
    }
}

#[test]
fn two_accounts_of_one_human_are_one_vote() {
    let mut world = world();
    world.edit(CAROL, |person| {
        person.roles = roles(&["dba"]);
        person.aliases = [ALICE].into();
    });
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let task = world.step(&task, &user(CAROL), &yes(&task), at(2));
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn agents_and_workers_never_decide() {
    let world = world();
    let task = world.reviewing(at(0));
    let deputy = Actor::Agent { id: AGENT, on_behalf_of: ALICE };
    for actor in [deputy, worker()] {
        for answer in [Answer::Approve, Answer::Reject, Answer::RequestChanges] {
            let refused = world.decide(&task, &actor, &vote(&task, answer), at(1));
            assert!(matches!(refused, Err(Refusal::Denied(_))), "{actor:?}: {refused:?}");
        }
    }
}

#[test]
fn a_reviewer_who_was_not_asked_is_refused() {
    let world = world();
    let task = world.reviewing(at(0));
    let refused = world.decide(&task, &user(CAROL), &yes(&task), at(1));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn a_reviewer_who_lost_the_role_is_told_who_may_answer() {
    let mut world = world();
    let task = world.reviewing(at(0));
    world.edit(ALICE, |person| person.roles = roles(&["reviewer"]));
    let refused = world.decide(&task, &user(ALICE), &yes(&task), at(1));
    let refusal = Refusal::NotAsked { may_answer: vec![BOB] };
    assert_eq!(refusal.to_string(), format!("you were not asked; {BOB} may answer now"));
    assert_eq!(refused, Err(refusal));
    let nobody = Refusal::NotAsked { may_answer: Vec::new() };
    assert_eq!(nobody.to_string(), "you were not asked; nobody may answer now");
}

#[test]
fn a_vote_stops_counting_with_its_voters_role_or_account() {
    type Change = fn(&mut crate::actor::Person);
    let changes: [Change; 2] =
        [|person| person.active = false, |person| person.roles = roles(&["reviewer"])];
    for change in changes {
        let mut world = world();
        world.edit(CAROL, |person| person.roles = roles(&["dba"]));
        let task = world.reviewing(at(0));
        let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
        world.edit(ALICE, change);
        let task = world.step(&task, &user(BOB), &yes(&task), at(2));
        assert_eq!(task.state, State::Reviewing);
        let task = world.step(&task, &user(CAROL), &yes(&task), at(3));
        assert_eq!(task.state, State::Approved);
    }
}

#[test]
fn a_withdrawn_vote_counts_no_more_and_asks_again() {
    let world = world();
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let task = world.step(&task, &user(ALICE), &Command::WithdrawVote, at(2));
    assert_eq!(status(&task, ALICE), Some(Status::Pending));
    assert!(task.votes[0].withdrawn);
    let again = world.decide(&task, &user(ALICE), &Command::WithdrawVote, at(3));
    assert_eq!(again, Err(Refusal::NothingToWithdraw));
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(ALICE), &yes(&task), at(4));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn only_a_vote_of_this_revision_and_round_can_be_withdrawn() {
    let world = world();
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let withdraw =
        |task: &Task| world.decide(task, &user(ALICE), &Command::WithdrawVote, at(2)).err();
    assert_eq!(withdraw(&task), None);
    let newer = Task { revision: 2, ..task.clone() };
    assert_eq!(withdraw(&newer), Some(Refusal::NothingToWithdraw));
    let next_round = Task { round: 1, ..task.clone() };
    assert_eq!(withdraw(&next_round), Some(Refusal::NothingToWithdraw));
    let mut late = task;
    late.votes[0].effectual = false;
    assert_eq!(withdraw(&late), Some(Refusal::NothingToWithdraw));
}

#[test]
fn a_late_answer_is_kept_and_never_counted() {
    let world = world();
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &no(&task), at(1));
    assert_eq!(task.state, State::Rejected);
    let decision = world.decide(&task, &user(BOB), &yes(&task), at(2)).unwrap();
    assert_eq!(decision.to, To::State(State::Rejected));
    let task = task.after(&decision, at(2)).unwrap();
    let late = task.votes.last().unwrap();
    assert_eq!((late.voter, late.effectual), (BOB, false));
    let server = worker();
    let facts = world.facts(&server);
    let rules = Rules::of(&task, &facts, at(2));
    let agreement = Agreement::of(&task, &facts.seating(&task, &rules, at(2)), at(2));
    assert_eq!(agreement.missing(), 2);
}

#[test]
fn a_late_answer_of_somebody_who_was_never_asked_is_refused() {
    let world = world();
    let mut task = world.approved(at(0));
    task.approvals.retain(|open| open.reviewer != BOB);
    let refused = world.decide(&task, &user(BOB), &yes(&task), at(2));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn a_handed_over_request_fills_the_same_seat() {
    let world = world();
    let task = world.reviewing(at(0));
    let hand = Command::Delegate { to: CAROL, reason: None };
    let task = world.step(&task, &user(ALICE), &hand, at(1));
    assert_eq!(status(&task, ALICE), Some(Status::Delegated));
    let open = task.approvals.iter().find(|open| open.reviewer == CAROL).unwrap();
    assert_eq!(open.places[0].owner, ALICE);
    assert_eq!(open.places[0].route, Route::HandedOver { chain: vec![ALICE, CAROL] });
    let task = world.step(&task, &user(CAROL), &yes(&task), at(2));
    assert_eq!(task.votes[0].places, [ALICE].into());
    let both = world.step(&task, &user(ALICE), &yes(&task), at(3));
    assert_eq!(both.state, State::Reviewing, "Alice and her delegate are one seat");
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn a_request_is_handed_only_to_those_who_may_approve_in_their_own_right() {
    let world = world();
    let task = world.reviewing(at(0));
    let refused = |from, to, world: &World, task: &Task| {
        let command = Command::Delegate { to, reason: None };
        world.decide(task, &user(from), &command, at(1)).err()
    };
    for to in [STRANGER, AUTHOR] {
        let expected = Refusal::DelegateNotAllowed { to };
        assert_eq!(refused(ALICE, to, &world, &task), Some(expected));
    }
    let mut away = world.clone();
    away.edit(CAROL, |person| person.active = false);
    let expected = Refusal::DelegateNotAllowed { to: CAROL };
    assert_eq!(refused(ALICE, CAROL, &away, &task), Some(expected));
    let strict = World::new([Document { delegation: DelegationRule::Forbidden, ..two_dbas() }]);
    assert_eq!(refused(ALICE, CAROL, &strict, &task), Some(Refusal::DelegationForbidden));
    let answered = world.step(&task, &user(ALICE), &yes(&task), at(1));
    assert_eq!(refused(ALICE, CAROL, &world, &answered), Some(Refusal::NoOpenRequest));
}

#[test]
fn a_request_cannot_travel_in_a_circle_or_too_far() {
    let mut world = world();
    let names: Vec<UserId> = (20..40).map(UserId::from_u128).collect();
    world.people.extend(names.iter().map(|id| person(*id, &["reviewer"])));
    world.edit(ALICE, |_| {});
    let mut task = world.reviewing(at(0));
    let mut from = ALICE;
    let mut handed = 0;
    let fault = loop {
        let to = names[handed];
        let command = Command::Delegate { to, reason: None };
        match world.decide(&task, &user(from), &command, at(1)) {
            Ok(decision) => task = task.after(&decision, at(1)).unwrap(),
            Err(refusal) => break refusal,
        }
        (from, handed) = (to, handed + 1);
    };
    assert_eq!(handed, crate::limits::DELEGATION_DEPTH_MAX);
    assert!(matches!(fault, Refusal::Delegation(Fault::TooLong { .. })), "{fault:?}");
    let back = Command::Delegate { to: names[0], reason: None };
    let fault = world.decide(&task, &user(from), &back, at(1)).unwrap_err();
    let Refusal::Delegation(Fault::Cycle { path }) = fault else { panic!("{fault:?}") };
    assert_eq!((path[0], path.last()), (ALICE, Some(&names[0])));
}
