//! Pairs with a high share of approvals stand out, pairs without a choice do not, and the counts
//! agree with brute force.

use std::collections::BTreeSet;

use super::*;
use crate::samples::{ADMIN, ALICE, AUTHOR, BOB, CAROL, STRANGER, person};
use proptest::prelude::*;

fn directory() -> Directory {
    Directory::new([AUTHOR, ALICE, BOB, CAROL, ADMIN, STRANGER].map(|id| person(id, &[])))
}

fn task(number: usize) -> TaskId {
    TaskId::from_u128(u128::try_from(number).unwrap())
}

/// Returns `count` tasks of one author, each approved by this reviewer, numbered from `from` on.
fn agreed(author: UserId, reviewer: UserId, from: usize, count: usize) -> Vec<Agreed> {
    (from..from + count).map(|number| Agreed { task: task(number), author, reviewer }).collect()
}

fn reported(agreed: &[Agreed]) -> Vec<(UserId, UserId, usize, usize)> {
    let all = pairs(agreed, &directory()).into_iter().filter(|pair| pair.stands_out);
    all.map(|pair| (pair.author, pair.reviewer, pair.approvals, pair.of)).collect()
}

#[test]
fn pair_with_a_high_share_of_approvals_stands_out() {
    // Alice approves most tasks of Author; those of Stranger are shared by three reviewers.
    let mut all = agreed(AUTHOR, ALICE, 0, 24);
    all.extend(agreed(AUTHOR, BOB, 24, 6));
    for (reviewer, from) in [(ALICE, 100), (BOB, 130), (CAROL, 160)] {
        all.extend(agreed(STRANGER, reviewer, from, 30));
    }
    assert_eq!(reported(&all), [(AUTHOR, ALICE, 24, 30)]);
    let first = pairs(&all, &directory())[0];
    assert!(first.stands_out, "first, although other pairs have more approvals: {first:?}");
}

#[test]
fn pair_with_few_approvals_or_no_choice_is_not_reported() {
    let others = [agreed(STRANGER, BOB, 500, 1), agreed(STRANGER, CAROL, 501, 1)].concat();
    let with_others = |some: Vec<Agreed>| [some, others.clone()].concat();
    let few = agreed(AUTHOR, ALICE, 0, PAIR_APPROVALS_MIN - 1);
    assert_eq!(reported(&with_others(few)), []);
    let mut part = agreed(AUTHOR, ALICE, 0, 79);
    part.extend(agreed(AUTHOR, BOB, 79, 21));
    assert_eq!(reported(&with_others(part)), []);
    let alone = agreed(AUTHOR, ALICE, 0, 100);
    assert_eq!(reported(&alone), [], "there is no other reviewer");
    assert_eq!(reported(&with_others(alone)), [(AUTHOR, ALICE, 100, 100)]);
}

#[test]
fn pair_counts_humans_and_each_task_once() {
    let mut people: Vec<_> =
        [AUTHOR, ALICE, BOB, CAROL].into_iter().map(|id| person(id, &[])).collect();
    people[2].aliases = [ALICE].into();
    let directory = Directory::new(people);
    let mut all = agreed(AUTHOR, ALICE, 0, 12);
    all.extend(agreed(AUTHOR, BOB, 6, 12));
    all.extend(agreed(AUTHOR, ALICE, 0, 12));
    let found = pairs(&all, &directory);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].reviewer, found[0].approvals, found[0].of), (ALICE, 18, 18));
}

proptest! {
    #[test]
    fn pair_counts_agree_with_brute_force(
        votes in prop::collection::vec((0..40_usize, 0..4_usize), 0..200),
    ) {
        // The author of a task follows from its number.
        let people = [ALICE, BOB, CAROL, ADMIN];
        let author_of = |number: usize| if number.is_multiple_of(2) { AUTHOR } else { STRANGER };
        let all: Vec<Agreed> = votes
            .iter()
            .map(|(number, who)| Agreed {
                task: task(*number),
                author: author_of(*number),
                reviewer: people[*who],
            })
            .collect();
        let found = pairs(&all, &directory());
        let reported: BTreeSet<_> = found.iter().map(|pair| (pair.author, pair.reviewer)).collect();
        let met: BTreeSet<_> = all.iter().map(|one| (one.author, one.reviewer)).collect();
        prop_assert_eq!((found.len(), reported), (met.len(), met));
        for pair in found {
            let by_hand = |is_it: &dyn Fn(&Agreed) -> bool| {
                (0..40).filter(|number| {
                    all.iter().any(|one| one.task == task(*number) && is_it(one))
                }).count()
            };
            let of = by_hand(&|one: &Agreed| one.author == pair.author);
            let is_both =
                |one: &Agreed| one.author == pair.author && one.reviewer == pair.reviewer;
            let both = by_hand(&is_both);
            prop_assert_eq!((pair.approvals, pair.of), (both, of));
        }
    }
}
