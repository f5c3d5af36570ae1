//! Checks whether the read models of every tenant exist and are current, and compares samples with
//! PostgreSQL. Missing, late and wrong ones are rebuilt.

use std::time::Duration;

use super::project::away;
use super::{check_some, project, rebuild, tenants};
use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

/// How often the existence of all tenants' read models is checked.
const MODEL_CHECK_PERIOD: Duration = Duration::from_secs(2);
/// Tenants sampled in one round.
const MODEL_SAMPLED_TENANTS: usize = 20;

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
        let caught_up = match models.head(tenant).await.map_err(away) {
            Ok(Some(head)) if head >= newest => {
                sampled.push(tenant);
                continue;
            }
            // A failover may have lost what the projector considers done.
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
