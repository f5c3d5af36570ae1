//! Revisions: approvals carry over to an identical effect only.

use crate::actor::{Credential, CredentialKind};
use crate::approval::{Answer, ApprovalStatus};
use crate::event::EventKind;
use crate::risk::Level;
use crate::samples::*;
use crate::task::*;
use proptest::prelude::*;

fn amend(content: Content) -> Command {
    Command::Amend { content }
}

/// Another text with the same effect.
fn reworded() -> Content {
    let mut content = content("first");
    content.subject.tags.insert("reworded".to_owned());
    content
}

#[test]
fn carry_over_keeps_approvals_of_an_identical_digest() {
    let world = World::new([two_dbas()]);
    for task in [world.reviewing(at(0)), world.approved(at(0))] {
        let task = if task.state == State::Reviewing {
            world.step(&task, &user(ALICE), &yes(&task), at(1))
        } else {
            task
        };
        let carried = task.votes.len();
        let task = world.step(&task, &user(AUTHOR), &amend(reworded()), at(2));
        assert_eq!((task.state, task.revision), (State::Submitted, 2));
        assert_eq!(task.basis, None);
        assert!(task.approvals.iter().all(|open| open.status != ApprovalStatus::Pending));
        let kept: Vec<_> = task.votes.iter().filter(|vote| vote.revision == 2).collect();
        assert_eq!(kept.len(), carried);
        assert!(kept.iter().all(|vote| vote.carried_from == Some(1) && vote.at <= at(1)));
        let task = world.step(&task, &worker(), &Command::OpenReview, at(3));
        let expected = if carried == 2 { State::Approved } else { State::Reviewing };
        assert_eq!(task.state, expected, "{carried} carried");
    }
}

#[test]
fn carry_over_twice_remembers_the_first_revision() {
    let world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    let task = world.step(&task, &user(AUTHOR), &amend(reworded()), at(1));
    let task = world.step(&task, &user(AUTHOR), &amend(content("first")), at(2));
    let kept: Vec<_> = task.votes.iter().filter(|vote| vote.revision == 3).collect();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|vote| vote.carried_from == Some(1)));
}

#[test]
fn carry_over_never_crosses_another_digest() {
    let world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    let task = world.step(&task, &user(AUTHOR), &amend(content("other")), at(1));
    assert!(task.votes.iter().all(|vote| vote.revision == 1));
    let task = world.step(&task, &worker(), &Command::OpenReview, at(2));
    assert_eq!(task.state, State::Reviewing);
    let back = world.step(&task, &user(AUTHOR), &amend(content("first")), at(3));
    let back = world.step(&back, &worker(), &Command::OpenReview, at(4));
    assert_eq!(back.state, State::Reviewing, "votes of an older revision stay there");
}

#[test]
fn carry_over_never_happens_after_request_changes() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let changes = vote(&task, Answer::RequestChanges);
    let task = world.step(&task, &user(BOB), &changes, at(2));
    assert_eq!((task.state, task.round), (State::Draft, 1));
    let submit = |content: Content| Command::Submit { content, pins: world.pins() };

    // Submitted again unchanged: the approval of the earlier round is gone all the same.
    let same = world.step(&task, &user(AUTHOR), &submit(task.content.clone()), at(3));
    let same = world.step(&same, &worker(), &Command::OpenReview, at(3));
    let same = world.step(&same, &user(BOB), &yes(&same), at(4));
    assert_eq!(same.state, State::Reviewing);

    let task = world.step(&task, &user(AUTHOR), &amend(reworded()), at(3));
    assert_eq!((task.state, task.revision), (State::Draft, 2));
    assert!(task.votes.iter().all(|vote| vote.revision == 1));
    let task = world.step(&task, &user(AUTHOR), &submit(reworded()), at(4));
    let task = world.step(&task, &worker(), &Command::OpenReview, at(4));
    let task = world.step(&task, &user(BOB), &yes(&task), at(5));
    assert_eq!(task.state, State::Reviewing);
}

#[test]
fn carry_over_skips_rejections_late_and_withdrawn_answers() {
    let mut document = two_dbas();
    document.reject_threshold = 2;
    let world = World::new([document]);
    let task = world.reviewing(at(0));
    let task = world.step(&task, &user(ALICE), &yes(&task), at(1));
    let withdrawn = world.step(&task, &user(ALICE), &Command::WithdrawVote, at(2));
    let withdrawn = world.step(&withdrawn, &user(AUTHOR), &amend(reworded()), at(3));
    assert!(withdrawn.votes.iter().all(|vote| vote.revision == 1));
    let changed_mind = world.step(&task, &user(ALICE), &no(&task), at(2));
    let changed_mind = world.step(&changed_mind, &user(AUTHOR), &amend(reworded()), at(3));
    assert!(changed_mind.votes.iter().all(|vote| vote.revision == 1), "{changed_mind:?}");
    let mut late = task.clone();
    late.votes[0].effectual = false;
    let late = world.step(&late, &user(AUTHOR), &amend(reworded()), at(3));
    assert!(late.votes.iter().all(|vote| vote.revision == 1));
}

#[test]
fn amendment_by_an_approver_drops_their_vote() {
    let mut world = World::new([two_dbas()]);
    world.edit(ALICE, |person| {
        person.roles = roles(&["dba", "reviewer", "admin"]);
    });
    let task = world.approved(at(0));
    let task = world.step(&task, &user(ALICE), &amend(reworded()), at(1));
    assert!(task.involvement.editors.contains(&ALICE));
    let task = world.step(&task, &worker(), &Command::OpenReview, at(2));
    assert_eq!(task.state, State::Reviewing, "only the approval of Bob is left");
}

#[test]
fn proposal_of_an_agent_involves_who_issued_its_token() {
    let with = |issuer| {
        let (kind, key_id) = (CredentialKind::Token, "AAAAAAAAAAA".to_owned());
        let credential = Credential { kind, key_id, issued_by: Some(issuer), step_up: None };
        Actor::Agent { id: AGENT, on_behalf_of: AUTHOR, credential: Some(credential) }
    };
    let involved = Participants::of_proposal(AUTHOR, &with(ALICE));
    assert_eq!((involved.agent, involved.token_issuers), (Some(AGENT), [ALICE].into()));
    let world = World::new([two_dbas()]);
    let task = world.step(&draft(), &with(BOB), &amend(reworded()), at(1));
    assert_eq!(task.involvement.token_issuers, [BOB].into(), "each revision adds its issuer");
    let submit = Command::Submit { content: task.content.clone(), pins: world.pins() };
    let task = world.step(&task, &with(ALICE), &submit, at(2));
    assert_eq!(task.involvement.token_issuers, [ALICE, BOB].into());
    let task = world.step(&draft(), &agent(), &amend(reworded()), at(1));
    assert!(task.involvement.token_issuers.is_empty(), "the agent used no token");
}

#[test]
fn amendment_without_changes_is_refused() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let refused = world.decide(&task, &user(AUTHOR), &amend(content("first")), at(1));
    assert_eq!(refused, Err(Refusal::NothingChanged { revision: 1 }));
}

#[test]
fn submit_pins_policies_and_stores_a_new_preview() {
    let world = World::new([two_dbas()]);
    let task = world.submitted(at(5));
    assert_eq!((task.revision, task.pins.clone()), (1, world.pins()));
    assert_eq!(task.involvement.submitter, Some(AUTHOR));
    let submit = Command::Submit { content: content("fresh"), pins: world.pins() };
    let task = world.step(&draft(), &agent(), &submit, at(5));
    assert_eq!((task.revision, task.content.digest), (2, content("fresh").digest));
    assert!(task.involvement.editors.is_empty(), "a preview does not count as an edit");
    let decision = world.decide(&draft(), &user(AUTHOR), &submit, at(5)).unwrap();
    assert_eq!(decision.events, [EventKind::TaskSubmitted]);
}

#[test]
fn create_checks_permission_and_makes_a_draft() {
    let world = World::new([]);
    let author = user(AUTHOR);
    let decision = create(&draft(), &world.facts(&author)).unwrap();
    assert_eq!((decision.from, decision.to), (None, To::State(State::Draft)));
    assert_eq!(decision.events, [EventKind::TaskCreated]);
    let stranger = user(STRANGER);
    let refused = create(&draft(), &world.facts(&stranger));
    assert!(matches!(refused, Err(Refusal::Denied(_))));
}

#[test]
fn delete_removes_a_draft_and_resubmit_keeps_the_old_task() {
    let world = World::new([two_dbas()]);
    let deletion = world.decide(&draft(), &user(AUTHOR), &Command::Delete, at(1)).unwrap();
    assert_eq!(draft().after(&deletion, at(1)), None);
    let cancelled = world.step(&draft(), &user(AUTHOR), &Command::Cancel { reason: None }, at(1));
    assert!(cancelled.is_closed() && !draft().is_closed());
    let resubmit = world.decide(&cancelled, &user(AUTHOR), &Command::Resubmit, at(2)).unwrap();
    assert_eq!(resubmit.to, To::NewDraft);
    assert_eq!(cancelled.after(&resubmit, at(2)).unwrap().state, State::Cancelled);
}

#[test]
fn comment_without_text_is_refused() {
    let world = World::new([two_dbas()]);
    let task = world.reviewing(at(0));
    let empty = Command::Comment { text: " ".to_owned() };
    let refused = world.decide(&task, &user(ALICE), &empty, at(1));
    assert_eq!(refused, Err(Refusal::ReasonRequired));
    let text = "looks right".to_owned();
    let decision =
        world.decide(&task, &user(ALICE), &Command::Comment { text: text.clone() }, at(1));
    assert_eq!(decision.unwrap().writes, [Write::Comment { text }]);
}

#[test]
fn wrong_state_refusal_names_state_time_and_actor() {
    let world = World::new([two_dbas()]);
    let task = world.applying(at(60));
    let refused = world.decide(&task, &user(AUTHOR), &amend(content("x")), at(70)).unwrap_err();
    let text = refused.to_string();
    for fact in ["APPLYING", "1970-01-01T00:01:00", "agent agt_", "DRAFT, SUBMITTED"] {
        assert!(text.contains(fact), "{fact} is missing in: {text}");
    }
}

proptest! {
    /// For any amendments in any order: a vote counts only on the digest it was given for.
    #[test]
    fn vote_on_another_digest_never_counts(
        seeds in prop::collection::vec(0u8..3, 1..5),
        vote_at in 0usize..5,
    ) {
        let world = World::new([two_dbas()]);
        let mut task = world.reviewing(at(0));
        let mut voted_on = None;
        for (index, seed) in seeds.iter().enumerate() {
            if index == vote_at && task.state == State::Reviewing {
                task = world.step(&task, &user(ALICE), &yes(&task), at(1));
                voted_on = Some(task.content.digest);
            }
            let mut next = content(&format!("effect {seed}"));
            next.level = if index % 2 == 0 { Level::Low } else { Level::High };
            if let Ok(decision) = world.decide(&task, &user(AUTHOR), &amend(next), at(2)) {
                task = task.after(&decision, at(2)).unwrap();
                if voted_on != Some(task.content.digest) {
                    voted_on = None;
                }
            }
            if task.state == State::Submitted {
                task = world.step(&task, &worker(), &Command::OpenReview, at(2));
            }
        }
        let facts_of = worker();
        let facts = world.facts(&facts_of);
        let rules = TaskRules::of(&task, &facts, at(3));
        let seating = facts.seating(&task, &rules, at(3));
        let counted = 2 - Agreement::of(&task, &seating, at(3)).missing();
        prop_assert_eq!(counted, u32::from(voted_on.is_some()));
    }
}
