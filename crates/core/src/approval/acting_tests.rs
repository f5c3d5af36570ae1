//! Checks the explained delegation paths against the walk that decides, and names every obstacle.

use std::collections::BTreeMap;

use super::*;
use crate::actor::Person;
use crate::approval::delegation::Walk;
use crate::ids::DelegationId;
use crate::policy::Pattern;
use crate::samples;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_micros(50);

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

fn directory(numbers: impl IntoIterator<Item = u128>) -> Directory {
    Directory::new(numbers.into_iter().map(|number| Person {
        id: user(number),
        roles: BTreeSet::new(),
        roles_since: BTreeMap::new(),
        active: true,
        manager: None,
        aliases: BTreeSet::new(),
        is_unconfirmed: false,
    }))
}

/// Each path as its kind, its people and its obstacles.
fn summary(found: &Ways<'_>) -> Vec<(DelegationKind, Vec<UserId>, Vec<String>)> {
    let why = |way: &DelegationPath<'_>| way.obstacles.iter().map(ToString::to_string).collect();
    found.ways.iter().map(|way| (way.kind, way.path(), why(way))).collect()
}

fn path(numbers: &[u128]) -> Vec<UserId> {
    numbers.iter().map(|number| user(*number)).collect()
}

#[test]
fn delegation_paths_without_a_task_ignore_conditions() {
    let mut first = edge(1, 1, 2, DelegationKind::Transfer, true);
    first.conditions.risk_above = Some(Score::new(90));
    let edges = [
        first,
        edge(2, 1, 3, DelegationKind::Transfer, false),
        edge(3, 2, 4, DelegationKind::Transfer, false),
        edge(4, 1, 9, DelegationKind::Follow, false),
    ];
    let directory = directory([1, 2, 3, 4]);
    let question = DelegationQuery {
        owner: user(1),
        delegations: &edges,
        directory: &directory,
        about: None,
        now: NOW,
    };
    let found = ways(&question);
    let stranger = format!("{} is not active", user(9));
    assert_eq!(
        summary(&found),
        [
            (DelegationKind::Transfer, path(&[1, 2, 4]), vec![]),
            (DelegationKind::Transfer, path(&[1, 3]), vec![]),
            (DelegationKind::Follow, path(&[1, 9]), vec![stranger]),
        ]
    );
    assert_eq!((found.faults.len(), found.is_cut), (0, false));
}

#[test]
fn delegation_obstacles_are_named() {
    let patterns = |text: &str| vec![Pattern::new(text).unwrap()];
    let mut later = edge(1, 1, 2, DelegationKind::Transfer, false);
    later.starts_at = Timestamp::from_micros(60);
    let mut picky = edge(2, 1, 3, DelegationKind::Transfer, false);
    picky.conditions = Conditions {
        task_types: patterns("cluster.*"),
        resource_patterns: patterns("*:test-*"),
        risk_above: Some(Score::new(45)),
    };
    let mut over = edge(3, 1, 4, DelegationKind::Transfer, false);
    over.expires_at = NOW;
    let edges = [
        later,
        picky,
        over,
        edge(4, 1, 5, DelegationKind::Transfer, false),
        edge(5, 1, 6, DelegationKind::Transfer, false),
        edge(6, 1, 7, DelegationKind::Transfer, false),
    ];
    let subject = samples::content("x").subject;
    let may_approve = |person| person != user(5);
    let directory = directory([]);
    let about =
        |is_forbidden| Some(About { subject: &subject, is_forbidden, may_approve: &may_approve });
    let question = |is_forbidden| DelegationQuery {
        owner: user(1),
        delegations: &edges,
        directory: &directory,
        about: about(is_forbidden),
        now: NOW,
    };
    let found = ways(&question(false));
    let why: Vec<String> = summary(&found)
        .into_iter()
        .map(|(_, path, why)| format!("{} {}", path.len(), why.join("; ")))
        .collect();
    assert_eq!(
        why,
        [
            format!("2 the delegation starts at {}", Timestamp::from_micros(60)),
            "2 the delegation covers other task types; the delegation covers other resources; the \
             delegation covers risk above 45, the task has 45"
                .to_owned(),
            format!("2 {} cannot approve this task in their own right", user(5)),
            "2 ".to_owned(),
            format!("2 {} comes first in the delegation chain and answers", user(6)),
        ]
    );
    let forbidden = ways(&question(true));
    assert!(forbidden.ways.iter().all(|way| !way.acts()), "{:?}", summary(&forbidden));
}

#[test]
fn delegation_loops_and_long_chains_report_their_path() {
    let mut edges: Vec<Delegation> =
        (0..9).map(|n| edge(n, n, n + 1, DelegationKind::Transfer, true)).collect();
    edges.push(edge(20, 0, 30, DelegationKind::Follow, true));
    edges.push(edge(21, 30, 0, DelegationKind::Follow, true));
    let directory = directory(0..40);
    let question = DelegationQuery {
        owner: user(0),
        delegations: &edges,
        directory: &directory,
        about: None,
        now: NOW,
    };
    let found = ways(&question);
    let long = path(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let circle = path(&[0, 30, 0]);
    assert_eq!(
        found.faults,
        [DelegationError::TooLong { path: long }, DelegationError::Cycle { path: circle }]
    );
}

#[test]
fn delegation_search_of_a_dense_graph_reports_truncation() {
    let edges: Vec<Delegation> = (0..30u128)
        .flat_map(|from| (0..30u128).map(move |to| (from, to)))
        .zip(1..)
        .map(|((from, to), id)| edge(id, from, to, DelegationKind::Transfer, true))
        .collect();
    let directory = directory(0..30);
    let question = DelegationQuery {
        owner: user(0),
        delegations: &edges,
        directory: &directory,
        about: None,
        now: NOW,
    };
    assert!(ways(&question).is_cut);
}

fn any_edges() -> impl Strategy<Value = Vec<Delegation>> {
    let one = (0u128..6, 0u128..6, any::<bool>(), any::<bool>(), 0u8..8);
    prop::collection::vec(one, 0..14).prop_map(|all| {
        let made = |(id, (owner, to, cascade, is_transfer, odd)): (u128, _)| {
            let kind = if is_transfer { DelegationKind::Transfer } else { DelegationKind::Follow };
            let mut made = edge(id, owner, to, kind, cascade);
            match odd {
                0 => made.starts_at = Timestamp::from_micros(60),
                1 => made.conditions.risk_above = Some(Score::MAX),
                2 => made.expires_at = NOW,
                3 => made.active = false,
                _ => {}
            }
            made
        };
        (1..).zip(all).map(made).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn delegation_explanation_agrees_with_the_decision(
        edges in any_edges(),
        allowed in prop::collection::btree_set(0u128..6, 0..6),
        owner in 0u128..6,
    ) {
        let allowed: BTreeSet<UserId> = allowed.into_iter().map(user).collect();
        let may_approve = |person: UserId| allowed.contains(&person);
        let subject = samples::content("x").subject;
        let directory = directory(0..6);
        let about = About { subject: &subject, is_forbidden: false, may_approve: &may_approve };
        let question = DelegationQuery {
            owner: user(owner),
            delegations: &edges,
            directory: &directory,
            about: Some(about),
            now: NOW,
        };
        let found = ways(&question);
        let acting = |kind: DelegationKind| -> Vec<Vec<UserId>> {
            found.ways.iter().filter(|way| way.kind == kind && way.acts())
                .map(DelegationPath::path).collect()
        };
        let walk = Walk::new(&edges, &subject, NOW, may_approve);
        let decided = walk.transfer(user(owner));
        let expected: Vec<Vec<UserId>> =
            Some(decided.chain).into_iter().filter(|chain| chain.len() > 1).collect();
        prop_assert_eq!(acting(DelegationKind::Transfer), expected);
        let (chains, _) = walk.followed(user(owner));
        prop_assert_eq!(acting(DelegationKind::Follow), chains);
        for fault in decided.faults {
            let is_reported = match &fault {
                DelegationError::NotAllowed { path, .. } =>
                    found.ways.iter().any(|way| way.path() == *path),
                DelegationError::Cycle { .. }
                | DelegationError::TooLong { .. } => found.faults.contains(&fault),
            };
            prop_assert!(is_reported, "{}", fault);
        }
    }
}
