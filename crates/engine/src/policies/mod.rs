//! The rules of a tenant: policies and their versions, replays, settings and freezes.

mod documents;
pub mod freezes;
mod publication;
pub mod replay;
pub mod settings;

pub use documents::{draft, drafts, get_draft, history, list, rollback, withdraw};
pub(crate) use documents::{
    find, parse, publication_of, publish, publish_waiting, require_publishable, with_document,
};
pub(crate) use freezes::lift as lift_freeze;
pub(crate) use replay::compare_task;
pub(crate) use settings::{set_flag, set_risk, set_timeouts};
