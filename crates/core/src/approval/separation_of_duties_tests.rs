//! Self-approval is impossible for every kind of involvement, account and alias.

use std::collections::BTreeMap;

use super::*;
use crate::actor::Person;
use proptest::prelude::*;

fn user(number: u128) -> UserId {
    UserId::from_u128(number)
}

fn person(number: u128, aliases: &[u128]) -> Person {
    Person {
        id: user(number),
        roles: BTreeSet::new(),
        roles_since: BTreeMap::new(),
        active: true,
        manager: None,
        aliases: aliases.iter().map(|alias| user(*alias)).collect(),
        is_unconfirmed: false,
    }
}

fn involvement(author: u128, submitter: Option<u128>, editors: &[u128]) -> Participants {
    Participants {
        author: user(author),
        agent: None,
        submitter: submitter.map(user),
        editors: editors.iter().map(|editor| user(*editor)).collect(),
        token_issuers: BTreeSet::new(),
    }
}

#[test]
fn self_approval_is_refused_for_each_kind_of_involvement() {
    let directory = Directory::new([1, 2, 3, 4].map(|number| person(number, &[])));
    let mut task = involvement(1, Some(2), &[3]);
    let part = |task: &Participants, number| {
        conflict(task, &directory, user(number)).map(|found| found.part)
    };
    assert_eq!(part(&task, 1), Some(Part::Author));
    assert_eq!(part(&task, 2), Some(Part::Submitter));
    assert_eq!(part(&task, 3), Some(Part::Editor));
    assert_eq!(part(&task, 4), None);
    task.token_issuers = [user(4)].into();
    assert_eq!(part(&task, 4), Some(Part::TokenIssuer));
    task.agent = Some(AgentId::from_u128(9));
    assert_eq!(part(&task, 1), Some(Part::AgentsPrincipal));
}

#[test]
fn self_approval_by_alias_names_the_involved_account() {
    let directory = Directory::new([person(1, &[]), person(8, &[1]), person(9, &[8])]);
    let found = conflict(&involvement(1, None, &[]), &directory, user(9)).unwrap();
    assert_eq!(found, Conflict { part: Part::Author, account: user(1) });
}

proptest! {
    /// A reviewer is refused exactly when some involved account is reachable over alias links.
    #[test]
    fn self_approval_agrees_with_reachability_over_aliases(
        links in prop::collection::vec((0u128..6, 0u128..6), 0..6),
        author in 0u128..6,
        submitter in prop::option::of(0u128..6),
        editors in prop::collection::vec(0u128..6, 0..3),
        issuer in prop::option::of(0u128..6),
        reviewer in 0u128..6,
    ) {
        let directory = Directory::new((0..6).map(|number| {
            let aliases: Vec<u128> =
                links.iter().filter(|(from, _)| *from == number).map(|(_, to)| *to).collect();
            person(number, &aliases)
        }));
        let mut reachable = BTreeSet::from([reviewer]);
        for _ in 0..6 {
            for (a, b) in &links {
                if reachable.contains(a) || reachable.contains(b) {
                    reachable.extend([*a, *b]);
                }
            }
        }
        let expected = reachable.contains(&author)
            || submitter.is_some_and(|account| reachable.contains(&account))
            || editors.iter().chain(&issuer).any(|account| reachable.contains(account));
        let mut task = involvement(author, submitter, &editors);
        task.token_issuers = issuer.into_iter().map(user).collect();
        let found = conflict(&task, &directory, user(reviewer));
        prop_assert_eq!(found.is_some(), expected);
    }
}
