//! Those who wait for one task to move: they need no seat and are told no events, only that there
//! was one. Their tenant has a channel for as long as any of them waits, so the readers that serve
//! listeners serve them too.

use ade_core::ids::{TaskId, TenantId};
use ade_store::events;
use serde::Deserialize;

use super::Hub;
use super::channel::{Told, begin};
use crate::app::App;
use crate::error::Error;

/// Ends with whoever holds it.
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

/// From now on events of this tenant wake those who wait in this process.
pub(crate) async fn attend(app: &App, tenant: TenantId) -> Result<Attending<'_>, Error> {
    let hub = &*app.live.hub;
    if !hub.attend(tenant, None) {
        let mut tx = begin(app, tenant).await?;
        let head = events::head(&mut tx).await?;
        tx.roll_back().await;
        hub.attend(tenant, Some(head));
    }
    Ok(Attending { hub, tenant })
}

#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

/// Tells those who wait for what these events are about.
pub(super) fn announce(app: &App, tenant: TenantId, events: &[Told]) {
    for told in events {
        let Ok(task) = told.object.parse::<TaskId>() else { continue };
        if !app.watch.wants(tenant, task) {
            continue;
        }
        let version = serde_json::from_slice::<Versioned>(&told.written).ok();
        if let Some(version) = version.and_then(|event| event.version) {
            app.watch.tell(tenant, task, version);
        }
    }
}
