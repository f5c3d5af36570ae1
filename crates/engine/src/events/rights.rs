//! Checks the permissions of all listeners of this process together, several times a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ade_core::access::{Action, Object, TaskRelation};
use ade_core::ids::TenantId;
use ade_store::live;
use ade_store::tenant_config::TenantConfig;

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::permit;
use crate::error::Error;
use crate::services::event_hub::channel::begin;
use crate::services::event_hub::subscribers::{End, Rights, Seat};

/// Returns the rights of a caller that may listen at least to their own tasks.
pub(super) fn rights(app: &App, caller: &Caller, book: Arc<TenantConfig>) -> Result<Rights, Error> {
    let may_read =
        |relation| permit(app, &book, &caller.actor, Action::ReadTask, Object::Task(relation));
    may_read(TaskRelation { is_author: true, is_own_agent: true, ..TaskRelation::default() })?;
    let sees_all = may_read(TaskRelation::default()).is_ok();
    Ok(Rights { book, sees_all })
}

/// Ends listeners whose token or permission was revoked, and gives the others the current rules.
pub(super) async fn look(app: &App, seats: &[Arc<Seat>]) -> Result<(), Error> {
    let keys: BTreeSet<String> =
        seats.iter().filter_map(|seat| seat.caller.key_id().map(str::to_owned)).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    let open = live::open_tokens(&app.pools.worker, &keys).await?;
    let mut tenants: BTreeMap<TenantId, Vec<&Arc<Seat>>> = BTreeMap::new();
    for seat in seats {
        if seat.caller.key_id().is_some_and(|key| open.contains(key)) {
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
        let mut tx = begin(&app.pools.api, tenant).await?;
        let book = app.books.current(&mut tx).await?;
        tx.roll_back().await;
        for seat in seats {
            match rights(app, &seat.caller, Arc::clone(&book)) {
                Ok(rights) => seat.set_rights(rights),
                Err(_) => seat.leave(End::Denied),
            }
        }
    }
    Ok(())
}
