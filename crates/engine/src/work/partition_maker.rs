//! Keeps the partitions of the audit and the outbox ahead of the calendar: a row without one
//! would refuse every transition. Drops the days of the outbox that everybody has read.

use ade_core::limits::PARTITION_PERIOD;
use ade_store::partitions;

use super::{Activation, Done, Worker};
use crate::app::App;

pub const WORKER: Worker =
    Worker { name: "partition_maker", period: Some(PARTITION_PERIOD), signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        let made = partitions::make(&app.pools.worker).await?;
        let dropped = match partitions::drop_read(&app.pools.worker).await {
            Ok(dropped) => dropped,
            // Somebody reads or writes there: the next round is soon enough.
            Err(ade_store::Error::Busy { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        let items = u64::try_from(made + dropped).unwrap_or_default();
        Ok(Done { items, has_more: false })
    })
}
