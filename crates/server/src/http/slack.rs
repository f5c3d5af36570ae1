//! Slack interactions. A pressed button is answered with a link to the page on which to decide;
//! nothing is decided in Slack.

use ade_api::code::Code;
use ade_engine::services::notify::Slack;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::{Json, Raw};
use super::state::Shared;

/// The message, visible only to the person who pressed the button.
#[derive(Debug, Serialize, ToSchema)]
pub struct SlackAnswer {
    response_type: &'static str,
    replace_original: bool,
    text: String,
}

/// Receive a Slack interaction
///
/// Refused unless signed by Slack. The response is a link; nothing is decided.
#[utoipa::path(post, path = "/v1/slack/interactions", tag = "notifications",
    request_body(content = String, content_type = "application/x-www-form-urlencoded",
                 description = "The form that Slack sends"),
    responses((status = 200, description = "A link to the page where to decide",
        body = SlackAnswer),
              (status = 401, description = "The request is not signed by Slack or is too old")))]
pub async fn interactions(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<Json<SlackAnswer>, ApiError> {
    let stranger = || ApiError::new(Code::Unauthenticated, "the request is not signed by Slack");
    let notify = &shared.app().notify;
    let slack: &Slack = notify.slack.as_ref().ok_or_else(stranger)?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let timestamp = header("x-slack-request-timestamp").unwrap_or_default();
    let signature = header("x-slack-signature").unwrap_or_default();
    let body = body.ok_or_else(stranger)?;
    let now = ade_engine::services::webhook_client::seconds();
    let pressed = slack.verify(timestamp, signature, &body, now).ok_or_else(stranger)?;
    let page = &notify.page;
    let link = match pressed.task {
        Some(task) => format!("{page}/tasks/{task}"),
        None => format!("{page}/inbox"),
    };
    Ok(Json(SlackAnswer {
        response_type: "ephemeral",
        replace_original: false,
        text: format!("Decide here: {link}"),
    }))
}
