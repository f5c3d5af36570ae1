//! Who may do what. The rules are Cedar policies compiled in from `cedar/`; this module turns a
//! [`Question`] into a Cedar request and a refusal into a sentence. It fails closed: a rule that
//! cannot be evaluated, or a question that does not fit the schema, is a refusal. Whether the
//! task's state allows the command is not asked here.

mod action;
mod question;
mod rules;

#[cfg(test)]
mod matrix_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityUid, Request, RestrictedExpression,
    Schema,
};
use thiserror::Error;

pub use self::action::{Action, Class};
pub use self::question::{Object, Question, Standing};
pub use self::rules::AccessError;
use self::rules::{Rules, uid};
use crate::actor::{Actor, Role};

const SCHEMA: &str = include_str!("../../cedar/schema.cedarschema");
const BASE: &str = include_str!("../../cedar/base.cedar");

/// A refusal, in words for the one who was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{action} is refused: {detail}")]
pub struct Denied {
    pub action: Action,
    /// The forbid rule that said no; `None` if no rule permits it.
    pub rule: Option<String>,
    pub detail: String,
}

/// The parsed rules. Made once at start and shared; a check takes no lock and parses nothing.
#[derive(Debug)]
pub struct Access {
    authorizer: Authorizer,
    schema: Schema,
    rules: BTreeMap<Action, Rules>,
    roles: BTreeMap<&'static str, EntityUid>,
    names: Names,
}

/// Entity names carry no identity: every fact about the actor and the object is an attribute,
/// so one name for each type will do and none is built while checking.
#[derive(Debug)]
struct Names {
    user: EntityUid,
    agent: EntityUid,
    system: EntityUid,
    tenant: EntityUid,
    own: EntityUid,
    task: EntityUid,
}

impl Access {
    pub fn new() -> Result<Self, AccessError> {
        Self::load(SCHEMA, BASE)
    }

    fn load(schema: &str, policies: &str) -> Result<Self, AccessError> {
        let schema = rules::parse_schema(schema)?;
        let policies = rules::parse_policies(policies, &schema)?;
        let known = [
            Role::AUTHOR,
            Role::REVIEWER,
            Role::ADMIN,
            Role::OPERATOR,
            Role::AUDITOR,
        ];
        Ok(Self {
            authorizer: Authorizer::new(),
            rules: rules::by_action(&policies, &schema)?,
            roles: known
                .into_iter()
                .map(|role| Ok((role, uid("Role", role)?)))
                .collect::<Result<_, AccessError>>()?,
            names: Names {
                user: uid("User", "actor")?,
                agent: uid("Agent", "actor")?,
                system: uid("System", "actor")?,
                tenant: uid("Tenant", "object")?,
                own: uid("Own", "object")?,
                task: uid("Task", "object")?,
            },
            schema,
        })
    }

    pub fn check(&self, question: &Question<'_>) -> Result<(), Denied> {
        let action = question.action;
        let denied = |rule, detail| Denied {
            action,
            rule,
            detail,
        };
        let unfit = |error: String| denied(None, format!("the question does not fit: {error}"));
        let rules = self
            .rules
            .get(&action)
            .ok_or_else(|| unfit("no rule knows the action".to_owned()))?;
        let (request, entities) = self.ask(question, rules).map_err(unfit)?;
        let answer = self
            .authorizer
            .is_authorized(&request, rules.policies(), &entities);

        // Cedar skips a rule that fails; skipping a forbid would open what it closes.
        if let Some(error) = answer.diagnostics().errors().next() {
            return Err(unfit(error.to_string()));
        }
        match answer.decision() {
            Decision::Allow => Ok(()),
            Decision::Deny => {
                let (rule, detail) = rules.explain(answer.diagnostics().reason());
                Err(denied(rule, detail))
            }
        }
    }

    fn ask(&self, question: &Question<'_>, rules: &Rules) -> Result<(Request, Entities), String> {
        let principal = self.principal(question)?;
        let object = self.object(question.object)?;
        let request = Request::new(
            principal.uid(),
            rules.action().uid(),
            object.uid(),
            Context::empty(),
            Some(&self.schema),
        )
        .map_err(|error| error.to_string())?;
        let entities = Entities::from_entities([principal, rules.action().clone(), object], None)
            .map_err(|error| error.to_string())?;
        Ok((request, entities))
    }

    fn principal(&self, question: &Question<'_>) -> Result<Entity, String> {
        let name = match question.actor {
            Actor::User { .. } => &self.names.user,
            Actor::Agent { .. } => &self.names.agent,
            Actor::System { .. } => &self.names.system,
        };
        // The tenant's own roles mean nothing to these rules, and a worker has none at all.
        let roles = match question.actor {
            Actor::User { .. } | Actor::Agent { .. } => question
                .roles
                .iter()
                .filter_map(|role| self.roles.get(role.as_str()))
                .cloned()
                .collect(),
            Actor::System { .. } => HashSet::new(),
        };
        entity(name, [("active", question.active)], roles)
    }

    fn object(&self, object: Object) -> Result<Entity, String> {
        match object {
            Object::Tenant => entity(&self.names.tenant, [], HashSet::new()),
            Object::Own { is_own } => entity(&self.names.own, [("is_own", is_own)], HashSet::new()),
            Object::Task(standing) => entity(&self.names.task, standing.facts(), HashSet::new()),
        }
    }
}

fn entity<const N: usize>(
    name: &EntityUid,
    facts: [(&'static str, bool); N],
    parents: HashSet<EntityUid>,
) -> Result<Entity, String> {
    let attributes: HashMap<_, _> = facts
        .into_iter()
        .map(|(fact, holds)| (fact.to_owned(), RestrictedExpression::new_bool(holds)))
        .collect();
    Entity::new(name.clone(), attributes, parents).map_err(|error| error.to_string())
}
