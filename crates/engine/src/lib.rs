//! Use cases and workers: they load state, let the core decide, commit and wake others. This crate
//! knows neither HTTP nor SQL, and makes no decision that belongs to the core.

pub mod admin;
pub mod agents;
pub mod app;
pub mod caller;
pub mod command;
pub mod error;
pub mod events;
pub mod executions;
pub mod identity;
pub mod inbound;
pub mod locks;
pub mod notifications;
pub mod policies;
pub mod read_models;
pub mod reply;
pub mod review;
pub mod rule_changes;
pub mod services;
pub mod tasks;
pub mod webhooks;
pub mod worker;
pub mod workers;

pub use ade_coord::nodes::{Nodes, Own as OwnCertificate, is_guarded as is_node_guarded};
pub use ade_store::StoreError;
pub use ade_store::pool::{PoolSettings, is_guarded as is_database_guarded};
pub use ade_store::{Pool, PoolClass, Pools};
pub use app::{App, Parts};
pub use caller::{Caller, IdempotentRequest};
pub use error::{Blocked, Error, Unconfirmed};
