//! A resource that a task touches, named `type:id`. The canonical order is that of the written
//! name; locks, fences and indexes use it for several resources.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::limits::{RESOURCE_ID_MAX_BYTES, RESOURCE_TYPE_MAX_BYTES};
use crate::text::written_as_text;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceRef {
    kind: String,
    id: String,
}

/// Orders like a database sorts the text: `-` in a type comes before the `:` at the end of a
/// shorter one.
impl Ord for ResourceRef {
    fn cmp(&self, other: &Self) -> Ordering {
        let ours = self.kind.bytes().chain([b':']).chain(self.id.bytes());
        ours.cmp(other.kind.bytes().chain([b':']).chain(other.id.bytes()))
    }
}

impl PartialOrd for ResourceRef {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResourceError {
    #[error("`{given}` is not a resource: write it as type:id, for example database:prod-db-01")]
    NoType { given: String },
    #[error(
        "`{given}` has an invalid type: use a-z, 0-9, `-` and `_`, at most \
             {RESOURCE_TYPE_MAX_BYTES}"
    )]
    BadType { given: String },
    #[error(
        "`{given}` has an invalid id: use printable ASCII without spaces, at most \
         {RESOURCE_ID_MAX_BYTES}"
    )]
    BadId { given: String },
}

impl ResourceRef {
    pub fn new(kind: &str, id: &str) -> Result<Self, ResourceError> {
        let given = || format!("{kind}:{id}");
        let kind_holds = !kind.is_empty()
            && kind.len() <= RESOURCE_TYPE_MAX_BYTES
            && kind.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
        if !kind_holds {
            return Err(ResourceError::BadType { given: given() });
        }
        // Printable ASCII only: the lock scripts use control bytes as separators, and two ids that
        // look the same must be the same.
        let id_holds = !id.is_empty()
            && id.len() <= RESOURCE_ID_MAX_BYTES
            && id.bytes().all(|b| b.is_ascii_graphic());
        if !id_holds {
            return Err(ResourceError::BadId { given: given() });
        }
        Ok(Self { kind: kind.to_owned(), id: id.to_owned() })
    }

    /// Returns whether the server uses the name itself, for example for the slots of an agent.
    /// Callers cannot lock such names.
    pub fn is_reserved(&self) -> bool {
        self.kind.starts_with('_')
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for ResourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

impl FromStr for ResourceRef {
    type Err = ResourceError;

    fn from_str(text: &str) -> Result<Self, ResourceError> {
        let (kind, id) =
            text.split_once(':').ok_or_else(|| ResourceError::NoType { given: text.to_owned() })?;
        Self::new(kind, id)
    }
}

written_as_text!(ResourceRef);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_id_may_contain_colons_and_slashes() {
        let resource: ResourceRef = "service:eu/api:v2".parse().unwrap();
        assert_eq!((resource.kind(), resource.id()), ("service", "eu/api:v2"));
        assert_eq!(resource.to_string(), "service:eu/api:v2");
    }

    #[test]
    fn resource_name_that_is_ambiguous_is_refused() {
        for text in ["", "database", ":x", "db:", "DB:x", "db:a b", "db:a\u{1f}b", "db:é"] {
            assert!(text.parse::<ResourceRef>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn resource_names_sort_like_their_text() {
        let names = ["db-x:c", "db0:a", "db:a", "db:a:2", "db:b", "db_x:a", "dba:a"];
        let parsed = names.map(|name| name.parse::<ResourceRef>().unwrap());
        assert!(names.is_sorted() && parsed.is_sorted(), "{parsed:?}");
    }

    #[test]
    fn resource_name_bounds_are_inclusive() {
        let id = "x".repeat(RESOURCE_ID_MAX_BYTES);
        assert!(ResourceRef::new("db", &id).is_ok());
        assert!(ResourceRef::new("db", &format!("{id}x")).is_err());
        let kind = "t".repeat(RESOURCE_TYPE_MAX_BYTES);
        assert!(ResourceRef::new(&kind, "x").is_ok());
        assert!(ResourceRef::new(&format!("{kind}t"), "x").is_err());
    }
}
