//! The state that all handlers share. It is cheap to clone and contains nothing per request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_engine::App;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;

use super::capacity::Capacity;
use crate::config;

/// The number of probes and freezes in progress.
const RESERVED_REQUESTS_MAX: usize = 32;

#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    app: Arc<App>,
    settings: config::ServerConfig,
    metrics: PrometheusHandle,
    started: Instant,
    requests: Arc<Capacity>,
    waits: Arc<Capacity>,
    reserved: Arc<Capacity>,
    listeners: Arc<Semaphore>,
}

impl Shared {
    pub fn new(app: Arc<App>, settings: config::ServerConfig, metrics: PrometheusHandle) -> Self {
        Self(Arc::new(Inner {
            app,
            requests: Capacity::new(settings.requests_max),
            waits: Capacity::new(settings.waits_max),
            reserved: Capacity::new(RESERVED_REQUESTS_MAX),
            listeners: Arc::new(Semaphore::new(settings.listeners_max)),
            settings,
            metrics,
            started: Instant::now(),
        }))
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// Returns the engine, for work that outlives the request.
    pub(super) fn app_shared(&self) -> &Arc<App> {
        &self.0.app
    }

    /// Returns the capacity for event listeners; each holds one permit until it disconnects.
    pub(super) fn listeners(&self) -> Arc<Semaphore> {
        self.0.listeners.clone()
    }

    pub fn settings(&self) -> &config::ServerConfig {
        &self.0.settings
    }

    pub fn metrics(&self) -> &PrometheusHandle {
        &self.0.metrics
    }

    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    pub fn is_draining(&self) -> bool {
        self.0.app.shutdown.has_begun()
    }

    /// Ends all waits and event streams. New streams are refused.
    pub fn begin_draining(&self) {
        self.0.app.shutdown.begin();
        self.0.app.live.drain();
    }

    /// Returns the capacity for requests; each holds one permit until it is done, even if its
    /// caller has disconnected.
    pub(super) fn requests(&self) -> &Arc<Capacity> {
        &self.0.requests
    }

    /// Returns the capacity for requests that wait for a change.
    pub(super) fn waits(&self) -> &Arc<Capacity> {
        &self.0.waits
    }

    /// Returns the capacity for probes and freezes, which must work while the others are used up.
    pub(super) fn reserved(&self) -> &Arc<Capacity> {
        &self.0.reserved
    }

    /// Resolves when no request is in progress, including those without a caller.
    pub async fn finished(&self) {
        for capacity in [&self.0.requests, &self.0.waits, &self.0.reserved] {
            capacity.emptied().await;
        }
        self.0.app.live.emptied().await;
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("is_draining", &self.is_draining()).finish_non_exhaustive()
    }
}
