//! How a review stands: whose answers count now, and what they add up to under each
//! requirement. Roles, activity and separation are judged afresh each time, so a vote stops
//! counting the moment its voter could no longer give it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Facts, Rules, Task};
use crate::approval::assignment::{SeatedGroup, Situation, need_of};
use crate::approval::quorum::{Need, Tally, tally};
use crate::approval::{Answer, Vote, escalation};
use crate::ids::UserId;
use crate::policy::Requirement;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// One per requirement, in the order of [`Rules::all`].
    pub tallies: Vec<Tally>,
    /// Distinct humans whose latest answer is a rejection.
    pub rejections: u32,
    /// When the agreement runs out, if there is one.
    pub valid_until: Option<Timestamp>,
}

impl Agreement {
    pub fn of(task: &Task, facts: &Facts<'_>, rules: &Rules, now: Timestamp) -> Self {
        Self::with(task, facts, rules, None, now)
    }

    /// As it would be with one more answer.
    pub fn with(
        task: &Task,
        facts: &Facts<'_>,
        rules: &Rules,
        newest: Option<&Vote>,
        now: Timestamp,
    ) -> Self {
        let requirements = rules.all();
        let valid_for = escalation::approval_valid_for(&requirements);
        let situation = facts.situation(task, now);
        let answers = latest_answers(task, &situation, newest);
        let mut yes: Vec<&Vote> =
            answers.iter().copied().filter(|vote| counts_as_yes(vote, valid_for, now)).collect();
        let counts: Vec<Count<'_>> =
            requirements.iter().map(|requirement| Count::new(requirement, &situation)).collect();
        let tallies: Vec<Tally> = counts.iter().map(|count| count.tally(&yes)).collect();
        let rejections = answers.iter().filter(|vote| vote.answer == Answer::Reject).count();
        let is_met = tallies.iter().all(Tally::is_met);
        yes.sort_by_key(|vote| std::cmp::Reverse(vote.at));
        let valid_until = is_met.then(|| agreement_ends(&counts, &yes, valid_for)).flatten();
        Self { tallies, rejections: u32::try_from(rejections).unwrap_or(u32::MAX), valid_until }
    }

    pub fn is_met(&self) -> bool {
        !self.tallies.is_empty() && self.tallies.iter().all(Tally::is_met)
    }

    pub fn missing(&self) -> u32 {
        self.tallies.iter().map(Tally::missing).max().unwrap_or(0)
    }
}

fn counts_as_yes(vote: &Vote, valid_for: Duration, now: Timestamp) -> bool {
    vote.answer == Answer::Approve && now < vote.at.plus(valid_for)
}

/// Each human's latest answer on exactly this revision and effect, if they may still give it.
fn latest_answers<'a>(
    task: &'a Task,
    situation: &Situation<'_>,
    newest: Option<&'a Vote>,
) -> Vec<&'a Vote> {
    let mut latest: BTreeMap<UserId, &Vote> = BTreeMap::new();
    let speaks_of_this = |vote: &&Vote| {
        vote.effectual
            && vote.round == task.round
            && vote.revision == task.revision
            && vote.digest == task.content.digest
    };
    for vote in task.votes.iter().chain(newest).filter(speaks_of_this) {
        latest.insert(situation.directory.human(vote.voter), vote);
    }
    latest
        .into_values()
        .filter(|vote| {
            !vote.withdrawn
                && situation.directory.is_active(vote.voter)
                && situation.conflict(vote.voter).is_none()
        })
        .collect()
}

/// The vote that completes the agreement when counting from the newest decides how long it
/// holds: older ones are not needed for it.
fn agreement_ends(
    counts: &[Count<'_>],
    newest_first: &[&Vote],
    valid_for: Duration,
) -> Option<Timestamp> {
    (1..=newest_first.len()).find_map(|taken| {
        let votes = newest_first.get(..taken)?;
        let is_met = counts.iter().all(|count| count.tally(votes).is_met());
        let oldest = votes.last()?;
        is_met.then(|| oldest.at.plus(valid_for))
    })
}

/// One requirement with its groups seated once.
struct Count<'a> {
    groups: Vec<SeatedGroup>,
    situation: &'a Situation<'a>,
}

impl<'a> Count<'a> {
    fn new(requirement: &Requirement, situation: &'a Situation<'a>) -> Self {
        Self { groups: situation.seat(requirement), situation }
    }

    fn tally(&self, yes: &[&Vote]) -> Tally {
        let directory = self.situation.directory;
        let mut fillers: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
        let mut humans = BTreeSet::new();
        for vote in yes {
            if !self.situation.may_approve(&self.groups, vote.voter) {
                continue;
            }
            let human = directory.human(vote.voter);
            humans.insert(human);
            // Only the seats held when voting: whoever transferred their own has it no more.
            for owner in &vote.places {
                fillers.entry(*owner).or_default().insert(human);
            }
        }
        let needs: Vec<Need> =
            self.groups.iter().map(|group| need_of(group, &fillers, directory)).collect();
        tally(&needs, &humans)
    }
}
