//! Messages to people: which ones they get, where they are sent, and who is on call.

pub mod inbox;
mod message_sender;
pub(crate) mod messages;
mod notification_service;
pub mod on_call;
pub mod preferences;
mod workers;

pub(crate) use workers::{CONSUMERS, WORKERS};
