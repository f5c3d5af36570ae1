//! Events of other systems: admins enter who may send them and what becomes of them; what is
//! signed, fresh and new becomes a draft, and nothing more.

mod receive;
mod sources;

pub use receive::{Arrived, receive};
pub use sources::{change, create, delete, get, list, rotate};
