//! The connection to Redis Cluster: one for a whole process, shared by all its callers. Every
//! wait is bounded, and nobody waits for a key that keeps failing. It opens without Redis and is
//! there once Redis is.

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
use crate::error::Error;
use crate::nodes::Nodes;
use crate::script::Script;

#[derive(Clone)]
pub struct Cluster {
    connection: ClusterConnection,
    circuits: Arc<Circuits>,
}

/// The connection knows passwords.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Needs a runtime to connect in; whether anybody answers shows with the first call.
    pub fn open(nodes: &Nodes) -> Result<Self, Error> {
        Ok(Self { connection: connect(nodes)?, circuits: Arc::default() })
    }

    /// Never sends again what is only late, for tests that count what was done.
    #[cfg(test)]
    pub(crate) fn patient(nodes: &Nodes) -> Self {
        let patience = std::time::Duration::from_secs(30);
        let builder = builder(nodes).response_timeout(patience);
        let builder = builder.overall_response_timeout(Some(patience));
        Self { connection: pending(builder).unwrap(), circuits: Arc::default() }
    }

    /// By the script's digest; its text is sent only to a node that does not know it yet.
    pub(crate) async fn run(
        &self,
        script: &Script,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, Error> {
        let key = keys.first().map_or("", String::as_str);
        self.circuits.enter(key, Instant::now()).map_err(|why| Error::Resting { why })?;
        let outcome = self.call("EVALSHA", script.digest(), keys, args).await;
        let outcome = match outcome {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.call("EVAL", script.text(), keys, args).await
            }
            known => known,
        };
        let outcome = outcome.map_err(|error| Error::of_call(script.name(), error));
        self.judge(key, &outcome);
        outcome
    }

    /// Whatever a server answers, it is there.
    fn judge(&self, key: &str, outcome: &Result<Value, Error>) {
        match outcome {
            Err(error @ (Error::Unknown(_) | Error::Unavailable(_))) => {
                if let Some(why) = self.circuits.failed(key, error.to_string(), Instant::now()) {
                    tracing::warn!(key, why, "Redis is left alone");
                }
            }
            Ok(_) | Err(_) => {
                if self.circuits.succeeded(key) {
                    tracing::info!(key, "Redis is back");
                }
            }
        }
    }

    /// Past scripts and circuits, for whoever only looks.
    pub(crate) async fn ask_node(
        &self,
        command: redis::Cmd,
        node: RoutingInfo,
    ) -> Result<Value, Error> {
        let outcome = self.connection.clone().route_command(command, node).await;
        outcome.map_err(|error| Error::of_call("look", error))
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

/// Needs a runtime to connect in; whether anybody answers shows with the first call.
pub(crate) fn connect(nodes: &Nodes) -> Result<ClusterConnection, Error> {
    pending(builder(nodes))
}

/// Hears what it is subscribed to, as `heard` reads it. `hear` is called on the task of the
/// connection, so it must not wait.
pub(crate) fn connect_hearing<T>(
    nodes: &Nodes,
    heard: fn(&PushInfo) -> Option<T>,
    hear: impl Fn(T) + Send + Sync + 'static,
) -> Result<ClusterConnection, Error>
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

fn pending(builder: ClusterClientBuilder) -> Result<ClusterConnection, Error> {
    let client = builder.build().map_err(Error::Settings)?;
    Ok(client.get_pending_async_connection_with_config(ClusterConfig::new()))
}

/// How every connection of ours speaks, and how long it waits.
fn builder(nodes: &Nodes) -> ClusterClientBuilder {
    nodes
        .builder()
        .use_protocol(ProtocolVersion::RESP3)
        .connection_timeout(REDIS_CONNECT_TIMEOUT)
        .response_timeout(REDIS_ANSWER_TIMEOUT)
        .overall_response_timeout(Some(REDIS_CALL_TIMEOUT))
        // After an error it sends by itself again: every script must bear that.
        .retries(REDIS_RETRIES)
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
