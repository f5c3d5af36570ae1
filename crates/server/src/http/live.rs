//! Events as they happen: a stream for programs, a socket for pages. A listener that takes nothing
//! is cut, one that falls behind is told to begin anew, and one that may not listen any more is
//! closed; no queue grows here.

mod socket;
pub mod stream;

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::events::{Frame, Message, Ticket};
use ade_api::problem::Problem;
use ade_core::access::Class;
use ade_core::event::Topic;
use ade_core::limits::{
    LIVE_FRAME_MAX_BYTES, LIVE_SOCKET_READ_BYTES, LIVE_SOCKET_WRITE_BYTES, NAME_MAX_BYTES,
};
use ade_engine::Caller;
use ade_engine::auth::AuthError;
use ade_engine::live::{self, Listener, Wanted};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Query, place_of};
use super::state::Shared;
use super::tasks::patience;

pub const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// The last number that was seen; without it, from now on. `Last-Event-ID` says the same.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub resume: Option<u64>,
    /// Only these, with commas between: `task`, `approval`, `lock`, `agent`, `policy`,
    /// `freeze`.
    #[param(max_length = 64, example = "task,approval")]
    pub topics: Option<String>,
    /// Only what happens to this, by its id.
    #[param(max_length = 128)]
    pub object: Option<String>,
    /// How long the stream stays open, for example `55s`; without it, until somebody ends it.
    #[param(pattern = "^([0-9]|[1-4][0-9]|5[0-5])s$")]
    pub wait: Option<String>,
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SocketQuery {
    /// From `POST /v1/ws/tickets`.
    #[param(max_length = 128)]
    pub ticket: String,
    /// The last number that was seen; without it, from now on.
    #[serde(default, deserialize_with = "super::extract::number")]
    pub resume: Option<u64>,
    /// Only these, with commas between: `task`, `approval`, `lock`, `agent`, `policy`,
    /// `freeze`.
    #[param(max_length = 64, example = "task,approval")]
    pub topics: Option<String>,
    /// Only what happens to this, by its id.
    #[param(max_length = 128)]
    pub object: Option<String>,
}

fn wanted(
    resume: Option<u64>,
    topics: Option<&str>,
    object: Option<String>,
) -> Result<Wanted, Failure> {
    let named = topics.into_iter().flat_map(|text| text.split(','));
    let topics: Result<BTreeSet<Topic>, _> = named.map(str::parse).collect();
    let topics = topics.map_err(|error| Failure::query(&format!("`topics`: {error}")))?;
    if object.as_ref().is_some_and(|object| object.len() > NAME_MAX_BYTES) {
        return Err(Failure::query("`object` is an id, and none is that long"));
    }
    Ok(Wanted { resume, topics, object })
}

/// A listener and the room it takes.
pub async fn seat(
    shared: &Shared,
    caller: Caller,
    wanted: Wanted,
) -> Result<(Listener, OwnedSemaphorePermit), Failure> {
    let room = shared
        .listeners()
        .try_acquire_owned()
        .map_err(|_| Failure::new(Code::Overloaded, "too many listen to this process"))?;
    Ok((live::listen(shared.app_shared(), caller, wanted).await?, room))
}

/// Events as they happen
///
/// Server-sent events: `id` is the number, `event` the type, `data` the envelope. Beside events
/// there are `ready` (the first), `skip` (up to this number there is nothing for you) and `reset`
/// (some events cannot be told: read everything anew). After a break, go on with `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventsQuery),
    responses((status = 200, description = "A stream of events", body = Message,
               content_type = "text/event-stream")))]
pub async fn events(
    State(shared): State<Shared>,
    Known(caller): Known,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Failure> {
    let resume = match headers.get(LAST_EVENT_ID) {
        // Repeated by whoever reconnects, so it is newer than what the address says.
        Some(last) => {
            let last = last.to_str().ok().and_then(|text| text.parse().ok());
            let unfit = || Failure::new(Code::MalformedRequest, "`Last-Event-ID` is no number");
            Some(last.ok_or_else(unfit)?)
        }
        None => query.resume,
    };
    let wait = query.wait.as_deref().map(patience).transpose()?;
    let wanted = wanted(resume, query.topics.as_deref(), query.object)?;
    let (listener, room) = seat(&shared, caller, wanted).await?;
    Ok(stream::respond(listener, room, wait.unwrap_or(Duration::MAX)))
}

/// A ticket for one socket
///
/// A page cannot show a token when it opens a socket. The ticket works once, within 30 seconds.
#[utoipa::path(post, path = "/v1/ws/tickets", tag = "events",
    responses((status = 201, description = "The ticket, shown once", body = Ticket)))]
pub async fn ticket(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<(StatusCode, Json<Ticket>), Failure> {
    let issued = live::issue(shared.app(), &caller).await?;
    let ticket = Ticket { ticket: issued.ticket, expires_at: issued.expires_at };
    Ok((StatusCode::CREATED, Json(ticket)))
}

/// Events over a socket
///
/// Each message is an event, or a frame. A client has nothing to say but pongs. Closed with 4401
/// when the token was revoked, 4403 when the account may not read any more, 4408 when nothing was
/// taken for too long, and 1001 when the process ends: go on from the last number elsewhere.
#[utoipa::path(get, path = "/v1/ws", tag = "events", params(SocketQuery),
    responses(
        (status = 101, description = "A socket that tells events and frames", body = Frame),
        (status = 401, description = "`unauthenticated`: Nobody is signed in",
         body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "`origin_refused`: Not for pages from there",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn socket(
    State(shared): State<Shared>,
    Query(query): Query<SocketQuery>,
    request: Request,
) -> Result<Response, Failure> {
    let (mut parts, _) = request.into_parts();
    check_origin(&shared, &parts.headers)?;
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &shared).await;
    let upgrade = upgrade.map_err(|rejection| {
        Failure::new(Code::MalformedRequest, format!("a socket is asked for: {rejection}"))
    })?;
    let wanted = wanted(query.resume, query.topics.as_deref(), query.object)?;
    let redeemed = live::redeem(shared.app(), &query.ticket, place_of(&parts)).await;
    let caller = redeemed.map_err(|error| match error {
        AuthError::Unknown => {
            Failure::new(Code::Unauthenticated, "the ticket is not valid, or was used")
        }
        AuthError::Store(error) => ade_engine::Error::from(error).into(),
    })?;
    if !caller.scopes.contains(&Class::Read) {
        let detail = "listening is of class `read`, which your token does not open";
        return Err(Failure::new(Code::ClassClosed, detail));
    }
    let (listener, room) = seat(&shared, caller, wanted).await?;
    Ok(upgrade
        .read_buffer_size(LIVE_SOCKET_READ_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(LIVE_SOCKET_WRITE_BYTES)
        .max_message_size(LIVE_FRAME_MAX_BYTES)
        .max_frame_size(LIVE_FRAME_MAX_BYTES)
        .on_upgrade(|socket| socket::tell(socket, listener, room)))
}

/// A browser names the page that asks; whoever is no browser has no page to be tricked by.
fn check_origin(shared: &Shared, headers: &HeaderMap) -> Result<(), Failure> {
    let mut given = headers.get_all(ORIGIN).iter();
    let Some(origin) = given.next() else { return Ok(()) };
    let known = origin.to_str().ok().filter(|_| given.next().is_none());
    // Our own pages, by the name that an operator gave: what the request calls us proves nothing.
    let own = shared.app().notify.page.split('/').take(3).collect::<Vec<_>>().join("/");
    let allowed = &shared.settings().origins;
    if known.is_some_and(|origin| origin == own || allowed.iter().any(|one| one == origin)) {
        return Ok(());
    }
    Err(Failure::new(Code::OriginRefused, "this page may not open a socket here"))
}
