//! Log lines of running attempts: numbered, so that a line sent twice is stored once, up to a limit
//! per attempt. Logs are not audited.

use ade_core::ids::ExecutionId;
use ade_core::limits::{EXECUTION_LOG_MAX_BYTES, EXECUTION_LOG_PAGE};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    pub number: u64,
    pub stream: String,
    pub text: String,
    pub at: Timestamp,
}

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The number of the next line.
    pub next: u64,
    pub is_full: bool,
}

// The update locks the row of the attempt, so that concurrent appends are serialized.
const ROOM: &str = "
    SELECT log_lines, log_bytes FROM execution WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE";
const APPEND: &str = "
    INSERT INTO execution_line (tenant_id, execution_id, number, stream, line, at)
    SELECT $1, $2, given.number, given.stream, given.line, $6
      FROM unnest($3::int8[], $4::text[], $5::text[]) AS given (number, stream, line)";
const GROW: &str = "
    UPDATE execution SET log_lines = $3, log_bytes = $4 WHERE tenant_id = $1 AND id = $2";
const READ: &str = "
    SELECT number, stream, line, at FROM execution_line
     WHERE tenant_id = $1 AND execution_id = $2 AND number >= $3
     ORDER BY number LIMIT $4";

const PAGE: &str = "
    SELECT number, stream, line, at FROM execution_line
     WHERE tenant_id = $1 AND execution_id = $2 AND number >= $3 AND number < $4
     ORDER BY number";
const ARCHIVED: &str = "
    UPDATE execution SET output_key = $3
     WHERE tenant_id = $1 AND id = $2 AND ended_at IS NOT NULL";
const DELETE: &str = "DELETE FROM execution_line WHERE tenant_id = $1 AND execution_id = $2";

/// Appends lines from `first` on. Known lines are skipped, and lines over the limit are counted and
/// dropped. A gap stays empty: its lines were never sent.
pub async fn append(
    tx: &mut Tx,
    execution: ExecutionId,
    first: u64,
    lines: &[(&'static str, String)],
) -> Result<End, StoreError> {
    let (tenant, id) = (tx.tenant().uuid(), execution.uuid());
    let rows: Vec<(i64, i64)> = tx.read(query_as(ROOM).bind(tenant).bind(id)).await?;
    let Some((known, bytes)) = rows.into_iter().next() else {
        return Err(tx.conflict(&execution));
    };
    let (known, mut bytes) = (natural(known), natural(bytes));
    let (mut numbers, mut streams, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = known;
    for (number, (stream, text)) in (first..).zip(lines) {
        if number < known {
            continue;
        }
        next = number + 1;
        bytes = bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if bytes <= EXECUTION_LOG_MAX_BYTES {
            numbers.push(signed(number));
            streams.push(*stream);
            texts.push(text.as_str());
        }
    }
    if next > known {
        let append = query(APPEND).bind(tenant).bind(id).bind(numbers).bind(streams).bind(texts);
        tx.write_beside(append.bind(PgTimestamp(tx.now()))).await?;
        let grow = query(GROW).bind(tenant).bind(id).bind(signed(next)).bind(signed(bytes));
        tx.write_beside(grow).await?;
    }
    Ok(End { next, is_full: bytes > EXECUTION_LOG_MAX_BYTES })
}

/// Returns a page from this number on.
pub async fn read(
    tx: &mut Tx,
    execution: ExecutionId,
    from: u64,
) -> Result<Vec<LogRow>, StoreError> {
    let query = query_as(READ)
        .bind(tx.tenant().uuid())
        .bind(execution.uuid())
        .bind(signed(from))
        .bind(i64::from(EXECUTION_LOG_PAGE));
    read_lines(execution, tx.read(query).await?)
}

/// Returns the lines of one page. A page is a range of numbers and may have fewer lines.
pub async fn page(
    tx: &mut Tx,
    execution: ExecutionId,
    page: u64,
) -> Result<Vec<LogRow>, StoreError> {
    let first = page.saturating_mul(u64::from(EXECUTION_LOG_PAGE));
    let query = query_as(PAGE)
        .bind(tx.tenant().uuid())
        .bind(execution.uuid())
        .bind(signed(first))
        .bind(signed(first.saturating_add(u64::from(EXECUTION_LOG_PAGE))));
    read_lines(execution, tx.read(query).await?)
}

/// Records that the lines are archived at `key`, and deletes them here.
pub async fn archived(tx: &mut Tx, execution: ExecutionId, key: &str) -> Result<(), StoreError> {
    let (tenant, id) = (tx.tenant().uuid(), execution.uuid());
    let moved = tx.write_beside(query(ARCHIVED).bind(tenant).bind(id).bind(key)).await?;
    if moved == 0 {
        return Err(tx.conflict(&execution));
    }
    tx.write_beside(query(DELETE).bind(tenant).bind(id)).await?;
    Ok(())
}

type LineRow = (i64, String, String, PgTimestamp);

fn read_lines(execution: ExecutionId, rows: Vec<LineRow>) -> Result<Vec<LogRow>, StoreError> {
    let lines = rows.into_iter().map(|(number, stream, text, at)| {
        let wrong = |error: std::num::TryFromIntError| RowError {
            table: "execution_line",
            column: "number",
            row: execution.to_string(),
            why: error.to_string(),
        };
        Ok(LogRow { number: u64::try_from(number).map_err(wrong)?, stream, text, at: at.0 })
    });
    lines.collect()
}

/// Converts a column that is checked to be non-negative.
fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
