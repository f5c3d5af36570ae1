//! Statistics on pairs of authors and reviewers: how many tasks of one author one reviewer
//! approved, out of all approved tasks of that author. Pairs that approve each other unusually
//! often stand out where others could have been asked. The figures are informational; nothing is
//! refused because of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::actor::Directory;
use crate::ids::{TaskId, UserId};
use crate::limits::{
    PAIR_APPROVALS_MIN, PAIR_REVIEWERS_MIN, PAIR_SHARE_MIN_PERCENT, PAIRS_SHOWN_MAX,
};

/// One approval that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    pub task: TaskId,
    /// The person, or the person the proposing agent acts for.
    pub author: UserId,
    pub reviewer: UserId,
}

/// A pair of humans, each under the account that represents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub author: UserId,
    pub reviewer: UserId,
    /// The tasks of the author that the reviewer approved.
    pub approvals: usize,
    /// The tasks of the author that any reviewer approved.
    pub of: usize,
    pub stands_out: bool,
}

/// Returns the pairs, notable ones first, then by the number of approvals, up to a maximum.
pub fn pairs(agreed: &[Agreed], directory: &Directory) -> Vec<Pair> {
    let mut of_author: BTreeMap<UserId, BTreeSet<TaskId>> = BTreeMap::new();
    let mut of_both: BTreeMap<(UserId, UserId), BTreeSet<TaskId>> = BTreeMap::new();
    let mut reviewers: BTreeSet<UserId> = BTreeSet::new();
    for one in agreed {
        let [author, reviewer] = [one.author, one.reviewer].map(|id| directory.human(id));
        of_author.entry(author).or_default().insert(one.task);
        of_both.entry((author, reviewer)).or_default().insert(one.task);
        reviewers.insert(reviewer);
    }
    // With fewer reviewers, the same two people meet for lack of others.
    let has_choice = reviewers.len() >= PAIR_REVIEWERS_MIN;
    let mut found: Vec<Pair> = of_both
        .into_iter()
        .map(|((author, reviewer), tasks)| {
            let (approvals, of) = (tasks.len(), of_author.get(&author).map_or(0, BTreeSet::len));
            let stands_out = has_choice && is_reported(approvals, of);
            Pair { author, reviewer, approvals, of, stands_out }
        })
        .collect();
    found.sort_by_key(|pair| (!pair.stands_out, Reverse(pair.approvals), pair.of));
    found.truncate(PAIRS_SHOWN_MAX);
    found
}

fn is_reported(approvals: usize, of: usize) -> bool {
    let (share, least) = (approvals.saturating_mul(100), of.saturating_mul(PAIR_SHARE_MIN_PERCENT));
    approvals >= PAIR_APPROVALS_MIN && share >= least
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
