//! Moves the logs of attempts that are over into the blob store, if there is one.

use ade_core::ids::ExecutionId;
use ade_core::limits::ARCHIVE_BATCH;

use super::{Activation, Done, Worker};
use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::take_up;
use crate::ops::executions::{ARCHIVE, archive};

pub const WORKER: Worker = Worker { name: "output_archiver", period: None, signal: None, run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(archive_due(app))
}

async fn archive_due(app: &App) -> Result<Done, Error> {
    if app.blobs.is_none() {
        return Ok(Done::default());
    }
    let archive = |tenant, id| archive(app, tenant, ExecutionId::from_uuid(id));
    take_up(app, ARCHIVE, ARCHIVE_BATCH, 1, archive).await
}
