//! Resources of tasks, and how requests name resources: by the name alone, or by an object with the
//! name and more.

use std::fmt;
use std::marker::PhantomData;

use ade_core::resource::ResourceRef;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchedResource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    /// The lock mode while the task is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl From<ResourceRef> for TouchedResource {
    fn from(resource: ResourceRef) -> Self {
        Self { resource, mode: None }
    }
}

/// A resource that a task touches: its name, or an object with the lock mode.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
pub enum TouchedResourceInput {
    Name(schema::ResourceName),
    Touched(TouchedResource),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Exclusive,
    Shared,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Exclusive, Self::Shared].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// Reads a list whose items are names or objects.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + From<ResourceRef>,
{
    let items = Vec::<NameOrObject<T>>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|item| item.0).collect())
}

/// Reads a list that may be absent, like [`list`].
pub fn some_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + From<ResourceRef>,
{
    let items = Option::<Vec<NameOrObject<T>>>::deserialize(deserializer)?;
    Ok(items.map(|items| items.into_iter().map(|item| item.0).collect()))
}

struct NameOrObject<T>(T);

impl<'de, T: Deserialize<'de> + From<ResourceRef>> Deserialize<'de> for NameOrObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading(PhantomData))
    }
}

struct Reading<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + From<ResourceRef>> Visitor<'de> for Reading<T> {
    type Value = NameOrObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource as `type:id`, or an object with `resource`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<NameOrObject<T>, E> {
        let resource = name.parse::<ResourceRef>().map_err(E::custom)?;
        Ok(NameOrObject(resource.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NameOrObject<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(NameOrObject)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::locks::{LockMode, NewLease};
    use crate::tasks::{Amendment, Mode, TouchedResource};

    #[test]
    fn resources_are_read_by_name_or_as_objects() {
        let given = json!({"resources": ["db:a", {"resource": "db:b", "mode": "shared"}]});
        let lease: NewLease = serde_json::from_value(given.clone()).unwrap();
        let modes: Vec<_> = lease.resources.iter().map(|lock| lock.mode).collect();
        assert_eq!(modes, [LockMode::Exclusive, LockMode::Shared]);
        let amendment: Amendment = serde_json::from_value(given).unwrap();
        let touched = |name: &str, mode| TouchedResource { resource: name.parse().unwrap(), mode };
        let expected = vec![touched("db:a", None), touched("db:b", Some(Mode::Shared))];
        assert_eq!(amendment.resources, Some(expected));
        assert_eq!(serde_json::from_str::<Amendment>("{}").unwrap().resources, None);
    }

    #[test]
    fn wrong_resource_is_refused_without_names_of_types() {
        for (given, part) in [
            (json!({"resources": ["db"]}), "db"),
            (json!({"resources": [7]}), "a resource as `type:id`"),
            (json!({"resources": [{"resource": "db:a", "more": 1}]}), "more"),
        ] {
            let refused = serde_json::from_value::<NewLease>(given).unwrap_err().to_string();
            assert!(refused.contains(part) && !refused.contains("struct"), "{refused}");
        }
    }
}
