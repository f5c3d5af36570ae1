//! Groups that read all events, by one mechanism: a cursor in the record for each group and tenant,
//! what follows it read from the outbox, in order and without a gap. Whoever has the worker's lease
//! reads; when it dies, the next goes on at the cursor. Streams only say earlier that there is
//! something to read. An event that cannot be taken is tried, put aside, and can be redriven.

mod reading;
mod redriving;

use std::fmt;
use std::pin::Pin;

use ade_core::group::{Fault, Group};
use ade_store::Tx;
use ade_store::events::Numbered;
use ade_store::groups::Exported;

pub(crate) use reading::read_all;
pub(crate) use redriving::{WORKER as REDRIVER, redrive_due};

use crate::app::App;
use crate::error::Error;

/// Why events were not taken, in words for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub fault: Fault,
    pub problem: String,
}

impl Trouble {
    /// It would be the same for every event.
    pub fn away(problem: impl fmt::Display) -> Self {
        Self { fault: Fault::Away, problem: problem.to_string() }
    }

    /// It is this event that cannot be taken.
    pub fn of_event(problem: impl fmt::Display) -> Self {
        Self { fault: Fault::Event, problem: problem.to_string() }
    }
}

/// What may go away by itself is away; whatever else the record says is about the event.
impl From<ade_store::Error> for Trouble {
    fn from(error: ade_store::Error) -> Self {
        use ade_store::Error::{CommitUnknown, Forbidden};
        let is_of_all = matches!(error, CommitUnknown(_) | Forbidden { .. });
        if error.is_retriable() || is_of_all { Self::away(error) } else { Self::of_event(error) }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            other => Self::of_event(other),
        }
    }
}

pub(crate) type Taken<'a, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + Send + 'a>>;

/// How a group takes events.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Into the record, in the transaction that moves the cursor: once, whatever happens.
    Within(for<'a> fn(&'a App, &'a mut Tx, &'a [Numbered]) -> Taken<'a, ()>),
    /// Out of the installation, and the cursor moves after that: at least once.
    Outward(for<'a> fn(&'a App, &'a [Numbered]) -> Taken<'a, Exported>),
}

/// Whose events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everybody,
    /// Tenants with an endpoint; what others do is passed over.
    WithEndpoints,
}

/// One group: its name, and what it does with events.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub group: Group,
    pub audience: Audience,
    pub way: Way,
    /// Whether there is anything to do here at all, by the settings of this installation.
    pub is_on: fn(&App) -> bool,
    /// Once it is committed: whom to wake.
    pub then: fn(&App),
}
