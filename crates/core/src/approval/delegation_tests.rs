//! Delegation compared with an oracle that lists every path, and the faulty cases.

use super::*;
use crate::samples;
use proptest::prelude::*;

fn user(number: u128) -> UserId {
    UserId::from_u128(number)
}

fn edge(
    id: u128,
    owner: u128,
    delegate_to: u128,
    kind: DelegationKind,
    cascade: bool,
) -> Delegation {
    Delegation {
        id: DelegationId::from_u128(id),
        owner: user(owner),
        delegate_to: user(delegate_to),
        kind,
        conditions: Conditions::default(),
        cascade,
        starts_at: Timestamp::from_micros(0),
        expires_at: Timestamp::from_micros(100),
        active: true,
    }
}

fn walk(delegations: &[Delegation]) -> Walk<'_, impl Fn(UserId) -> bool> {
    let subject = samples::content("x").subject;
    Walk::new(delegations, &subject, Timestamp::from_micros(50), |_| true)
}

fn chain(numbers: &[u128]) -> Vec<UserId> {
    numbers.iter().map(|number| user(*number)).collect()
}

#[test]
fn delegation_chain_leads_to_its_last_delegate() {
    let edges = [
        edge(1, 1, 2, DelegationKind::Transfer, true),
        edge(2, 2, 3, DelegationKind::Transfer, true),
    ];
    let found = walk(&edges).transfer(user(1));
    assert_eq!(found, Resolution { chain: chain(&[1, 2, 3]), faults: Vec::new() });
}

#[test]
fn delegation_without_cascade_stops_at_the_first_delegate() {
    let edges = [
        edge(1, 1, 2, DelegationKind::Transfer, false),
        edge(2, 2, 3, DelegationKind::Transfer, true),
    ];
    assert_eq!(walk(&edges).transfer(user(1)).chain, chain(&[1, 2]));
}

#[test]
fn delegation_loops_are_named_and_fall_back_to_the_owner() {
    let edges = [
        edge(1, 1, 2, DelegationKind::Transfer, true),
        edge(2, 2, 1, DelegationKind::Transfer, true),
    ];
    let found = walk(&edges).transfer(user(1));
    assert_eq!(found.chain, chain(&[1]));
    assert_eq!(found.faults, [DelegationError::Cycle { path: chain(&[1, 2, 1]) }]);
    let text = found.faults[0].to_string();
    assert!(text.contains(&format!("{} → {} → {}", user(1), user(2), user(1))), "{text}");
    let to_self = [edge(1, 1, 1, DelegationKind::Transfer, true)];
    let found = walk(&to_self).transfer(user(1));
    assert_eq!(found.chain, chain(&[1]));
    assert_eq!(found.faults, [DelegationError::Cycle { path: chain(&[1, 1]) }]);
}

#[test]
fn delegation_chain_is_bounded_at_eight() {
    let line = |length: u128| -> Vec<Delegation> {
        (0..length).map(|n| edge(n, n, n + 1, DelegationKind::Transfer, true)).collect()
    };
    let eight = line(8);
    assert_eq!(walk(&eight).transfer(user(0)).chain.len(), 9);
    let nine = line(9);
    let found = walk(&nine).transfer(user(0));
    assert_eq!(found.chain, chain(&[0]));
    let path = chain(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(found.faults, [DelegationError::TooLong { path }]);
    let follow: Vec<Delegation> =
        nine.into_iter().map(|edge| Delegation { kind: DelegationKind::Follow, ..edge }).collect();
    let (chains, faults) = walk(&follow).followed(user(0));
    assert_eq!(chains.len(), 8);
    assert!(matches!(faults[..], [DelegationError::TooLong { .. }]));
}

#[test]
fn delegation_search_of_a_dense_graph_is_bounded() {
    let edges: Vec<Delegation> = (0..30u128)
        .flat_map(|from| (0..30u128).map(move |to| (from, to)))
        .zip(1..)
        .map(|((from, to), id)| edge(id, from, to, DelegationKind::Transfer, true))
        .collect();
    let found = walk(&edges).transfer(user(0));
    assert_eq!(found.chain, chain(&[0]));
    assert!(found.faults.len() <= DELEGATION_STEPS_MAX + 1);
}

#[test]
fn delegation_to_a_person_without_the_right_is_skipped() {
    let edges = [
        edge(1, 1, 2, DelegationKind::Transfer, true),
        edge(2, 1, 3, DelegationKind::Transfer, true),
    ];
    let subject = samples::content("x").subject;
    let now = Timestamp::from_micros(50);
    let walk = Walk::new(&edges, &subject, now, |person| person == user(3));
    let found = walk.transfer(user(1));
    assert_eq!(found.chain, chain(&[1, 3]), "the next branch is tried");
    let path = chain(&[1, 2]);
    assert_eq!(found.faults, [DelegationError::NotAllowed { delegate: user(2), path }]);
}

#[test]
fn delegation_branches_are_tried_in_id_order() {
    let edges = [
        edge(9, 1, 2, DelegationKind::Transfer, true),
        edge(3, 1, 4, DelegationKind::Transfer, true),
    ];
    assert_eq!(walk(&edges).transfer(user(1)).chain, chain(&[1, 4]));
}

#[test]
fn delegation_applies_from_start_to_end_while_active() {
    let subject = samples::content("x").subject;
    let base = edge(1, 1, 2, DelegationKind::Transfer, false);
    let applies = |delegation: &Delegation, micros| {
        delegation.applies(&subject, Timestamp::from_micros(micros))
    };
    let later = Delegation { starts_at: Timestamp::from_micros(10), ..base.clone() };
    assert!(!applies(&later, 9) && applies(&later, 10));
    assert!(applies(&base, 99) && !applies(&base, 100));
    assert!(!applies(&Delegation { active: false, ..base }, 50));
}

#[test]
fn delegation_conditions_must_all_hold() {
    let subject = samples::content("x").subject;
    let patterns = |text: Option<&str>| -> Vec<Pattern> {
        text.into_iter().map(|text| Pattern::new(text).unwrap()).collect()
    };
    let holds = |task_type, resource, risk_above: Option<u8>| {
        let conditions = Conditions {
            task_types: patterns(task_type),
            resource_patterns: patterns(resource),
            risk_above: risk_above.map(Score::new),
        };
        conditions.hold(&subject)
    };
    assert!(holds(None, None, None));
    assert!(holds(Some("database.*"), None, None));
    assert!(!holds(Some("cluster.*"), None, None));
    assert!(holds(None, Some("*:prod-*"), None));
    assert!(!holds(None, Some("*:test-*"), None));
    assert!(holds(None, None, Some(44)));
    assert!(!holds(None, None, Some(45)), "the bound is exclusive");
    assert!(!holds(Some("database.*"), Some("*:test-*"), Some(44)));
    assert!(!holds(Some("cluster.*"), Some("*:prod-*"), Some(44)));
}

#[test]
fn delegation_follow_cascades_and_never_reaches_the_owner() {
    let edges = [
        edge(1, 1, 2, DelegationKind::Follow, true),
        edge(2, 2, 3, DelegationKind::Follow, false),
        edge(3, 3, 4, DelegationKind::Follow, true),
        edge(4, 2, 1, DelegationKind::Follow, true),
        edge(5, 1, 9, DelegationKind::Transfer, true),
    ];
    let (chains, faults) = walk(&edges).followed(user(1));
    assert_eq!(chains, [chain(&[1, 2]), chain(&[1, 2, 3])], "3 does not cascade further");
    assert_eq!(faults, [DelegationError::Cycle { path: chain(&[1, 2, 1]) }]);
}

#[test]
fn delegation_follow_skips_people_who_may_not_approve() {
    let edges =
        [edge(1, 1, 2, DelegationKind::Follow, true), edge(2, 2, 3, DelegationKind::Follow, true)];
    let subject = samples::content("x").subject;
    let walk = Walk::new(&edges, &subject, Timestamp::from_micros(50), |person| person == user(3));
    let (chains, faults) = walk.followed(user(1));
    assert_eq!(chains, [chain(&[1, 2, 3])]);
    let path = chain(&[1, 2]);
    assert_eq!(faults, [DelegationError::NotAllowed { delegate: user(2), path }]);
}

fn any_edges(kind: DelegationKind) -> impl Strategy<Value = Vec<Delegation>> {
    prop::collection::vec((0u128..6, 0u128..6, any::<bool>()), 0..9).prop_map(move |triples| {
        (1..)
            .zip(triples)
            .map(|(id, (owner, to, cascade))| edge(id, owner, to, kind, cascade))
            .collect()
    })
}

/// Lists every chain that the rules allow, in the order of trying, independently of the
/// implementation.
fn all_chains(edges: &[Delegation], allowed: &[UserId], path: &[UserId]) -> Vec<Vec<UserId>> {
    let mut found = Vec::new();
    let last = path[path.len() - 1];
    for edge in edges.iter().filter(|edge| edge.owner == last) {
        if path.contains(&edge.delegate_to) || path.len() > 8 {
            continue;
        }
        let longer = [path, &[edge.delegate_to]].concat();
        let leads_on = edges.iter().any(|next| next.owner == edge.delegate_to);
        if edge.cascade && leads_on {
            found.extend(all_chains(edges, allowed, &longer));
        } else if allowed.contains(&edge.delegate_to) {
            found.push(longer);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn delegation_transfer_agrees_with_brute_force(
        edges in any_edges(DelegationKind::Transfer),
        allowed in prop::collection::btree_set(0u128..6, 0..6),
        owner in 0u128..6,
    ) {
        let allowed: Vec<UserId> = allowed.into_iter().map(user).collect();
        let subject = samples::content("x").subject;
        let walk = Walk::new(&edges, &subject, Timestamp::from_micros(50), |person| {
            allowed.contains(&person)
        });
        let found = walk.transfer(user(owner));
        let expected = all_chains(&edges, &allowed, &[user(owner)]);
        if let Some(first) = expected.first() {
            prop_assert_eq!(&found.chain, first);
        } else {
                prop_assert_eq!(&found.chain, &vec![user(owner)]);
                let had_a_try = edges.iter().any(|edge| edge.owner == user(owner));
                prop_assert_eq!(found.faults.is_empty(), !had_a_try, "failures are reported");
        }
    }

    /// Computes reachability over cascading edges by growing a set until it is stable.
    #[test]
    fn delegation_follow_agrees_with_brute_force(
        edges in any_edges(DelegationKind::Follow),
        allowed in prop::collection::btree_set(0u128..6, 0..6),
        owner in 0u128..6,
    ) {
        let allowed: BTreeSet<UserId> = allowed.into_iter().map(user).collect();
        let subject = samples::content("x").subject;
        let walk = Walk::new(&edges, &subject, Timestamp::from_micros(50), |person| {
            allowed.contains(&person)
        });
        let (chains, _) = walk.followed(user(owner));
        let mut open = BTreeSet::from([user(owner)]);
        let mut reached = BTreeSet::new();
        for _ in 0..8 {
            for edge in &edges {
                if open.contains(&edge.owner) {
                    reached.insert(edge.delegate_to);
                    if edge.cascade {
                        open.insert(edge.delegate_to);
                    }
                }
            }
        }
        reached.remove(&user(owner));
        let found: BTreeSet<UserId> = chains.iter().map(|chain| chain[chain.len() - 1]).collect();
        let expected: BTreeSet<UserId> = reached.intersection(&allowed).copied().collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(found.len(), chains.len(), "each once");
        for chain in chains {
            prop_assert_eq!(chain[0], user(owner));
            for pair in chain.windows(2) {
                prop_assert!(edges.iter().any(|e| e.owner == pair[0] && e.delegate_to == pair[1]));
            }
        }
    }
}
