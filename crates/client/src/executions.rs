//! Calls about attempts: what their holder says, and what everybody may see.

use std::time::Duration;

use ade_api::executions::{
    Alive, Beginning, Execution, Executions as All, Fail, Finish, Log, LogLine, Logged, NewLog,
    Permit, Pulse,
};
use ade_core::ids::{ExecutionId, TaskId};
use serde::Serialize;

use crate::Client;
use crate::error::Error;
use crate::keeper::Keeper;
use crate::send::Call;
use crate::stream::Stream;

#[derive(Debug, Clone, Copy)]
pub struct Executions<'a>(pub(crate) &'a Client);

/// What the log of an attempt says while it grows.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Line(LogLine),
    /// The attempt is over.
    End(Box<Execution>),
}

/// The log of the newest attempt of a task, as it grows.
#[derive(Debug)]
pub struct LogStream(Stream);

impl LogStream {
    /// Goes on after a break with the line that follows. Nothing comes after the end.
    pub async fn next(&mut self) -> Result<Said, Error> {
        loop {
            let message = self.0.next().await?;
            match message.event.as_str() {
                "line" => return Ok(Said::Line(self.0.read(&message.data)?)),
                "end" => return Ok(Said::End(Box::new(self.0.read(&message.data)?))),
                // A newer server may say more.
                _ => {}
            }
        }
    }
}

impl Executions<'_> {
    pub async fn get(self, id: ExecutionId) -> Result<Execution, Error> {
        self.0.read(format!("/v1/executions/{id}")).await
    }

    /// The attempts of a task, the newest first.
    pub async fn list(self, task: TaskId) -> Result<All, Error> {
        self.0.read(format!("/v1/tasks/{task}/executions")).await
    }

    pub async fn begin(self, id: ExecutionId, beginning: &Beginning) -> Result<Execution, Error> {
        self.0.send(said(id, "begin", beginning)).await
    }

    /// Tried once and for so long: whoever keeps a lease counts the time itself.
    pub async fn heartbeat(
        self,
        id: ExecutionId,
        pulse: &Pulse,
        within: Duration,
    ) -> Result<Alive, Error> {
        self.0.send(said(id, "heartbeat", pulse).once(within)).await
    }

    /// Keeps the lease of an attempt from now on.
    pub fn keep(self, permit: &Permit) -> Keeper {
        let (client, execution) = (self.0.clone(), permit.execution);
        let pulse = Pulse { lease: permit.lease };
        Keeper::start(Duration::from_millis(permit.ttl_ms), move |within| {
            let (client, pulse) = (client.clone(), pulse.clone());
            async move { client.executions().heartbeat(execution, &pulse, within).await }
        })
    }

    pub async fn log(self, id: ExecutionId, log: &NewLog) -> Result<Logged, Error> {
        self.0.send(said(id, "log", log)).await
    }

    /// From one line on.
    pub async fn lines(self, id: ExecutionId, from: u64) -> Result<Log, Error> {
        let call =
            Call::get(format!("/v1/executions/{id}/log")).query("from", Some(from.to_string()));
        self.0.send(call).await
    }

    /// Without an attempt it waits for one.
    pub fn follow(self, task: TaskId) -> LogStream {
        LogStream(Stream::new(self.0, Call::get(format!("/v1/tasks/{task}/logs"))))
    }

    pub async fn finish(self, id: ExecutionId, finish: &Finish) -> Result<Execution, Error> {
        self.0.send(said(id, "finish", finish)).await
    }

    pub async fn fail(self, id: ExecutionId, fail: &Fail) -> Result<Execution, Error> {
        self.0.send(said(id, "fail", fail)).await
    }
}

fn said(id: ExecutionId, verb: &str, body: &impl Serialize) -> Call {
    Call::post(format!("/v1/executions/{id}/{verb}")).body(body)
}
