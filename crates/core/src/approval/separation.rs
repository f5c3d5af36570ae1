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

pub fn conflict(
    involvement: &Involvement,
    directory: &Directory,
    reviewer: UserId,
) -> Option<Conflict> {
    let human = directory.human(reviewer);
    let is_same = |account: UserId| directory.human(account) == human;
    let author_part =
        if involvement.agent.is_some() { Part::AgentsPrincipal } else { Part::Author };
    let parts = [(author_part, Some(involvement.author)), (Part::Submitter, involvement.submitter)]
        .into_iter()
        .filter_map(|(part, account)| Some((part, account?)))
        .chain(involvement.editors.iter().map(|editor| (Part::Editor, *editor)));
    parts
        .filter(|(_, account)| is_same(*account))
        .map(|(part, account)| Conflict { part, account })
        .next()
}

#[cfg(test)]
#[path = "separation_tests.rs"]
mod tests;
