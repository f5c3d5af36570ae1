//! Errors between a caller and Redis. A missing reply is not a result: the script may have run, so
//! the same lease id is sent again.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum CoordError {
    #[error("Redis did not respond ({0}): the command may have run; retry with the same ids")]
    Unknown(#[source] redis::RedisError),
    #[error("Redis refused the command before running it ({0}): retry later")]
    Unavailable(#[source] redis::RedisError),
    #[error("the Redis circuit is open ({why}) and nothing was sent: retry later")]
    Resting { why: String },
    #[error("Redis cannot run the script `{script}`: {source}")]
    Script {
        script: &'static str,
        #[source]
        source: redis::RedisError,
    },
    #[error("unexpected response of the script `{script}`: {why}")]
    Reply { script: &'static str, why: String },
    #[error("the Redis URLs are invalid: {0}")]
    Settings(#[source] redis::RedisError),
}

impl CoordError {
    pub(crate) fn of_call(script: &'static str, error: redis::RedisError) -> Self {
        use redis::{ErrorKind, ServerErrorKind};
        match error.kind() {
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask,
            )
            | ErrorKind::ClusterConnectionNotFound => Self::Unavailable(error),
            ErrorKind::Server(_) | ErrorKind::Extension => Self::Script { script, source: error },
            _ => Self::Unknown(error),
        }
    }
}
