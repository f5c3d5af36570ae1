//! Sends due deliveries to endpoints. An activation starts them without waiting for responses, so
//! that a slow endpoint does not delay others. A finished delivery wakes the next round.

use std::sync::Arc;

use ade_core::ids::WebhookId;
use ade_core::limits::{WEBHOOK_SENDING_PER_ENDPOINT, WORKER_BATCH};
use ade_store::scheduled_jobs::{self, JobBatch};
use ade_store::webhooks::{self, SEND};

use super::take_up;
use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

pub const WORKER: Worker = Worker {
    name: "webhook_sender",
    period: None,
    signal: Some(|app| &app.wake.webhook_sender),
    run,
};

fn run(app: &App) -> Activation<'_> {
    Box::pin(send(app))
}

async fn send(app: &App) -> Result<Done, Error> {
    let batch = JobBatch::shared(WORKER_BATCH);
    let due = scheduled_jobs::next(&app.pools.worker, SEND, batch).await?;
    let mut done = Done { items: 0, has_more: batch.is_used_up(&due) };
    let room = app.webhooks.room();
    for (tenant, due) in due {
        let free = u32::try_from(room.available_permits()).unwrap_or(u32::MAX);
        if free == 0 {
            // A delivery that ends wakes the next round.
            done.has_more = false;
            break;
        }
        let endpoint = WebhookId::from_uuid(due.object);
        let most = free.min(WEBHOOK_SENDING_PER_ENDPOINT);
        let parcels = match take_up(app, tenant, endpoint, most).await {
            Ok(parcels) => parcels,
            Err(error) => {
                done.has_more = false;
                tracing::warn!(%tenant, %endpoint, %error, "webhook sending failed; will retry");
                continue;
            }
        };
        for parcel in parcels {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
            let wake = Arc::clone(&app.wake.webhook_sender);
            done.items += 1;
            tokio::spawn(async move {
                parcel.deliver().await;
                drop(permit);
                wake.notify_one();
            });
        }
    }
    let health = webhooks::health(&app.pools.worker).await?;
    metrics::gauge!("ade_webhook_open_circuits").set(health.open_circuits);
    let is_worse = f64::from(u8::from(health.open_circuits > 0));
    metrics::gauge!("ade_degraded", "part" => "webhook").set(is_worse);
    metrics::gauge!("ade_webhook_endpoints_waiting").set(health.waiting);
    Ok(done)
}
