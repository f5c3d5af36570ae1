//! What each tool does: reads its arguments, makes its calls, says what comes next.

use std::time::Duration;

use ade_api::executions::{Claim, Fail, FailureKind, Finish};
use ade_api::locks;
use ade_api::tasks::{Cancellation, Task};
use ade_client::{Client, Error, Waited};
use ade_core::actor::Actor;
use ade_core::ids::{LeaseId, TaskId};
use ade_core::limits::WAIT_MAX;
use ade_core::task::State;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::answer::{Answer, is_with_others, next_for};
use crate::arguments::{
    AcquireLocks, AmendTask, CancelTask, ClaimPermit, Heartbeat, OneTask, Outcome, ProposeTask,
    ReleaseLocks, ReportResult, WaitForTask,
};
use crate::reach::Reach;
use crate::tool::Tool;

/// The tools of one caller. Clones are the same.
#[derive(Debug, Clone)]
pub struct Tools {
    reach: Reach,
    page: String,
}

impl Tools {
    /// `page` is where people find the product.
    pub fn new(client: Client, page: &str) -> Self {
        Self { reach: Reach::new(client), page: page.trim_end_matches('/').to_owned() }
    }

    /// Where people look at a task and decide.
    pub fn review_page(&self, task: TaskId) -> String {
        format!("{}/tasks/{task}", self.page)
    }

    pub async fn call(&self, tool: Tool, arguments: Map<String, Value>) -> Answer {
        let answered = match tool {
            Tool::ProposeTask => self.propose(arguments).await,
            Tool::GetTask => self.get(arguments).await,
            Tool::WaitForTask => self.wait(arguments).await,
            Tool::AmendTask => self.amend(arguments).await,
            Tool::CancelTask => self.cancel(arguments).await,
            Tool::AcquireLocks => self.acquire(arguments).await,
            Tool::Heartbeat => self.heartbeat(arguments).await,
            Tool::ReleaseLocks => self.release(arguments).await,
            Tool::ClaimPermit => self.claim(arguments).await,
            Tool::ReportResult => self.report(arguments).await,
            Tool::ExplainTask => self.explain(arguments).await,
        };
        answered.unwrap_or_else(|stop| match stop {
            Stop::Misread(why) => Answer::misread(&why),
            Stop::Refused(error) => Answer::refused(&error),
        })
    }

    /// Created and submitted under keys that follow from one name.
    async fn propose(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let ProposeTask { task, repeat_key } = read(arguments)?;
        let key = repeat_key.unwrap_or_else(|| Uuid::now_v7().to_string());
        let draft = self.reach.create(&task, key.clone()).await?;
        let (id, version) = (draft.summary.id, draft.summary.version);
        match self.reach.submit(id, version, Some(format!("{key}:submit"))).await {
            Ok(task) => Ok(self.told(&task)),
            // The draft is there: without its id it would be proposed a second time.
            Err(error) => {
                let refused = Answer::refused(&error).with("task", id.to_string());
                Ok(refused.with("version", version))
            }
        }
    }

    async fn get(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let OneTask { task } = read(arguments)?;
        Ok(self.told(&self.reach.get(task).await?))
    }

    async fn wait(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let WaitForTask { task, seconds } = read(arguments)?;
        let wait = patience(seconds.unwrap_or(WAIT_MAX.as_secs()))?;
        let is_it = |task: &Task| !is_with_others(task.summary.state);
        Ok(match self.reach.until(task, wait, is_it).await? {
            Waited::Reached(task) => self.told(&task).with("timed_out", false),
            Waited::InVain(task) => self.told(&task).with("timed_out", true),
        })
    }

    /// The task as it is, if others are done with it.
    pub(crate) async fn ended(&self, task: TaskId) -> Result<(Task, Option<Answer>), Error> {
        let task = self.reach.get(task).await?;
        let answer = (!is_with_others(task.summary.state))
            .then(|| self.told(&task).with("timed_out", false));
        Ok((task, answer))
    }

    async fn amend(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let AmendTask { task: id, version, changes } = read(arguments)?;
        let Some(changes) = changes else {
            return Ok(self.told(&self.reach.submit(id, version, None).await?));
        };
        let task = self.reach.amend(id, version, &changes).await?;
        if task.summary.state != State::Draft {
            return Ok(self.told(&task));
        }
        Ok(self.told(&self.reach.submit(id, task.summary.version, None).await?))
    }

    async fn cancel(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let CancelTask { task, version, reason } = read(arguments)?;
        let cancelled = self.reach.cancel(task, version, &Cancellation { reason }).await?;
        Ok(Answer::new(&cancelled, next_for(cancelled.state)))
    }

    async fn explain(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let OneTask { task } = read(arguments)?;
        let explanation = self.reach.explain(task).await?;
        let next = next_for(explanation.state);
        Ok(Answer::new(&explanation, next).with("review_page", self.review_page(task)))
    }

    /// The lease is named here, so that a refused request can be sent again and keeps its place.
    async fn acquire(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let wanted: AcquireLocks = read(arguments)?;
        let wait = patience(wanted.seconds)?;
        let lease = wanted.lease.unwrap_or_else(|| LeaseId::from_u128(Uuid::new_v4().as_u128()));
        let new = locks::NewLease {
            lease: Some(lease),
            session: wanted.session,
            resources: wanted.resources,
            ttl: wanted.ttl,
            wait: None,
            priority: 0,
            fenced: wanted.fenced,
            purpose: wanted.purpose,
            held_token: None,
        };
        Ok(match self.reach.acquire(new, wait).await {
            Ok(granted) => {
                let next = "do what the lock is for, with a heartbeat every 10 s; then call \
                            release_locks";
                Answer::new(&granted, next)
            }
            Err(error) => Answer::refused(&error).with("lease", lease.to_string()),
        })
    }

    async fn heartbeat(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let Heartbeat { leases, execution, session } = read(arguments)?;
        let Some(execution) = execution else {
            let beats = self.reach.keep(&locks::Heartbeat { session, leases }).await?;
            let next = if beats.leases.iter().any(|beat| beat.refused.is_some()) {
                "end what you do under any lease with `refused` and release it: it gets no more \
                 time; the others again within 10 s"
            } else {
                "again within 10 s; stop working under any lease that is not `granted`"
            };
            return Ok(Answer::new(&beats, next));
        };
        let [lease] = leases.as_slice() else {
            return Err(Stop::Misread("an attempt has one lease: name it alone".to_owned()));
        };
        let alive = self.reach.keep_attempt(execution, *lease).await?;
        let next = if alive.abort_requested {
            "stop now: take back what you began, then call report_result with `failed`"
        } else {
            "go on, and call again within 10 s"
        };
        Ok(Answer::new(&alive, next))
    }

    async fn release(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let ReleaseLocks { lease } = read(arguments)?;
        let released = self.reach.release(lease).await?;
        Ok(Answer::new(&released, "nothing: the lease is over, do not work under it"))
    }

    /// Begun at once: whoever has the answer may act on it, and from there on only they know
    /// what happened.
    async fn claim(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let ClaimPermit { task, seconds, ttl, audience } = read(arguments)?;
        let wait = patience(seconds)?;
        let me = self.reach.me().await?;
        let Ok(Actor::Agent { id: agent, .. }) = serde_json::from_value(me.actor) else {
            return Err(Stop::Misread("only an agent claims; this token is a person's".to_owned()));
        };
        let claim = Claim { session: None, task, ttl, audience };
        let claimed = self.reach.claim(agent, &claim, wait).await?;
        let Some(permit) = claimed.permit else {
            let next = "there is nothing to apply now: call claim_permit again with some seconds, \
                        or explain_task for what stands in the way";
            return Ok(Answer::new(&json!({ "permit": null }), next));
        };
        let begun = self.reach.begin(permit.execution, permit.lease).await;
        if let Err(error) = begun {
            let refused = Answer::refused(&error);
            return Ok(refused.with("execution", permit.execution.to_string()));
        }
        let next = "apply exactly this task now, with heartbeat every 10 s naming execution and \
                    lease; then call report_result";
        Ok(Answer::new(&json!({ "permit": permit }), next))
    }

    async fn report(&self, arguments: Map<String, Value>) -> Result<Answer, Stop> {
        let said: ReportResult = read(arguments)?;
        let (lease, output, details) = (said.lease, said.output, said.details);
        let ended = match said.outcome {
            Outcome::Finished => {
                self.reach.finish(said.execution, &Finish { lease, output, details }).await?
            }
            Outcome::Failed => {
                let (Some(error), Some(left)) = (said.error, said.left) else {
                    let why = "`failed` needs `error` and `left`: what went wrong, what remains";
                    return Err(Stop::Misread(why.to_owned()));
                };
                let result = said.kind.unwrap_or(FailureKind::Failure);
                let fail = Fail { lease, result, left, error, output, details };
                self.reach.fail(said.execution, &fail).await?
            }
        };
        Ok(Answer::new(&ended, "nothing: the attempt is over; get_task shows the task"))
    }

    fn told(&self, task: &Task) -> Answer {
        let state = task.summary.state;
        let mut answer = Answer::new(task, next_for(state));
        if matches!(state, State::Submitted | State::Reviewing) {
            answer = answer.with("review_page", self.review_page(task.summary.id));
            answer.to_review = Some(task.summary.id);
        }
        answer
    }
}

/// Why a tool went no further.
enum Stop {
    Misread(String),
    Refused(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Stop> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Stop::Misread(error.to_string()))
}

/// Longer is refused and not cut: a model should know that it must call again.
fn patience(seconds: u64) -> Result<Duration, Stop> {
    let wait = Duration::from_secs(seconds);
    if wait > WAIT_MAX {
        let why = format!("seconds: at most {}; call again after that", WAIT_MAX.as_secs());
        return Err(Stop::Misread(why));
    }
    Ok(wait)
}
