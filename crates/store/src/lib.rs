//! The record in PostgreSQL: the only place that speaks SQL. One state change is one [`Tx`] that
//! writes all of it, with its audit leaf, or nothing; row level security keeps every transaction
//! to its tenant. Decisions are made in `ade-core`, never here.

pub mod after_reviews;
pub mod agent_configs;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod boot;
pub mod claimable;
mod connection;
pub mod delegations;
mod diagnosis;
pub mod due;
pub mod error;
pub mod events;
pub mod execution_log;
pub mod executions;
pub mod freezes;
pub mod group_roles;
pub mod groups;
pub mod idempotency;
pub mod inbound;
pub mod lease;
pub mod live;
pub mod locks;
pub mod messages;
pub mod migrate;
pub mod models;
mod moment;
pub mod notifications;
pub mod on_call;
mod opening;
pub mod outbox;
pub mod partitions;
pub mod policies;
pub mod policy_drafts;
pub mod pool;
pub mod rates;
pub mod rehearsal;
pub mod resources;
pub mod rulebook;
pub mod sessions;
pub mod settings;
mod statement;
pub mod stats;
pub mod tallies;
pub mod tasks;
pub mod tenants;
pub mod tokens;
pub mod tx;
pub mod users;
pub mod webhooks;

pub use error::{Error, RowError};
pub use pool::{Class, Pool, Pools};
pub use tx::{Gate, Opening, Row, Tx};
