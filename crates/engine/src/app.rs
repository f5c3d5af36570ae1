//! What every operation and worker shares within one process: connections, the compiled rules,
//! bounded caches that are checked on each use, and nothing that another process would need.

use std::sync::Arc;

use ade_core::access::{Access, AccessError};
use ade_core::flag::Switches;
use ade_core::risk;
use ade_core::times::Times;
use ade_store::rulebook::Base;
use ade_store::{Pool, Pools};

use crate::auth::Tokens;
use crate::blobs::Blobs;
use crate::book::Books;
use crate::claims::Claims;
use crate::execute::Executors;
use crate::export::Sink;
use crate::identity::{Passkeys, Providers};
use crate::limiter::Limiter;
use crate::live::Live;
use crate::locks::Keeper;
use crate::notify::Notify;
use crate::receipts::Receipts;
use crate::secret::Pepper;
use crate::strain::Strain;
use crate::wake::Wake;
use crate::watch::Watch;
use crate::webhooks::Webhooks;

#[derive(Debug)]
pub struct App {
    pub pools: Pools,
    /// A copy that may lag, for reading evidence; the record itself if there is none.
    pub replica: Option<Pool>,
    pub access: Access,
    pub limiter: Limiter,
    pub books: Books,
    pub tokens: Tokens,
    pub pepper: Pepper,
    pub executors: Executors,
    pub risk: risk::Settings,
    /// Without one, locks are refused and everything else goes on.
    pub locks: Option<Keeper>,
    /// Without them no permit is given.
    pub receipts: Option<Receipts>,
    /// Without one, logs stay in the record.
    pub blobs: Option<Blobs>,
    pub webhooks: Webhooks,
    /// Without one, events stay here.
    pub sink: Option<Sink>,
    pub notify: Notify,
    pub providers: Providers,
    pub passkeys: Passkeys,
    pub claims: Arc<Claims>,
    pub live: Live,
    pub wake: Wake,
    pub watch: Watch,
    pub strain: Strain,
    /// The part of the server that acts, as the audit names it.
    pub service: String,
}

/// What differs from one installation to the next.
#[derive(Debug)]
pub struct Parts {
    pub pools: Pools,
    pub replica: Option<Pool>,
    pub pepper: Pepper,
    pub limiter: Limiter,
    pub executors: Executors,
    pub risk: risk::Settings,
    pub times: Times,
    pub flags: Switches,
    pub locks: Option<Keeper>,
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
        let Parts { pools, replica, pepper, limiter, executors, risk, times, flags, .. } = parts;
        let Parts { locks, receipts, blobs, live, webhooks, sink, notify, providers, .. } = parts;
        let Parts { passkeys, service, .. } = parts;
        Ok(Arc::new(Self {
            pools,
            replica,
            access: Access::new()?,
            limiter,
            books: Books::new(Base { times, thresholds: risk.thresholds, flags }),
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
            strain: Strain::default(),
            service,
        }))
    }
}
