//! What can go wrong between a caller and Redis. No answer is never an answer: after a silence
//! the script may have run, so the same lease id is sent again.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("Redis gave no answer ({0}): it may have happened; send the same ids again")]
    Unknown(#[source] redis::RedisError),
    #[error("Redis refused before anything happened ({0}): try again later")]
    Unavailable(#[source] redis::RedisError),
    #[error("Redis is left alone for a moment ({why}): nothing was sent; try again later")]
    Resting { why: String },
    #[error("Redis cannot run `{script}`: {source}")]
    Script {
        script: &'static str,
        #[source]
        source: redis::RedisError,
    },
    #[error("`{script}` answered what nobody expects: {why}")]
    Reply { script: &'static str, why: String },
    #[error("the addresses of Redis are no use: {0}")]
    Settings(#[source] redis::RedisError),
}

impl Error {
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
