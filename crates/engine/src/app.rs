//! What every operation and worker shares within one process: connections, the compiled rules,
//! bounded caches that are checked on each use, and nothing that another process would need.

use std::sync::Arc;

use ade_core::access::{Access, AccessError};
use ade_core::risk;
use ade_store::{Pool, Pools};

use crate::auth::Tokens;
use crate::book::Books;
use crate::execute::Executors;
use crate::locks::Keeper;
use crate::secret::Pepper;
use crate::wake::Wake;
use crate::watch::Watch;

#[derive(Debug)]
pub struct App {
    pub pools: Pools,
    /// A copy that may lag, for reading evidence; the record itself if there is none.
    pub replica: Option<Pool>,
    pub access: Access,
    pub books: Books,
    pub tokens: Tokens,
    pub pepper: Pepper,
    pub executors: Executors,
    pub risk: risk::Settings,
    /// Without one, locks are refused and everything else goes on.
    pub locks: Option<Keeper>,
    pub wake: Wake,
    pub watch: Watch,
    /// The part of the server that acts, as the audit names it.
    pub service: String,
}

/// What differs from one installation to the next.
#[derive(Debug)]
pub struct Parts {
    pub pools: Pools,
    pub replica: Option<Pool>,
    pub pepper: Pepper,
    pub executors: Executors,
    pub risk: risk::Settings,
    pub locks: Option<Keeper>,
    pub service: String,
}

impl App {
    pub fn new(parts: Parts) -> Result<Arc<Self>, AccessError> {
        let Parts { pools, replica, pepper, executors, risk, locks, service } = parts;
        Ok(Arc::new(Self {
            pools,
            replica,
            access: Access::new()?,
            books: Books::default(),
            tokens: Tokens::default(),
            pepper,
            executors,
            risk,
            locks,
            wake: Wake::default(),
            watch: Watch::default(),
            service,
        }))
    }
}
