//! How the parts this process depends on are doing. Asked over connections that requests cannot
//! take, so that it answers when nothing else does.

use std::time::Duration;

use ade_core::limits::HEALTH_TIMEOUT;
use ade_store::lease::{self, Posted};

use crate::app::App;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What does not work, by part.
    pub degradations: Vec<(&'static str, String)>,
    pub workers: Vec<Posted>,
}

/// Whether the record answers in time.
pub async fn is_reachable(app: &App) -> bool {
    within(HEALTH_TIMEOUT, app.pools.reserved.ping()).await.is_ok()
}

pub async fn standing(app: &App) -> Standing {
    let mut degradations = Vec::new();
    let workers = match within(HEALTH_TIMEOUT, lease::board(&app.pools.reserved)).await {
        Ok(workers) => workers,
        Err(problem) => {
            degradations.push(("database", problem));
            Vec::new()
        }
    };
    for worker in &workers {
        if let Some(failure) = &worker.failure {
            degradations.push(("worker", format!("{}: {failure}", worker.name)));
        }
    }
    if let Some(replica) = &app.replica
        && let Err(problem) = within(HEALTH_TIMEOUT, replica.ping()).await
    {
        degradations.push(("replica", problem));
    }
    if let Err(problem) = queue(app).await {
        degradations.push(("locks", problem));
    }
    Standing { degradations, workers }
}

/// Whether locks can be had: their queue is there and answers.
pub async fn queue(app: &App) -> Result<(), String> {
    let Some(keeper) = &app.locks else {
        return Err("no queue is configured, so none is granted".to_owned());
    };
    match tokio::time::timeout(HEALTH_TIMEOUT, keeper.ping()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the queue of locks is not well");
            Err("the queue does not answer as it should, so none is granted".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", HEALTH_TIMEOUT.as_millis())),
    }
}

async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, ade_store::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        // The cause may name hosts and roles: it is logged, not told.
        Ok(Err(error)) => {
            tracing::warn!(%error, "a part is not well");
            Err("it does not answer as it should".to_owned())
        }
        Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
    }
}
