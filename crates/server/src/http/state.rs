//! What every handler shares. Cheap to clone; nothing in it is per request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ade_engine::App;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;

use crate::config;

#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    app: Arc<App>,
    settings: config::Server,
    metrics: PrometheusHandle,
    started: Instant,
    is_draining: AtomicBool,
    requests: Arc<Semaphore>,
    waits: Arc<Semaphore>,
    listeners: Arc<Semaphore>,
}

impl Shared {
    pub fn new(app: Arc<App>, settings: config::Server, metrics: PrometheusHandle) -> Self {
        Self(Arc::new(Inner {
            app,
            requests: Arc::new(Semaphore::new(settings.requests_max)),
            waits: Arc::new(Semaphore::new(settings.waits_max)),
            listeners: Arc::new(Semaphore::new(settings.listeners_max)),
            settings,
            metrics,
            started: Instant::now(),
            is_draining: AtomicBool::new(false),
        }))
    }

    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// For what outlives the request.
    pub(super) fn app_shared(&self) -> &Arc<App> {
        &self.0.app
    }

    /// Room for those who listen; each holds one permit until it has gone.
    pub(super) fn listeners(&self) -> Arc<Semaphore> {
        self.0.listeners.clone()
    }

    pub fn settings(&self) -> &config::Server {
        &self.0.settings
    }

    pub fn metrics(&self) -> &PrometheusHandle {
        &self.0.metrics
    }

    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }

    pub fn begin_draining(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
        self.0.app.live.drain();
    }

    /// Room for requests that work; each holds one permit until it is done, also when its caller
    /// has gone.
    pub(super) fn requests(&self) -> Arc<Semaphore> {
        self.0.requests.clone()
    }

    /// Room for requests that wait for something to change.
    pub(super) fn waits(&self) -> Arc<Semaphore> {
        self.0.waits.clone()
    }

    /// Resolves when no request is at work any more, those without a caller included.
    pub async fn finished(&self) {
        let all = u32::try_from(self.0.settings.requests_max).unwrap_or(u32::MAX);
        // A closed semaphore has no requests either; it is never closed.
        let _ = self.0.requests.acquire_many(all).await;
        self.0.app.live.emptied().await;
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("is_draining", &self.is_draining()).finish_non_exhaustive()
    }
}
