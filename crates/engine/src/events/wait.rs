//! Callers that wait for one task to change: they are not listeners and get no events, only a
//! wake-up. Their tenant has a channel as long as any of them waits, so the readers for listeners
//! serve them as well.

use ade_core::ids::TenantId;
use ade_store::events;

use crate::app::App;
use crate::error::Error;
use crate::services::event_hub::Hub;
use crate::services::event_hub::channel::begin;

/// Keeps the tenant's channel running until it is dropped.
#[derive(Debug)]
pub(crate) struct Attending<'a> {
    hub: &'a Hub,
    tenant: TenantId,
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.hub.leave_channel(self.tenant);
    }
}

/// Lets events of this tenant wake the waiting callers of this process, until the guard is dropped.
pub(crate) async fn attend(app: &App, tenant: TenantId) -> Result<Attending<'_>, Error> {
    let hub = &*app.live.hub;
    if !hub.attend(tenant, None) {
        let mut tx = begin(&app.pools.api, tenant).await?;
        let head = events::head(&mut tx).await?;
        tx.roll_back().await;
        hub.attend(tenant, Some(head));
    }
    Ok(Attending { hub, tenant })
}
