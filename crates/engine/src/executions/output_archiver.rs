//! Moves the logs of ended attempts to the blob store, if there is one.

use ade_core::ids::ExecutionId;

use super::{ARCHIVE, archive};
use crate::app::App;
use crate::command::schedule::take_up;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

/// Logs that one activation archives.
const ARCHIVE_BATCH: u32 = 32;

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
