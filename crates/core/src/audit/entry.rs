//! An audit entry. Its bytes never change once written: RFC 8785 canonical JSON with every field
//! present, absent values as null, and a format number that allows later additions. Parsing accepts
//! exactly these bytes.

use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::actor::Actor;
use crate::change::Digest;
use crate::ids::{AgentId, ProcessId, SessionId, TenantId, UserId};
use crate::limits::{AUDIT_LEAF_MAX_BYTES, AUDIT_TEXT_MAX_BYTES, REASON_MAX_BYTES};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    format: Format,
    pub tenant: TenantId,
    pub kind: EntryKind,
    pub who: Who,
    pub what: What,
    pub when: Timestamp,
    #[serde(rename = "where")]
    pub place: Where,
    pub why: Why,
}

/// The format number; the type admits no other value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format;

impl Format {
    const NUMBER: u64 = 1;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Something was written.
    Change,
    /// An actor attempted something they may not do.
    Refusal,
    /// Evidence was handed out: an export, a search of the log.
    Disclosure,
}

impl EntryKind {
    pub const ALL: [Self; 3] = [Self::Change, Self::Refusal, Self::Disclosure];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Refusal => "refusal",
            Self::Disclosure => "disclosure",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Who {
    User { user: UserId, session: Option<SessionId> },
    Agent { agent: AgentId, on_behalf_of: UserId, session: Option<ProcessId> },
    System { worker: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct What {
    /// The object that was acted on, by its id (`task_…`) or name (`database:prod-db-01`).
    pub object: String,
    /// The action, for example `task.submit`.
    pub action: String,
    pub from: Option<String>,
    pub to: Option<String>,
    pub revision: Option<u32>,
    pub digest: Option<Digest>,
}

impl What {
    /// Creates a description without states and revisions.
    pub fn new(object: impl Into<String>, action: impl Into<String>) -> Self {
        let (object, action) = (object.into(), action.into());
        Self { object, action, from: None, to: None, revision: None, digest: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    pub address: Option<IpAddr>,
    pub user_agent: Option<String>,
    /// The part of the server that performed the action.
    pub service: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    pub reason: Option<String>,
    pub ticket: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LeafError {
    #[error("`{field}` is empty: omit it instead")]
    Empty { field: &'static str },
    #[error("`{field}` has {bytes} bytes, at most {max} are allowed: shorten it")]
    TooLong { field: &'static str, bytes: usize, max: usize },
    #[error("{micros} µs is not a valid timestamp")]
    NoSuchMoment { micros: i64 },
    #[error("an audit entry has at most {AUDIT_LEAF_MAX_BYTES} bytes, got {bytes}")]
    TooLarge { bytes: usize },
    #[error("not an audit entry: {0}")]
    Malformed(String),
    #[error("the audit entry is not in canonical form: it was not written by this log")]
    NotCanonical,
}

impl AuditEntry {
    pub fn new(
        tenant: TenantId,
        kind: EntryKind,
        who: Who,
        what: What,
        when: Timestamp,
        place: Where,
        why: Why,
    ) -> Self {
        Self { format: Format, tenant, kind, who, what, when, place, why }
    }

    /// Returns the bytes that are stored and hashed.
    pub fn to_bytes(&self) -> Result<Vec<u8>, LeafError> {
        self.validate()?;
        serde_json_canonicalizer::to_vec(self)
            .map_err(|error| LeafError::Malformed(error.to_string()))
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, LeafError> {
        if bytes.len() > AUDIT_LEAF_MAX_BYTES {
            return Err(LeafError::TooLarge { bytes: bytes.len() });
        }
        let entry: Self = serde_json::from_slice(bytes)
            .map_err(|error| LeafError::Malformed(error.to_string()))?;
        // Writing the entry again detects every other spelling: order, blanks, duplicate or missing
        // keys, escapes, and forms of numbers, addresses and times.
        if entry.to_bytes()? == bytes { Ok(entry) } else { Err(LeafError::NotCanonical) }
    }

    fn validate(&self) -> Result<(), LeafError> {
        if self.when.calendar().is_none() {
            let micros = self.when.micros();
            return Err(LeafError::NoSuchMoment { micros });
        }
        let Self { what, place, why, .. } = self;
        let worker = match &self.who {
            Who::User { .. } | Who::Agent { .. } => None,
            Who::System { worker } => Some(worker),
        };
        let short = AUDIT_TEXT_MAX_BYTES;
        let texts = [
            ("who.worker", worker, short),
            ("what.object", Some(&what.object), short),
            ("what.action", Some(&what.action), short),
            ("what.from", what.from.as_ref(), short),
            ("what.to", what.to.as_ref(), short),
            ("where.user_agent", place.user_agent.as_ref(), short),
            ("where.service", Some(&place.service), short),
            ("why.reason", why.reason.as_ref(), REASON_MAX_BYTES),
            ("why.ticket", why.ticket.as_ref(), short),
        ];
        for (field, text, max) in texts {
            let Some(text) = text else { continue };
            let bytes = text.len();
            if bytes == 0 {
                return Err(LeafError::Empty { field });
            }
            if bytes > max {
                return Err(LeafError::TooLong { field, bytes, max });
            }
        }
        Ok(())
    }
}

/// The session of an agent is not part of the actor; the caller adds it where it is known.
impl From<&Actor> for Who {
    fn from(actor: &Actor) -> Self {
        match actor {
            Actor::User { id, session, .. } => Self::User { user: *id, session: *session },
            Actor::Agent { id, on_behalf_of, .. } => {
                Self::Agent { agent: *id, on_behalf_of: *on_behalf_of, session: None }
            }
            Actor::System { worker } => Self::System { worker: worker.clone() },
        }
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(Self::NUMBER)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number == Self::NUMBER {
            Ok(Self)
        } else {
            Err(serde::de::Error::custom(format!(
                "unsupported format {number}, expected {}: use a newer version",
                Self::NUMBER
            )))
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
