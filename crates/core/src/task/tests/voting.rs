//! Votes are bound to the content that was seen, come from uninvolved people, and count once each.

use crate::actor::Actor;
use crate::approval::delegation::DelegationError;
use crate::approval::separation_of_duties::Part;
use crate::approval::{Answer, ApprovalStatus, Route, Seen};
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

fn status(task: &Task, reviewer: UserId) -> Option<ApprovalStatus> {
    task.approvals.iter().find(|open| open.reviewer == reviewer).map(|open| open.status)
}

#[test]
fn vote_quorum_of_two_needs_both_approvals() {
    let world = world();
    let task = world.reviewing(at(0));
    assert_eq!(status(&task, ALICE), Some(ApprovalStatus::Pending));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    assert_eq!((task.state, task.basis.clone()), (State::Reviewing, None));
    assert_eq!(status(&task, ALICE), Some(ApprovalStatus::Approved));
    assert_eq!(status(&task, BOB), Some(ApprovalStatus::Pending));
    let decision = world.decide(&task, &user(BOB), &yes(&task), at(2)).unwrap();
    assert_eq!(decision.events, [EventKind::TaskApproved, EventKind::ApprovalVoted]);
    let task = task.after(&decision, at(2)).unwrap();
    assert_eq!((task.state, task.basis), (State::Approved, Some(Basis::Quorum)));
    assert_eq!(task.since, at(2));
}

#[test]
fn vote_closes_only_its_own_request_on_this_revision() {
    let world = world();
    let mut task = world.reviewing(at(0));
    let mut older = task.approvals[1].clone();
    older.revision = 0;
    task.approvals.insert(0, older);
    let task = world.step(&task, &user(BOB), &yes(&task), at(1));
    let statuses: Vec<_> =
        task.approvals.iter().map(|open| (open.reviewer, open.revision, open.status)).collect();
    let expected = [
        (BOB, 0, ApprovalStatus::Pending),
        (ALICE, 1, ApprovalStatus::Pending),
        (BOB, 1, ApprovalStatus::Approved),
    ];
    assert_eq!(statuses, expected);
}

#[test]
fn vote_repeated_counts_once() {
    let world = world();
    let mut task = world.reviewing(at(0));
    for second in 1..4 {
        task = world.step(&task, &user(ALICE), &yes(&task), at(second));
    }
    assert_eq!(task.state, State::Reviewing);
}

#[test]
fn vote_latest_of_a_reviewer_counts() {
    let mut document = two_dbas();
    document.reject_threshold = 2;
    let world = World::new([document]);
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let task = world.step(&task, &user(ALICE), &no(&task), at(2));
    assert_eq!(task.state, State::Reviewing, "one of two rejections");
    assert_eq!(status(&task, ALICE), Some(ApprovalStatus::Rejected));
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Reviewing, "the approval of Alice no longer counts");
    let task = world.step(&task, &user(ALICE), &yes(&task), at(4));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn review_is_rejected_at_the_threshold() {
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
    assert_eq!(task.state, State::Rejected, "one rejection is enough by default");
    assert_eq!(status(&task, BOB), Some(ApprovalStatus::Superseded));
}

#[test]
fn vote_with_a_stale_digest_or_revision_is_refused() {
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
fn vote_other_than_approve_needs_a_bounded_reason() {
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
    // Everyone involved is also a database administrator and an admin.
    let all = &["author", "reviewer", "dba", "admin"][..];
    let parts =
        [Part::Author, Part::Submitter, Part::Editor, Part::AgentsPrincipal, Part::TokenIssuer];
    for part in parts {
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
                Part::TokenIssuer => task.involvement.token_issuers = [ALICE].into(),
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
fn vote_of_two_accounts_of_one_human_counts_once() {
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
    let deputy = Actor::agent(AGENT, ALICE);
    for actor in [deputy, worker()] {
        for answer in [Answer::Approve, Answer::Reject, Answer::RequestChanges] {
            let refused = world.decide(&task, &actor, &vote(&task, answer), at(1));
            assert!(matches!(refused, Err(Refusal::Denied(_))), "{actor:?}: {refused:?}");
        }
    }
}

#[test]
fn vote_by_a_reviewer_who_was_not_asked_is_refused() {
    let world = world();
    let task = world.reviewing(at(0));
    let refused = world.decide(&task, &user(CAROL), &yes(&task), at(1));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn vote_without_the_role_is_refused_naming_who_may_answer() {
    let mut world = world();
    let task = world.reviewing(at(0));
    world.edit(ALICE, |person| person.roles = roles(&["reviewer"]));
    let refused = world.decide(&task, &user(ALICE), &yes(&task), at(1));
    let refusal = Refusal::NotAsked { may_answer: vec![BOB] };
    assert_eq!(
        refusal.to_string(),
        format!("no approval was requested from you; {BOB} may answer now")
    );
    assert_eq!(refused, Err(refusal));
    let no_reviewer = Refusal::NotAsked { may_answer: Vec::new() };
    assert_eq!(
        no_reviewer.to_string(),
        "no approval was requested from you; no one may answer now"
    );
}

#[test]
fn vote_stops_counting_with_the_role_or_account() {
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
fn vote_withdrawn_stops_counting_and_reopens_the_request() {
    let world = world();
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let task = world.step(&task, &user(ALICE), &Command::WithdrawVote, at(2));
    assert_eq!(status(&task, ALICE), Some(ApprovalStatus::Pending));
    assert!(task.votes[0].withdrawn);
    let again = world.decide(&task, &user(ALICE), &Command::WithdrawVote, at(3));
    assert_eq!(again, Err(Refusal::NothingToWithdraw));
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(ALICE), &yes(&task), at(4));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn vote_withdrawn_after_the_approval_returns_it_to_review() {
    let world = world();
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let approved = world.step(&task, &user(BOB), &yes(&task), at(2));
    assert_eq!(approved.state, State::Approved);
    let task = world.step(&approved, &user(BOB), &Command::WithdrawVote, at(3));
    assert_eq!((task.state, &task.basis), (State::Submitted, &None));
    assert!(task.votes.iter().any(|vote| vote.voter == BOB && vote.withdrawn));
    // The vote of the other person still counts when the review is open again.
    let task = world.step(&task, &worker(), &Command::OpenReview, at(4));
    assert_eq!(task.state, State::Reviewing);
    let task = world.step(&task, &user(BOB), &yes(&task), at(5));
    assert_eq!(task.state, State::Approved);
    // People who did not vote have nothing to withdraw.
    for person in [CAROL, AUTHOR] {
        let refused = world.decide(&approved, &user(person), &Command::WithdrawVote, at(4));
        assert!(refused.is_err(), "{refused:?}");
    }
    // Nothing is withdrawn once the apply has started.
    let applying = Task { state: State::Applying, ..approved };
    let refused = world.decide(&applying, &user(BOB), &Command::WithdrawVote, at(4));
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn vote_of_another_revision_or_round_cannot_be_withdrawn() {
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
fn late_vote_is_recorded_and_never_counted() {
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
    let rules = TaskRules::of(&task, &facts, at(2));
    let agreement = Agreement::of(&task, &facts.seating(&task, &rules, at(2)), at(2));
    assert_eq!(agreement.missing(), 2);
}

#[test]
fn late_vote_by_a_person_never_asked_is_refused() {
    let world = world();
    let mut task = world.approved(at(0));
    task.approvals.retain(|open| open.reviewer != BOB);
    let refused = world.decide(&task, &user(BOB), &yes(&task), at(2));
    assert!(matches!(refused, Err(Refusal::Denied(_))), "{refused:?}");
}

#[test]
fn delegated_request_fills_the_same_seat() {
    let world = world();
    let task = world.reviewing(at(0));
    let hand = Command::Delegate { to: CAROL, reason: None };
    let task = world.step(&task, &user(ALICE), &hand, at(1));
    assert_eq!(status(&task, ALICE), Some(ApprovalStatus::Delegated));
    let open = task.approvals.iter().find(|open| open.reviewer == CAROL).unwrap();
    assert_eq!(open.places[0].owner, ALICE);
    assert_eq!(open.places[0].route, Route::HandedOver { chain: vec![ALICE, CAROL] });
    let task = world.step(&task, &user(CAROL), &yes(&task), at(2));
    assert_eq!(task.votes[0].places, [ALICE].into());
    let both = world.step(&task, &user(ALICE), &yes(&task), at(3));
    assert_eq!(both.state, State::Reviewing, "Alice and her delegate share one seat");
    let task = world.step(&task, &user(BOB), &yes(&task), at(3));
    assert_eq!(task.state, State::Approved);
}

#[test]
fn request_is_delegated_only_to_entitled_people() {
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
fn request_delegation_refuses_circles_and_long_chains() {
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
    assert!(matches!(fault, Refusal::Delegation(DelegationError::TooLong { .. })), "{fault:?}");
    let back = Command::Delegate { to: names[0], reason: None };
    let fault = world.decide(&task, &user(from), &back, at(1)).unwrap_err();
    let Refusal::Delegation(DelegationError::Cycle { path }) = fault else { panic!("{fault:?}") };
    assert_eq!((path[0], path.last()), (ALICE, Some(&names[0])));
}
