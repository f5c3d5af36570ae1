//! Connections that are lent and given back. One that ended its transaction in order goes back as
//! it is; one of which that is not known is asked first whether it is well, and closed if not.
//! (The driver's own pool asks on every return, which is a round trip for each transaction.)

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ade_core::limits::{
    DATABASE_ACQUIRE_TIMEOUT, DATABASE_CONNECTION_IDLE_MAX, DATABASE_CONNECTION_LIFE_MAX,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All of one class, up to a number.
#[derive(Clone)]
pub(crate) struct Connections {
    options: Arc<PgConnectOptions>,
    room: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

struct Idle {
    connection: PgConnection,
    made: Instant,
    since: Instant,
}

/// The options hold a password.
impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("free", &self.room.available_permits())
            .finish_non_exhaustive()
    }
}

impl Connections {
    pub fn new(options: PgConnectOptions, most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            options: Arc::new(options),
            room: Arc::new(Semaphore::new(most)),
            idle: Arc::default(),
        }
    }

    /// One that lay idle, or a new one if none does. It may have died meanwhile.
    pub async fn lend(&self) -> Result<Lent, sqlx::Error> {
        let taken = async {
            let room = Arc::clone(&self.room).acquire_owned().await;
            let room = room.map_err(|_| sqlx::Error::PoolClosed)?;
            let idle = self.idle().pop();
            let (connection, made) = match idle {
                Some(idle) => (idle.connection, idle.made),
                None => (PgConnection::connect_with(&self.options).await?, Instant::now()),
            };
            let home = self.clone();
            Ok(Lent { connection: Some(connection), made, home, room: Some(room) })
        };
        let lent = tokio::time::timeout(DATABASE_ACQUIRE_TIMEOUT, taken).await;
        lent.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    pub fn idle_count(&self) -> usize {
        self.idle().len()
    }

    /// Those that lie here end now; those that are lent, when they come back.
    pub async fn close(&self) {
        self.room.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            let _ = idle.connection.close().await;
        }
    }

    /// The oldest lie at the bottom: whoever is busy keeps a few in use and lets the rest go.
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

/// A connection in somebody's hands; given back or closed, however they let go of it.
pub(crate) struct Lent {
    connection: Option<PgConnection>,
    made: Instant,
    home: Connections,
    /// Free for the next only when the connection lies idle again, or is gone.
    room: Option<OwnedSemaphorePermit>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Lent {
    pub fn get(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// Nothing is under way on it and no transaction is open.
    pub fn give_back(mut self) {
        if let Some(connection) = self.connection.take() {
            self.home.take_back(connection, self.made);
        }
    }

    /// Not to be used by anybody again. PostgreSQL rolls back when the socket closes.
    pub fn discard(mut self) {
        drop(self.connection.take());
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // Without a runtime nobody is left to ask.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (home, made, room) = (self.home.clone(), self.made, self.room.take());
        runtime.spawn(async move {
            let mut connection = connection;
            let ping = tokio::time::timeout(DATABASE_ACQUIRE_TIMEOUT, connection.ping());
            if matches!(ping.await, Ok(Ok(()))) {
                home.take_back(connection, made);
            }
            drop(room);
        });
    }
}
