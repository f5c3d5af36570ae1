//! Locks as the operations use them: one queue, in Redis or in PostgreSQL, and those of this
//! process who wait in it.

mod admitted;
mod desk;
mod keeper;
mod rows;
mod waiters;

pub use ade_core::rate::Rate;
pub use admitted::{Admission, Admitted};
pub use desk::{Desk, Error, Next, Said};
pub use keeper::{Keeper, Page, Place, Queue, RedisQueue, Settings};
pub use rows::{Rows, resources};
pub use waiters::Waiters;
