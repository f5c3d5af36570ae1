//! What is signed. Names that every reader of such tokens knows are theirs (`iss`, `exp`, …); all
//! others are the product's own words, as texts: a target may not know how an id is built.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The installation that signed it.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The target it is for.
    #[serde(rename = "aud")]
    pub audience: String,
    /// Never twice: a target that keeps them applies each permit once.
    #[serde(rename = "jti")]
    pub nonce: String,
    /// Seconds since 1970.
    #[serde(rename = "iat")]
    pub issued_at: u64,
    #[serde(rename = "exp")]
    pub expires_at: u64,
    #[serde(rename = "sub")]
    pub task: String,
    pub tenant: String,
    pub revision: u32,
    /// Of the effect that people agreed to.
    pub digest: String,
    /// Who may apply it, and nobody else.
    pub agent: String,
    pub lease: String,
    pub votes: Vec<Voted>,
    pub policies: Vec<PolicyVersion>,
    pub resources: Vec<Fenced>,
    /// The versions of resources that the preview has seen.
    pub versions: BTreeMap<String, String>,
}

impl Receipt {
    /// What it says about one resource; nothing if it does not speak of it.
    pub fn of(&self, resource: &str) -> Option<&Fenced> {
        self.resources.iter().find(|fenced| fenced.resource == resource)
    }
}

/// An answer that the permit rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voted {
    pub user: String,
    /// When they said so.
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyVersion {
    pub policy: String,
    pub version: u32,
}

/// A resource that is held, and the number that its next holder exceeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fenced {
    pub resource: String,
    pub mode: Mode,
    pub fence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Exclusive,
    Shared,
}
