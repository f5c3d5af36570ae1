//! Keeps the partitions of the audit and the outbox ahead of the calendar: a row without one
//! would refuse every transition.

use ade_core::limits::PARTITION_PERIOD;
use ade_store::partitions;

use super::{Activation, Done, Worker};
use crate::app::App;

pub const WORKER: Worker =
    Worker { name: "partition_maker", period: Some(PARTITION_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        let made = partitions::make(&app.pools.worker).await?;
        Ok(Done { items: u64::try_from(made).unwrap_or_default(), has_more: false })
    })
}
