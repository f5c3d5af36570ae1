//! Consumer groups that read all events by one mechanism: a cursor in PostgreSQL per group and
//! tenant, and events after it read from the outbox, in order and without gaps. The holder of the
//! worker's lease reads; when it dies, the next one continues at the cursor. Streams are only a
//! hint that there is something to read. An event that cannot be processed is retried,
//! dead-lettered, and can be redriven.

mod api;
mod reading;
mod redriving;

use std::pin::Pin;

use ade_core::consumer::Consumer;
use ade_store::Tx;
use ade_store::consumers::Exported;
use ade_store::events::Numbered;

pub use api::{dead_events, list, redrive};
pub(crate) use reading::read_all;
pub(crate) use redriving::{WORKER as REDRIVER, redrive_due};

use crate::app::App;
use crate::error::Error;
use crate::services::export::Trouble;

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            other => Self::of_event(other),
        }
    }
}

pub(crate) type Taken<'a, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + Send + 'a>>;

/// How a group processes events.
#[derive(Clone, Copy)]
pub(crate) enum DeliveryMode {
    /// Writes to PostgreSQL, in the transaction that advances the cursor: exactly once.
    Transactional(for<'a> fn(&'a App, &'a mut Tx, &'a [Numbered]) -> Taken<'a, ()>),
    /// Sends events out of the installation before the cursor advances: at least once.
    Outward(for<'a> fn(&'a App, &'a [Numbered]) -> Taken<'a, Exported>),
}

/// The tenants whose events a group reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everybody,
    /// Only tenants with a webhook endpoint; events of other tenants are skipped.
    WithEndpoints,
}

/// One group: its name, and how it processes events.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub group: Consumer,
    pub audience: Audience,
    pub way: DeliveryMode,
    /// Whether the settings of this installation enable the group.
    pub is_on: fn(&App) -> bool,
    /// Called after the commit, to wake other workers.
    pub then: fn(&App),
}
