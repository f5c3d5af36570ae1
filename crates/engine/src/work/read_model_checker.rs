//! Looks whether the read models of every tenant are there and have seen what happened, and holds
//! some of them against the record. What is missing, late or wrong is written anew.

use ade_core::limits::{MODEL_CHECK_PERIOD, MODEL_SAMPLED_TENANTS};

use super::{Activation, Done, Worker};
use crate::app::App;
use crate::error::Error;
use crate::models::{check_some, project, rebuild, tenants};

pub const WORKER: Worker =
    Worker { name: "read_model_checker", period: Some(MODEL_CHECK_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(check_all(app))
}

async fn check_all(app: &App) -> Result<Done, Error> {
    let mut done = Done::default();
    let Some(models) = &app.live.models else { return Ok(done) };
    let mut failed = None;
    let mut sampled = Vec::new();
    for (tenant, newest) in tenants(app).await? {
        let caught_up = match models.head(tenant).await {
            Ok(Some(head)) if head >= newest => {
                sampled.push(tenant);
                continue;
            }
            // A failover may have lost what the projector believes to be done with.
            Ok(Some(_)) => project(app, models, tenant).await.map(|(items, _)| items),
            Ok(None) => rebuild(app, models, tenant, false).await,
            Err(error) => Err(error),
        };
        match caught_up {
            Ok(items) => done.items += items,
            Err(error) => failed = Some(error),
        }
    }
    for tenant in models.next_sample(&sampled, MODEL_SAMPLED_TENANTS) {
        let checked = check_some(app, models, tenant).await?;
        done.items += checked.tasks + checked.queues;
    }
    failed.map_or(Ok(done), Err)
}
