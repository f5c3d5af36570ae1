//! Separation of duties: people who brought a change about cannot approve it, under any account. No
//! role is exempt.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, Directory};
use crate::ids::{AgentId, UserId};

/// The people behind a task. Editors accumulate over all revisions, because an edit that a later
/// revision kept is still theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participants {
    /// The author, or the person that the proposing agent acts for.
    pub author: UserId,
    /// The agent that proposed the task, if one did.
    pub agent: Option<AgentId>,
    pub submitter: Option<UserId>,
    pub editors: BTreeSet<UserId>,
    /// The people who issued the tokens with which agents or other people created, changed or
    /// submitted the task. With such a token, its issuer could have proposed in their name.
    pub token_issuers: BTreeSet<UserId>,
}

impl Participants {
    /// Returns the people behind a new task that this actor proposes.
    pub fn of_proposal(author: UserId, actor: &Actor) -> Self {
        let agent = match actor {
            Actor::Agent { id, .. } => Some(*id),
            Actor::User { .. } | Actor::System { .. } => None,
        };
        Self {
            author,
            agent,
            submitter: None,
            editors: BTreeSet::new(),
            token_issuers: actor.token_issuer().into_iter().collect(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Author,
    /// The person that the proposing agent acts for; its proposal counts as their own.
    AgentsPrincipal,
    Submitter,
    Editor,
    /// The person who issued the token that the author or the agent used.
    TokenIssuer,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Author => "the author",
            Self::AgentsPrincipal => "the person the agent acts for",
            Self::Submitter => "the submitter",
            Self::Editor => "an editor",
            Self::TokenIssuer => "the person who issued the token of the author or agent",
        })
    }
}

/// Why a person may not approve: how they were involved, and under which account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub part: Part,
    pub account: UserId,
}

/// Everyone involved in a task, as humans. It is resolved once for all reviewers.
#[derive(Debug, Clone)]
pub struct Involved(Vec<(UserId, Conflict)>);

impl Involved {
    pub fn of(involvement: &Participants, directory: &Directory) -> Self {
        Self(parts(involvement, directory).collect())
    }

    /// Returns the first involvement of this human.
    pub fn conflict(&self, human: UserId) -> Option<Conflict> {
        self.0.iter().find(|(involved, _)| *involved == human).map(|(_, conflict)| *conflict)
    }
}

/// Returns the involvement of one reviewer.
pub fn conflict(
    involvement: &Participants,
    directory: &Directory,
    reviewer: UserId,
) -> Option<Conflict> {
    let human = directory.human(reviewer);
    parts(involvement, directory)
        .find(|(involved, _)| *involved == human)
        .map(|(_, conflict)| conflict)
}

/// Returns each involvement with the human behind the account.
fn parts(
    involvement: &Participants,
    directory: &Directory,
) -> impl Iterator<Item = (UserId, Conflict)> {
    let author_part =
        if involvement.agent.is_some() { Part::AgentsPrincipal } else { Part::Author };
    [(author_part, Some(involvement.author)), (Part::Submitter, involvement.submitter)]
        .into_iter()
        .filter_map(|(part, account)| Some((part, account?)))
        .chain(involvement.editors.iter().map(|editor| (Part::Editor, *editor)))
        .chain(involvement.token_issuers.iter().map(|issuer| (Part::TokenIssuer, *issuer)))
        .map(|(part, account)| (directory.human(account), Conflict { part, account }))
}

#[cfg(test)]
#[path = "separation_of_duties_tests.rs"]
mod tests;
