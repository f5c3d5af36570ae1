//! Changes to the rules of a tenant. One that makes approvals easier becomes a pending change:
//! another admin publishes it, or, in a tenant with one admin, it takes effect after a day without
//! an objection. Every other change takes effect at once.

mod change_applier;
mod command;
mod confirm_person;
mod consequences;
mod notices;
mod pending;
mod policy_drafts;
mod setup;
mod shown;
mod submit;

pub use command::RuleChange;
pub use confirm_person::confirm_person;
pub use pending::{get, list, object, publish, withdraw};
pub use policy_drafts::publish_draft;
pub use submit::{delegate, submit};

pub(crate) const WORKERS: &[crate::worker::Worker] = &[change_applier::WORKER];
