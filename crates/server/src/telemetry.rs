//! Logs and metrics of the process. Both are global, so they are set up once, here.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use thiserror::Error;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

use crate::config::{LogConfig, LogFormat};
use crate::log_line::LogLine;

#[derive(Debug, Error)]
pub enum TelemetryError {
    #[error("`log.level` is invalid: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    #[error("logging is already set up: {0}")]
    Twice(#[from] TryInitError),
    #[error("metrics could not be set up: {0}")]
    Metrics(#[from] BuildError),
}

/// Histogram buckets, chosen around the targets: 25 ms for a decision, seconds for failures.
const BUCKETS_S: &[f64] =
    &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

pub fn log(log: &LogConfig) -> Result<(), TelemetryError> {
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

/// Installs the metrics recorder of the process, or returns it if it is already installed.
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
        "Request duration, by route template"
    );
    metrics::describe_counter!(
        "ade_http_requests_shed_total",
        "Requests rejected because too many were in progress"
    );
    metrics::describe_counter!(
        "ade_rate_limited_total",
        "Requests rejected by rate limits, by limit"
    );
    metrics::describe_counter!(
        "ade_tenant_requests_shed_total",
        "Requests rejected because their tenant held its share of the capacity"
    );
    metrics::describe_counter!(
        "ade_previews_refused_total",
        "Previews rejected because too many of the tenant or the target were in progress"
    );
    metrics::describe_counter!(
        "ade_previews_opaque_total",
        "SQL previews whose script may do something else when it is applied"
    );
    metrics::describe_gauge!(
        "ade_database_connections_in_use",
        "Database connections in use, by pool"
    );
    metrics::describe_gauge!(
        "ade_database_connections_awaited",
        "Calls that wait for a database connection, by pool"
    );
    metrics::describe_counter!(
        "ade_database_connections_refused_total",
        "Calls that got no database connection in time, by pool"
    );
    metrics::describe_counter!("ade_http_panics_total", "Handlers that panicked");
    metrics::describe_gauge!("ade_http_connections", "Open connections");
    metrics::describe_counter!(
        "ade_events_relayed_total",
        "Events that were given a sequence number"
    );
    metrics::describe_counter!(
        "ade_events_unpublished_total",
        "Events that were not published to a stream; listeners read them from the database"
    );
    metrics::describe_gauge!("ade_live_listeners", "Open event streams and sockets");
    metrics::describe_counter!("ade_live_events_sent_total", "Events sent to listeners");
    metrics::describe_counter!(
        "ade_live_events_reread_total",
        "Events read from the database because the streams did not deliver them"
    );
    metrics::describe_counter!("ade_live_resets_total", "Listeners asked to start again");
    metrics::describe_counter!("ade_live_cut_total", "Sockets closed because they did not read");
    metrics::describe_counter!(
        "ade_pending_changes_total",
        "Changes to the rules that had to wait: proposed, and how they were closed"
    );
    metrics::describe_counter!("ade_step_ups_total", "Passkey confirmations, by outcome");
    describe_webhooks();
    describe_groups();
    describe_models();
}

fn describe_groups() {
    metrics::describe_counter!(
        "ade_group_events_total",
        "Events that a consumer group has processed"
    );
    metrics::describe_counter!(
        "ade_group_dead_total",
        "Events that a consumer group could not process and dead-lettered"
    );
    metrics::describe_counter!("ade_inbound_taken_total", "Inbound messages that became drafts");
    metrics::describe_counter!(
        "ade_inbound_refused_total",
        "Inbound messages that could not be authenticated"
    );
    metrics::describe_counter!(
        "ade_messages_total",
        "Notification attempts, by channel and outcome"
    );
}

fn describe_models() {
    metrics::describe_counter!(
        "ade_model_reads_total",
        "Reads that asked a read model, by model and outcome"
    );
    metrics::describe_counter!("ade_model_events_total", "Events applied to read models");
    metrics::describe_counter!(
        "ade_model_rebuilds_total",
        "Tenants whose read models were rebuilt"
    );
    metrics::describe_counter!(
        "ade_model_differences_total",
        "Read models that differed from the database and were repaired"
    );
    metrics::describe_gauge!("ade_degraded", "Whether a component is degraded");
    metrics::describe_gauge!("ade_after_reviews_overdue", "Override reviews that are overdue");
    metrics::describe_gauge!(
        "ade_relay_lag_seconds",
        "Age of the oldest event without a sequence number"
    );
    metrics::describe_gauge!(
        "ade_relay_waiting",
        "Events without a sequence number, up to ten thousand"
    );
    metrics::describe_counter!("ade_contention_total", "Calls that conflicted on the same row");
    metrics::describe_counter!(
        "ade_lock_queue_full_total",
        "Lock requests that found a full queue"
    );
    metrics::describe_counter!(
        "ade_lock_hoarders_refused_total",
        "Lock requests of agents at their lock limit"
    );
    metrics::describe_counter!(
        "ade_lease_kept_too_long_total",
        "Heartbeats of leases at their maximum age"
    );
}

fn describe_webhooks() {
    metrics::describe_counter!(
        "ade_webhook_deliveries_total",
        "Webhook delivery attempts by outcome, and deliveries that ended without one"
    );
    metrics::describe_histogram!(
        "ade_webhook_delivery_lag_seconds",
        metrics::Unit::Seconds,
        "Time from creating a delivery to its acknowledgement"
    );
    metrics::describe_gauge!("ade_webhook_open_circuits", "Endpoints with an open circuit");
    metrics::describe_gauge!(
        "ade_webhook_endpoints_waiting",
        "Endpoints with pending deliveries, up to ten thousand"
    );
}
