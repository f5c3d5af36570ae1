//! A second look at who decides: whom it is asked of, which one thing a passkey's word is for, and
//! how long it counts. A word for one thing is no word for any other.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::approval::Answer;
use crate::change::Digest;
use crate::ids::{PasskeyId, PolicyDraftId, UserId};
use crate::limits::{BATCH_ITEMS_MAX, STEP_UP_MAX_AGE, STEP_UP_THING_MAX_BYTES};
use crate::resource::ResourceRef;
use crate::risk::Level;
use crate::task::Task;
use crate::time::Timestamp;

/// The first line of what is hashed; another meaning needs another.
const FORM: &str = "ade step-up 1";

/// Whom an installation asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Those who have a passkey.
    #[default]
    WhenEnrolled,
    /// Everybody: who has none does not decide.
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Approve,
    Override,
    PublishPolicy,
    BreakLock,
    AddPasskey,
    RemovePasskey,
    ResetPasskeys,
}

impl Purpose {
    pub const ALL: [Self; 7] = [
        Self::Approve,
        Self::Override,
        Self::PublishPolicy,
        Self::BreakLock,
        Self::AddPasskey,
        Self::RemovePasskey,
        Self::ResetPasskeys,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Override => "override",
            Self::PublishPolicy => "publish_policy",
            Self::BreakLock => "break_lock",
            Self::AddPasskey => "add_passkey",
            Self::RemovePasskey => "remove_passkey",
            Self::ResetPasskeys => "reset_passkeys",
        }
    }
}

/// What must be there before somebody may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    Nothing,
    /// A passkey; there is none yet.
    Passkey,
    /// A fresh word of a passkey.
    Word,
}

/// Whoever has a passkey is always asked for it, or a thief would only have to find an installation
/// that does not insist. The first one cannot be asked for itself.
pub const fn demand(rule: Rule, purpose: Purpose, has_passkey: bool) -> Demand {
    match (has_passkey, rule, purpose) {
        (true, ..) => Demand::Word,
        (false, Rule::WhenEnrolled, _)
        | (false, Rule::Required, Purpose::AddPasskey | Purpose::RemovePasskey) => Demand::Nothing,
        (false, Rule::Required, _) => Demand::Passkey,
    }
}

/// One thing that is decided about, in the version that was seen where it has versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thing {
    pub id: String,
    pub digest: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubjectError {
    #[error("at most {BATCH_ITEMS_MAX} things are decided about at once, not {things}")]
    Things { things: usize },
    #[error("the name of a thing has 1 to {STEP_UP_THING_MAX_BYTES} visible ASCII characters")]
    Name,
}

/// What a passkey gives its word for. It is a set: neither order nor repetition matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    purpose: Purpose,
    about: BTreeSet<Thing>,
}

impl Subject {
    /// As somebody asks for it. What no decision is about, no decision will accept.
    pub fn new(purpose: Purpose, about: BTreeSet<Thing>) -> Result<Self, SubjectError> {
        if about.len() > BATCH_ITEMS_MAX {
            return Err(SubjectError::Things { things: about.len() });
        }
        let is_fit = |thing: &Thing| {
            // Neither blanks nor line ends: each line of the text below can be read in one way.
            (1..=STEP_UP_THING_MAX_BYTES).contains(&thing.id.len())
                && thing.id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !about.iter().all(is_fit) {
            return Err(SubjectError::Name);
        }
        Ok(Self { purpose, about })
    }

    /// Nothing, if none of these tasks weighs enough, or nobody says yes: a no does no harm.
    pub fn answering<'a>(
        answer: Answer,
        tasks: impl IntoIterator<Item = &'a Task>,
    ) -> Option<Self> {
        match answer {
            Answer::Approve => {}
            Answer::Reject | Answer::RequestChanges => return None,
        }
        let mut weighs = false;
        let mut about = BTreeSet::new();
        for task in tasks {
            weighs |= task.content.level >= Level::High;
            about.insert(thing(&task.id, Some(task.content.digest)));
        }
        weighs.then_some(Self { purpose: Purpose::Approve, about })
    }

    pub fn overriding(task: &Task) -> Self {
        Self::one(Purpose::Override, &task.id, Some(task.content.digest))
    }

    pub fn publish(draft: PolicyDraftId, document: Digest) -> Self {
        Self::one(Purpose::PublishPolicy, &draft, Some(document))
    }

    /// From one holder, or from whoever holds it.
    pub fn break_lock(resource: &ResourceRef, holder: Option<Digest>) -> Self {
        Self::one(Purpose::BreakLock, resource, holder)
    }

    pub fn add_passkey() -> Self {
        Self { purpose: Purpose::AddPasskey, about: BTreeSet::new() }
    }

    pub fn remove_passkey(passkey: PasskeyId) -> Self {
        Self::one(Purpose::RemovePasskey, &passkey, None)
    }

    pub fn reset_passkeys(user: UserId) -> Self {
        Self::one(Purpose::ResetPasskeys, &user, None)
    }

    fn one(purpose: Purpose, id: &impl ToString, digest: Option<Digest>) -> Self {
        Self { purpose, about: BTreeSet::from([thing(id, digest)]) }
    }

    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub fn about(&self) -> &BTreeSet<Thing> {
        &self.about
    }

    /// One line for the purpose, one for each thing, in order.
    fn text(&self) -> String {
        let mut text = format!("{FORM}\n{}\n", self.purpose.as_str());
        for Thing { id, digest } in &self.about {
            // Writing to a text cannot fail.
            let _ = match digest {
                Some(digest) => writeln!(text, "{id} {digest}"),
                None => writeln!(text, "{id}"),
            };
        }
        text
    }

    pub fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }
}

fn thing(id: &impl ToString, digest: Option<Digest>) -> Thing {
    Thing { id: id.to_string(), digest }
}

/// What a passkey signs: the subject, and a number that was never used before. Whoever has both
/// can tell from the signature alone what the word was for.
pub fn challenge(subject: &Digest, nonce: &[u8; 32]) -> Digest {
    Digest::of(&[*subject.bytes(), *nonce].concat())
}

/// A passkey's word, as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub subject: Digest,
    pub by: UserId,
    /// The session or token with which it was given.
    pub key_id: String,
    pub given_at: Timestamp,
}

/// Who decides what, and when.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub subject: &'a Digest,
    pub by: UserId,
    pub key_id: &'a str,
    pub now: Timestamp,
}

impl Word {
    /// For this, by this person, in this session, and lately.
    pub fn covers(&self, asked: &Asked<'_>) -> bool {
        self.subject == *asked.subject
            && self.by == asked.by
            && self.key_id == asked.key_id
            && self.given_at <= asked.now
            && asked.now.since(self.given_at) <= STEP_UP_MAX_AGE
    }
}

#[cfg(test)]
#[path = "step_up_tests.rs"]
mod tests;
