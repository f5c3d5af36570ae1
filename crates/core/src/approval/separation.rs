//! Separation of duties: whoever brought a change about cannot agree to it, under any account.
//! Roles do not matter here; no role is exempt.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::actor::Directory;
use crate::ids::{AgentId, UserId};

/// The people behind a task. Editors add up over all revisions: an edit that a later revision
/// kept is still theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Involvement {
    /// The person, or the person the proposing agent acts for.
    pub author: UserId,
    /// The agent that proposed it, if one did.
    pub agent: Option<AgentId>,
    pub submitter: Option<UserId>,
    pub editors: BTreeSet<UserId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Author,
    /// The agent's proposal counts as this person's own.
    AgentsPrincipal,
    Submitter,
    Editor,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Author => "its author",
            Self::AgentsPrincipal => "the person its agent acts for",
            Self::Submitter => "its submitter",
            Self::Editor => "one of its editors",
        })
    }
}

/// Why somebody may not agree: the part they had, and the account they had it under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub part: Part,
    pub account: UserId,
}

/// Everybody with a part in a task, as humans: resolved once, however many reviewers are judged.
#[derive(Debug, Clone)]
pub struct Involved(Vec<(UserId, Conflict)>);

impl Involved {
    pub fn of(involvement: &Involvement, directory: &Directory) -> Self {
        Self(parts(involvement, directory).collect())
    }

    /// The first part this human had.
    pub fn conflict(&self, human: UserId) -> Option<Conflict> {
        self.0.iter().find(|(involved, _)| *involved == human).map(|(_, conflict)| *conflict)
    }
}

/// The same for one reviewer alone.
pub fn conflict(
    involvement: &Involvement,
    directory: &Directory,
    reviewer: UserId,
) -> Option<Conflict> {
    let human = directory.human(reviewer);
    parts(involvement, directory)
        .find(|(involved, _)| *involved == human)
        .map(|(_, conflict)| conflict)
}

/// Each part with the human behind its account.
fn parts(
    involvement: &Involvement,
    directory: &Directory,
) -> impl Iterator<Item = (UserId, Conflict)> {
    let author_part =
        if involvement.agent.is_some() { Part::AgentsPrincipal } else { Part::Author };
    [(author_part, Some(involvement.author)), (Part::Submitter, involvement.submitter)]
        .into_iter()
        .filter_map(|(part, account)| Some((part, account?)))
        .chain(involvement.editors.iter().map(|editor| (Part::Editor, *editor)))
        .map(|(part, account)| (directory.human(account), Conflict { part, account }))
}

#[cfg(test)]
#[path = "separation_tests.rs"]
mod tests;
