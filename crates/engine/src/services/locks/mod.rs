//! The lock service that operations use: one queue, in Redis or in PostgreSQL, and the waiters of
//! this process.

mod postgres_queue;
mod queue;
mod redis_backend;
mod redis_queue;
mod service;
mod session_cache;
mod waiters;

pub use ade_core::rate::Rate;
pub use postgres_queue::{PgLockQueue, resources};
pub use queue::{Asking, HoldCursor, HoldPage, LockQueue, LockQueueError, QueueReply, RetryStep};
pub use redis_backend::RedisQueue;
pub use redis_queue::RedisLockQueue;
pub use service::{LockService, LockSettings};
pub use session_cache::{Admission, Admitted};
pub use waiters::Waiters;
