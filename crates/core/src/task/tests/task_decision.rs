//! Every end of a review leaves a decision with its reason, and a new submission clears it.

use crate::approval::Answer;
use crate::policy::Document;
use crate::samples::*;
use crate::task::*;

fn world() -> World {
    World::new([two_dbas()])
}

fn outcome(task: &Task) -> Option<(DecisionOutcome, Option<&str>, &str)> {
    let decision = task.decision.as_ref()?;
    Some((decision.outcome, decision.reason.as_deref(), &decision.by))
}

#[test]
fn decision_by_votes_has_the_reason_of_the_last_vote() {
    let world = world();
    let task = world.reviewing(at(0));
    let once = world.step(&task, &user(ALICE), &yes(&task), at(1));
    assert_eq!(outcome(&once), None, "one approval of two decides nothing");
    let twice = world.step(&once, &user(BOB), &yes(&once), at(2));
    let expected = TaskDecision {
        outcome: DecisionOutcome::Approved,
        reason: Some("looked at it".to_owned()),
        by: BOB.to_string(),
        at: at(2),
        revision: task.revision,
    };
    assert_eq!(twice.decision, Some(expected));
    let rejected = world.step(&task, &user(ALICE), &no(&task), at(1));
    let reason = Some("looked at it");
    assert_eq!(
        outcome(&rejected),
        Some((DecisionOutcome::Rejected, reason, ALICE.to_string().as_str()))
    );
}

#[test]
fn decision_to_request_changes_is_a_sub_state_until_submit() {
    let world = world();
    let task = world.reviewing(at(0));
    assert_eq!(task.sub_state(), None);
    let returned = world.step(&task, &user(ALICE), &vote(&task, Answer::RequestChanges), at(1));
    assert_eq!(returned.state, State::Draft);
    assert_eq!(returned.sub_state(), Some(SubState::ChangesRequested));
    let amend = Command::Amend { content: content("second") };
    let amended = world.step(&returned, &user(AUTHOR), &amend, at(2));
    assert_eq!(amended.sub_state(), Some(SubState::ChangesRequested), "not submitted yet");
    assert_eq!(amended.decision.as_ref().map(|one| one.revision), Some(1));
    let submit = Command::Submit { content: amended.content.clone(), pins: world.pins() };
    let submitted = world.step(&amended, &user(AUTHOR), &submit, at(3));
    assert_eq!((submitted.sub_state(), outcome(&submitted)), (None, None));
}

#[test]
fn decision_without_a_vote_names_the_rule() {
    let world = World::new([passes_below(90)]);
    let task = world.submitted(at(0));
    let passed = world.step(&task, &worker(), &Command::AutoApprove, at(1));
    let reason = Some("every policy that applies allows auto-approval");
    assert_eq!(outcome(&passed), Some((DecisionOutcome::Approved, reason, "worker")));
}

#[test]
fn decision_by_an_override_has_its_reason() {
    let world = world();
    let task = world.reviewing(at(0));
    let ask = Command::Override { ticket: "INC-7".to_owned(), reason: "the site is down".into() };
    let asked = world.step(&task, &user(ADMIN), &ask, at(0));
    assert_eq!(outcome(&asked), None);
    let confirm = Command::ConfirmOverride { seen: seen(&asked) };
    let passed = world.step(&asked, &user(SECOND_ADMIN), &confirm, at(1));
    let reason = Some("the site is down");
    assert_eq!(
        outcome(&passed),
        Some((DecisionOutcome::Approved, reason, SECOND_ADMIN.to_string().as_str()))
    );
}

#[test]
fn decision_to_cancel_has_the_reason_of_the_person() {
    let world = world();
    let cancel = Command::Cancel { reason: Some("not needed".to_owned()) };
    for task in [draft(), world.reviewing(at(0)), world.approved(at(0))] {
        let ended = world.step(&task, &user(AUTHOR), &cancel, at(1));
        let reason = Some("not needed");
        assert_eq!(
            outcome(&ended),
            Some((DecisionOutcome::Cancelled, reason, AUTHOR.to_string().as_str()))
        );
    }
    let applying = world.applying(at(0));
    let asked = world.step(&applying, &user(AUTHOR), &cancel, at(1));
    let approved = outcome(&asked).map(|(outcome, ..)| outcome);
    assert_eq!(approved, Some(DecisionOutcome::Approved), "the apply may still finish");
    let ended = world.step(&asked, &worker(), &Command::RequeueApply, at(2));
    let cancelled = outcome(&ended).map(|(outcome, ..)| outcome);
    assert_eq!((ended.state, cancelled), (State::Cancelled, Some(DecisionOutcome::Cancelled)));
}

#[test]
fn decision_of_an_expiry_says_what_ran_out() {
    let world = World::new([Document { approval_valid_for: hours(1), ..two_dbas() }]);
    let late = at(1_000_000);
    let unanswered = world.step(&world.reviewing(at(0)), &worker(), &Command::Expire, late);
    let unapplied = world.step(&world.approved(at(0)), &worker(), &Command::Expire, late);
    for (task, text) in [(unanswered, "without enough approvals"), (unapplied, "was not applied")] {
        let (found, reason, by) = outcome(&task).unwrap();
        assert_eq!((found, by), (DecisionOutcome::Expired, "worker"));
        assert!(reason.is_some_and(|reason| reason.contains(text)), "{reason:?}");
    }
}

#[test]
fn decision_is_cleared_when_a_lost_basis_reopens_the_review() {
    let mut world = world();
    let task = world.approved(at(0));
    world.edit(BOB, |person| person.roles = roles(&[]));
    let reopen = Command::ReopenReview(Reopen::BasisLost);
    let reopened = world.step(&task, &worker(), &reopen, at(1));
    assert_eq!((reopened.state, outcome(&reopened)), (State::Submitted, None));
}

#[test]
fn decision_and_sub_state_are_named_as_serialized() {
    for outcome in DecisionOutcome::ALL {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
    }
    for sub_state in SubState::ALL {
        assert_eq!(serde_json::to_value(sub_state).unwrap(), sub_state.as_str());
    }
}
