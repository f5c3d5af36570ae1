//! Creates the partitions of the audit log and the outbox ahead of time: without a partition, every
//! change would be refused. Drops the days of the outbox that all consumers have read.

use std::time::Duration;

use ade_store::partitions;

use crate::app::App;
use crate::worker::{Activation, Done, Worker};

const PARTITION_PERIOD: Duration = Duration::from_hours(1);

pub const WORKER: Worker =
    Worker { name: "partition_maker", period: Some(PARTITION_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        let made = partitions::make(&app.pools.worker).await?;
        let dropped = match partitions::drop_read(&app.pools.worker).await {
            Ok(dropped) => dropped,
            // The table is in use: the next round is early enough.
            Err(ade_store::StoreError::Busy { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        let items = u64::try_from(made + dropped).unwrap_or_default();
        Ok(Done { items, has_more: false })
    })
}
