//! The versions of the resources that a preview saw, stored next to the digest. A different version
//! means that the preview may be out of date; it does not mean that the change is a different one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::resource::ResourceRef;

/// Versions as the executor names them (a serial, an entity tag, a hash). They are only compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PreviewVersions(pub BTreeMap<ResourceRef, String>);

/// A resource whose version differs from the one that the preview saw. A version is absent if it
/// was unknown on that side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub resource: ResourceRef,
    pub seen: Option<String>,
    pub found: Option<String>,
}

impl PreviewVersions {
    /// Returns the differences in canonical order. A version that is missing on one side is drift,
    /// because it is unknown whether the resource changed.
    pub fn drift(&self, found: &Self) -> Vec<Drift> {
        let resources: BTreeSet<_> = self.0.keys().chain(found.0.keys()).collect();
        resources
            .into_iter()
            .map(|resource| Drift {
                resource: resource.clone(),
                seen: self.0.get(resource).cloned(),
                found: found.0.get(resource).cloned(),
            })
            .filter(|drift| drift.seen != drift.found)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(entries: &[(&str, &str)]) -> PreviewVersions {
        let entries = entries.iter();
        PreviewVersions(
            entries
                .map(|(resource, version)| (resource.parse().unwrap(), (*version).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn versions_moved_vanished_or_added_are_drift() {
        let seen = versions(&[("db:a", "1"), ("db:b", "1"), ("db:c", "1")]);
        let found = versions(&[("db:b", "2"), ("db:c", "1"), ("db:d", "9")]);
        let text = |version: &str| Some(version.to_owned());
        let drift: Vec<_> = seen
            .drift(&found)
            .into_iter()
            .map(|drift| (drift.resource.to_string(), drift.seen, drift.found))
            .collect();
        assert_eq!(
            drift,
            [
                ("db:a".to_owned(), text("1"), None),
                ("db:b".to_owned(), text("1"), text("2")),
                ("db:d".to_owned(), None, text("9")),
            ]
        );
    }

    #[test]
    fn versions_unchanged_are_not_drift() {
        let seen = versions(&[("db:a", "1"), ("db:b", "2")]);
        assert_eq!(seen.drift(&seen.clone()), []);
    }

    #[test]
    fn versions_are_stored_as_one_flat_object() {
        let seen = versions(&[("db:b", "2"), ("db:a", "1")]);
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(text, r#"{"db:a":"1","db:b":"2"}"#);
        assert_eq!(serde_json::from_str::<PreviewVersions>(&text).unwrap(), seen);
    }
}
