//! Every actor and object that the rules can distinguish, built once. The rules see only a handful
//! of boolean facts, so there are a few hundred of them. A check refers to two of them and builds
//! nothing, which costs less than half of building them each time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cedar_policy::{Entities, Entity, EntityUid, RestrictedExpression, Schema};

use super::rules::{Kind, uid};
use super::{AccessError, Object, Question, TaskRelation};
use crate::actor::Role;

/// The roles that the rules refer to. Roles defined by a tenant mean nothing to them.
const ROLES: [&str; 5] = [Role::AUTHOR, Role::REVIEWER, Role::ADMIN, Role::OPERATOR, Role::AUDITOR];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Principal {
    kind: Kind,
    active: bool,
    /// Whether each of [`ROLES`] is held.
    roles: [bool; ROLES.len()],
}

impl Principal {
    fn of(question: &Question<'_>) -> Self {
        let kind = Kind::of(question.actor);
        Self {
            kind,
            active: question.active,
            // A worker has no roles, whichever are given.
            roles: ROLES.map(|role| kind != Kind::System && question.roles.contains(role)),
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        let one =
            |kind, [active, roles @ ..]: [bool; ROLES.len() + 1]| Self { kind, active, roles };
        Kind::ALL
            .into_iter()
            .flat_map(move |kind| combinations().map(move |facts| one(kind, facts)))
            .filter(|one| one.kind != Kind::System || one.roles == [false; ROLES.len()])
    }
}

/// Returns every combination of N boolean values.
fn combinations<const N: usize>() -> impl Iterator<Item = [bool; N]> {
    (0..1_u32 << N).map(|bits| std::array::from_fn(|place| bits >> place & 1 == 1))
}

#[derive(Debug)]
pub(super) struct World {
    entities: Entities,
    principals: BTreeMap<Principal, EntityUid>,
    objects: BTreeMap<Object, EntityUid>,
}

impl World {
    pub(super) fn new(schema: &Schema) -> Result<Self, AccessError> {
        let mut entities = Vec::new();
        let mut principals = BTreeMap::new();
        let mut objects = BTreeMap::new();
        for (number, principal) in Principal::all().enumerate() {
            let name = uid(principal.kind.as_str(), &number.to_string())?;
            let held = ROLES.into_iter().zip(principal.roles);
            let roles = held
                .filter(|(_, is_held)| *is_held)
                .map(|(role, _)| uid("Role", role))
                .collect::<Result<_, _>>()?;
            entities.push(entity(&name, &[("active", principal.active)], roles)?);
            principals.insert(principal, name);
        }
        for (number, object) in all_objects().into_iter().enumerate() {
            let (kind, facts) = match object {
                Object::Tenant => ("Tenant", vec![]),
                Object::Own { is_own } => ("Own", vec![("is_own", is_own)]),
                Object::Task(relation) => ("Task", relation.facts().to_vec()),
            };
            let name = uid(kind, &number.to_string())?;
            entities.push(entity(&name, &facts, HashSet::new())?);
            objects.insert(object, name);
        }
        // The schema is used, so that an unknown or a missing fact is detected here.
        let actions =
            schema.action_entities().map_err(|error| AccessError::Schema(error.to_string()))?;
        let entities = actions
            .add_entities(entities, Some(schema))
            .map_err(|error| AccessError::Schema(error.to_string()))?;
        Ok(Self { entities, principals, objects })
    }

    pub(super) fn entities(&self) -> &Entities {
        &self.entities
    }

    pub(super) fn principal(&self, question: &Question<'_>) -> Option<&EntityUid> {
        self.principals.get(&Principal::of(question))
    }

    pub(super) fn object(&self, object: Object) -> Option<&EntityUid> {
        self.objects.get(&object)
    }
}

fn all_objects() -> BTreeSet<Object> {
    let own = [false, true].map(|is_own| Object::Own { is_own });
    let tasks = combinations().map(|facts| Object::Task(TaskRelation::from_facts(facts)));
    tasks.chain(own).chain([Object::Tenant]).collect()
}

fn entity(
    name: &EntityUid,
    facts: &[(&'static str, bool)],
    parents: HashSet<EntityUid>,
) -> Result<Entity, AccessError> {
    let attributes: HashMap<_, _> = facts
        .iter()
        .map(|(fact, holds)| ((*fact).to_owned(), RestrictedExpression::new_bool(*holds)))
        .collect();
    Entity::new(name.clone(), attributes, parents)
        .map_err(|error| AccessError::Schema(error.to_string()))
}
