//! Executors know one kind of change: what it would do, and some also how to do it. The task's type
//! chooses one, by the server's settings and never by the author, so that nobody can pick the
//! preview that sees least. The same checks hold for all of them (`conformance` in the tests).

mod child;
mod command;
mod http;
mod plan;
mod protocol;
mod speak;
mod sql_preview;
mod work;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ade_api::tasks::Plan as DeclaredPlan;
use ade_core::change::{Effect, EffectError, PreviewVersions, StrictValue};
use ade_core::policy::Pattern;
use ade_core::resource::ResourceRef;
use thiserror::Error;

pub use ade_receipt::Signer;
pub use command::{Command, Program, ProgramLimits};
pub use http::{Endpoint, Http};
pub use plan::Plan;
pub use sql_preview::{SqlPreview, Target};
pub use work::{Applies, Doing, Leash, Left, Line, Outcome, Stash, Unstashed, Work};

/// What a task wants, before anybody knows what that would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub task_type: String,
    pub parameters: StrictValue,
    /// Each with the mode it is to be locked in, if the task says one.
    pub resources: BTreeMap<ResourceRef, Option<String>>,
    /// The author's own words on what would change.
    pub plan: Option<DeclaredPlan>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub effect: Effect,
    pub versions: PreviewVersions,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PreviewError {
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("{problem}")]
    Unavailable { problem: String },
    #[error(transparent)]
    Effect(#[from] EffectError),
}

impl PreviewError {
    fn invalid(field: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid { field: field.to_owned(), problem: problem.to_string() }
    }
}

pub type Previewing<'a> = Pin<Box<dyn Future<Output = Result<Preview, PreviewError>> + Send + 'a>>;

pub trait Executor: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// Without any side effect that lasts.
    fn preview<'a>(&'a self, proposal: &'a Proposal) -> Previewing<'a>;

    /// The other three verbs; nothing if an agent has to apply what this one can only preview.
    fn applies(&self) -> Option<&dyn Applies> {
        None
    }
}

/// Which executor serves which task types. What none claims is declared by its author.
#[derive(Debug)]
pub struct Executors {
    by_type: Vec<(Pattern, Arc<dyn Executor>)>,
    at_once: usize,
}

impl Executors {
    /// `at_once` is how many tasks this process applies at the same time.
    pub fn new(by_type: Vec<(Pattern, Arc<dyn Executor>)>, at_once: usize) -> Self {
        Self { by_type, at_once }
    }

    pub fn at_once(&self) -> usize {
        self.at_once
    }

    pub fn runs_any(&self) -> bool {
        self.by_type.iter().any(|(_, executor)| executor.applies().is_some())
    }

    /// Whether tasks of this type are applied by the server itself. No agent may claim one: it
    /// could say that it was done.
    pub fn runs(&self, task_type: &str) -> bool {
        self.for_type(task_type).applies().is_some()
    }

    pub fn for_type(&self, task_type: &str) -> &dyn Executor {
        self.by_type
            .iter()
            .find(|(pattern, _)| pattern.matches_text(task_type))
            .map_or(&Plan, |(_, executor)| executor.as_ref())
    }
}
