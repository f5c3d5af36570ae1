//! A claim without a permit names every closed gate, and says when to try again.

use std::time::Duration;

use crate::agent::OrderKind;
use crate::freeze::{Freeze, FreezeExtent};
use crate::ids::FreezeId;
use crate::samples::*;
use crate::task::*;

const FREE: Claimant<'_> = Claimant { order: None, order_reason: None, has_free_slot: true };

fn explained(world: &World, task: &Task) -> Explanation {
    explain(task, &world.gates(), &world.facts(&worker()), at(1))
}

fn claimed(explanation: &Explanation) -> ClaimedTask<'_> {
    ClaimedTask { explanation, is_capable: true, is_applied_by_server: false, not_before: None }
}

fn codes(claimant: Claimant<'_>, task: Option<ClaimedTask<'_>>) -> Vec<&'static str> {
    let blocked = blocked_claim(claimant, task, at(1));
    assert!(blocked.iter().all(|gate| !gate.passed && gate.how_to_pass.is_some()), "{blocked:?}");
    blocked.iter().filter_map(|gate| gate.code).map(GateCode::as_str).collect()
}

#[test]
fn claim_of_a_task_under_review_names_the_missing_approvals() {
    let world = World::new([two_dbas()]);
    let explanation = explained(&world, &world.reviewing(at(0)));
    assert_eq!(codes(FREE, Some(claimed(&explanation))), ["approvals_missing"]);
}

#[test]
fn claim_names_the_gates_of_the_agent_first() {
    let mut world = World::new([two_dbas()]);
    world.has_capacity = false;
    let explanation = explained(&world, &world.approved(at(0)));
    let task = claimed(&explanation);
    assert_eq!(codes(FREE, Some(task)), ["no_task_ready"], "other agents do not matter");
    let paused = Claimant { order: Some(OrderKind::Pause), has_free_slot: false, ..FREE };
    assert_eq!(codes(paused, None), ["agent_paused"]);
    let unable = ClaimedTask { is_capable: false, ..task };
    assert_eq!(codes(paused, Some(unable)), ["agent_paused", "not_capable"]);
    let draining = Claimant { order: Some(OrderKind::Drain), ..FREE };
    assert_eq!(codes(draining, None), ["agent_draining"]);
    assert_eq!(codes(Claimant { has_free_slot: false, ..FREE }, None), ["no_free_slot"]);
    let by_server = ClaimedTask { is_applied_by_server: true, is_capable: false, ..task };
    assert_eq!(codes(FREE, Some(by_server)), ["applied_by_server"]);
    assert_eq!(codes(FREE, None), ["no_task_ready"]);
}

#[test]
fn claim_of_a_paused_agent_says_why_it_was_paused() {
    let order_reason = Some("release week");
    let paused = Claimant { order: Some(OrderKind::Pause), order_reason, ..FREE };
    let blocked = blocked_claim(paused, None, at(1));
    let evidence: Vec<&str> = blocked.iter().map(|gate| gate.evidence.as_str()).collect();
    assert_eq!(evidence, ["an operator has paused this agent: release week"]);
}

#[test]
fn claim_of_a_running_task_names_the_other_attempt() {
    let world = World::new([two_dbas()]);
    let explanation = explained(&world, &world.applying(at(0)));
    assert_eq!(codes(FREE, Some(claimed(&explanation))), ["in_progress"]);
}

#[test]
fn claim_is_repeated_when_the_last_gate_opens() {
    let mut world = World::new([two_dbas()]);
    world.freezes = vec![Freeze {
        id: FreezeId::from_u128(1),
        scope: FreezeExtent::Tenant,
        reason: "launch day".to_owned(),
        set_by: ADMIN,
        ends_at: Some(at(31)),
    }];
    let explanation = explained(&world, &world.approved(at(0)));
    let waiting = ClaimedTask { not_before: Some(at(11)), ..claimed(&explanation) };
    let blocked = blocked_claim(FREE, Some(waiting), at(1));
    let found: Vec<_> = blocked.iter().map(|gate| (gate.code, gate.until)).collect();
    let expected =
        [(Some(GateCode::BackingOff), Some(at(11))), (Some(GateCode::Frozen), Some(at(31)))];
    assert_eq!(found, expected);
    assert!(blocked[1].evidence.contains("launch day"), "{blocked:?}");
    assert_eq!(retry_after(&blocked, at(1)), Duration::from_secs(30));
    assert_eq!(retry_after(&blocked, at(31)), Duration::from_secs(1), "never a busy loop");
    assert_eq!(retry_after(&blocked, at(-9_999)), Duration::from_secs(55));
    assert_eq!(retry_after(&[], at(1)), Duration::from_secs(5));
    assert_eq!(codes(FREE, Some(claimed(&explanation))), ["frozen"], "the delay is over");
}

#[test]
fn claim_waits_only_in_states_that_lead_to_a_permit() {
    let waiting = State::ALL.into_iter().filter(|state| may_get_permit(*state));
    let expected = [State::Submitted, State::Reviewing, State::Approved, State::Applying];
    assert_eq!(waiting.collect::<Vec<_>>(), expected);
}

#[test]
fn gate_codes_are_named_as_they_are_serialized() {
    for code in GateCode::ALL {
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
    }
}
