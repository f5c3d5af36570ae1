//! Step-up confirmations with a passkey: who must confirm, what a confirmation covers, and how long
//! it is valid. A confirmation of one subject is not valid for any other.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::access::Scope;
use crate::approval::Answer;
use crate::change::Digest;
use crate::device::UserCode;
use crate::ids::{PasskeyId, PendingChangeId, PolicyDraftId, UserId};
use crate::limits::{BATCH_ITEMS_MAX, STEP_UP_MAX_AGE, STEP_UP_THING_MAX_BYTES};
use crate::network::Networks;
use crate::resource::ResourceRef;
use crate::risk::{Level, Thresholds};
use crate::task::Task;
use crate::time::Timestamp;

/// The first line of the hashed text; another meaning needs another line.
const FORM: &str = "ade step-up 1";
/// What precedes the code of a terminal.
const TERMINAL: &str = "terminal:";

/// Which people an installation requires to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// People who have a passkey, and everyone once any person in the tenant has one.
    #[default]
    WhenEnrolled,
    /// Everyone; people without a passkey cannot decide.
    Required,
}

impl Rule {
    /// Returns the rule of a tenant. Once a passkey exists in it, people without one cannot decide:
    /// their accounts would otherwise be the easiest to take over.
    #[must_use]
    pub const fn in_tenant(self, has_passkeys: bool) -> Self {
        match (self, has_passkeys) {
            (Self::Required, _) | (Self::WhenEnrolled, true) => Self::Required,
            (Self::WhenEnrolled, false) => Self::WhenEnrolled,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Approve,
    Override,
    PublishPolicy,
    PublishChange,
    BreakLock,
    AddPasskey,
    RemovePasskey,
    ResetPasskeys,
    /// Confirming a person who joined by an invitation that another admin could read.
    ConfirmPerson,
    /// Creating a token of one's own that decides, operates or administers.
    CreateToken,
    /// Signing in a terminal.
    ApproveDevice,
}

impl Purpose {
    pub const ALL: [Self; 11] = [
        Self::Approve,
        Self::Override,
        Self::PublishPolicy,
        Self::PublishChange,
        Self::BreakLock,
        Self::AddPasskey,
        Self::RemovePasskey,
        Self::ResetPasskeys,
        Self::ConfirmPerson,
        Self::CreateToken,
        Self::ApproveDevice,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Override => "override",
            Self::PublishPolicy => "publish_policy",
            Self::PublishChange => "publish_change",
            Self::BreakLock => "break_lock",
            Self::AddPasskey => "add_passkey",
            Self::RemovePasskey => "remove_passkey",
            Self::ResetPasskeys => "reset_passkeys",
            Self::ConfirmPerson => "confirm_person",
            Self::CreateToken => "create_token",
            Self::ApproveDevice => "approve_device",
        }
    }
}

/// What is required before a person may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    Nothing,
    /// The person must sign in again.
    SignIn,
    /// The person must enrol a passkey first.
    Passkey,
    /// The person must confirm with a passkey.
    Word,
}

/// What makes a confirmation necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The action itself.
    Action,
    /// A sign-in that is too old; a recent one suffices without a passkey.
    OldSignIn,
}

/// What is known about the person who is about to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    pub has_passkey: bool,
    /// The person signed in recently enough to decide.
    pub is_recent: bool,
}

/// Returns what a person must do before they continue. A person who has a passkey is always asked
/// for it, so that a stolen session is not enough. The first passkey cannot be confirmed with
/// itself, but an old session cannot add it.
pub const fn demand(rule: Rule, subject: &ConfirmationSubject, held: Credentials) -> Demand {
    match (held, subject.occasion, rule, subject.purpose) {
        (Credentials { is_recent: true, .. }, Occasion::OldSignIn, ..) => Demand::Nothing,
        (Credentials { has_passkey: true, .. }, ..) => Demand::Word,
        (Credentials { is_recent, .. }, _, _, Purpose::AddPasskey | Purpose::RemovePasskey)
        | (Credentials { is_recent, .. }, _, Rule::WhenEnrolled, _) => {
            if is_recent {
                Demand::Nothing
            } else {
                Demand::SignIn
            }
        }
        (_, Occasion::OldSignIn, Rule::Required, _) => Demand::SignIn,
        (_, Occasion::Action, Rule::Required, _) => Demand::Passkey,
    }
}

/// What a token of a person allows, as the person confirms it.
#[derive(Debug, Clone, Copy)]
pub struct TokenTerms<'a> {
    pub label: &'a str,
    pub scopes: &'a BTreeSet<Scope>,
    pub lifetime: Duration,
    pub networks: &'a Networks,
}

impl TokenTerms<'_> {
    /// Returns one object for each term, so that people can read what they confirm. The label may
    /// have any characters, so only its digest is part of the text.
    fn things(&self) -> BTreeSet<Thing> {
        let scopes = self.scopes.iter().map(|scope| format!("scope:{scope}"));
        let networks =
            self.networks.texts().into_iter().map(|network| format!("network:{network}"));
        let lifetime = format!("lifetime:{}s", self.lifetime.as_secs());
        let label = Some(self.label).filter(|label| !label.is_empty());
        let label = label.map(|label| thing(&"label", Some(Digest::of(label.as_bytes()))));
        let plain = scopes.chain(networks).chain([lifetime]).map(|term| thing(&term, None));
        plain.chain(label).collect()
    }
}

/// An object that is decided about, with the digest of the version that was seen, if it has
/// versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thing {
    pub id: String,
    pub digest: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubjectError {
    #[error("at most {BATCH_ITEMS_MAX} decisions can be confirmed at once, got {things}")]
    Things { things: usize },
    #[error(
        "the name of a confirmed object must have 1 to {STEP_UP_THING_MAX_BYTES} visible \
             ASCII characters"
    )]
    Name,
}

/// The subject of a confirmation. It is a set: order and repetition do not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmationSubject {
    purpose: Purpose,
    about: BTreeSet<Thing>,
    occasion: Occasion,
}

impl ConfirmationSubject {
    /// Creates a subject as requested. A subject that matches no decision is accepted by none.
    pub fn new(purpose: Purpose, about: BTreeSet<Thing>) -> Result<Self, SubjectError> {
        if about.len() > BATCH_ITEMS_MAX {
            return Err(SubjectError::Things { things: about.len() });
        }
        let is_fit = |thing: &Thing| {
            // Blanks and line ends are excluded, so that each line of the text below is
            // unambiguous.
            (1..=STEP_UP_THING_MAX_BYTES).contains(&thing.id.len())
                && thing.id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !about.iter().all(is_fit) {
            return Err(SubjectError::Name);
        }
        Ok(Self::of_action(purpose, about))
    }

    const fn of_action(purpose: Purpose, about: BTreeSet<Thing>) -> Self {
        Self { purpose, about, occasion: Occasion::Action }
    }

    /// Returns the subject of an answer to these tasks. `None` if the answer is not an approval: a
    /// rejection does no harm. A recent sign-in is enough if no task is of high risk, by the
    /// thresholds of the tenant and by those of the installation.
    pub fn answering<'a>(
        answer: Answer,
        tasks: impl IntoIterator<Item = &'a Task>,
        installation: Thresholds,
    ) -> Option<Self> {
        match answer {
            Answer::Approve => {}
            Answer::Reject | Answer::RequestChanges => return None,
        }
        let mut weighs = false;
        let mut about = BTreeSet::new();
        for task in tasks {
            weighs |= task.content.level_at_least(installation) >= Level::High;
            about.insert(thing(&task.id, Some(task.content.digest)));
        }
        let occasion = if weighs { Occasion::Action } else { Occasion::OldSignIn };
        Some(Self { purpose: Purpose::Approve, about, occasion })
    }

    pub fn overriding(task: &Task) -> Self {
        Self::one(Purpose::Override, &task.id, Some(task.content.digest))
    }

    pub fn publish(draft: PolicyDraftId, document: Digest) -> Self {
        Self::one(Purpose::PublishPolicy, &draft, Some(document))
    }

    /// Creates the subject of publishing a change; `change` covers the change and its consequences.
    pub fn publish_change(id: PendingChangeId, change: Digest) -> Self {
        Self::one(Purpose::PublishChange, &id, Some(change))
    }

    /// Creates the subject of breaking a lock, of one holder or of all holders.
    pub fn break_lock(resource: &ResourceRef, holder: Option<Digest>) -> Self {
        Self::one(Purpose::BreakLock, resource, holder)
    }

    pub fn add_passkey() -> Self {
        Self::of_action(Purpose::AddPasskey, BTreeSet::new())
    }

    pub fn remove_passkey(passkey: PasskeyId) -> Self {
        Self::one(Purpose::RemovePasskey, &passkey, None)
    }

    pub fn reset_passkeys(user: UserId) -> Self {
        Self::one(Purpose::ResetPasskeys, &user, None)
    }

    pub fn confirm_person(user: UserId) -> Self {
        Self::one(Purpose::ConfirmPerson, &user, None)
    }

    pub fn create_token(terms: &TokenTerms<'_>) -> Self {
        Self::of_action(Purpose::CreateToken, terms.things())
    }

    /// Creates the subject of signing in the terminal that shows this code.
    pub fn approve_device(code: &UserCode, terms: &TokenTerms<'_>) -> Self {
        let mut about = terms.things();
        about.insert(thing(&format!("{TERMINAL}{code}"), None));
        Self::of_action(Purpose::ApproveDevice, about)
    }

    fn one(purpose: Purpose, id: &impl ToString, digest: Option<Digest>) -> Self {
        Self::of_action(purpose, BTreeSet::from([thing(id, digest)]))
    }

    /// Returns whether a passkey that was enrolled after a reset must have a minimum age: the
    /// subject is a task of high risk.
    pub fn needs_tenured_passkey(&self) -> bool {
        let is_of_task = matches!(self.purpose, Purpose::Approve | Purpose::Override);
        is_of_task && self.occasion == Occasion::Action
    }

    /// Returns the code of the terminal that the subject is about, if it is about one.
    pub fn terminal(&self) -> Option<&str> {
        self.about.iter().find_map(|thing| thing.id.strip_prefix(TERMINAL))
    }

    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub fn about(&self) -> &BTreeSet<Thing> {
        &self.about
    }

    /// Returns the hashed text: one line for the purpose and one for each object, in order.
    fn text(&self) -> String {
        let mut text = format!("{FORM}\n{}\n", self.purpose.as_str());
        for Thing { id, digest } in &self.about {
            // Writing to a String cannot fail.
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

/// Returns the challenge that a passkey signs, derived from the subject and a nonce. With both, the
/// signature alone shows what was confirmed.
pub fn challenge(subject: &Digest, nonce: &[u8; 32]) -> Digest {
    Digest::of(&[*subject.bytes(), *nonce].concat())
}

/// A stored passkey confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub subject: Digest,
    pub by: UserId,
    /// The session or token with which it was given.
    pub key_id: String,
    pub given_at: Timestamp,
}

/// The decision that needs a confirmation.
#[derive(Debug, Clone, Copy)]
pub struct StepUpUse<'a> {
    pub subject: &'a Digest,
    pub by: UserId,
    pub key_id: &'a str,
    pub now: Timestamp,
}

impl Word {
    /// Returns whether the confirmation is for this subject, by this person, in this session, and
    /// recent.
    pub fn covers(&self, asked: &StepUpUse<'_>) -> bool {
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
