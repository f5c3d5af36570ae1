//! The tools of one caller. Each parses its arguments, makes the calls, and names the next action.
//! Here are the tools for requests; [`changes`](crate::changes) has those for changes and locks.

use std::time::Duration;

use ade_api::claims::BlockedBy;
use ade_api::explain::Gate;
use ade_api::seconds::Seconds;
use ade_api::tasks::{Amendment, Change, NewTask, Plan, Task, TaskSummary};
use ade_client::{Client, Error, Waited};
use ade_core::ids::TaskId;
use ade_core::limits::WAIT_MAX;
use ade_core::task::{State, SubState};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::agent_api::AgentApi;
use crate::answer::{ToolResponse, is_with_others, next_for, then};
use crate::arguments::{
    GetRequest, RequestApproval, ReviseRequest, WaitForDecision, WithdrawRequest,
};
use crate::keep_alive::{Extended, KeptLeases, extend_attempt};
use crate::output::{ClosedGate, RequestContent, RequestStatus};
use crate::tool::Tool;

/// The tools of one caller. Clones are equivalent.
#[derive(Debug, Clone)]
pub struct Tools {
    pub(crate) api: AgentApi,
    page: String,
    /// The leases that this process keeps alive; `None` if the calls of the model extend them.
    pub(crate) kept: Option<KeptLeases>,
}

impl Tools {
    /// Creates the tools for single calls, which any process may answer. A lease gets the longest
    /// lifetime, and each call that names it extends it. `page` is the URL of the dashboard.
    pub fn new(client: Client, page: &str) -> Self {
        let page = page.trim_end_matches('/').to_owned();
        Self { api: AgentApi::new(client), page, kept: None }
    }

    /// Creates the tools for a process that serves one host and keeps its leases alive.
    pub fn keeping_leases_alive(client: Client, page: &str) -> Self {
        Self { kept: Some(KeptLeases::default()), ..Self::new(client, page) }
    }

    /// Returns the URL where people review a task.
    pub fn review_page(&self, task: TaskId) -> String {
        format!("{}/tasks/{task}", self.page)
    }

    pub async fn call(&self, tool: Tool, arguments: Map<String, Value>) -> ToolResponse {
        let answered = match tool {
            Tool::RequestApproval => self.request(arguments).await,
            Tool::WaitForDecision => self.wait(arguments).await,
            Tool::ReviseRequest => self.revise(arguments).await,
            Tool::WithdrawRequest => self.withdraw(arguments).await,
            Tool::StartChange => self.start(arguments).await,
            Tool::FinishChange => self.finish(arguments).await,
            Tool::GetRequest => self.get(arguments).await,
            Tool::AcquireLocks => self.acquire(arguments).await,
            Tool::ReleaseLocks => self.release(arguments).await,
        };
        let response = answered.unwrap_or_else(|stop| match stop {
            Stop::Misread(why) => ToolResponse::misread(&why),
            Stop::Refused(error) => ToolResponse::refused(&error),
        });
        self.alerted(response)
    }

    /// Returns the status of a request that was already made.
    pub(crate) async fn status(&self, task: TaskId) -> ToolResponse {
        let response = match self.api.get(task.into()).await {
            Ok(task) => self.shown(&task, None),
            Err(error) => ToolResponse::refused(&error),
        };
        self.alerted(response)
    }

    /// Returns the task, and the result of the wait if it is over.
    pub(crate) async fn ended(&self, task: TaskId) -> Result<(Task, Option<ToolResponse>), Error> {
        let task = self.api.get(task.into()).await?;
        if is_with_others(task.summary.state) {
            return Ok((task, None));
        }
        let response = self.alerted(self.shown(&task, Some(false)));
        Ok((task, Some(response)))
    }

    /// Adds what happened to the caller's leases since the last call.
    fn alerted(&self, response: ToolResponse) -> ToolResponse {
        match &self.kept {
            Some(kept) => response.with_alerts(kept.alerts()),
            None => response,
        }
    }

    async fn request(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let asked: RequestApproval = read(arguments)?;
        let key = asked.idempotency_key.unwrap_or_else(|| Uuid::now_v7().to_string());
        let new = NewTask {
            title: asked.title,
            task_type: asked.task_type,
            parameters: Value::Object(asked.parameters),
            resources: asked.resources,
            tags: asked.tags,
            priority: asked.priority,
            team: asked.team,
            ticket: asked.ticket,
            timeout_seconds: asked.timeout_seconds,
            rollback: asked.rollback,
            plan: asked.changes.map(plan),
            submit: true,
        };
        Ok(self.shown(&self.api.create(&new, key).await?, None))
    }

    async fn wait(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let WaitForDecision { task_id, wait_seconds } = read(arguments)?;
        let wait = patience(wait_seconds.unwrap_or(WAIT_MAX.as_secs()))?;
        let is_it = |task: &Task| !is_with_others(task.summary.state);
        Ok(match self.api.until(task_id, wait, is_it).await? {
            Waited::Reached(task) => self.shown(&task, Some(false)),
            Waited::TimedOut(task) => self.shown(&task, Some(true)),
        })
    }

    async fn revise(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let asked: ReviseRequest = read(arguments)?;
        let id = asked.task_id;
        let version = match asked.version {
            Some(version) => version,
            None => self.api.get(id).await?.summary.version,
        };
        let amendment = Amendment {
            parameters: asked.parameters.map(Value::Object),
            resources: asked.resources,
            tags: asked.tags,
            plan: asked.changes.map(plan),
        };
        if amendment == Amendment::default() {
            return Ok(self.shown(&self.api.submit(id, version).await?, None));
        }
        let task = self.api.amend(id, version, &amendment).await?;
        if task.summary.state != State::Draft {
            return Ok(self.shown(&task, None));
        }
        Ok(self.shown(&self.api.submit(id, task.summary.version).await?, None))
    }

    async fn withdraw(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let WithdrawRequest { task_id, reason } = read(arguments)?;
        let withdrawn = self.api.withdraw(task_id, reason).await?;
        Ok(self.shown_summary(&withdrawn, Remarks::default()))
    }

    async fn get(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let GetRequest { task_id, execution_id, lease_id } = read(arguments)?;
        let extended = match (execution_id, lease_id) {
            (Some(execution), Some(lease)) => {
                Some(extend_attempt(&self.api, execution, lease).await?)
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let why = "give execution_id and lease_id of start_change together";
                return Err(Stop::Misread(why.to_owned()));
            }
        };
        let task = self.api.get(task_id).await?;
        let blocked_by = if task.summary.state.is_before_permit() {
            let gates = self.api.explain(task_id).await?.gates;
            gates.into_iter().filter(|gate| !gate.passed).map(ClosedGate::from).collect()
        } else {
            Vec::new()
        };
        let response = self.shown(&task, None);
        let content = self.content(task, blocked_by, extended.as_ref());
        Ok(with_extension(response.and(&content), extended))
    }

    fn content(
        &self,
        task: Task,
        blocked_by: Vec<ClosedGate>,
        extended: Option<&Extended>,
    ) -> RequestContent {
        RequestContent {
            title: task.summary.title,
            task_type: task.summary.task_type,
            revision: task.summary.revision,
            digest: task.summary.digest,
            resources: task.resources,
            parameters: task.parameters,
            origin: task.effect.origin,
            changes: task.effect.changes,
            timeout_seconds: task.timeout_seconds,
            blocked_by,
            extend_within_seconds: self.extend_within(extended.and_then(|it| it.ttl_seconds)),
        }
    }

    fn shown(&self, task: &Task, timed_out: Option<bool>) -> ToolResponse {
        let warned = task.warnings.iter().map(|warning| warning.message.clone());
        let warnings = task.effect.warnings.iter().cloned().chain(warned).collect();
        let errors = task.effect.errors.clone();
        self.shown_summary(&task.summary, Remarks { warnings, errors, timed_out })
    }

    fn shown_summary(&self, summary: &TaskSummary, remarks: Remarks) -> ToolResponse {
        let (id, state, sub_state) = (summary.id, summary.state, summary.sub_state);
        let is_in_review = matches!(state, State::Submitted | State::Reviewing);
        let status = RequestStatus {
            task_id: id,
            state,
            sub_state,
            version: summary.version,
            decision: summary.decision.clone(),
            review_page: is_in_review.then(|| self.review_page(id)),
            warnings: remarks.warnings,
            errors: remarks.errors,
            timed_out: remarks.timed_out,
        };
        let named = sub_state.map_or(state.as_str(), SubState::as_str);
        let decided = summary.decision.as_ref().and_then(|decision| decision.reason.as_deref());
        let waits = is_in_review && remarks.timed_out == Some(true);
        let reason = if waits { Some("people have not decided yet") } else { decided };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let text = format!("{id} is {named}{reason}");
        let mut response = ToolResponse::new(&status, text, next_for(state, sub_state));
        response.to_review = is_in_review.then_some(id);
        response
    }

    /// Returns the lifetime to request: the longest one, and at most `most`, if nothing but calls
    /// extends the lease.
    pub(crate) async fn ttl(&self, most: Option<u32>) -> Result<Option<Seconds>, Error> {
        if self.kept.is_some() {
            return Ok(None);
        }
        let longest = self.api.longest_ttl().await?;
        Ok(Some(Seconds::new(most.map_or(longest, |most| most.min(longest)))))
    }

    /// Returns the time within which the model must call again, if calls extend the lease.
    pub(crate) fn extend_within(&self, ttl_seconds: Option<u64>) -> Option<u64> {
        ttl_seconds.filter(|_| self.kept.is_none())
    }
}

/// What a response says beside the summary of a task.
#[derive(Debug, Default)]
struct Remarks {
    warnings: Vec<String>,
    errors: Vec<String>,
    timed_out: Option<bool>,
}

fn plan(changes: Vec<Change>) -> Plan {
    Plan { changes, warnings: Vec::new() }
}

/// Adds what an extension found. While an attempt runs, its end is the next action.
fn with_extension(response: ToolResponse, extended: Option<Extended>) -> ToolResponse {
    let Some(extended) = extended else { return response };
    match extended.alert {
        Some(alert) => {
            let next = alert.next_action.clone();
            response.with_alerts(vec![alert]).with_next(next)
        }
        None => response
            .with_next(then(Tool::FinishChange, "continue with the change, then report its end")),
    }
}

impl From<Gate> for ClosedGate {
    fn from(gate: Gate) -> Self {
        Self {
            gate: gate.name,
            code: gate.code,
            reason: gate.evidence,
            until: gate.until,
            how_to_pass: gate.how_to_pass.unwrap_or_default(),
        }
    }
}

impl From<BlockedBy> for ClosedGate {
    fn from(blocked: BlockedBy) -> Self {
        Self {
            gate: blocked.gate,
            code: Some(blocked.code),
            reason: blocked.reason,
            until: blocked.until,
            how_to_pass: blocked.next_action.message,
        }
    }
}

/// The reason why a tool stopped.
#[derive(Debug)]
pub enum Stop {
    Misread(String),
    Refused(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

pub fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Stop> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Stop::Misread(error.to_string()))
}

/// Parses a wait. A longer one is refused and not shortened, so that a model knows that it must
/// call again.
pub fn patience(seconds: u64) -> Result<Duration, Stop> {
    let wait = Duration::from_secs(seconds);
    if wait > WAIT_MAX {
        let most = WAIT_MAX.as_secs();
        return Err(Stop::Misread(format!(
            "wait_seconds must be at most {most}; call again after that"
        )));
    }
    Ok(wait)
}
