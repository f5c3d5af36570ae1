//! Calls for executions: reports of the executor, and logs for readers.

use std::time::Duration;

use ade_api::claims::Permit;
use ade_api::executions::{
    Alive, Beginning, Execution, Executions as All, Finish, Log, LogLine, Logged, NewLog, Pulse,
};
use ade_core::ids::ExecutionId;
use ade_core::task_ref::TaskRef;
use serde::Serialize;

use crate::Client;
use crate::error::Error;
use crate::lease_keep_alive::LeaseKeepAlive;
use crate::send::Call;
use crate::stream::Stream;

#[derive(Debug, Clone, Copy)]
pub struct Executions<'a>(pub(crate) &'a Client);

/// A message of a growing execution log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogMessage {
    Line(LogLine),
    /// The execution has ended.
    End(Box<Execution>),
}

/// The growing log of the newest execution of a task.
#[derive(Debug)]
pub struct LogStream(Stream);

impl LogStream {
    /// Returns the next message and reconnects at the next line. Nothing follows the end.
    pub async fn next(&mut self) -> Result<LogMessage, Error> {
        loop {
            let message = self.0.next().await?;
            match message.event.as_str() {
                "line" => return Ok(LogMessage::Line(self.0.read(&message.data)?)),
                "end" => return Ok(LogMessage::End(Box::new(self.0.read(&message.data)?))),
                // A newer server may send other messages.
                _ => {}
            }
        }
    }
}

impl Executions<'_> {
    pub async fn get(self, id: ExecutionId) -> Result<Execution, Error> {
        self.0.read(format!("/v1/executions/{id}")).await
    }

    /// Lists the executions of a task, newest first.
    pub async fn list(self, task: impl Into<TaskRef>) -> Result<All, Error> {
        self.0.read(format!("/v1/tasks/{}/executions", task.into())).await
    }

    pub async fn begin(self, id: ExecutionId, beginning: &Beginning) -> Result<Execution, Error> {
        self.0.send(said(id, "begin", beginning)).await
    }

    /// Sends a heartbeat once, within the given time, because the caller tracks the lease itself.
    pub async fn heartbeat(
        self,
        id: ExecutionId,
        pulse: &Pulse,
        within: Duration,
    ) -> Result<Alive, Error> {
        self.0.send(said(id, "heartbeat", pulse).once(within)).await
    }

    /// Keeps the lease of an execution alive.
    pub fn keep(self, permit: &Permit) -> LeaseKeepAlive {
        let (client, execution) = (self.0.clone(), permit.execution_id);
        let pulse = Pulse { lease_id: permit.lease_id };
        LeaseKeepAlive::start(Duration::from_secs(permit.ttl_seconds), move |within| {
            let (client, pulse) = (client.clone(), pulse.clone());
            async move { client.executions().heartbeat(execution, &pulse, within).await }
        })
    }

    pub async fn log(self, id: ExecutionId, log: &NewLog) -> Result<Logged, Error> {
        self.0.send(said(id, "log", log)).await
    }

    /// Returns the log from a line number on.
    pub async fn lines(self, id: ExecutionId, from: u64) -> Result<Log, Error> {
        let call =
            Call::get(format!("/v1/executions/{id}/log")).query("from", Some(from.to_string()));
        self.0.send(call).await
    }

    /// Follows the log of the newest execution, and waits for the first execution if necessary.
    pub fn follow(self, task: impl Into<TaskRef>) -> LogStream {
        LogStream(Stream::new(self.0, Call::get(format!("/v1/tasks/{}/logs", task.into()))))
    }

    pub async fn finish(self, id: ExecutionId, finish: &Finish) -> Result<Execution, Error> {
        self.0.send(said(id, "finish", finish)).await
    }
}

fn said(id: ExecutionId, verb: &str, body: &impl Serialize) -> Call {
    Call::post(format!("/v1/executions/{id}/{verb}")).body(body)
}
