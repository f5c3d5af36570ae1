//! Use cases and workers: load, let the core decide, commit, wake. Nothing here knows HTTP or
//! SQL, and nothing decides beside the core.

pub mod app;
pub mod auth;
mod book;
pub mod caller;
mod content;
pub mod error;
pub mod execute;
pub mod locks;
pub mod ops;
mod present;
pub mod secret;
pub mod setup;
mod wake;
mod watch;
pub mod work;

pub use ade_store::Error as StoreError;
pub use ade_store::pool::Settings as PoolSettings;
pub use ade_store::{Class, Pool, Pools};
pub use app::{App, Parts};
pub use caller::{Attempt, Caller};
pub use error::{Blocked, Error};
