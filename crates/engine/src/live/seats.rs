//! Those who listen in this process, and whether they still may: all of them are asked for in one
//! look, several times a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ade_core::access::{Action, Object, Standing};
use ade_core::ids::TenantId;
use ade_store::live;
use ade_store::rulebook::Rulebook;
use tokio::sync::watch;

use super::channel::begin;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act::permit;

/// Why somebody does not listen any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The token does not open anything any more.
    Revoked,
    /// The account was closed, or may not read any more.
    Denied,
    /// Nobody could be asked whether they still may.
    Unchecked,
    /// This process ends.
    Draining,
}

impl End {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Denied => "denied",
            Self::Unchecked => "unchecked",
            Self::Draining => "draining",
        }
    }
}

/// What somebody may see, by the rules as they were when they were last asked for.
#[derive(Debug, Clone)]
pub struct Rights {
    pub book: Arc<Rulebook>,
    /// Also the tasks of strangers. Worked out once, and not for each event.
    pub sees_all: bool,
}

#[derive(Debug)]
pub struct Seat {
    pub caller: Caller,
    rights: Mutex<Rights>,
    pub end: watch::Sender<Option<End>>,
}

impl Seat {
    /// For whoever may listen at all: to what is their own, if to nothing else.
    pub fn new(app: &App, caller: Caller, book: Arc<Rulebook>) -> Result<Self, Error> {
        let rights = Mutex::new(rights(app, &caller, book)?);
        Ok(Self { caller, rights, end: watch::channel(None).0 })
    }

    pub fn rights(&self) -> Rights {
        self.rights.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn leave(&self, end: End) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(end);
            is_first
        });
    }
}

fn rights(app: &App, caller: &Caller, book: Arc<Rulebook>) -> Result<Rights, Error> {
    let may_read =
        |standing| permit(app, &book, &caller.actor, Action::ReadTask, Object::Task(standing));
    may_read(Standing { is_author: true, is_own_agent: true, ..Standing::default() })?;
    let sees_all = may_read(Standing::default()).is_ok();
    Ok(Rights { book, sees_all })
}

/// Ends those whose token or right has gone, and brings the others their new rules.
pub async fn look(app: &App, seats: &[Arc<Seat>]) -> Result<(), Error> {
    let keys: BTreeSet<String> =
        seats.iter().filter_map(|seat| seat.caller.key_id.clone()).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    let open = live::open_tokens(&app.pools.worker, &keys).await?;
    let mut tenants: BTreeMap<TenantId, Vec<&Arc<Seat>>> = BTreeMap::new();
    for seat in seats {
        if seat.caller.key_id.as_ref().is_some_and(|key| open.contains(key)) {
            tenants.entry(seat.caller.tenant).or_default().push(seat);
        } else {
            seat.leave(End::Revoked);
        }
    }
    let known: Vec<TenantId> = tenants.keys().copied().collect();
    let versions = live::rulebook_versions(&app.pools.worker, &known).await?;
    for (tenant, seats) in tenants {
        let version = versions.get(&tenant).copied().unwrap_or_default();
        if seats.iter().all(|seat| seat.rights().book.version >= version) {
            continue;
        }
        let mut tx = begin(app, tenant).await?;
        let book = app.books.current(&mut tx).await?;
        tx.roll_back().await;
        for seat in seats {
            match rights(app, &seat.caller, Arc::clone(&book)) {
                Ok(rights) => {
                    *seat.rights.lock().unwrap_or_else(PoisonError::into_inner) = rights;
                }
                Err(_) => seat.leave(End::Denied),
            }
        }
    }
    Ok(())
}
