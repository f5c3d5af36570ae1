//! The digest that a vote binds to. It covers exactly type, parameters, resources and effect, and
//! nothing that may change without changing the meaning. The resource versions that a preview saw
//! are not part of it; they are stored separately (`versions`) for the drift check.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::{AffectedRows, ChangeKind, Digest, Effect, Origin, StrictValue};
use crate::limits::TASK_RESOURCES_MAX;
use crate::resource::ResourceRef;

/// The format name is part of the hashed document, so that no other kind or layout of document can
/// have the same bytes.
const FORMAT: &str = "ade.content/1";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContentError {
    #[error("{resource} is listed twice: list each resource once, with one mode")]
    RepeatedResource { resource: ResourceRef },
    #[error("{count} resources are too many for one task: at most {TASK_RESOURCES_MAX}")]
    TooManyResources { count: usize },
    #[error("the effect touches {resource}, which the task does not list: add it to the task")]
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

/// The format name of the shape. It differs from that of the digest, so that the two can never be
/// equal.
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
    rows: Option<AffectedRows>,
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

/// Returns the digest of a content. Resources may come in any order, each with its lock mode if the
/// task names one. An effect on a resource that the task does not name is an error: it would be
/// rated by the wrong resources and applied without a lock.
pub fn content_digest<'a>(
    task_type: &'a str,
    parameters: &'a StrictValue,
    resources: impl IntoIterator<Item = (&'a ResourceRef, Option<&'a str>)>,
    effect: &'a Effect,
) -> Result<Digest, ContentError> {
    let content = content(task_type, parameters, resources, effect)?;
    Ok(Digest::of(&canonical::to_bytes(&content)?))
}

/// Returns a digest that is equal for the same change to other resources: each resource is
/// identified by its type and its position in the list. Names that occur in parameters or summaries
/// still make two changes different.
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
                rows: change.rows,
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
