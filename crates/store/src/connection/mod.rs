//! Pooled connections. A connection whose transaction ended in order is returned without a check;
//! any other is tested first and closed if the test fails. (The pool of the driver tests on every
//! return, which costs a round trip per transaction.)

mod bounded;
mod room;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_core::limits::{DATABASE_CONNECTION_IDLE_MAX, DATABASE_CONNECTION_LIFE_MAX};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, PgExecutor, Row as _};
use tokio::time::timeout_at;

pub(crate) use self::bounded::BoundedConnection;
use self::bounded::Verdict;
pub use self::room::PoolUse;
use self::room::{NoSlot, Room, Slot};
use crate::error::StoreError;

/// Asks whether the server accepts writes: a standby does not, nor does a primary that an operator
/// has made read-only.
const CAN_WRITE: &str = "SELECT NOT (pg_is_in_recovery() \
    OR current_setting('transaction_read_only')::boolean) AS can_write";

/// The connections of one class, up to a maximum.
#[derive(Clone)]
pub(crate) struct Connections {
    options: Arc<PgConnectOptions>,
    /// Whether a connection to a read-only server is refused.
    must_write: bool,
    timeouts: Timeouts,
    room: Arc<Room>,
    idle: Arc<Mutex<Vec<Idle>>>,
    /// When a connection last answered, in milliseconds after `since`.
    answered_ms: Arc<AtomicU64>,
    since: Instant,
}

/// How long a caller waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// For a free or new connection.
    pub acquire: Duration,
    /// For the answer to one statement.
    pub answer: Duration,
}

struct Idle {
    connection: PgConnection,
    made: Instant,
    since: Instant,
}

/// Hides the options, which contain a password.
impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("room", &self.room.usage()).finish_non_exhaustive()
    }
}

impl Connections {
    pub fn new(options: PgConnectOptions, most: u32, must_write: bool, timeouts: Timeouts) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self {
            options: Arc::new(options),
            must_write,
            timeouts,
            room: Room::new(most),
            idle: Arc::default(),
            answered_ms: Arc::default(),
            since: Instant::now(),
        }
    }

    /// Returns an idle connection, or a new one if none is idle. An idle connection may have died
    /// meanwhile. While several tenants need connections, each gets its share.
    pub async fn lend(&self, tenant: Option<TenantId>) -> Result<PooledConnection, StoreError> {
        let deadline = tokio::time::Instant::now() + self.timeouts.acquire;
        let slot = match timeout_at(deadline, self.room.enter(tenant)).await {
            Ok(Ok(slot)) => slot,
            Ok(Err(NoSlot::Closed)) => return Err(sqlx::Error::PoolClosed.into()),
            Ok(Err(NoSlot::Full)) | Err(_) => return Err(self.no_slot()),
        };
        let idle = self.idle().pop();
        let (connection, made) = match idle {
            Some(idle) => (idle.connection, idle.made),
            None => match timeout_at(deadline, self.connect()).await {
                Ok(connection) => (connection?, Instant::now()),
                Err(_) => return Err(sqlx::Error::PoolTimedOut.into()),
            },
        };
        let home = self.clone();
        let connection = Some(connection);
        Ok(PooledConnection { connection, is_spent: false, made, home, slot: Some(slot) })
    }

    /// Returns why all slots are in use: PostgreSQL answers and there is too much to do, or it does
    /// not answer.
    fn no_slot(&self) -> StoreError {
        if self.has_answered_within(self.timeouts.answer) {
            StoreError::NoConnection
        } else {
            sqlx::Error::PoolTimedOut.into()
        }
    }

    async fn connect(&self) -> Result<PgConnection, StoreError> {
        let mut connection = PgConnection::connect_with(&self.options).await?;
        if self.must_write && !can_write(&mut connection).await? {
            return Err(StoreError::ReadOnly);
        }
        Ok(connection)
    }

    /// Closes all idle connections, because the server went silent or became read-only. A new
    /// connection may reach another server.
    fn discard_idle(&self) {
        self.idle().clear();
    }

    fn note_answer(&self) {
        self.answered_ms.store(self.elapsed_ms(), Ordering::Relaxed);
    }

    /// Returns whether any connection has answered within this time.
    pub fn has_answered_within(&self, time: Duration) -> bool {
        let silent_ms = self.elapsed_ms().saturating_sub(self.answered_ms.load(Ordering::Relaxed));
        Duration::from_millis(silent_ms) <= time
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn idle_count(&self) -> usize {
        self.idle().len()
    }

    pub fn usage(&self) -> PoolUse {
        self.room.usage()
    }

    /// Closes the pool. Idle connections are closed now, the others when they are returned.
    pub async fn close(&self) {
        self.room.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            let _ = idle.connection.close().await;
        }
    }

    /// The most recently used connection is taken first, so that under low load the others become
    /// idle and are closed.
    fn take_back(&self, connection: PgConnection, made: Instant) {
        let now = Instant::now();
        if self.room.is_closed() || now.duration_since(made) > DATABASE_CONNECTION_LIFE_MAX {
            return;
        }
        let mut idle = self.idle();
        idle.retain(|idle| now.duration_since(idle.since) <= DATABASE_CONNECTION_IDLE_MAX);
        idle.push(Idle { connection, made, since: now });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is taken from the pool. It is returned or closed when it is dropped.
pub(crate) struct PooledConnection {
    connection: Option<PgConnection>,
    /// The connection failed in a way after which it cannot be used; it is closed, not returned.
    is_spent: bool,
    made: Instant,
    home: Connections,
    /// The slot in the pool. It becomes free when the connection is idle again or closed.
    slot: Option<Slot>,
}

impl fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("made", &self.made).finish_non_exhaustive()
    }
}

impl PooledConnection {
    /// Returns the connection for one statement, whose deadline starts now.
    pub fn get(&mut self) -> Result<BoundedConnection<'_>, sqlx::Error> {
        let is_usable = !self.is_spent;
        let connection = self.connection.as_mut().filter(|_| is_usable);
        Ok(BoundedConnection {
            connection: connection.ok_or(sqlx::Error::PoolClosed)?,
            deadline: tokio::time::Instant::now() + self.home.timeouts.answer,
            verdict: Verdict { is_spent: &mut self.is_spent, pool: &self.home },
        })
    }

    /// Checks whether the server answers at all.
    pub async fn ping(&mut self) -> Result<(), sqlx::Error> {
        let limit = self.home.timeouts.acquire;
        self.get()?.ping(limit).await
    }

    pub async fn can_write(&mut self) -> Result<bool, StoreError> {
        can_write(self.get()?).await
    }

    /// Returns the connection to the pool. No statement may be running and no transaction may be
    /// open.
    pub fn give_back(mut self) {
        if let Some(connection) = self.connection.take()
            && !self.is_spent
        {
            self.home.take_back(connection, self.made);
        }
    }

    /// Closes the connection. PostgreSQL rolls back when the socket closes.
    pub fn discard(mut self) {
        drop(self.connection.take());
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take().filter(|_| !self.is_spent) else { return };
        // Without a runtime the connection cannot be checked, so it is closed.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (home, made, slot) = (self.home.clone(), self.made, self.slot.take());
        runtime.spawn(async move {
            let connection = Some(connection);
            let mut lent = PooledConnection { connection, is_spent: false, made, home, slot };
            match lent.ping().await {
                Ok(()) => lent.give_back(),
                Err(_) => lent.discard(),
            }
        });
    }
}

async fn can_write<'c>(connection: impl PgExecutor<'c>) -> Result<bool, StoreError> {
    let row = sqlx::raw_sql(CAN_WRITE).fetch_one(connection).await?;
    Ok(row.try_get("can_write")?)
}
