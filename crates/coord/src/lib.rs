//! Coordination in Redis Cluster: who is next, never who may commit. All of it may vanish at any
//! moment; the record in PostgreSQL stays right without it. The only place that speaks to Redis.

pub mod audit;
mod circuit;
pub mod cluster;
pub mod error;
pub mod hints;
pub mod keys;
pub mod lock;
pub mod models;
pub mod nodes;
pub mod rate;
mod reply;
mod script;
pub mod streams;
mod watch;

pub use cluster::Cluster;
pub use error::Error;
pub use nodes::Nodes;
pub use watch::Fitness;
