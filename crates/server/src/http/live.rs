//! Live events: a stream for programs, a socket for pages. A listener that does not read is
//! disconnected, one that falls behind is asked to reload, and one without permission is closed; no
//! queue grows here.

mod socket;
pub mod stream;

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::events::{Frame, Message, Ticket};
use ade_api::problem::Problem;
use ade_api::schema;
use ade_core::access::Scope;
use ade_core::event::Topic;
use ade_core::limits::{LIVE_FRAME_MAX_BYTES, NAME_MAX_BYTES};
use ade_engine::Caller;
use ade_engine::events::{self, Listener, Wanted};
use ade_engine::identity::authenticate::AuthError;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{Json, Query, place_of};
use super::state::Shared;
use super::task_path::object_of;
use super::tasks::patience;

/// The read buffer of a socket, which is small because clients only send pongs.
const LIVE_SOCKET_READ_BYTES: usize = 1024;
/// The write buffer of a socket, larger than a batch of ordinary events. A larger event is sent
/// alone.
const LIVE_SOCKET_WRITE_BYTES: usize = 512 * 1024;

pub const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// The last sequence number that was received; defaults to now. Same as `Last-Event-ID`.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub after: Option<u64>,
    /// Only these topics, separated by commas: `task`, `approval`, `lock`, `agent`, `policy`,
    /// `freeze`, `change`.
    #[param(max_length = 64, example = "task,approval")]
    pub topics: Option<String>,
    /// Only events of the object with this id, or of the task with this number, such as `T-8`.
    #[param(max_length = 128)]
    pub object: Option<String>,
    /// How long the stream stays open, for example `55s`; defaults to no limit.
    #[param(value_type = Option<schema::Wait>)]
    pub wait: Option<String>,
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SocketQuery {
    /// The ticket from `POST /v1/ws/tickets`.
    #[param(max_length = 128)]
    pub ticket: String,
    /// The last sequence number that was received; defaults to now.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub after: Option<u64>,
    /// Only these topics, separated by commas: `task`, `approval`, `lock`, `agent`, `policy`,
    /// `freeze`, `change`.
    #[param(max_length = 64, example = "task,approval")]
    pub topics: Option<String>,
    /// Only events of the object with this id, or of the task with this number, such as `T-8`.
    #[param(max_length = 128)]
    pub object: Option<String>,
}

fn wanted(
    resume: Option<u64>,
    topics: Option<&str>,
    object: Option<String>,
) -> Result<Wanted, ApiError> {
    let named = topics.into_iter().flat_map(|text| text.split(','));
    let topics: Result<BTreeSet<Topic>, _> = named.map(str::parse).collect();
    let topics = topics.map_err(|error| ApiError::query(&format!("`topics`: {error}")))?;
    if object.as_ref().is_some_and(|object| object.len() > NAME_MAX_BYTES) {
        return Err(ApiError::query("`object` is too long"));
    }
    Ok(Wanted { resume, topics, object })
}

/// Starts a listener and reserves its capacity.
pub async fn seat(
    shared: &Shared,
    caller: Caller,
    wanted: Wanted,
) -> Result<(Listener, OwnedSemaphorePermit), ApiError> {
    let room = shared
        .listeners()
        .try_acquire_owned()
        .map_err(|_| ApiError::new(Code::Overloaded, "too many event listeners on this process"))?;
    Ok((events::listen(shared.app_shared(), caller, wanted).await?, room))
}

/// Stream events
///
/// Server-sent events: `id` is the sequence number, `event` the type, `data` the envelope. In
/// addition there are `ready` (the first message), `skip` (no events for you up to this number) and
/// `reset` (some events cannot be delivered: reload everything). After a disconnect, continue with
/// `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventsQuery),
    responses((status = 200, description = "A stream of events", body = Message,
               content_type = "text/event-stream")))]
pub async fn stream(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, ApiError> {
    let resume = match headers.get(LAST_EVENT_ID) {
        // Sent by a reconnecting client, so it is newer than the query parameter.
        Some(last) => {
            let last = last.to_str().ok().and_then(|text| text.parse().ok());
            let unfit = || ApiError::new(Code::MalformedRequest, "`Last-Event-ID` is not a number");
            Some(last.ok_or_else(unfit)?)
        }
        None => query.after,
    };
    let wait = query.wait.as_deref().map(patience).transpose()?;
    let object = object_of(&shared, &caller, query.object).await?;
    let wanted = wanted(resume, query.topics.as_deref(), object)?;
    let (listener, room) = seat(&shared, caller, wanted).await?;
    Ok(stream::respond(listener, room, wait.unwrap_or(Duration::MAX)))
}

/// Create a ticket for a socket
///
/// Needed because a page cannot send a token when it opens a socket. The ticket works once, within
/// 30 seconds.
#[utoipa::path(post, path = "/v1/ws/tickets", tag = "events", operation_id = "create_ticket",
    responses((status = 201, description = "The ticket, shown once", body = Ticket)))]
pub async fn ticket(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<(StatusCode, Json<Ticket>), ApiError> {
    let issued = events::issue(shared.app(), &caller).await?;
    let ticket = Ticket { ticket: issued.ticket, expires_at: issued.expires_at };
    Ok((StatusCode::CREATED, Json(ticket)))
}

/// Stream events over a WebSocket
///
/// Each message is an event or a frame. The client only sends pongs. The server closes the socket
/// with 4401 if the token was revoked, 4403 if the account can no longer read, 4408 if the client
/// is too slow, and 1001 if the process shuts down: reconnect and continue from the last number.
#[utoipa::path(get, path = "/v1/ws", tag = "events",
    operation_id = "open_socket", params(SocketQuery),
    responses(
        (status = 101, description = "A WebSocket with events and control frames", body = Frame),
        (status = 401, description = "`unauthenticated`: the ticket is missing, invalid or used",
         body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "`origin_refused`: the origin of the page is not allowed",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn socket(
    State(shared): State<Shared>,
    Query(query): Query<SocketQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    check_origin(&shared, &parts.headers)?;
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &shared).await;
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(Code::MalformedRequest, format!("expected a WebSocket request: {rejection}"))
    })?;
    let wanted = wanted(query.after, query.topics.as_deref(), query.object)?;
    let redeemed = events::redeem(shared.app(), &query.ticket, place_of(&parts)).await;
    let caller = redeemed.map_err(|error| match error {
        AuthError::Unknown | AuthError::Ended(_) => {
            ApiError::new(Code::Unauthenticated, "the ticket is invalid or was already used")
        }
        AuthError::Store(error) => ade_engine::Error::from(error).into(),
    })?;
    if !caller.scopes.contains(&Scope::Read) {
        let detail = "listening requires the scope `read`, which your token does not have";
        return Err(ApiError::new(Code::InsufficientScope, detail));
    }
    let object = object_of(&shared, &caller, wanted.object.clone()).await?;
    let wanted = Wanted { object, ..wanted };
    let (listener, room) = seat(&shared, caller, wanted).await?;
    Ok(upgrade
        .read_buffer_size(LIVE_SOCKET_READ_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(LIVE_SOCKET_WRITE_BYTES)
        .max_message_size(LIVE_FRAME_MAX_BYTES)
        .max_frame_size(LIVE_FRAME_MAX_BYTES)
        .on_upgrade(|socket| socket::send_events(socket, listener, room)))
}

/// Refuses pages of unknown origins. A browser sends the origin of its page, other clients none.
fn check_origin(shared: &Shared, headers: &HeaderMap) -> Result<(), ApiError> {
    let mut given = headers.get_all(ORIGIN).iter();
    let Some(origin) = given.next() else { return Ok(()) };
    let known = origin.to_str().ok().filter(|_| given.next().is_none());
    // Own pages are recognized by the configured address, because the host header proves nothing.
    let own = shared.app().notify.page.split('/').take(3).collect::<Vec<_>>().join("/");
    let allowed = &shared.settings().origins;
    if known.is_some_and(|origin| origin == own || allowed.iter().any(|one| one == origin)) {
        return Ok(());
    }
    Err(ApiError::new(Code::OriginRefused, "pages of this origin cannot open a socket"))
}
