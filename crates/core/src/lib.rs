//! The rules of Community ADE as pure functions: no I/O, no async, no clock, no randomness. The
//! caller loads the facts, asks for a decision here and commits it. Time and identifiers are
//! parameters, and collections are ordered, so that the same question always has the same answer.

pub mod access;
pub mod actor;
pub mod agent;
pub mod approval;
pub mod audit;
pub mod change;
pub mod consumer;
pub mod device;
pub mod event;
pub mod flag;
pub mod freeze;
pub mod identity;
pub mod ids;
pub mod inbound;
pub mod limits;
pub mod lock;
pub mod network;
pub mod passkey;
pub mod policy;
pub mod preference;
pub mod rate;
pub mod resource;
pub mod risk;
pub mod rule_change;
// An ordinary module rather than a feature: a feature that only some selections enable would make
// cargo build every dependent crate twice. `cargo xtask tidy` keeps product code out of it.
pub mod mixed_script;
pub mod policy_test;
#[cfg(feature = "cedar")]
#[doc(hidden)]
pub mod samples;
pub mod sanitize_display;
pub mod share;
pub mod step_up;
pub mod task;
pub mod task_ref;
mod text;
pub mod time;
pub mod timeouts;
pub mod token;
pub mod webhook;
