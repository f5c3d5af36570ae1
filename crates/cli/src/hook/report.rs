//! Reports how a tool has ended, and releases its locks.

use ade_api::cause::Cause;
use ade_api::code::Code;
use ade_api::executions::{ExecutionOutcome, FinishOutcome, Pulse};
use ade_core::ids::TaskId;
use ade_core::limits::RUN_ASIDE_TIMEOUT;

use super::host::ToolCall;
use super::judge;
use super::open_calls::OpenCalls;
use super::result::ToolResult;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// What was reported about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    pub task: TaskId,
    pub outcome: FinishOutcome,
    /// Who cancelled the task while the tool ran.
    pub abort: Option<Cause>,
}

/// Reports the result of a call; `None` if no approved call is open, for example because the tool
/// only reads or the call was released to the host before.
pub async fn report(
    call: &ToolCall,
    result: &ToolResult,
    cx: &Context,
) -> Result<Option<Reported>, Failure> {
    if judge::is_look(&call.tool) {
        return Ok(None);
    }
    let calls = OpenCalls::locate()?;
    let Some((name, open)) = calls.find(call) else { return Ok(None) };
    let client = cx.client()?;
    let finish = result.report(open.lease);
    // A tool cannot be stopped, so a cancellation is noticed only now. If this fails, the report
    // says why.
    let pulse = Pulse { lease_id: open.lease };
    let alive = client.executions().heartbeat(open.execution, &pulse, RUN_ASIDE_TIMEOUT).await;
    let abort = alive.ok().and_then(|alive| alive.abort);
    let ended = client.executions().finish(open.execution, &finish).await.map_err(Failure::from);
    // While the server cannot be reached, the call stays open: the locks are kept, and the call is
    // released to the host later.
    if !matches!(&ended, Err(failure) if failure.exit == Exit::Unreachable) {
        calls.forget(&name);
    }
    let ended = ended?;
    if ended.outcome != Some(ExecutionOutcome::from(finish.outcome)) {
        let what = format!("the result came too late: {} is UNKNOWN", open.task);
        return Err(Failure::new(Exit::LeaseLost, what)
            .code(Code::LeaseLost.as_str())
            .advice("Stop: a person must find out what the tool changed, and reconcile the task.")
            .or_next(format!("ade tasks get {}", open.task)));
    }
    Ok(Some(Reported { task: open.task, outcome: finish.outcome, abort }))
}
