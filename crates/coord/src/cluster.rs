//! The connection to Redis Cluster: one per process, shared by all callers. Every wait is bounded,
//! and calls to a failing key fail fast. It can be created while Redis is down and connects when
//! Redis is available.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use ade_core::limits::{
    REDIS_ANSWER_TIMEOUT, REDIS_CALL_TIMEOUT, REDIS_CONNECT_TIMEOUT, REDIS_RETRIES,
};
use redis::cluster::{ClusterClientBuilder, ClusterConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::RoutingInfo;
use redis::{ErrorKind, ProtocolVersion, PushInfo, ServerErrorKind, Value};

use crate::circuit::Circuits;
use crate::error::CoordError;
use crate::nodes::Nodes;
use crate::script::Script;

#[derive(Clone)]
pub struct Cluster {
    connection: ClusterConnection,
    circuits: Arc<Circuits>,
}

/// Hides the connection, which contains passwords.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

/// How long a test that is not about timeouts waits for Redis on a busy machine.
#[cfg(test)]
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

impl Cluster {
    /// Opens a connection, which needs a runtime. An unavailable Redis is noticed by the first
    /// call.
    pub fn open(nodes: &Nodes) -> Result<Self, CoordError> {
        Ok(Self { connection: connect(nodes)?, circuits: Arc::default() })
    }

    /// Opens a connection that does not repeat slow calls, for tests that count executions.
    #[cfg(test)]
    pub(crate) fn patient(nodes: &Nodes) -> Self {
        let builder = builder(nodes).response_timeout(PATIENCE);
        let builder = builder.overall_response_timeout(Some(PATIENCE));
        Self { connection: pending(builder).unwrap(), circuits: Arc::default() }
    }

    /// Runs a script by its digest. Its text is sent only to a node that does not have it yet.
    pub(crate) async fn run(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, CoordError> {
        let key = keys.first().map_or("", String::as_str);
        self.circuits.enter(key, Instant::now()).map_err(|why| CoordError::Resting { why })?;
        let outcome = self.call("EVALSHA", script.digest(), keys, args).await;
        let outcome = match outcome {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.call("EVAL", script.text(), keys, args).await
            }
            known => known,
        };
        let outcome = outcome.map_err(|error| CoordError::of_call(script.name(), error));
        self.judge(key, &outcome);
        outcome
    }

    /// Records the outcome for the circuit. Any reply means that the server is available.
    fn judge(&self, key: &str, outcome: &Result<Value, CoordError>) {
        match outcome {
            Err(error @ (CoordError::Unknown(_) | CoordError::Unavailable(_))) => {
                if let Some(why) = self.circuits.failed(key, error.to_string(), Instant::now()) {
                    tracing::warn!(key, why, "Redis circuit opened");
                }
            }
            Ok(_) | Err(_) => {
                if self.circuits.succeeded(key) {
                    tracing::info!(key, "Redis circuit closed");
                }
            }
        }
    }

    /// Sends a command directly to a node, bypassing scripts and circuits, for read-only checks.
    pub(crate) async fn ask_node(
        &self,
        command: redis::Cmd,
        node: RoutingInfo,
    ) -> Result<Value, CoordError> {
        let outcome = self.connection.clone().route_command(command, node).await;
        outcome.map_err(|error| CoordError::of_call("look", error))
    }

    pub(crate) fn connection(&self) -> ClusterConnection {
        self.connection.clone()
    }

    async fn call(
        &self,
        command: &str,
        script: &str,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, redis::RedisError> {
        let mut command = redis::cmd(command);
        command.arg(script).arg(keys.len()).arg(keys).arg(args);
        command.query_async(&mut self.connection.clone()).await
    }
}

/// Opens a connection, which needs a runtime. An unavailable Redis is noticed by the first call.
pub(crate) fn connect(nodes: &Nodes) -> Result<ClusterConnection, CoordError> {
    pending(builder(nodes))
}

/// Opens a connection that receives push messages, parsed by `heard`. `hear` is called on the task
/// of the connection, so it must not block.
pub(crate) fn connect_hearing<T>(
    nodes: &Nodes,
    heard: fn(&PushInfo) -> Option<T>,
    hear: impl Fn(T) + Send + Sync + 'static,
) -> Result<ClusterConnection, CoordError>
where
    T: 'static,
{
    let push = move |info: PushInfo| {
        if let Some(heard) = heard(&info) {
            hear(heard);
        }
        Ok::<(), ()>(())
    };
    pending(builder(nodes).push_sender(push))
}

fn pending(builder: ClusterClientBuilder) -> Result<ClusterConnection, CoordError> {
    let client = builder.build().map_err(CoordError::Settings)?;
    Ok(client.get_pending_async_connection_with_config(ClusterConfig::new()))
}

/// The common settings and timeouts of all connections.
fn builder(nodes: &Nodes) -> ClusterClientBuilder {
    nodes
        .builder()
        .use_protocol(ProtocolVersion::RESP3)
        .connection_timeout(REDIS_CONNECT_TIMEOUT)
        .response_timeout(REDIS_ANSWER_TIMEOUT)
        .overall_response_timeout(Some(REDIS_CALL_TIMEOUT))
        // The driver repeats calls after an error, so every script must tolerate repetition.
        .retries(REDIS_RETRIES)
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
