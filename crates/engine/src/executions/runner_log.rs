//! Stores the output of an executor: all of it in the log, the first part with the attempt. A log
//! that cannot be written does not block the change.

use ade_api::executions::{NewLine, NewLog};
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::limits::{EXECUTION_LINES_PER_CALL, EXECUTION_OUTPUT_MAX_BYTES};
use tokio::sync::mpsc;

use crate::app::App;
use crate::caller::Caller;
use crate::services::executors::OutputLine;

/// Writes lines until all senders are gone, and returns the first part of the output.
pub(super) async fn write(
    app: &App,
    caller: &Caller,
    (execution, lease): (ExecutionId, LeaseId),
    mut source: mpsc::Receiver<OutputLine>,
) -> String {
    let (mut output, mut first, mut lost) = (String::new(), 0_u64, 0_usize);
    let mut received = Vec::new();
    while source.recv_many(&mut received, EXECUTION_LINES_PER_CALL).await > 0 {
        for line in &received {
            if output.len() < EXECUTION_OUTPUT_MAX_BYTES {
                output.push_str(&line.text);
                output.push('\n');
            }
        }
        let lines: Vec<NewLine> = received
            .drain(..)
            .map(|OutputLine { stream, text }| NewLine {
                stream,
                text: text.replace('\0', "\u{fffd}"),
            })
            .collect();
        let count = lines.len();
        let new = NewLog { lease_id: lease, first, lines };
        if let Err(error) = super::log(app, caller, execution, new).await {
            lost += count;
            tracing::warn!(%execution, %error, lost, "log lines lost");
        }
        first = first.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
    output
}
