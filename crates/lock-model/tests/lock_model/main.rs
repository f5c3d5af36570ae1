//! Explores every interleaving of a small system: tasks that share a resource, a queue that can
//! lose acknowledged data, and a database that cannot. If holds are registered before anything is
//! read, no update is lost and no steps overlap. Each weaker rule must be found to violate this.
#![cfg(test)]

mod model;
mod steps;
mod world;

use std::collections::BTreeSet;

use ade_core::lock::Mode;
use stateright::{Checker, Expectation, HasDiscoveries, Model as _};

use crate::world::{Locks, Rule, set};

/// Two writers of one resource, one of which also reads another.
fn locks(rule: Rule) -> Locks {
    let wanted = vec![
        set(&[("db:a", Mode::Exclusive), ("db:b", Mode::Shared)]),
        set(&[("db:a", Mode::Exclusive)]),
    ];
    Locks { rule, wanted, attempts: 2, ticks: 2 }
}

/// Two readers and one writer.
fn readers() -> Locks {
    let wanted = vec![
        set(&[("db:a", Mode::Shared)]),
        set(&[("db:a", Mode::Exclusive)]),
        set(&[("db:a", Mode::Shared)]),
    ];
    // Three processes reach very many states, so each has one attempt and no holder is fenced.
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

/// Checks that a weaker rule violates this property.
fn check_caught(rule: Rule, promise: &'static str) {
    let is_caught = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let checker = locks(rule).checker().finish_when(is_caught).spawn_bfs().join();
    println!("{rule:?}: {} unique states", checker.unique_state_count());
    let path = checker.assert_any_discovery(promise);
    println!("{} steps: {:?}", path.clone().into_actions().len(), path.into_actions());
}

#[test]
fn exclusivity_of_register_first_survives_queue_loss() {
    explore("register first", locks(Rule::RegisterFirst)).assert_properties();
}

#[test]
fn readers_share_and_writers_are_alone_despite_queue_loss() {
    let checker = explore("readers and a writer", readers());
    for property in readers().properties() {
        match property.expectation {
            Expectation::Always => checker.assert_no_discovery(property.name),
            Expectation::Sometimes | Expectation::Eventually => {}
        }
    }
    checker.assert_any_discovery("all processes commit after a loss");
}

#[test]
fn model_finds_a_lost_update_with_a_token_check_at_write() {
    check_caught(Rule::TokenAtWrite, "no update is lost");
}

#[test]
fn model_finds_a_registration_from_another_epoch() {
    check_caught(Rule::AnyEpoch, "the queue knows every registered hold");
}

#[test]
fn model_finds_a_live_hold_that_is_stolen() {
    check_caught(Rule::StealsLive, "steps that nothing can fence do not overlap");
}

#[test]
fn model_finds_an_expiry_without_a_delay() {
    check_caught(Rule::NoDelay, "steps that nothing can fence do not overlap");
}
