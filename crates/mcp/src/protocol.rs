//! The tools as the protocol has them, and the two ways in. The only place that knows the SDK.
//! Stateless: nothing is kept between calls but what the record keeps, so that any process of
//! the server can answer the next one.

mod http;
mod waiting;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    GetTaskParams, GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServiceExt as _};

use crate::answer::{Answer, NEXT_ACTION};
use crate::tool::{Tool, ToolClass};
use crate::work::Tools;

pub use http::{HttpAnswer, HttpDoor, HttpQuestion};

const INSTRUCTIONS: &str = "Changes to production go through here. Propose each with \
    propose_task, wait with wait_for_task until people have agreed, then claim_permit, apply \
    exactly that, report_result. Every answer ends with next_action. Nothing here approves: only \
    people do, on their page.";

/// Answers one host over standard input and output until it closes them.
pub async fn serve_stdio(tools: Tools) -> Result<(), String> {
    let served = Door(tools).serve(rmcp::transport::io::stdio()).await;
    let running = served.map_err(|error| error.to_string())?;
    running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
}

#[derive(Debug, Clone)]
struct Door(Tools);

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ade", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(Tool::ALL.into_iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            let told = format!("there is no tool `{}`: tools/list has all", request.name);
            return Err(ErrorData::invalid_params(told, None));
        };
        waiting::call(&self.0, tool, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        waiting::look(&self.0, &request.task_id).await
    }

    /// Nobody waits any more, which costs nothing here. What was proposed stays proposed:
    /// `cancel_task` takes it back.
    async fn cancel_task(
        &self,
        _: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

fn listed(tool: Tool) -> Listed {
    let annotations = ToolAnnotations::new()
        .read_only(tool.class() == ToolClass::Read)
        // Nothing outside is touched by a tool: changes are applied by whoever holds a permit.
        .destructive(false)
        .open_world(false);
    Listed::new(tool.name(), tool.says(), tool.input()).with_annotations(annotations)
}

/// The facts as data and as text, and the next action as the last words.
fn written(answer: Answer) -> CallToolResult {
    let last = format!("{NEXT_ACTION}: {}", answer.next_action);
    let facts = serde_json::Value::Object(answer.facts);
    let mut result = if answer.is_error {
        CallToolResult::structured_error(facts)
    } else {
        CallToolResult::structured(facts)
    };
    result.content.push(ContentBlock::text(last));
    result
}
