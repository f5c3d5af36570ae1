//! Logs of ended attempts move from PostgreSQL to the blob store, page by page. The lines are
//! deleted in the transaction that records their location, after all are stored.

use ade_api::executions::{LogLine, Stream};
use ade_core::actor::Actor;
use ade_core::ids::{ExecutionId, TenantId};
use ade_core::limits::{EXECUTION_LOG_KEPT, EXECUTION_LOG_PAGE};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::{TenantLock, Tx, execution_log, executions};

use crate::app::App;
use crate::error::Error;
use crate::services::log_store::{BlobError, Blobs};

/// The job kind of the log archiver.
pub(crate) const ARCHIVE: &str = "archive_log";
const NAME: &str = "output_archiver";

/// Returns the folder of an execution's log in the blob store.
fn folder(tenant: TenantId, execution: ExecutionId) -> String {
    format!("logs/{tenant}/{execution}")
}

fn page_key(folder: &str, page: u64) -> String {
    format!("{folder}/{page:06}.ndjson")
}

/// Schedules the archiving of a log, when its first line is written.
pub(super) async fn remember(tx: &mut Tx, execution: ExecutionId) -> Result<(), Error> {
    let at = tx.now().plus(EXECUTION_LOG_KEPT);
    Ok(scheduled_jobs::set(tx, &[ScheduledJob { kind: ARCHIVE, object: execution.uuid(), at }])
        .await?)
}

/// Archives the log of an ended execution. Returns whether it is in the blob store now.
pub(crate) async fn archive(
    app: &App,
    tenant: TenantId,
    execution: ExecutionId,
) -> Result<bool, Error> {
    let Some(blobs) = &app.blobs else { return Ok(false) };
    let begin =
        async || Tx::begin(&app.pools.worker, tenant, Actor::system(NAME), TenantLock::None).await;
    let mut tx = begin().await?;
    let found = executions::get(&mut tx, execution).await?;
    let Some(found) = found.filter(|found| found.ended_at.is_some()) else {
        // The execution is running, or its outcome still has to be reconciled.
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
    scheduled_jobs::clear(&mut tx, ARCHIVE, execution.uuid()).await?;
    tx.commit().await?;
    Ok(true)
}

fn unwritten(error: serde_json::Error) -> Error {
    Error::invalid("log", error)
}

/// Returns the lines of one page, from this number on. A missing page counts as empty.
pub(super) async fn read(blobs: &Blobs, folder: &str, from: u64) -> Result<Vec<LogLine>, Error> {
    let key = page_key(folder, from / u64::from(EXECUTION_LOG_PAGE));
    let found = blobs.get(&key).await.map_err(Error::Blobs)?.unwrap_or_default();
    let lines = found.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).map_err(unwritten));
    let lines = lines.collect::<Result<Vec<LogLine>, Error>>()?;
    Ok(lines.into_iter().filter(|line| line.number >= from).collect())
}

/// Returns the error for a log in a blob store that is no longer configured.
pub(super) fn none() -> Error {
    Error::Blobs(BlobError::Address {
        url: String::new(),
        problem: "`blobs.url` is not set".to_owned(),
    })
}

pub(super) fn line_of(line: execution_log::LogRow) -> LogLine {
    let known = |stream: &Stream| stream.as_str() == line.stream;
    LogLine {
        number: line.number,
        stream: Stream::ALL.into_iter().find(known).unwrap_or(Stream::Note),
        text: line.text,
        at: line.at,
    }
}
