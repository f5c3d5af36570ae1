//! Who may do what. The rules are Cedar policies compiled in from `cedar/`; this module turns a
//! [`Question`] into a Cedar request and a refusal into a sentence. It fails closed: a rule that
//! cannot be evaluated, or a question that does not fit the schema, is a refusal. Whether the
//! task's state allows the command is not checked here.

mod rules;
mod world;

#[cfg(test)]
mod matrix_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use cedar_policy::{Authorizer, Context, Decision, Request, Schema};

pub use self::rules::AccessError;
use self::rules::{Kind, Rules};
use self::world::World;
use super::{Action, Denied, Object, Question, TaskRelation};

const SCHEMA: &str = include_str!("../../../cedar/schema.cedarschema");
const BASE: &str = include_str!("../../../cedar/base.cedar");

/// The reason of a refusal that should never occur, because all entities are built at startup.
const UNKNOWN: &str = "unknown actor, action or object in the access rules";

/// The parsed rules, built once at startup and shared. A check takes no lock and parses nothing.
#[derive(Debug)]
pub struct Access {
    authorizer: Authorizer,
    schema: Schema,
    rules: BTreeMap<Action, Rules>,
    world: World,
}

impl Access {
    pub fn new() -> Result<Self, AccessError> {
        Self::load(SCHEMA, BASE)
    }

    fn load(schema: &str, policies: &str) -> Result<Self, AccessError> {
        let schema = rules::parse_schema(schema)?;
        let policies = rules::parse_policies(policies, &schema)?;
        Ok(Self {
            authorizer: Authorizer::new(),
            rules: rules::by_action(&policies, &schema)?,
            world: World::new(&schema)?,
            schema,
        })
    }

    pub fn check(&self, question: &Question<'_>) -> Result<(), Denied> {
        let action = question.action;
        let denied = |rule, detail| Denied { action, rule, detail };
        let unfit = |error: String| denied(None, format!("the access request is invalid: {error}"));
        let rules = self.rules.get(&action).ok_or_else(|| unfit(UNKNOWN.to_owned()))?;
        let request = self.request(question, rules).map_err(unfit)?;
        let policies = rules.policies(Kind::of(question.actor));
        let answer = self.authorizer.is_authorized(&request, policies, self.world.entities());

        // Cedar skips a rule that fails; skipping a forbid rule would allow what it forbids.
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

    /// Builds the Cedar request. The schema checks that the action applies to this kind of object:
    /// otherwise a rule could read an attribute that the object does not have.
    fn request(&self, question: &Question<'_>, rules: &Rules) -> Result<Request, String> {
        let principal = self.world.principal(question).ok_or(UNKNOWN)?;
        let object = self.world.object(question.object).ok_or(UNKNOWN)?;
        Request::new(
            principal.clone(),
            rules.action().clone(),
            object.clone(),
            Context::empty(),
            Some(&self.schema),
        )
        .map_err(|error| error.to_string())
    }
}
