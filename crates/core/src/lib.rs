//! The rules of Community ADE as pure functions: no I/O, no async, no clock, no randomness.
//! The shell loads facts, asks here, and commits what it is told. Time and identifiers come
//! in as parameters; collections are ordered, so the same question has the same answer.

pub mod access;
pub mod actor;
pub mod agent;
pub mod approval;
pub mod audit;
pub mod change;
pub mod device;
pub mod event;
pub mod flag;
pub mod freeze;
pub mod group;
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
#[cfg(any(test, feature = "bench"))]
pub mod samples;
pub mod script;
pub mod step_up;
pub mod task;
mod text;
pub mod time;
pub mod times;
pub mod token;
pub mod trial;
pub mod visible;
pub mod webhook;
