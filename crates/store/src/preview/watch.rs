//! Ends the session of a preview at its deadline, and as soon as the preview is dropped or fails.
//! A script can change every timeout of its own session, so a second connection terminates it.

use std::time::Duration;

use ade_core::limits::{SQL_PREVIEW_WATCH_GRACE, SQL_PREVIEW_WATCH_PAUSE};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

/// The server process of a session. Process ids are reused, so the start time is compared too.
#[derive(Debug, Clone, Copy)]
struct Backend {
    pid: i32,
    started_us: i64,
}

/// Watches one session until [`Watch::end`]; dropping the watch terminates the session.
#[derive(Debug)]
pub(super) struct Watch {
    ended: oneshot::Sender<()>,
}

const BACKEND: &str = "
    SELECT pid, (extract(epoch FROM backend_start) * 1000000)::int8
      FROM pg_catalog.pg_stat_activity WHERE pid = pg_catalog.pg_backend_pid()";

const TERMINATE: &str = "
    SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
     WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::int8 = $2";

impl Watch {
    /// Begins to watch the session of `connection`. The connection of the watch is opened now,
    /// because the target may have no room for it later.
    pub async fn begin(
        options: &PgConnectOptions,
        connection: &mut PgConnection,
        deadline: Duration,
    ) -> Result<Self, sqlx::Error> {
        let deadline = Instant::now() + deadline;
        let (pid, started_us) = sqlx::query_as(BACKEND).fetch_one(connection).await?;
        let guard = options.connect().await?;
        let (ended, end) = oneshot::channel();
        let backend = Backend { pid, started_us };
        tokio::spawn(watch(options.clone(), guard, backend, deadline, end));
        Ok(Self { ended })
    }

    /// Stops watching: the session was closed.
    pub fn end(self) {
        // The task may have ended at the deadline.
        let _ = self.ended.send(());
    }
}

async fn watch(
    options: PgConnectOptions,
    guard: PgConnection,
    backend: Backend,
    deadline: Instant,
    end: oneshot::Receiver<()>,
) {
    if let Ok(Ok(())) = timeout_at(deadline, end).await {
        let _ = guard.close().await;
        return;
    }
    let give_up = Instant::now() + SQL_PREVIEW_WATCH_GRACE;
    let mut guard = Some(guard);
    while Instant::now() < give_up {
        match terminate(&options, &mut guard, backend).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                // The script may have terminated this connection, or the database is restarting.
                tracing::warn!(%error, "preview session termination failed");
                guard = None;
            }
        }
        sleep(SQL_PREVIEW_WATCH_PAUSE).await;
    }
    tracing::error!(pid = backend.pid, "preview session survived its deadline");
}

/// Sends the signal and returns whether the session has ended.
async fn terminate(
    options: &PgConnectOptions,
    guard: &mut Option<PgConnection>,
    backend: Backend,
) -> Result<bool, sqlx::Error> {
    let connection = match guard {
        Some(connection) => connection,
        None => guard.insert(options.connect().await?),
    };
    let signalled: Vec<bool> = sqlx::query_scalar(TERMINATE)
        .bind(backend.pid)
        .bind(backend.started_us)
        .fetch_all(connection)
        .await?;
    Ok(signalled.is_empty())
}
