//! The policies as loaded: validated strictly, named by their `@id`, and cut down for each
//! action to those whose scope can match it. Leaving out a policy whose action scope excludes
//! the action never changes an answer; a test asks both ways.

use std::collections::{BTreeMap, HashSet};

use cedar_policy::{
    ActionConstraint, Effect, Entities, Entity, EntityId, EntityTypeName, EntityUid, Policy,
    PolicyId, PolicySet, Schema, ValidationMode, Validator,
};
use thiserror::Error;

use super::Action;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AccessError {
    #[error("the access schema does not hold: {0}")]
    Schema(String),
    #[error("the access policies do not hold: {0}")]
    Policies(String),
    #[error("a policy has no @{annotation}: {policy}")]
    Unannotated {
        annotation: &'static str,
        policy: String,
    },
    #[error("the schema does not know the action {0}; add it in cedar/schema.cedarschema")]
    UnknownAction(Action),
}

/// What is asked for one action.
#[derive(Debug)]
pub(super) struct Rules {
    action: Entity,
    policies: PolicySet,
    /// Why each forbid refuses, by its name.
    says: BTreeMap<String, String>,
    /// Whom the permits let through, in words.
    who: String,
}

pub(super) fn uid(kind: &str, id: &str) -> Result<EntityUid, AccessError> {
    let kind: EntityTypeName = kind
        .parse()
        .map_err(|error| AccessError::Schema(format!("{error}")))?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

pub(super) fn parse_schema(text: &str) -> Result<Schema, AccessError> {
    let (schema, warnings) = Schema::from_cedarschema_str(text)
        .map_err(|error| AccessError::Schema(error.to_string()))?;
    let warnings: Vec<_> = warnings.map(|warning| warning.to_string()).collect();
    if warnings.is_empty() {
        Ok(schema)
    } else {
        Err(AccessError::Schema(warnings.join("; ")))
    }
}

pub(super) fn parse_policies(text: &str, schema: &Schema) -> Result<Vec<Policy>, AccessError> {
    let refused = |error: String| AccessError::Policies(error);
    let parsed: PolicySet = text.parse().map_err(|error| refused(format!("{error}")))?;
    let policies: Vec<Policy> = parsed.policies().map(named).collect::<Result<_, _>>()?;
    // Collecting again finds two policies of one name.
    let named = PolicySet::from_policies(policies.iter().cloned())
        .map_err(|error| refused(error.to_string()))?;
    let validation = Validator::new(schema.clone()).validate(&named, ValidationMode::Strict);
    let findings: Vec<String> = validation
        .validation_errors()
        .map(ToString::to_string)
        .chain(validation.validation_warnings().map(ToString::to_string))
        .collect();
    if findings.is_empty() {
        Ok(policies)
    } else {
        Err(refused(findings.join("; ")))
    }
}

fn named(policy: &Policy) -> Result<Policy, AccessError> {
    Ok(policy.new_id(PolicyId::new(annotation(policy, "id")?)))
}

fn annotation<'a>(policy: &'a Policy, name: &'static str) -> Result<&'a str, AccessError> {
    policy
        .annotation(name)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| AccessError::Unannotated {
            annotation: name,
            policy: policy.to_string(),
        })
}

pub(super) fn by_action(
    policies: &[Policy],
    schema: &Schema,
) -> Result<BTreeMap<Action, Rules>, AccessError> {
    let known = schema
        .action_entities()
        .map_err(|error| AccessError::Schema(error.to_string()))?;
    Action::ALL
        .iter()
        .map(|action| Ok((*action, Rules::new(*action, policies, &known)?)))
        .collect()
}

impl Rules {
    fn new(action: Action, policies: &[Policy], known: &Entities) -> Result<Self, AccessError> {
        let name = uid("Action", action.as_str())?;
        if known.get(&name).is_none() {
            return Err(AccessError::UnknownAction(action));
        }
        let groups: HashSet<EntityUid> = known
            .ancestors(&name)
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        let may_match = |policy: &&Policy| match policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(one) => one == name,
            ActionConstraint::In(some) => {
                some.iter().any(|one| *one == name || groups.contains(one))
            }
        };
        let mut says = BTreeMap::new();
        let mut who = Vec::new();
        let mut kept = Vec::new();
        for policy in policies.iter().filter(may_match) {
            match policy.effect() {
                Effect::Forbid => {
                    let why = annotation(policy, "says")?.to_owned();
                    says.insert(policy.id().to_string(), why);
                }
                Effect::Permit => {
                    let whom = annotation(policy, "who")?;
                    if !who.contains(&whom) {
                        who.push(whom);
                    }
                }
            }
            kept.push(policy.clone());
        }
        Ok(Self {
            action: Entity::new_no_attrs(name, groups),
            who: who.join("; or "),
            says,
            policies: PolicySet::from_policies(kept)
                .map_err(|error| AccessError::Policies(error.to_string()))?,
        })
    }

    pub(super) fn action(&self) -> &Entity {
        &self.action
    }

    pub(super) fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// The forbid that refused and why, or who could do it instead. If several forbids refused,
    /// the first by name speaks, so that the same question has the same answer.
    pub(super) fn explain<'a>(
        &self,
        reasons: impl Iterator<Item = &'a PolicyId>,
    ) -> (Option<String>, String) {
        let rule = reasons.map(ToString::to_string).min();
        let why = rule.as_ref().and_then(|rule| self.says.get(rule));
        let detail = match why {
            Some(why) => format!("{why}; it is open to {}", self.who),
            None => format!("it is open to {}", self.who),
        };
        (rule, detail)
    }
}
