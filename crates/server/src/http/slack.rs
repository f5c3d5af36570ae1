//! What comes back from Slack. Whoever presses something there is shown where to decide; nothing
//! is decided there, whatever was pressed.

use ade_api::code::Code;
use ade_engine::notify::Slack;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::Failure;
use super::extract::{Json, Raw};
use super::state::Shared;

/// What only the one who pressed it sees.
#[derive(Debug, Serialize, ToSchema)]
pub struct SlackAnswer {
    response_type: &'static str,
    replace_original: bool,
    text: String,
}

/// Take note of something that was pressed in Slack
///
/// Signed by Slack, or it is refused. The answer is a link; it decides nothing.
#[utoipa::path(post, path = "/v1/slack/interactions", tag = "notifications",
    request_body(content = String, content_type = "application/x-www-form-urlencoded",
                 description = "As Slack sends it"),
    responses((status = 200, description = "Where to decide", body = SlackAnswer),
              (status = 401, description = "Slack has not signed it, or it is too old")))]
pub async fn interactions(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<Json<SlackAnswer>, Failure> {
    let stranger = || Failure::new(Code::Unauthenticated, "Slack has not signed this");
    let notify = &shared.app().notify;
    let slack: &Slack = notify.slack.as_ref().ok_or_else(stranger)?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let timestamp = header("x-slack-request-timestamp").unwrap_or_default();
    let signature = header("x-slack-signature").unwrap_or_default();
    let body = body.ok_or_else(stranger)?;
    let now = ade_engine::webhooks::seconds();
    let pressed = slack.verify(timestamp, signature, &body, now).ok_or_else(stranger)?;
    let page = &notify.page;
    let link = match pressed.task {
        Some(task) => format!("{page}/tasks/{task}"),
        None => format!("{page}/inbox"),
    };
    Ok(Json(SlackAnswer {
        response_type: "ephemeral",
        replace_original: false,
        text: format!("Decisions are made here: {link}"),
    }))
}
