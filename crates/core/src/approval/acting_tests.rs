//! The ways that are told against the walk that decides, and every obstacle by name.

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

fn edge(id: u128, owner: u128, delegate_to: u128, kind: Kind, cascade: bool) -> Delegation {
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
    }))
}

/// Each way as its kind, its path and why not.
fn told(found: &Ways<'_>) -> Vec<(Kind, Vec<UserId>, Vec<String>)> {
    let why = |way: &Way<'_>| way.obstacles.iter().map(ToString::to_string).collect();
    found.ways.iter().map(|way| (way.kind, way.path(), why(way))).collect()
}

fn path(numbers: &[u128]) -> Vec<UserId> {
    numbers.iter().map(|number| user(*number)).collect()
}

#[test]
fn without_a_task_every_way_is_told_whatever_its_conditions() {
    let mut first = edge(1, 1, 2, Kind::Transfer, true);
    first.conditions.risk_above = Some(Score::new(90));
    let edges = [
        first,
        edge(2, 1, 3, Kind::Transfer, false),
        edge(3, 2, 4, Kind::Transfer, false),
        edge(4, 1, 9, Kind::Follow, false),
    ];
    let directory = directory([1, 2, 3, 4]);
    let question = Question {
        owner: user(1),
        delegations: &edges,
        directory: &directory,
        about: None,
        now: NOW,
    };
    let found = ways(&question);
    let stranger = format!("{} is not active", user(9));
    assert_eq!(
        told(&found),
        [
            (Kind::Transfer, path(&[1, 2, 4]), vec![]),
            (Kind::Transfer, path(&[1, 3]), vec![]),
            (Kind::Follow, path(&[1, 9]), vec![stranger]),
        ]
    );
    assert_eq!((found.faults.len(), found.is_cut), (0, false));
}

#[test]
fn each_obstacle_is_named() {
    let patterns = |text: &str| vec![Pattern::new(text).unwrap()];
    let mut later = edge(1, 1, 2, Kind::Transfer, false);
    later.starts_at = Timestamp::from_micros(60);
    let mut picky = edge(2, 1, 3, Kind::Transfer, false);
    picky.conditions = Conditions {
        task_types: patterns("cluster.*"),
        resource_patterns: patterns("*:test-*"),
        risk_above: Some(Score::new(45)),
    };
    let mut over = edge(3, 1, 4, Kind::Transfer, false);
    over.expires_at = NOW;
    let edges = [
        later,
        picky,
        over,
        edge(4, 1, 5, Kind::Transfer, false),
        edge(5, 1, 6, Kind::Transfer, false),
        edge(6, 1, 7, Kind::Transfer, false),
    ];
    let subject = samples::content("x").subject;
    let may_approve = |person| person != user(5);
    let directory = directory([]);
    let about =
        |is_forbidden| Some(About { subject: &subject, is_forbidden, may_approve: &may_approve });
    let question = |is_forbidden| Question {
        owner: user(1),
        delegations: &edges,
        directory: &directory,
        about: about(is_forbidden),
        now: NOW,
    };
    let found = ways(&question(false));
    let why: Vec<String> = told(&found)
        .into_iter()
        .map(|(_, path, why)| format!("{} {}", path.len(), why.join("; ")))
        .collect();
    assert_eq!(
        why,
        [
            format!("2 it begins at {}", Timestamp::from_micros(60)),
            "2 it is for other types of tasks; it is for other resources; it is for a risk above \
             45, and this one has 45"
                .to_owned(),
            format!("2 {} may not approve this in their own right", user(5)),
            "2 ".to_owned(),
            format!("2 {} is found first and answers", user(6)),
        ]
    );
    let forbidden = ways(&question(true));
    assert!(forbidden.ways.iter().all(|way| !way.acts()), "{:?}", told(&forbidden));
}

#[test]
fn circles_and_long_chains_are_named_with_their_path() {
    let mut edges: Vec<Delegation> =
        (0..9).map(|n| edge(n, n, n + 1, Kind::Transfer, true)).collect();
    edges.push(edge(20, 0, 30, Kind::Follow, true));
    edges.push(edge(21, 30, 0, Kind::Follow, true));
    let directory = directory(0..40);
    let question = Question {
        owner: user(0),
        delegations: &edges,
        directory: &directory,
        about: None,
        now: NOW,
    };
    let found = ways(&question);
    let long = path(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let circle = path(&[0, 30, 0]);
    assert_eq!(found.faults, [Fault::TooLong { path: long }, Fault::Cycle { path: circle }]);
}

#[test]
fn a_dense_graph_is_cut_and_says_so() {
    let edges: Vec<Delegation> = (0..30u128)
        .flat_map(|from| (0..30u128).map(move |to| (from, to)))
        .zip(1..)
        .map(|((from, to), id)| edge(id, from, to, Kind::Transfer, true))
        .collect();
    let directory = directory(0..30);
    let question = Question {
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
            let kind = if is_transfer { Kind::Transfer } else { Kind::Follow };
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
    fn who_acts_is_who_the_deciding_walk_finds(
        edges in any_edges(),
        allowed in prop::collection::btree_set(0u128..6, 0..6),
        owner in 0u128..6,
    ) {
        let allowed: BTreeSet<UserId> = allowed.into_iter().map(user).collect();
        let may_approve = |person: UserId| allowed.contains(&person);
        let subject = samples::content("x").subject;
        let directory = directory(0..6);
        let about = About { subject: &subject, is_forbidden: false, may_approve: &may_approve };
        let question = Question {
            owner: user(owner),
            delegations: &edges,
            directory: &directory,
            about: Some(about),
            now: NOW,
        };
        let found = ways(&question);
        let acting = |kind: Kind| -> Vec<Vec<UserId>> {
            found.ways.iter().filter(|way| way.kind == kind && way.acts()).map(Way::path).collect()
        };
        let walk = Walk::new(&edges, &subject, NOW, may_approve);
        let decided = walk.transfer(user(owner));
        let expected: Vec<Vec<UserId>> =
            Some(decided.chain).into_iter().filter(|chain| chain.len() > 1).collect();
        prop_assert_eq!(acting(Kind::Transfer), expected);
        let (chains, _) = walk.followed(user(owner));
        prop_assert_eq!(acting(Kind::Follow), chains);
        for fault in decided.faults {
            let is_told = match &fault {
                Fault::NotAllowed { path, .. } => found.ways.iter().any(|way| way.path() == *path),
                Fault::Cycle { .. } | Fault::TooLong { .. } => found.faults.contains(&fault),
            };
            prop_assert!(is_told, "{}", fault);
        }
    }
}
