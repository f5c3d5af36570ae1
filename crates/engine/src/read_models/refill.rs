//! Writes the models that reads of this process have missed. Every process does so for its own
//! reads; a lost entry is added again by the next missed read.

use std::sync::Arc;

use tokio::sync::watch;

use super::project::{fill_queue, fill_task};
use crate::app::App;
use crate::services::read_models::{Missed, Models};

pub(crate) async fn refill(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let Some(models) = &app.live.models else { return };
    while !*stopped.borrow() {
        tokio::select! {
            () = models.asked.notified() => fill(&app, models).await,
            _ = stopped.changed() => {}
        }
    }
}

async fn fill(app: &App, models: &Models) {
    for missed in models.take_missed() {
        let filled = match missed {
            Missed::Task(tenant, task) => fill_task(app, models, tenant, task).await,
            Missed::Queue(tenant, reviewer) => fill_queue(app, models, tenant, reviewer).await,
        };
        if let Err(error) = filled {
            tracing::debug!(%error, ?missed, "read model missed; reading from the database");
            return;
        }
    }
}
