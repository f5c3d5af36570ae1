//! The growing log of a task's newest attempt, as server-sent events. It ends with the attempt, or
//! after a while: a client that reconnects continues after the last line and is authenticated
//! again.

use std::fmt::Write as _;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::events::Message;
use ade_api::executions::Execution;
use ade_api::schema;
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::limits::{LIVE_STREAM_CHUNKS, LIVE_WRITE_TIMEOUT, WAIT_MAX};
use ade_engine::events::{Listener, Wanted};
use ade_engine::executions;
use ade_engine::{Caller, Error};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::Query;
use super::live::{self, LAST_EVENT_ID, stream};
use super::state::Shared;
use super::task_path::TaskPath;
use super::tasks::patience;

/// How often a followed log is polled.
const LOG_LOOK_PERIOD: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogsQuery {
    /// How long the stream stays open; defaults to `55s`, which is also the maximum.
    #[param(value_type = Option<schema::Wait>)]
    pub wait: Option<String>,
}

/// The position of a reader.
#[derive(Debug, Clone, Copy)]
struct Place {
    execution: ExecutionId,
    /// The number of the next line.
    next: u64,
}

impl Place {
    /// Parses the id of the last line that was received, such as `exec_…:17`.
    fn parse(text: &str) -> Option<Self> {
        let (execution, last) = text.split_once(':')?;
        let next = last.parse::<u64>().ok()?.checked_add(1)?;
        Some(Self { execution: execution.parse().ok()?, next })
    }
}

/// Follow the log of the newest attempt
///
/// Server-sent events: `line` with a log line, and `end` with the attempt when it has ended. After
/// a disconnect, continue with `Last-Event-ID`. If there is no attempt yet, the stream waits for
/// one.
#[utoipa::path(get, path = "/v1/tasks/{id}/logs", tag = "executions", operation_id = "follow_logs",
    params(("id" = schema::TaskRef, Path), LogsQuery),
    responses((status = 200, description = "A stream of lines", body = Message,
               content_type = "text/event-stream")))]
pub async fn follow(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
    headers: HeaderMap,
    Query(query): Query<LogsQuery>,
) -> Result<Response, ApiError> {
    let place = headers.get(LAST_EVENT_ID).map(|last| {
        let unfit = || {
            ApiError::new(Code::MalformedRequest, "`Last-Event-ID` is not a position in the log")
        };
        last.to_str().ok().and_then(Place::parse).ok_or_else(unfit)
    });
    let wait = query.wait.as_deref().map(patience).transpose()?.unwrap_or(WAIT_MAX);
    // A caller without access gets an error before the stream starts.
    let attempts = executions::list(shared.app(), &caller, id).await?.items;
    let place = match place.transpose()? {
        Some(place) if attempts.iter().any(|attempt| attempt.id == place.execution) => Some(place),
        Some(_) => return Err(ApiError::new(Code::NotFound, "the task has no such attempt")),
        None => newest(&attempts),
    };
    let wanted = Wanted { object: Some(id.to_string()), ..Wanted::default() };
    let (listener, room) = live::seat(&shared, caller.clone(), wanted).await?;
    let (chunks, taken) = mpsc::channel(LIVE_STREAM_CHUNKS);
    let follower = Follower { shared, caller, task: id, place, until: Instant::now() + wait };
    tokio::spawn(follower.send_lines(listener, room, chunks));
    Ok(stream::of(taken))
}

fn newest(attempts: &[Execution]) -> Option<Place> {
    attempts.first().map(|attempt| Place { execution: attempt.id, next: 0 })
}

struct Follower {
    shared: Shared,
    caller: Caller,
    task: TaskId,
    place: Option<Place>,
    until: Instant,
}

impl Follower {
    /// Sends new lines until the log or the stream ends. Events of the task trigger a read, and a
    /// listener that loses access is disconnected.
    async fn send_lines(
        mut self,
        mut listener: Listener,
        room: OwnedSemaphorePermit,
        chunks: mpsc::Sender<Bytes>,
    ) {
        loop {
            let (text, is_over) = match self.look().await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::debug!(%error, "log stream closed");
                    break;
                }
            };
            let is_sent = text.is_empty() || {
                let sent = chunks.send(Bytes::from(text));
                matches!(tokio::time::timeout(LIVE_WRITE_TIMEOUT, sent).await, Ok(Ok(())))
            };
            if !is_sent || is_over || Instant::now() >= self.until {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(LOG_LOOK_PERIOD) => {}
                heard = listener.next() => if heard.is_err() { break },
                () = chunks.closed() => break,
            }
        }
        drop(room);
    }

    /// Reads the new lines and whether the log is complete. Access is checked each time.
    async fn look(&mut self) -> Result<(String, bool), Error> {
        let app = self.shared.app();
        let Some(place) = &mut self.place else {
            let attempts = executions::list(app, &self.caller, self.task).await?.items;
            self.place = newest(&attempts);
            return Ok((String::new(), false));
        };
        let mut text = String::new();
        let log = executions::lines(app, &self.caller, place.execution, place.next).await?;
        for line in &log.lines {
            let data = serde_json::to_string(line).unwrap_or_default();
            let id = format!("{}:{}", place.execution, line.number);
            let _ = write!(text, "id: {id}\nevent: line\ndata: {data}\n\n");
        }
        place.next = log.next;
        if !log.is_complete {
            return Ok((text, false));
        }
        let ended = executions::get(app, &self.caller, place.execution).await?;
        let data = serde_json::to_string(&ended).unwrap_or_default();
        let _ = write!(text, "event: end\ndata: {data}\n\n");
        Ok((text, true))
    }
}
