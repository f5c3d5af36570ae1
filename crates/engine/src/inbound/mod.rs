//! Inbound events of other systems. Admins configure the senders and the task template; a message
//! that is signed, recent and new becomes a draft, and nothing more.

mod receive;
mod sources;

pub use receive::{Arrived, receive};
pub use sources::{change, create, delete, get, list, rotate};
