//! The loaded policies: validated strictly, named by their `@id`, and reduced for each action and
//! kind of actor to those whose scope can match. Leaving out a policy whose scope excludes the
//! question never changes an answer; a test compares both ways.

use std::collections::{BTreeMap, HashSet};

use cedar_policy::{
    ActionConstraint, Effect, Entities, EntityId, EntityTypeName, EntityUid, Policy, PolicyId,
    PolicySet, PrincipalConstraint, Schema, ValidationMode, Validator,
};
use thiserror::Error;

use super::Action;
use crate::actor::Actor;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AccessError {
    #[error("the access schema is invalid: {0}")]
    Schema(String),
    #[error("the access policies are invalid: {0}")]
    Policies(String),
    #[error("an access policy lacks @{annotation}: {policy}")]
    Unannotated { annotation: &'static str, policy: String },
    #[error("the access schema does not define the action {0}: add it to cedar/schema.cedarschema")]
    UnknownAction(Action),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    User,
    Agent,
    System,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::User, Self::Agent, Self::System];

    pub(super) const fn of(actor: &Actor) -> Self {
        match actor {
            Actor::User { .. } => Self::User,
            Actor::Agent { .. } => Self::Agent,
            Actor::System { .. } => Self::System,
        }
    }

    /// Returns the entity type in the Cedar schema.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Agent => "Agent",
            Self::System => "System",
        }
    }
}

/// The policies that are evaluated for one action.
#[derive(Debug)]
pub(super) struct Rules {
    action: EntityUid,
    user: PolicySet,
    agent: PolicySet,
    system: PolicySet,
    /// The reason of each forbid policy, by its name.
    says: BTreeMap<String, String>,
    /// A description of the actors that the permit policies admit.
    who: String,
}

pub(super) fn uid(kind: &str, id: &str) -> Result<EntityUid, AccessError> {
    let kind: EntityTypeName =
        kind.parse().map_err(|error| AccessError::Schema(format!("{error}")))?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

pub(super) fn parse_schema(text: &str) -> Result<Schema, AccessError> {
    let (schema, warnings) = Schema::from_cedarschema_str(text)
        .map_err(|error| AccessError::Schema(error.to_string()))?;
    let warnings: Vec<_> = warnings.map(|warning| warning.to_string()).collect();
    if warnings.is_empty() { Ok(schema) } else { Err(AccessError::Schema(warnings.join("; "))) }
}

pub(super) fn parse_policies(text: &str, schema: &Schema) -> Result<Vec<Policy>, AccessError> {
    let refused = |error: String| AccessError::Policies(error);
    let parsed: PolicySet = text.parse().map_err(|error| refused(format!("{error}")))?;
    let policies: Vec<Policy> = parsed.policies().map(named).collect::<Result<_, _>>()?;
    // Building the set again detects two policies of one name.
    let named = PolicySet::from_policies(policies.iter().cloned())
        .map_err(|error| refused(error.to_string()))?;
    let validation = Validator::new(schema.clone()).validate(&named, ValidationMode::Strict);
    let findings: Vec<String> = validation
        .validation_errors()
        .map(ToString::to_string)
        .chain(validation.validation_warnings().map(ToString::to_string))
        .collect();
    if findings.is_empty() { Ok(policies) } else { Err(refused(findings.join("; "))) }
}

fn named(policy: &Policy) -> Result<Policy, AccessError> {
    Ok(policy.new_id(PolicyId::new(annotation(policy, "id")?)))
}

fn annotation<'a>(policy: &'a Policy, name: &'static str) -> Result<&'a str, AccessError> {
    policy
        .annotation(name)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| AccessError::Unannotated { annotation: name, policy: policy.to_string() })
}

pub(super) fn by_action(
    policies: &[Policy],
    schema: &Schema,
) -> Result<BTreeMap<Action, Rules>, AccessError> {
    let known = schema.action_entities().map_err(|error| AccessError::Schema(error.to_string()))?;
    Action::ALL.iter().map(|action| Ok((*action, Rules::new(*action, policies, &known)?))).collect()
}

/// Returns whether the scope of the policy includes this action.
fn is_about(policy: &Policy, action: &EntityUid, groups: &HashSet<&EntityUid>) -> bool {
    match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(one) => one == *action,
        ActionConstraint::In(some) => some.iter().any(|one| one == action || groups.contains(one)),
    }
}

/// Returns whether the scope of the policy includes this kind of actor.
fn is_for(policy: &Policy, kind: Kind) -> bool {
    match policy.principal_constraint() {
        PrincipalConstraint::Is(one) | PrincipalConstraint::IsIn(one, _) => {
            one.basename() == kind.as_str()
        }
        PrincipalConstraint::Any | PrincipalConstraint::In(_) | PrincipalConstraint::Eq(_) => true,
    }
}

impl Rules {
    fn new(action: Action, policies: &[Policy], known: &Entities) -> Result<Self, AccessError> {
        let name = uid("Action", action.as_str())?;
        if known.get(&name).is_none() {
            return Err(AccessError::UnknownAction(action));
        }
        let groups: HashSet<_> = known.ancestors(&name).into_iter().flatten().collect();
        let policies: Vec<&Policy> =
            policies.iter().filter(|policy| is_about(policy, &name, &groups)).collect();
        let mut says = BTreeMap::new();
        let mut who = Vec::new();
        for policy in &policies {
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
        }
        let cut = |kind| {
            let kept = policies.iter().filter(|policy| is_for(policy, kind));
            PolicySet::from_policies(kept.copied().cloned())
                .map_err(|error| AccessError::Policies(error.to_string()))
        };
        Ok(Self {
            user: cut(Kind::User)?,
            agent: cut(Kind::Agent)?,
            system: cut(Kind::System)?,
            who: who.join("; or "),
            says,
            action: name,
        })
    }

    pub(super) fn action(&self) -> &EntityUid {
        &self.action
    }

    pub(super) fn policies(&self, kind: Kind) -> &PolicySet {
        match kind {
            Kind::User => &self.user,
            Kind::Agent => &self.agent,
            Kind::System => &self.system,
        }
    }

    /// Returns the forbid policy that refused and its reason, or a description of who may act. If
    /// several forbid policies refused, the first by name is returned, so that the same question
    /// always has the same answer.
    pub(super) fn explain<'a>(
        &self,
        reasons: impl Iterator<Item = &'a PolicyId>,
    ) -> (Option<String>, String) {
        let rule = reasons.map(ToString::to_string).min();
        let why = rule.as_ref().and_then(|rule| self.says.get(rule));
        let detail = match why {
            Some(why) => format!("{why}; allowed for {}", self.who),
            None => format!("allowed for {}", self.who),
        };
        (rule, detail)
    }
}
