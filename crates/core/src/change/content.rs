//! The digest that a vote binds to: exactly type, parameters, resources and effect, and nothing
//! that may move without the change becoming another one. The resource versions a preview saw
//! are not in it; they are kept beside it (`versions`) for the drift check.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::{Digest, Effect, StrictValue};
use crate::limits::TASK_RESOURCES_MAX;
use crate::resource::ResourceRef;

/// In the hashed document, so that no other kind of document can ever have the same bytes, and
/// another layout cannot pass for this one.
const FORMAT: &str = "ade.content/1";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContentError {
    #[error("{resource} is named twice: name each resource once, with one mode")]
    RepeatedResource { resource: ResourceRef },
    #[error("{count} resources are too many for one task: at most {TASK_RESOURCES_MAX}")]
    TooManyResources { count: usize },
    #[error("the effect touches {resource}, which the task does not name: add it to the task")]
    UnlistedResource { resource: ResourceRef },
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

#[derive(Serialize)]
struct Content<'a> {
    format: &'static str,
    r#type: &'a str,
    parameters: &'a StrictValue,
    resources: Vec<Touched<'a>>,
    effect: &'a Effect,
}

#[derive(Serialize)]
struct Touched<'a> {
    resource: &'a ResourceRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'a str>,
}

/// Resources in any order, each with the mode it is to be locked in, if the task says one. An
/// effect on a resource that the task does not name has no digest: it would be rated by the
/// wrong resources and applied without a lock.
pub fn content_digest<'a>(
    task_type: &'a str,
    parameters: &'a StrictValue,
    resources: impl IntoIterator<Item = (&'a ResourceRef, Option<&'a str>)>,
    effect: &'a Effect,
) -> Result<Digest, ContentError> {
    let mut listed = BTreeMap::new();
    for (resource, mode) in resources {
        if listed.insert(resource, mode).is_some() {
            let resource = resource.clone();
            return Err(ContentError::RepeatedResource { resource });
        }
    }
    if listed.len() > TASK_RESOURCES_MAX {
        let count = listed.len();
        return Err(ContentError::TooManyResources { count });
    }
    let mut touched = effect.resources().into_iter();
    if let Some(stranger) = touched.find(|resource| !listed.contains_key(resource)) {
        let resource = stranger.clone();
        return Err(ContentError::UnlistedResource { resource });
    }
    let content = Content {
        format: FORMAT,
        r#type: task_type,
        parameters,
        resources: listed.into_iter().map(|(resource, mode)| Touched { resource, mode }).collect(),
        effect,
    };
    Ok(Digest::of(&canonical::to_bytes(&content)?))
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
