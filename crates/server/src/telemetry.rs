//! Logs and metrics of the process. Both are global by nature, so each is set up once, here.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

use crate::config::{Log, LogFormat};
use crate::log_line::LogLine;

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
        .with_writer(|| LogLine(std::io::stderr()));
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
    metrics::describe_counter!(
        "ade_rate_limited_total",
        "Calls turned away because their caller calls too often, by what is counted"
    );
    metrics::describe_counter!("ade_http_panics_total", "Handlers that panicked");
    metrics::describe_gauge!("ade_http_connections", "Open connections");
    metrics::describe_counter!("ade_events_relayed_total", "Events that were given a number");
    metrics::describe_counter!(
        "ade_events_unpublished_total",
        "Events that no stream tells of; listeners find them in the record"
    );
    metrics::describe_gauge!("ade_live_listeners", "Open streams and sockets of events");
    metrics::describe_counter!("ade_live_events_sent_total", "Events told to listeners");
    metrics::describe_counter!(
        "ade_live_events_reread_total",
        "Events read from the record because streams did not tell them"
    );
    metrics::describe_counter!("ade_live_resets_total", "Listeners told to begin anew");
    metrics::describe_counter!("ade_live_cut_total", "Sockets cut because they took nothing");
    metrics::describe_counter!("ade_step_ups_total", "Words of passkeys, by how far they came");
    describe_webhooks();
    describe_groups();
    describe_models();
}

fn describe_groups() {
    metrics::describe_counter!("ade_group_events_total", "Events that a group has taken");
    metrics::describe_counter!(
        "ade_group_dead_total",
        "Events that a group could not take and has put aside"
    );
    metrics::describe_counter!("ade_inbound_taken_total", "Events of others that became drafts");
    metrics::describe_counter!(
        "ade_inbound_refused_total",
        "Messages that are not known to come from a source"
    );
    metrics::describe_counter!(
        "ade_messages_total",
        "Tries of messages to people, by channel and what came of them"
    );
}

fn describe_models() {
    metrics::describe_counter!(
        "ade_model_reads_total",
        "Reads for which a read model was asked, by model and what came of it"
    );
    metrics::describe_counter!("ade_model_events_total", "Events brought into read models");
    metrics::describe_counter!("ade_model_rebuilds_total", "Tenants whose models were made anew");
    metrics::describe_counter!(
        "ade_model_differences_total",
        "Read models that were not as the record, and were written anew"
    );
    metrics::describe_gauge!("ade_degraded", "Whether a part works less well than it should");
    metrics::describe_gauge!(
        "ade_after_reviews_overdue",
        "Reviews that overrides owe and nobody has written in time"
    );
    metrics::describe_gauge!("ade_relay_lag_seconds", "Since the oldest event without a number");
    metrics::describe_gauge!("ade_relay_waiting", "Events without a number, up to ten thousand");
    metrics::describe_counter!("ade_contention_total", "Calls that met others at the same row");
    metrics::describe_counter!("ade_lock_queue_full_total", "Requests that found a queue full");
    metrics::describe_counter!(
        "ade_lock_hoarders_refused_total",
        "Requests of agents that had as many locks as one may"
    );
    metrics::describe_counter!(
        "ade_lease_kept_too_long_total",
        "Heartbeats of leases that were kept for as long as they may be"
    );
}

fn describe_webhooks() {
    metrics::describe_counter!(
        "ade_webhook_deliveries_total",
        "Tries of deliveries by what came of them, and letters that died otherwise"
    );
    metrics::describe_histogram!(
        "ade_webhook_delivery_lag_seconds",
        metrics::Unit::Seconds,
        "From the making of a delivery to the yes of its endpoint"
    );
    metrics::describe_gauge!("ade_webhook_open_circuits", "Endpoints that are left alone now");
    metrics::describe_gauge!(
        "ade_webhook_endpoints_waiting",
        "Endpoints for which something waits, counted up to ten thousand"
    );
}
