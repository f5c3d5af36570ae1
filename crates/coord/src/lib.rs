//! Coordination in Redis Cluster: it decides who is next, never who may commit. All of its data may
//! vanish at any time; PostgreSQL stays correct without it. Only this crate talks to Redis.

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
pub use error::CoordError;
pub use nodes::Nodes;
pub use watch::Fitness;
