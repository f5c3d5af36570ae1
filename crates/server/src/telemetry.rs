//! Logs and metrics of the process. Both are global by nature, so each is set up once, here.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

use crate::config::{Log, LogFormat};

#[derive(Debug, Error)]
pub enum TelemetryError {
    #[error("`log.level` cannot be read: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    #[error("logs are set up already: {0}")]
    Twice(#[from] TryInitError),
    #[error("metrics cannot be set up: {0}")]
    Metrics(#[from] BuildError),
}

/// Around the promises that are watched: 25 ms for a decision, seconds for what is wrong.
const BUCKETS_S: &[f64] =
    &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

pub fn log(log: &Log) -> Result<(), TelemetryError> {
    use tracing_subscriber::util::SubscriberInitExt as _;

    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_new(&log.level)?)
        .with_writer(std::io::stderr);
    match log.format {
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init()?,
        LogFormat::Text => lines.with_ansi(false).finish().try_init()?,
    }
    Ok(())
}

/// The one recorder of the process; asked twice, it gives the same.
pub fn metrics() -> Result<PrometheusHandle, TelemetryError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let duration = Matcher::Suffix("_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(duration, BUCKETS_S)?;
    let handle = builder.install_recorder()?;
    describe();
    Ok(HANDLE.get_or_init(|| handle).clone())
}

fn describe() {
    metrics::describe_histogram!(
        "ade_http_request_duration_seconds",
        metrics::Unit::Seconds,
        "Time to answer, by route template"
    );
    metrics::describe_counter!(
        "ade_http_requests_shed_total",
        "Requests turned away because too many were at work"
    );
    metrics::describe_counter!("ade_http_panics_total", "Handlers that panicked");
    metrics::describe_gauge!("ade_http_connections", "Open connections");
}
