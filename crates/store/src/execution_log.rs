//! What attempts say while they run: numbered lines, so that what is sent twice is kept once, up
//! to a bound per attempt. No part of the record; it needs no leaf.

use ade_core::ids::ExecutionId;
use ade_core::limits::{EXECUTION_LOG_MAX_BYTES, EXECUTION_LOG_PAGE};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub number: u64,
    pub stream: String,
    pub text: String,
    pub at: Timestamp,
}

/// Where the log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The number that the next line has.
    pub next: u64,
    pub is_full: bool,
}

// The row of the attempt is locked by its update, so that two that append stand in line.
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

/// From `first` on; those that are known already are passed over, and what does not fit is
/// counted and dropped. A gap is filled with nothing: its lines were never sent.
pub async fn append(
    tx: &mut Tx,
    execution: ExecutionId,
    first: u64,
    lines: &[(&'static str, String)],
) -> Result<End, Error> {
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
        tx.write_beside(append.bind(Moment(tx.now()))).await?;
        let grow = query(GROW).bind(tenant).bind(id).bind(signed(next)).bind(signed(bytes));
        tx.write_beside(grow).await?;
    }
    Ok(End { next, is_full: bytes > EXECUTION_LOG_MAX_BYTES })
}

/// A page from this number on.
pub async fn read(tx: &mut Tx, execution: ExecutionId, from: u64) -> Result<Vec<Line>, Error> {
    let query = query_as(READ)
        .bind(tx.tenant().uuid())
        .bind(execution.uuid())
        .bind(signed(from))
        .bind(i64::from(EXECUTION_LOG_PAGE));
    read_lines(execution, tx.read(query).await?)
}

/// The lines of one page, which is so many numbers and not so many lines.
pub async fn page(tx: &mut Tx, execution: ExecutionId, page: u64) -> Result<Vec<Line>, Error> {
    let first = page.saturating_mul(u64::from(EXECUTION_LOG_PAGE));
    let query = query_as(PAGE)
        .bind(tx.tenant().uuid())
        .bind(execution.uuid())
        .bind(signed(first))
        .bind(signed(first.saturating_add(u64::from(EXECUTION_LOG_PAGE))));
    read_lines(execution, tx.read(query).await?)
}

/// Its lines are at `key` from now on, and here no more.
pub async fn archived(tx: &mut Tx, execution: ExecutionId, key: &str) -> Result<(), Error> {
    let (tenant, id) = (tx.tenant().uuid(), execution.uuid());
    let moved = tx.write_beside(query(ARCHIVED).bind(tenant).bind(id).bind(key)).await?;
    if moved == 0 {
        return Err(tx.conflict(&execution));
    }
    tx.write_beside(query(DELETE).bind(tenant).bind(id)).await?;
    Ok(())
}

type LineRow = (i64, String, String, Moment);

fn read_lines(execution: ExecutionId, rows: Vec<LineRow>) -> Result<Vec<Line>, Error> {
    let lines = rows.into_iter().map(|(number, stream, text, at)| {
        let wrong = |error: std::num::TryFromIntError| RowError {
            table: "execution_line",
            column: "number",
            row: execution.to_string(),
            why: error.to_string(),
        };
        Ok(Line { number: u64::try_from(number).map_err(wrong)?, stream, text, at: at.0 })
    });
    lines.collect()
}

/// The column is checked to be one.
fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
