//! Keeps what an executor says: all of it in the log, the first of it with the attempt. A log that
//! cannot be written holds no change up.

use ade_api::executions::{NewLine, NewLog};
use ade_core::ids::{ExecutionId, LeaseId};
use ade_core::limits::{EXECUTION_LINES_PER_CALL, EXECUTION_OUTPUT_MAX_BYTES};
use tokio::sync::mpsc;

use crate::app::App;
use crate::caller::Caller;
use crate::execute::Line;

/// Until nobody can say anything any more; then the first of what was said.
pub(super) async fn write(
    app: &App,
    caller: &Caller,
    (execution, lease): (ExecutionId, LeaseId),
    mut spoken: mpsc::Receiver<Line>,
) -> String {
    let (mut output, mut first, mut lost) = (String::new(), 0_u64, 0_usize);
    let mut heard = Vec::new();
    while spoken.recv_many(&mut heard, EXECUTION_LINES_PER_CALL).await > 0 {
        for line in &heard {
            if output.len() < EXECUTION_OUTPUT_MAX_BYTES {
                output.push_str(&line.text);
                output.push('\n');
            }
        }
        let lines: Vec<NewLine> = heard
            .drain(..)
            .map(|Line { stream, text }| NewLine { stream, text: text.replace('\0', "\u{fffd}") })
            .collect();
        let count = lines.len();
        let new = NewLog { lease, first, lines };
        if let Err(error) = super::log(app, caller, execution, new).await {
            lost += count;
            tracing::warn!(%execution, %error, lost, "lines of a log were lost");
        }
        first = first.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
    output
}
