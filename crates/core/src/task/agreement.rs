//! The state of a review: whose answers count now, and their result under each requirement. Roles,
//! activity and separation of duties are evaluated each time, so that a vote stops counting as soon
//! as its voter could no longer give it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Task;
use crate::actor::Directory;
use crate::approval::assignment::{AssignedRequirement, Assignment, AssignmentInput};
use crate::approval::quorum::{Tally, tally};
use crate::approval::{Answer, Vote, escalation};
use crate::ids::UserId;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// One tally per requirement, in the order of the assignment.
    pub tallies: Vec<Tally>,
    /// The distinct humans whose latest answer is an approval that counts.
    pub approvals: u32,
    /// The distinct humans whose latest answer is a rejection.
    pub rejections: u32,
    /// When the approval expires, if there is one.
    pub valid_until: Option<Timestamp>,
}

impl Agreement {
    pub fn of(task: &Task, seating: &Assignment<'_>, now: Timestamp) -> Self {
        Self::with(task, seating, None, now)
    }

    /// Computes the result as it would be with one more answer.
    pub fn with(
        task: &Task,
        seating: &Assignment<'_>,
        newest: Option<&Vote>,
        now: Timestamp,
    ) -> Self {
        let valid_for = escalation::approval_valid_for(&seating.requirements());
        let answers = latest_answers(task, seating.situation(), newest);
        let mut yes: Vec<&Vote> =
            answers.iter().copied().filter(|vote| counts_as_yes(vote, valid_for, now)).collect();
        let tallies = count(seating, &yes);
        let rejections = answers.iter().filter(|vote| vote.answer == Answer::Reject).count();
        let is_met = tallies.iter().all(Tally::is_met);
        yes.sort_by_key(|vote| std::cmp::Reverse(vote.at));
        let valid_until = is_met.then(|| agreement_ends(seating, &yes, valid_for)).flatten();
        let [approvals, rejections] =
            [yes.len(), rejections].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        Self { tallies, approvals, rejections, valid_until }
    }

    pub fn is_met(&self) -> bool {
        !self.tallies.is_empty() && self.tallies.iter().all(Tally::is_met)
    }

    /// Returns the number of approvals that the largest requirement needs.
    pub fn needed(&self) -> u32 {
        let of = |tally: &Tally| tally.groups.iter().map(|group| group.needed).sum();
        self.tallies.iter().map(of).max().unwrap_or(0)
    }

    pub fn missing(&self) -> u32 {
        self.tallies.iter().map(Tally::missing).max().unwrap_or(0)
    }
}

fn counts_as_yes(vote: &Vote, valid_for: Duration, now: Timestamp) -> bool {
    vote.answer == Answer::Approve && now < vote.at.plus(valid_for)
}

/// Returns the latest answer of each human on exactly this revision and effect, if they may still
/// give it.
fn latest_answers<'a>(
    task: &'a Task,
    situation: &AssignmentInput<'_>,
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

/// Returns when the approval expires. Counting from the newest vote, the one that completes the
/// quorum decides; older votes are not needed.
fn agreement_ends(
    seating: &Assignment<'_>,
    newest_first: &[&Vote],
    valid_for: Duration,
) -> Option<Timestamp> {
    (1..=newest_first.len()).find_map(|taken| {
        let votes = newest_first.get(..taken)?;
        let is_met = count(seating, votes).iter().all(Tally::is_met);
        let oldest = votes.last()?;
        is_met.then(|| oldest.at.plus(valid_for))
    })
}

fn count(seating: &Assignment<'_>, yes: &[&Vote]) -> Vec<Tally> {
    let directory = seating.situation().directory;
    seating.seated().iter().map(|seated| count_one(seated, yes, directory)).collect()
}

fn count_one(seated: &AssignedRequirement<'_>, yes: &[&Vote], directory: &Directory) -> Tally {
    let mut fillers: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
    let mut humans = BTreeSet::new();
    for vote in yes.iter().filter(|vote| seated.may_approve(vote.voter)) {
        let human = directory.human(vote.voter);
        humans.insert(human);
        // Only the slots held when voting: a person who transferred their own no longer has it.
        for owner in &vote.places {
            fillers.entry(*owner).or_default().insert(human);
        }
    }
    tally(&seated.needs(&fillers, directory), &humans)
}
