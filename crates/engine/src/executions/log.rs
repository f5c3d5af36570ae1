//! Appends to the log of a running attempt.

use ade_api::executions::{Logged, NewLog};
use ade_core::ids::ExecutionId;
use ade_core::limits::{EXECUTION_LINE_MAX_BYTES, EXECUTION_LINES_PER_CALL};
use ade_store::{TenantLock, execution_log};

use super::{archive, heartbeat};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::begin;
use crate::error::Error;

pub async fn log(
    app: &App,
    caller: &Caller,
    id: ExecutionId,
    new: NewLog,
) -> Result<Logged, Error> {
    let count = new.lines.len();
    if count == 0 || count > EXECUTION_LINES_PER_CALL {
        return Err(Error::invalid(
            "lines",
            format!("must be 1 to {EXECUTION_LINES_PER_CALL} lines"),
        ));
    }
    let mut lines = Vec::with_capacity(count);
    for (at, line) in new.lines.into_iter().enumerate() {
        if line.text.len() > EXECUTION_LINE_MAX_BYTES || line.text.contains('\0') {
            let problem =
                format!("must be at most {EXECUTION_LINE_MAX_BYTES} bytes, without U+0000");
            return Err(Error::invalid(format!("lines[{at}]"), problem));
        }
        lines.push((line.stream.as_str(), line.text));
    }
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let found = heartbeat::live(&mut tx, caller, id, new.lease_id).await?;
    let end = execution_log::append(&mut tx, found.id, new.first, &lines).await?;
    if new.first == 0 && app.blobs.is_some() {
        archive::remember(&mut tx, id).await?;
    }
    tx.commit().await?;
    Ok(Logged { next: end.next, is_full: end.is_full })
}
