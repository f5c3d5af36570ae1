//! Real PostgreSQL and Redis Cluster servers for tests and development, and the means to break
//! them; nothing is mocked. Servers are private to a test run: the first test that needs one starts
//! it, and it ends with the run, however the run ends. Linux only. Contains no product logic.

pub mod authority;
pub mod builders;
pub mod database;
mod failure;
pub mod failure_table;
mod http_message;
pub mod http_target;
mod install;
pub mod leak;
pub mod ledger;
pub mod lock_history;
pub mod port;
pub mod postgres;
pub mod process;
pub mod proxy;
mod random;
pub mod rates;
pub mod redis_cluster;
pub mod redis_node;
pub mod run;
pub mod session;
pub mod signal;
pub mod topology;
pub mod webhook_receiver;

pub use authority::{Authority, Certificate};
pub use database::Database;
pub use failure::Failure;
pub use http_target::HttpTarget;
pub use install::{POSTGRES_BIN_VARIABLE, REDIS_SERVER_VARIABLE};
pub use postgres::{OwnedPostgres, Postgres};
pub use proxy::{Direction, Flow, Proxy, Trap};
pub use random::Random;
pub use redis_cluster::{Cluster, Namespace, OwnedCluster};
pub use session::DatabaseSession;
pub use signal::{Signals, eventually, within};
pub use webhook_receiver::WebhookReceiver;
