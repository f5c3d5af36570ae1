//! Every interleaving of a small system: tasks that share a resource, a queue that loses what it
//! acknowledged, a database that does not. The rule that a hold is registered before anything is
//! read must keep every update and every step apart; each weaker rule must be caught.
#![cfg(test)]

mod model;
mod steps;
mod world;

use std::collections::BTreeSet;

use ade_core::lock::Mode;
use stateright::{Checker, Expectation, HasDiscoveries, Model as _};

use crate::world::{Locks, Rule, set};

/// Two writers of one resource, one of which reads another.
fn locks(rule: Rule) -> Locks {
    let wanted = vec![
        set(&[("db:a", Mode::Exclusive), ("db:b", Mode::Shared)]),
        set(&[("db:a", Mode::Exclusive)]),
    ];
    Locks { rule, wanted, attempts: 2, ticks: 2 }
}

/// Two who only read, and one who writes.
fn readers() -> Locks {
    let wanted = vec![
        set(&[("db:a", Mode::Shared)]),
        set(&[("db:a", Mode::Exclusive)]),
        set(&[("db:a", Mode::Shared)]),
    ];
    // Three of them go through very many states: one attempt each, and nobody is fenced.
    Locks { rule: Rule::RegisterFirst, wanted, attempts: 1, ticks: 1 }
}

fn explore(what: &str, locks: Locks) -> impl Checker<Locks> {
    let checker = locks.checker().threads(2).spawn_bfs().join();
    println!(
        "{what}: {} states, {} unique, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker
}

/// A weaker rule must break this promise.
fn check_caught(rule: Rule, promise: &'static str) {
    let is_caught = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let checker = locks(rule).checker().finish_when(is_caught).spawn_bfs().join();
    println!("{rule:?}: {} unique states", checker.unique_state_count());
    let path = checker.assert_any_discovery(promise);
    println!("{} steps: {:?}", path.clone().into_actions().len(), path.into_actions());
}

#[test]
fn exclusivity_register_first_loses_no_update_whatever_the_queue_loses() {
    explore("register first", locks(Rule::RegisterFirst)).assert_properties();
}

#[test]
fn readers_share_and_a_writer_is_alone_whatever_the_queue_loses() {
    let checker = explore("readers and a writer", readers());
    for property in readers().properties() {
        match property.expectation {
            Expectation::Always => checker.assert_no_discovery(property.name),
            Expectation::Sometimes | Expectation::Eventually => {}
        }
    }
    checker.assert_any_discovery("everybody commits after a loss");
}

#[test]
fn the_usual_token_check_at_the_write_is_caught_losing_an_update() {
    check_caught(Rule::TokenAtWrite, "no update is lost");
}

#[test]
fn a_registration_from_any_epoch_is_caught_behind_the_queues_back() {
    check_caught(Rule::AnyEpoch, "the queue knows every registered hold");
}

#[test]
fn a_live_hold_that_is_stolen_is_caught_with_two_steps_at_once() {
    check_caught(Rule::StealsLive, "steps that nothing can fence do not overlap");
}

#[test]
fn an_expiry_without_a_delay_is_caught_with_two_steps_at_once() {
    check_caught(Rule::NoDelay, "steps that nothing can fence do not overlap");
}
