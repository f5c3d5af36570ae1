//! Aggregates the audit log into counters by UTC day, and into the outcomes of similar tasks, from
//! which risk is assessed. Each entry counts once, however many processes do this.

use std::time::Duration;

use ade_core::limits::WORKER_BATCH;
use ade_store::tallies;

use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker, begin};

const TALLY_PERIOD: Duration = Duration::from_secs(5);

pub const WORKER: Worker =
    Worker { name: "tally_keeper", period: Some(TALLY_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(keep(app))
}

async fn keep(app: &App) -> Result<Done, Error> {
    let tenants = tallies::tenants_with_news(&app.pools.worker, WORKER_BATCH).await?;
    let is_full = tenants.len() >= usize::try_from(WORKER_BATCH).unwrap_or(usize::MAX);
    let mut done = Done { items: 0, has_more: is_full };
    for tenant in tenants {
        let mut tx = begin(app, WORKER, tenant).await?;
        let folded = tallies::fold(&mut tx).await?;
        tx.commit().await?;
        done.items += folded.leaves;
        done.has_more |= folded.has_more;
    }
    Ok(done)
}
