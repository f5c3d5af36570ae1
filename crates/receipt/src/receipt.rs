//! The content of a receipt. Registered claims have their usual names (`iss`, `exp`, …); all others
//! are text, because a target need not know the format of ids.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The installation that signed it.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The target that it is for.
    #[serde(rename = "aud")]
    pub audience: String,
    /// Unique: a target that stores nonces applies each permit once.
    #[serde(rename = "jti")]
    pub nonce: String,
    /// When it was issued, in seconds since 1970.
    #[serde(rename = "iat")]
    pub issued_at: u64,
    #[serde(rename = "exp")]
    pub expires_at: u64,
    #[serde(rename = "sub")]
    pub task: String,
    pub tenant: String,
    pub revision: u32,
    /// The digest of the approved effect.
    pub digest: String,
    /// The only agent that may apply it.
    pub agent: String,
    pub lease: String,
    pub votes: Vec<Voted>,
    pub policies: Vec<PolicyVersion>,
    pub resources: Vec<Fenced>,
    /// The versions of resources that the preview observed.
    pub versions: BTreeMap<String, String>,
}

impl Receipt {
    /// Returns the entry of one resource, if there is one.
    pub fn of(&self, resource: &str) -> Option<&Fenced> {
        self.resources.iter().find(|fenced| fenced.resource == resource)
    }
}

/// A vote on which the permit is based.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voted {
    pub user: String,
    /// When the vote was given.
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyVersion {
    pub policy: String,
    pub version: u32,
}

/// A held resource with its fence, which the fence of its next holder exceeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fenced {
    pub resource: String,
    pub mode: LockMode,
    pub fence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    Exclusive,
    Shared,
}
