//! Use cases and workers of the read models: updated from events, checked against PostgreSQL, and
//! read by callers that send a known version.

mod check;
mod project;
mod read;
mod read_model_checker;
mod read_model_projector;
mod refill;
mod workers;

use ade_core::ids::TenantId;

use crate::app::App;
use crate::error::Error;

pub use check::{Checked, check, check_some};
pub use project::{CONSUMER, project, rebuild};
pub(crate) use read::{inbox, task};
pub(crate) use workers::{LOOPS, WORKERS};

/// Tenants per step when iterating over all tenants.
const MODEL_TENANTS_PAGE: u32 = 500;

/// Returns all tenants that ever had an event, each with the number of its last event.
pub async fn tenants(app: &App) -> Result<Vec<(TenantId, u64)>, Error> {
    let mut all: Vec<(TenantId, u64)> = Vec::new();
    loop {
        let after = all.last().map(|(tenant, _)| *tenant);
        let pool = &app.pools.worker;
        let found = ade_store::models::tenants(pool, after, MODEL_TENANTS_PAGE).await?;
        if found.is_empty() {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// Counts a read by its outcome. All outcomes except `hit` are answered by PostgreSQL.
fn count(model: &'static str, outcome: &'static str) {
    metrics::counter!("ade_model_reads_total", "model" => model, "outcome" => outcome).increment(1);
}
