//! Waits that last longer than a call, and requests for a review. A host with the tasks extension
//! gets the wait as a protocol task with the id of our task; a host that can open pages gets the
//! review page after a request. All other hosts call again.

use std::collections::BTreeMap;

use ade_core::ids::TaskId;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CreateTaskResult, DetailedTask, ElicitRequest,
    ElicitRequestParams, GetTaskResult, InputRequest, InputRequiredResult, ProtocolVersion,
    Task as Awaited, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};

use super::written;
use crate::answer::ToolResponse;
use crate::tool::Tool;
use crate::work::Tools;

const POLL_MS: u64 = 5_000;
const REVIEW: &str = "review";

pub async fn call(
    tools: &Tools,
    tool: Tool,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    if let Some(task) = shown(tool, request.request_state.as_deref()) {
        return Ok(written(&tools.status(task).await).into());
    }
    let capabilities = context.client_capabilities().unwrap_or_default();
    if tool == Tool::WaitForDecision
        && capabilities.supports_tasks()
        && let Some(task) = arguments.get("task_id").and_then(|task| task.as_str())
        && let Ok(task) = task.parse()
    {
        return begin(tools, task).await;
    }
    let answer = tools.call(tool, arguments).await;
    let opens_pages = capabilities.elicitation.is_some_and(|how| how.url.is_some());
    if tool == Tool::RequestApproval
        && opens_pages
        && let Some(task) = answer.to_review
    {
        return Ok(hand_over(tools, task, &answer, context));
    }
    Ok(written(&answer).into())
}

/// Returns the task of a repeated request whose page was already shown. The state comes from the
/// host and is not trusted: it only names a task, which is read as the caller.
fn shown(tool: Tool, state: Option<&str>) -> Option<TaskId> {
    state.filter(|_| tool == Tool::RequestApproval)?.parse().ok()
}

/// Asks the host to open the review page. The host then calls again with its answer; an older host
/// is asked in parallel, without waiting for the answer.
fn hand_over(
    tools: &Tools,
    task: TaskId,
    answer: &ToolResponse,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let page = tools.review_page(task);
    let asked = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: "A change is waiting for approval. Open its page to review it.".to_owned(),
        url: page,
        elicitation_id: task.to_string(),
    };
    let is_modern =
        context.protocol_version().is_some_and(|spoken| spoken >= ProtocolVersion::V_2026_07_28);
    if is_modern {
        let asked = InputRequest::Elicitation(ElicitRequest::new(asked));
        let asked = BTreeMap::from([(REVIEW.to_owned(), asked)]);
        return InputRequiredResult::new(Some(asked), Some(task.to_string())).into();
    }
    let peer = context.peer.clone();
    // The person may or may not open the page; their decision is read from the task.
    tokio::spawn(async move { peer.create_elicitation(asked).await });
    written(answer).into()
}

async fn begin(tools: &Tools, task: TaskId) -> Result<CallToolResponse, ErrorData> {
    Ok(match tools.ended(task).await {
        Ok((task, None)) => CreateTaskResult::new(awaited(&task)).into(),
        Ok((_, Some(answer))) => written(&answer).into(),
        Err(error) => written(&ToolResponse::refused(&error)).into(),
    })
}

pub async fn look(tools: &Tools, id: &str) -> Result<GetTaskResult, ErrorData> {
    let unknown = |why: String| ErrorData::invalid_params(why, None);
    let task = id.parse().map_err(|_| unknown(format!("task `{id}` not found")))?;
    let (task, answer) = tools.ended(task).await.map_err(|error| unknown(error.to_string()))?;
    let payload = match answer {
        None => TaskPayload::Working,
        Some(answer) => {
            let result = serde_json::to_value(written(&answer)).ok();
            let result = result.and_then(|value| value.as_object().cloned()).unwrap_or_default();
            TaskPayload::Completed { result }
        }
    };
    Ok(GetTaskResult::new(DetailedTask::new(awaited(&task), payload)))
}

fn awaited(task: &ade_api::tasks::Task) -> Awaited {
    let summary = &task.summary;
    let (created, since) = (summary.created_at.to_string(), summary.state_since.to_string());
    Awaited::new(summary.id.to_string(), TaskStatus::Working, created, since)
        .with_status_message(summary.state.to_string())
        .with_poll_interval_ms(POLL_MS)
}
