//! The services that the application owns: caches, clients and queues of one process. A service is
//! given the pools and settings that it needs, and depends on neither the application nor the use
//! cases.

pub(crate) mod claim_queue;
pub mod contention;
pub mod event_hub;
pub mod executors;
pub mod export;
pub mod identity;
pub mod locks;
pub mod log_store;
pub mod notify;
pub mod outbound;
pub mod rate_limiter;
pub mod read_models;
pub mod receipts;
pub(crate) mod rulebook_cache;
pub mod secrets;
pub(crate) mod shutdown;
pub(crate) mod signals;
pub(crate) mod task_versions;
pub mod tenant_binding;
pub(crate) mod token_cache;
pub mod webhook_client;
