//! The state that every operation and worker shares within one process: connections, the compiled
//! access rules, and bounded caches that are checked on each use. No other process depends on it.

use std::sync::Arc;
use std::time::Duration;

use ade_core::access::{Access, AccessError};
use ade_core::flag::Switches;
use ade_core::risk;
use ade_core::timeouts::Timeouts;
use ade_store::tenant_config::Base;
use ade_store::{Pool, Pools};

use crate::services::claim_queue::Claims;
use crate::services::contention::Contention;
use crate::services::event_hub::Live;
use crate::services::executors::Executors;
use crate::services::export::Sink;
use crate::services::identity::{Passkeys, Providers};
use crate::services::locks::LockService;
use crate::services::log_store::Blobs;
use crate::services::notify::Notify;
use crate::services::rate_limiter::Limiter;
use crate::services::receipts::Receipts;
use crate::services::rulebook_cache::TenantConfigCache;
use crate::services::secrets::Pepper;
use crate::services::shutdown::Shutdown;
use crate::services::signals::Wake;
use crate::services::task_versions::Watch;
use crate::services::token_cache::Tokens;
use crate::services::webhook_client::Webhooks;

#[derive(Debug)]
pub struct App {
    pub pools: Pools,
    /// A replica that may lag, for reading audit entries; `None` if the primary is used.
    pub replica: Option<Pool>,
    pub access: Access,
    pub limiter: Limiter,
    pub books: TenantConfigCache,
    pub tokens: Tokens,
    pub pepper: Pepper,
    pub executors: Executors,
    pub risk: risk::RiskConfig,
    /// The lock service. If `None`, lock requests are refused and everything else works.
    pub locks: Option<LockService>,
    /// Signs receipts. If `None`, no permit is granted.
    pub receipts: Option<Receipts>,
    /// Stores complete logs. If `None`, logs stay in the database.
    pub blobs: Option<Blobs>,
    pub webhooks: Webhooks,
    /// The export sink. If `None`, events are not exported.
    pub sink: Option<Sink>,
    pub notify: Notify,
    pub providers: Providers,
    pub passkeys: Passkeys,
    pub claims: Arc<Claims>,
    pub live: Live,
    pub wake: Wake,
    pub watch: Watch,
    pub strain: Contention,
    pub shutdown: Shutdown,
    /// The name of this part of the server in audit entries.
    pub service: String,
}

/// The settings and services that differ between installations.
#[derive(Debug)]
pub struct Parts {
    pub pools: Pools,
    pub replica: Option<Pool>,
    pub pepper: Pepper,
    pub limiter: Limiter,
    pub executors: Executors,
    pub risk: risk::RiskConfig,
    pub timeouts: Timeouts,
    /// How old roles, and passkeys enrolled after a reset, must be to count for tasks of high and
    /// critical risk.
    pub authority_age: Duration,
    pub flags: Switches,
    pub locks: Option<LockService>,
    pub receipts: Option<Receipts>,
    pub blobs: Option<Blobs>,
    pub live: Live,
    pub webhooks: Webhooks,
    pub sink: Option<Sink>,
    pub notify: Notify,
    pub providers: Providers,
    pub passkeys: Passkeys,
    pub service: String,
}

impl App {
    pub fn new(parts: Parts) -> Result<Arc<Self>, AccessError> {
        let Parts { pools, replica, pepper, limiter, executors, risk, timeouts, flags, .. } = parts;
        let Parts { locks, receipts, blobs, live, webhooks, sink, notify, providers, .. } = parts;
        let Parts { passkeys, authority_age, service, .. } = parts;
        let base = Base { timeouts, thresholds: risk.thresholds, authority_age, flags };
        Ok(Arc::new(Self {
            pools,
            replica,
            access: Access::new()?,
            limiter,
            books: TenantConfigCache::new(base),
            tokens: Tokens::default(),
            pepper,
            executors,
            risk,
            locks,
            receipts,
            blobs,
            webhooks,
            sink,
            notify,
            providers,
            passkeys,
            claims: Arc::new(Claims::default()),
            live,
            wake: Wake::default(),
            watch: Watch::default(),
            strain: Contention::default(),
            shutdown: Shutdown::default(),
            service,
        }))
    }
}
