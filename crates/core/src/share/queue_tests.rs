//! Who gets a place, over random histories of callers that come, give up and finish.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::share::share_of;

const WAITING_MAX: usize = 16;

#[expect(clippy::unnecessary_wraps, reason = "callers may have no tenant")]
fn tenant(number: u128) -> Option<TenantId> {
    Some(TenantId::from_u128(number))
}

/// Takes a place or waits for it; `None` if it is taken.
fn ask(queue: &mut FairQueue<u32>, tenant: Option<TenantId>, name: u32) -> Option<Ticket> {
    if queue.take(tenant) { None } else { Some(queue.wait(tenant, name).unwrap()) }
}

#[test]
fn freed_place_goes_to_the_tenant_that_holds_the_fewest() {
    let mut queue = FairQueue::new(4, WAITING_MAX);
    for name in 0..3 {
        assert_eq!(ask(&mut queue, tenant(1), name), None);
    }
    assert_eq!(ask(&mut queue, tenant(2), 3), None, "the share that was left");
    for (number, name) in [(1, 4), (2, 5), (3, 6), (3, 7)] {
        assert!(ask(&mut queue, tenant(number), name).is_some());
    }
    assert_eq!(queue.give_back(tenant(1)), [6], "this tenant holds none");
    assert_eq!(queue.give_back(tenant(3)), [7], "it holds none again");
    assert_eq!(queue.give_back(tenant(2)), [5]);
    assert!(queue.give_back(tenant(1)).is_empty(), "one beside others holds its share only");
    assert_eq!(queue.give_back(tenant(1)), [4]);
    assert_eq!((queue.lent(), queue.waiting()), (3, 0));
}

#[test]
fn tenant_that_is_alone_again_gets_several_places() {
    let mut queue = FairQueue::new(16, WAITING_MAX);
    assert_eq!(ask(&mut queue, tenant(2), 0), None);
    let waiting = (0..14).filter_map(|name| ask(&mut queue, tenant(1), name)).count();
    assert_eq!(waiting, 10, "four are the share beside another tenant");
    assert_eq!(queue.give_back(tenant(2)), (4..12).collect::<Vec<_>>(), "in order");
    assert_eq!((queue.lent(), queue.waiting()), (12, 2));
}

#[test]
fn tenant_with_many_callers_does_not_pass_over_another() {
    let mut queue = FairQueue::new(1, WAITING_MAX);
    assert!(queue.take(None));
    for (number, name) in [(1, 0), (1, 1), (1, 2), (2, 3), (3, 4)] {
        assert!(ask(&mut queue, tenant(number), name).is_some());
    }
    assert_eq!(queue.give_back(None), [0]);
    assert_eq!(queue.give_back(tenant(1)), [3], "both hold none, and it has waited longer");
    assert_eq!(queue.give_back(tenant(2)), [4]);
    assert_eq!(queue.give_back(tenant(3)), [1]);
    assert_eq!(queue.give_back(tenant(1)), [2]);
}

#[test]
fn server_itself_has_no_share_and_keeps_its_turn() {
    let mut queue = FairQueue::new(2, WAITING_MAX);
    assert_eq!(ask(&mut queue, None, 0), None);
    assert_eq!(ask(&mut queue, None, 1), None, "nothing is left for tenants");
    assert!(ask(&mut queue, tenant(1), 2).is_some());
    assert!(ask(&mut queue, None, 3).is_some());
    assert_eq!(queue.give_back(None), [2], "the tenant holds none");
    assert_eq!(queue.give_back(None), [3]);
}

#[test]
fn queue_without_room_refuses_more_callers() {
    let mut queue = FairQueue::new(1, 4);
    assert!(queue.take(None));
    let seated =
        |queue: &mut FairQueue<u32>, of| std::iter::from_fn(|| queue.wait(of, 0)).take(9).count();
    assert_eq!(seated(&mut queue, tenant(1)), 3, "a tenant leaves room for another");
    assert_eq!(seated(&mut queue, tenant(2)), 1);
    assert_eq!(seated(&mut queue, None), 4, "the server itself has its own room");
    queue.clear();
    assert_eq!(queue.waiting(), 0);
    assert_eq!(seated(&mut queue, tenant(2)), 3);
}

/// A step of a history: a caller comes, a waiting one gives up, or a place is given back.
#[derive(Debug, Clone, Copy)]
enum Step {
    Come(Option<TenantId>),
    GiveUp(prop::sample::Index),
    Finish(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = prop_oneof![1 => Just(None), 6 => (1_u128..6).prop_map(tenant)];
    let step = prop_oneof![
        5 => of.prop_map(Step::Come),
        1 => any::<prop::sample::Index>().prop_map(Step::GiveUp),
        3 => any::<prop::sample::Index>().prop_map(Step::Finish),
    ];
    vec(step, 1..200)
}

/// What the history has led to, counted without the code under test.
#[derive(Default)]
struct Counted {
    /// The tenant of each caller that holds a place.
    held: Vec<Option<TenantId>>,
    /// The waiting callers in the order in which they came.
    waiting: Vec<(Option<TenantId>, Ticket, u32)>,
}

impl Counted {
    fn held_by(&self, tenant: Option<TenantId>) -> usize {
        self.held.iter().filter(|held| **held == tenant).count()
    }

    /// Moves a caller from waiting to holding.
    fn serve(&mut self, name: u32) -> Option<TenantId> {
        let at = self.waiting.iter().position(|(_, _, waiting)| *waiting == name).unwrap();
        let (tenant, _, _) = self.waiting.remove(at);
        let is_first = !self.waiting[..at].iter().any(|(earlier, _, _)| *earlier == tenant);
        assert!(is_first, "first come, first served within a tenant");
        self.held.push(tenant);
        tenant
    }

    fn check(&self, queue: &FairQueue<u32>, size: usize) {
        assert_eq!((queue.lent(), queue.waiting()), (self.held.len(), self.waiting.len()));
        assert!(self.held.len() <= size);
        let mut by_tenant: BTreeMap<Option<TenantId>, usize> = BTreeMap::new();
        for (tenant, _, _) in &self.waiting {
            *by_tenant.entry(*tenant).or_default() += 1;
        }
        assert!(self.waiting.len() <= 2 * WAITING_MAX);
        if self.held.len() == size {
            return;
        }
        for tenant in by_tenant.keys() {
            assert!(tenant.is_some(), "the server waits although a place is free");
            let own = self.held_by(*tenant);
            assert!(own >= share_of(size), "{tenant:?} waits below its share of a free place");
        }
    }
}

proptest! {
    #[test]
    fn tenant_below_its_share_never_waits_for_a_free_place(size in 1_usize..20, steps in steps()) {
        let (mut queue, mut counted) = (FairQueue::new(size, WAITING_MAX), Counted::default());
        for (name, step) in (0..).zip(steps) {
            match step {
                Step::Come(tenant) => {
                    let (own, all) = (counted.held_by(tenant), counted.held.len());
                    let of_server = counted.held_by(None);
                    if queue.take(tenant) {
                        let is_alone = own == all - of_server;
                        prop_assert!(tenant.is_none() || own < share_of(size) || is_alone);
                        counted.held.push(tenant);
                    } else if let Some(ticket) = queue.wait(tenant, name) {
                        counted.waiting.push((tenant, ticket, name));
                    }
                }
                Step::GiveUp(at) if !counted.waiting.is_empty() => {
                    let (tenant, ticket, _) =
                        counted.waiting.remove(at.index(counted.waiting.len()));
                    prop_assert!(queue.leave(tenant, ticket));
                    prop_assert!(!queue.leave(tenant, ticket), "it has left already");
                }
                Step::Finish(at) if !counted.held.is_empty() => {
                    let tenant = counted.held.swap_remove(at.index(counted.held.len()));
                    for name in queue.give_back(tenant) {
                        counted.serve(name);
                    }
                }
                Step::GiveUp(_) | Step::Finish(_) => {}
            }
            counted.check(&queue, size);
        }
        // Everyone is served in the end.
        while let Some(tenant) = counted.held.pop() {
            for name in queue.give_back(tenant) {
                counted.serve(name);
            }
        }
        prop_assert_eq!((queue.lent(), queue.waiting()), (0, 0));
    }
}
