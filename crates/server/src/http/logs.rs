//! The log of a task's newest attempt as it grows, as server-sent events. It ends with the attempt,
//! and after a while by itself: whoever comes back goes on after the last line, and is asked again
//! who they are.

use std::fmt::Write as _;

use ade_api::code::Code;
use ade_api::events::Message;
use ade_api::executions::Execution;
use ade_api::schema;
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::limits::{LIVE_STREAM_CHUNKS, LIVE_WRITE_TIMEOUT, LOG_LOOK_PERIOD, WAIT_MAX};
use ade_engine::live::{Listener, Wanted};
use ade_engine::ops::executions;
use ade_engine::{Caller, Error};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{Path, Query};
use super::live::{self, LAST_EVENT_ID, stream};
use super::state::Shared;
use super::tasks::patience;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogsQuery {
    /// How long the stream stays open, `55s` at most and if left out.
    #[param(pattern = "^[0-9]{1,2}s$", example = "55s")]
    pub wait: Option<String>,
}

/// Where a reader is.
#[derive(Debug, Clone, Copy)]
struct Place {
    execution: ExecutionId,
    /// The number of the next line.
    next: u64,
}

impl Place {
    /// `exec_…:17`, the last line that was seen.
    fn parse(text: &str) -> Option<Self> {
        let (execution, last) = text.split_once(':')?;
        let next = last.parse::<u64>().ok()?.checked_add(1)?;
        Some(Self { execution: execution.parse().ok()?, next })
    }
}

/// Follow the log of the newest attempt
///
/// Server-sent events: `line` with a line of the log, and `end` with the attempt when it is over.
/// After a break, go on with `Last-Event-ID`. Without an attempt it waits for one.
#[utoipa::path(get, path = "/v1/tasks/{id}/logs", tag = "executions",
    params(("id" = schema::TaskId, Path), LogsQuery),
    responses((status = 200, description = "A stream of lines", body = Message,
               content_type = "text/event-stream")))]
pub async fn follow(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
    headers: HeaderMap,
    Query(query): Query<LogsQuery>,
) -> Result<Response, Failure> {
    let place = headers.get(LAST_EVENT_ID).map(|last| {
        let unfit = || Failure::new(Code::MalformedRequest, "`Last-Event-ID` is no line of a log");
        last.to_str().ok().and_then(Place::parse).ok_or_else(unfit)
    });
    let wait = query.wait.as_deref().map(patience).transpose()?.unwrap_or(WAIT_MAX);
    // Whoever may not see the task learns it before anything is sent.
    let attempts = executions::list(shared.app(), &caller, id).await?.items;
    let place = match place.transpose()? {
        Some(place) if attempts.iter().any(|attempt| attempt.id == place.execution) => Some(place),
        Some(_) => return Err(Failure::new(Code::NotFound, "the task has no such attempt")),
        None => newest(&attempts),
    };
    let wanted = Wanted { object: Some(id.to_string()), ..Wanted::default() };
    let (listener, room) = live::seat(&shared, caller.clone(), wanted).await?;
    let (chunks, taken) = mpsc::channel(LIVE_STREAM_CHUNKS);
    let follower = Follower { shared, caller, task: id, place, until: Instant::now() + wait };
    tokio::spawn(follower.tell(listener, room, chunks));
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
    /// Listens to its task as well: what happens to it is a reason to look, and whoever may not
    /// listen any more is let go.
    async fn tell(
        mut self,
        mut listener: Listener,
        room: OwnedSemaphorePermit,
        chunks: mpsc::Sender<Bytes>,
    ) {
        loop {
            let (text, is_over) = match self.look().await {
                Ok(seen) => seen,
                Err(error) => {
                    tracing::debug!(%error, "a follower of a log is let go");
                    break;
                }
            };
            let is_told = text.is_empty() || {
                let sent = chunks.send(Bytes::from(text));
                matches!(tokio::time::timeout(LIVE_WRITE_TIMEOUT, sent).await, Ok(Ok(())))
            };
            if !is_told || is_over || Instant::now() >= self.until {
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

    /// What is new, and whether that was all. Whether they still may is asked each time.
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
