//! Use cases and workers: load, let the core decide, commit, wake. Nothing here knows HTTP or
//! SQL, and nothing decides beside the core.

pub mod app;
pub mod auth;
pub mod blobs;
mod book;
pub mod caller;
mod claims;
mod content;
pub mod error;
pub mod execute;
pub mod export;
mod groups;
pub mod identity;
pub mod installation;
pub mod limiter;
pub mod live;
pub mod locks;
pub mod models;
pub mod notify;
pub mod ops;
pub mod outbound;
mod present;
pub mod receipts;
pub mod secret;
pub mod setup;
pub mod strain;
mod wake;
mod watch;
pub mod webhooks;
pub mod work;

pub use ade_coord::nodes::{Nodes, Own as OwnCertificate, is_guarded as is_node_guarded};
pub use ade_store::Error as StoreError;
pub use ade_store::pool::{Settings as PoolSettings, is_guarded as is_database_guarded};
pub use ade_store::{Class, Pool, Pools};
pub use app::{App, Parts};
pub use caller::{Attempt, Caller};
pub use error::{Blocked, Error, Unconfirmed};
