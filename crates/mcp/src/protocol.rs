//! The tools in terms of the protocol, and the two transports. Only this module knows the SDK.
//! Only the database keeps state between calls, so that any process of the server can answer the
//! next call.

mod http;
mod waiting;

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    GetTaskParams, GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool as Listed, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServiceExt as _};

use crate::answer::ToolResponse;
use crate::tool::{Tool, ToolClass};
use crate::work::Tools;

pub use http::{HttpAnswer, HttpDoor, HttpQuestion};

const INSTRUCTIONS: &str = "Changes to production need the approval of people. Before you change \
                            anything: call request_approval, then wait_for_decision until people \
                            have decided, then start_change. Act only with its permit, make \
                            exactly the approved change, and call finish_change, also after an \
                            error. Every result has a next_action with the tool to call. Its \
                            alerts say what happened to your work since the last call, with \
                            code, reason and next_action: follow them first. No tool approves \
                            anything: only people do, on the review_page.";

/// Answers one host over standard input and output until it closes them.
pub async fn serve_stdio(tools: Tools) -> Result<(), String> {
    let served = ToolServer(tools).serve(rmcp::transport::io::stdio()).await;
    let running = served.map_err(|error| error.to_string())?;
    running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
}

#[derive(Debug, Clone)]
struct ToolServer(Tools);

impl ServerHandler for ToolServer {
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
            let message = format!("unknown tool `{}`: see tools/list", request.name);
            return Err(ErrorData::invalid_params(message, None));
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

    /// Ends the wait, which needs no clean-up. The request stays: `withdraw_request` ends it.
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
        // No tool touches external systems: changes are made by the holder of a permit.
        .destructive(tool.is_destructive())
        .idempotent(tool.is_idempotent())
        .open_world(false);
    Listed::new(tool.name(), tool.says(), tool.input())
        .with_title(tool.title())
        .with_raw_output_schema(Arc::new(tool.output()))
        .with_annotations(annotations)
}

/// Converts a result. The data is complete; the text has the outcome and the next step only, so
/// that a model that is shown both reads nothing twice.
fn written(response: &ToolResponse) -> CallToolResult {
    let mut result = if response.is_error {
        CallToolResult::structured_error(response.data())
    } else {
        CallToolResult::structured(response.data())
    };
    result.content = vec![ContentBlock::text(response.text())];
    result
}
