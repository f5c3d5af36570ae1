//! Logs of attempts that are over leave the record for the blob store, page by page as they are
//! read. The lines are deleted in the transaction that says where they are, after all are there.

use ade_api::executions::LogLine;
use ade_core::actor::Actor;
use ade_core::ids::{ExecutionId, TenantId};
use ade_core::limits::{EXECUTION_LOG_KEPT, EXECUTION_LOG_PAGE};
use ade_store::due::{self, Due};
use ade_store::{Gate, Tx, execution_log, executions};

use super::look::line_of;
use crate::app::App;
use crate::blobs::{BlobError, Blobs};
use crate::error::Error;

/// Why the archiver looks at an attempt.
pub(crate) const ARCHIVE: &str = "archive_log";
const NAME: &str = "output_archiver";

/// Where the log of an attempt is, or will be.
fn folder(tenant: TenantId, execution: ExecutionId) -> String {
    format!("logs/{tenant}/{execution}")
}

fn page_key(folder: &str, page: u64) -> String {
    format!("{folder}/{page:06}.ndjson")
}

/// With the first line of a log.
pub(super) async fn remember(tx: &mut Tx, execution: ExecutionId) -> Result<(), Error> {
    let at = tx.now().plus(EXECUTION_LOG_KEPT);
    Ok(due::set(tx, &[Due { kind: ARCHIVE, object: execution.uuid(), at }]).await?)
}

/// Whether its log is in the blob store now.
pub(crate) async fn archive(
    app: &App,
    tenant: TenantId,
    execution: ExecutionId,
) -> Result<bool, Error> {
    let Some(blobs) = &app.blobs else { return Ok(false) };
    let begin =
        async || Tx::begin(&app.pools.worker, tenant, Actor::system(NAME), Gate::Unasked).await;
    let mut tx = begin().await?;
    let found = executions::get(&mut tx, execution).await?;
    let Some(found) = found.filter(|found| found.ended_at.is_some()) else {
        // It runs, or somebody still has to look what became of it.
        remember(&mut tx, execution).await?;
        tx.commit().await?;
        return Ok(false);
    };
    tx.roll_back().await;
    let folder = folder(tenant, execution);
    for page in 0..found.log_lines.div_ceil(u64::from(EXECUTION_LOG_PAGE)) {
        let mut tx = begin().await?;
        let lines = execution_log::page(&mut tx, execution, page).await?;
        tx.roll_back().await;
        if lines.is_empty() {
            continue;
        }
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, &line_of(line)).map_err(unwritten)?;
            text.push(b'\n');
        }
        blobs.put(&page_key(&folder, page), text).await.map_err(Error::Blobs)?;
    }
    let mut tx = begin().await?;
    execution_log::archived(&mut tx, execution, &folder).await?;
    due::clear(&mut tx, ARCHIVE, execution.uuid()).await?;
    tx.commit().await?;
    Ok(true)
}

fn unwritten(error: serde_json::Error) -> Error {
    Error::invalid("log", error)
}

/// The lines of one page from this number on. A page that is not there has lost its lines, or
/// never had any.
pub(super) async fn read(blobs: &Blobs, folder: &str, from: u64) -> Result<Vec<LogLine>, Error> {
    let key = page_key(folder, from / u64::from(EXECUTION_LOG_PAGE));
    let found = blobs.get(&key).await.map_err(Error::Blobs)?.unwrap_or_default();
    let lines = found.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).map_err(unwritten));
    let lines = lines.collect::<Result<Vec<LogLine>, Error>>()?;
    Ok(lines.into_iter().filter(|line| line.number >= from).collect())
}

/// What is asked for is in a store that is not configured here any more.
pub(super) fn none() -> Error {
    Error::Blobs(BlobError::Address {
        url: String::new(),
        problem: "`blobs.url` is not set".to_owned(),
    })
}
