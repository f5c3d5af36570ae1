//! The digest that a vote binds to: exactly type, parameters, resources and effect, and nothing
//! that may move without the change becoming another one. The resource versions a preview saw
//! are not in it; they are kept beside it (`versions`) for the drift check.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::{ChangeKind, Digest, Effect, Origin, StrictValue};
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

/// Told apart from the digest's format, so that neither can pass for the other.
const SHAPE_FORMAT: &str = "ade.shape/1";

#[derive(Serialize)]
struct Shape<'a> {
    format: &'static str,
    r#type: &'a str,
    parameters: &'a StrictValue,
    resources: Vec<(String, Option<&'a str>)>,
    changes: Vec<ShapeOfChange<'a>>,
    origin: Origin,
}

#[derive(Serialize)]
struct ShapeOfChange<'a> {
    resource: String,
    action: ChangeKind,
    irreversible: bool,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a StrictValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a StrictValue>,
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
    let content = content(task_type, parameters, resources, effect)?;
    Ok(Digest::of(&canonical::to_bytes(&content)?))
}

/// The same for the same change made to other resources: each is named by its type and its place
/// in the list. What the parameters or summaries say of a name still tells two changes apart.
pub fn content_shape<'a>(
    task_type: &'a str,
    parameters: &'a StrictValue,
    resources: impl IntoIterator<Item = (&'a ResourceRef, Option<&'a str>)>,
    effect: &'a Effect,
) -> Result<Digest, ContentError> {
    let content = content(task_type, parameters, resources, effect)?;
    let stand_ins: BTreeMap<&ResourceRef, String> = content
        .resources
        .iter()
        .enumerate()
        .map(|(place, touched)| (touched.resource, format!("{}#{place}", touched.resource.kind())))
        .collect();
    let stand_in = |resource: &ResourceRef| stand_ins.get(resource).cloned().unwrap_or_default();
    let shape = Shape {
        format: SHAPE_FORMAT,
        r#type: content.r#type,
        parameters: content.parameters,
        resources: content.resources.iter().map(|t| (stand_in(t.resource), t.mode)).collect(),
        changes: effect
            .changes()
            .iter()
            .map(|change| ShapeOfChange {
                resource: stand_in(&change.resource),
                action: change.action,
                irreversible: change.irreversible,
                summary: &change.summary,
                before: change.before.as_ref(),
                after: change.after.as_ref(),
            })
            .collect(),
        origin: effect.origin(),
    };
    Ok(Digest::of(&canonical::to_bytes(&shape)?))
}

fn content<'a>(
    task_type: &'a str,
    parameters: &'a StrictValue,
    resources: impl IntoIterator<Item = (&'a ResourceRef, Option<&'a str>)>,
    effect: &'a Effect,
) -> Result<Content<'a>, ContentError> {
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
    Ok(Content {
        format: FORMAT,
        r#type: task_type,
        parameters,
        resources: listed.into_iter().map(|(resource, mode)| Touched { resource, mode }).collect(),
        effect,
    })
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
