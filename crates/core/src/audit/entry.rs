//! An audit entry. Its bytes never change once written: RFC 8785 canonical JSON with every field
//! present, absent values as null, and a format number that allows later additions. Parsing accepts
//! exactly these bytes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use uuid::Uuid;

use crate::actor::{Actor, Credential};
use crate::approval::VoteMark;
use crate::change::Digest;
use crate::ids::{AgentId, TenantId, UserId};
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
    /// The hash of the passkey assertion that the entry records.
    pub assertion: Option<Digest>,
    /// Whether the tenant was in setup, so that the change needed no second admin.
    pub setup: bool,
    /// Reservations about the authority of the voter, if the entry records a vote.
    pub marks: BTreeSet<VoteMark>,
}

/// The format number; the type admits no other value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format;

impl Format {
    const NUMBER: u64 = 2;
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
    User { user: UserId, credential: Option<Credential> },
    Agent { agent: AgentId, on_behalf_of: UserId, credential: Option<Credential> },
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

/// The part of the server that performed the action, and the origin of the request. The hashed
/// bytes contain a salted hash of the origin, so that the origin itself can be erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    origin: Option<Digest>,
    service: String,
    #[serde(skip)]
    revealed: Option<RequestOrigin>,
}

impl Where {
    /// Returns the place of something that the server did on its own.
    pub fn service(service: impl Into<String>) -> Self {
        Self { origin: None, service: service.into(), revealed: None }
    }

    pub fn request(origin: RequestOrigin, service: impl Into<String>) -> Self {
        let service = service.into();
        Self { origin: Some(origin.digest()), service, revealed: Some(origin) }
    }

    /// Returns the same origin as seen by another part of the server.
    #[must_use]
    pub fn in_service(&self, service: impl Into<String>) -> Self {
        Self { service: service.into(), ..self.clone() }
    }

    /// Returns the name of the part of the server.
    pub fn service_name(&self) -> &str {
        &self.service
    }

    /// Returns the origin, unless it was erased or the server acted on its own.
    pub fn origin(&self) -> Option<&RequestOrigin> {
        self.revealed.as_ref()
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.revealed.as_ref().and_then(|origin| origin.address)
    }

    pub fn user_agent(&self) -> Option<&str> {
        self.revealed.as_ref().and_then(|origin| origin.user_agent.as_deref())
    }
}

/// The response of a passkey as the browser sent it, each part in base64url without padding.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Assertion<'a> {
    pub authenticator_data: &'a str,
    pub client_data: &'a str,
    pub signature: &'a str,
}

impl Assertion<'_> {
    /// Returns the hash that the audit entry contains: SHA-256 of the parts as canonical JSON.
    pub fn digest(&self) -> Digest {
        digest_of(self)
    }
}

fn digest_of(value: &impl Serialize) -> Digest {
    // Serializing strings and addresses does not fail.
    Digest::of(&serde_json_canonicalizer::to_vec(value).unwrap_or_default())
}

/// Where a request came from. These are personal data, so an audit entry contains only their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOrigin {
    /// Random bytes that keep the hash from being guessed, because there are few addresses.
    pub salt: Uuid,
    pub address: Option<IpAddr>,
    pub user_agent: Option<String>,
}

impl RequestOrigin {
    /// Returns the hash that the audit entry contains: SHA-256 of the origin as canonical JSON.
    pub fn digest(&self) -> Digest {
        digest_of(self)
    }
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
    #[error("the stored origin does not match its hash in the audit entry")]
    WrongOrigin,
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
        Self {
            format: Format,
            tenant,
            kind,
            who,
            what,
            when,
            place,
            why,
            assertion: None,
            setup: false,
            marks: BTreeSet::new(),
        }
    }

    /// Adds the marks of the recorded vote.
    #[must_use]
    pub fn with_marks(self, marks: BTreeSet<VoteMark>) -> Self {
        Self { marks, ..self }
    }

    /// Marks a change to the rules that took effect without a second admin.
    #[must_use]
    pub fn in_setup(self) -> Self {
        Self { setup: true, ..self }
    }

    /// Adds the hash of the passkey assertion that the entry records.
    #[must_use]
    pub fn with_assertion(self, assertion: &Assertion<'_>) -> Self {
        Self { assertion: Some(assertion.digest()), ..self }
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

    /// Adds the origin that is stored next to the entry. An erased origin is absent; any other
    /// than the hashed one is refused.
    pub fn reveal(&mut self, origin: Option<RequestOrigin>) -> Result<(), LeafError> {
        if let Some(origin) = &origin
            && self.place.origin != Some(origin.digest())
        {
            return Err(LeafError::WrongOrigin);
        }
        self.place.revealed = origin;
        Ok(())
    }

    fn validate(&self) -> Result<(), LeafError> {
        if self.when.calendar().is_none() {
            let micros = self.when.micros();
            return Err(LeafError::NoSuchMoment { micros });
        }
        let Self { what, place, why, .. } = self;
        let (worker, credential) = match &self.who {
            Who::User { credential, .. } | Who::Agent { credential, .. } => {
                (None, credential.as_ref())
            }
            Who::System { worker } => (Some(worker), None),
        };
        let key_id = credential.map(|credential| &credential.key_id);
        let short = AUDIT_TEXT_MAX_BYTES;
        let texts = [
            ("who.worker", worker, short),
            ("who.credential.key_id", key_id, short),
            ("what.object", Some(&what.object), short),
            ("what.action", Some(&what.action), short),
            ("what.from", what.from.as_ref(), short),
            ("what.to", what.to.as_ref(), short),
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

impl From<&Actor> for Who {
    fn from(actor: &Actor) -> Self {
        match actor {
            Actor::User { id, credential } => {
                Self::User { user: *id, credential: credential.clone() }
            }
            Actor::Agent { id, on_behalf_of, credential } => Self::Agent {
                agent: *id,
                on_behalf_of: *on_behalf_of,
                credential: credential.clone(),
            },
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
