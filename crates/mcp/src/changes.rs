//! The tools for changes and locks. What they grant is kept alive in the background or by later
//! calls of the model, as [`keep_alive`](crate::keep_alive) describes.

use std::time::Duration;

use ade_api::claims::{ClaimTask, Permit};
use ade_api::code::Code;
use ade_api::executions::{Execution, ExecutionOutcome, Finish, Left};
use ade_api::locks::{Lease, NewLease};
use ade_core::ids::LeaseId;
use ade_core::limits::{AGENT_SESSION_TTL, MCP_LOCK_TIMEOUT_DEFAULT_SECONDS};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::answer::{ToolResponse, next_for_blocked, only, then};
use crate::arguments::{AcquireLocks, ChangeOutcome, FinishChange, ReleaseLocks, StartChange};
use crate::keep_alive::extend_locks;
use crate::output::{
    ClosedGate, FinishedChange, HeldLocks, NextStep, ReleasedLocks, StartedChange, StartedPermit,
};
use crate::tool::Tool;
use crate::work::{Stop, Tools, patience, read};

impl Tools {
    /// Claims a permit and begins the attempt in one call: the caller may act on the response, and
    /// from then on only the caller knows what has happened.
    pub(crate) async fn start(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let StartChange { task_id, wait_seconds, audience } = read(arguments)?;
        let wait = patience(wait_seconds)?;
        let wants_receipt = audience.is_some();
        let ttl_seconds = self.ttl(None).await?;
        let claim = ClaimTask { begin: true, ttl_seconds, audience, ..ClaimTask::default() };
        let claimed = self.api.claim(task_id, &claim, wait).await?;
        let Some(permit) = claimed.permit else {
            let blocked_by: Vec<ClosedGate> =
                claimed.blocked_by.into_iter().map(ClosedGate::from).collect();
            let reasons: Vec<&str> = blocked_by.iter().map(|gate| gate.reason.as_str()).collect();
            let text = format!("{task_id} cannot be started: {}", reasons.join("; "));
            let next = next_for_blocked(&blocked_by);
            let retry_after_ms = claimed.retry_after_ms;
            let facts = StartedChange { task_id, permit: None, blocked_by, retry_after_ms };
            return Ok(ToolResponse::new(&facts, text, next));
        };
        if let Some(kept) = &self.kept {
            kept.keep_attempt(&self.api, &permit);
        }
        Ok(self.permitted(permit, wants_receipt))
    }

    fn permitted(&self, permit: Permit, wants_receipt: bool) -> ToolResponse {
        let (execution, lease) = (permit.execution_id, permit.lease_id);
        let extend_within_seconds = self.extend_within(Some(permit.ttl_seconds));
        let extend = extend_within_seconds.map(|seconds| {
            format!("; until then call get_request with both ids at least every {seconds} s")
        });
        let message = format!(
            "make exactly the approved change now, then report its end{}",
            extend.unwrap_or_default()
        );
        let text = format!("The change has started: execution_id {execution}, lease_id {lease}");
        let facts = StartedChange {
            task_id: permit.task.summary.id.into(),
            permit: Some(StartedPermit {
                execution_id: execution,
                lease_id: lease,
                fence: permit.fence,
                resources: permit.resources.into_iter().map(|fenced| fenced.resource).collect(),
                parameters: permit.task.parameters,
                changes: permit.task.effect.changes,
                timeout_seconds: permit.timeout_seconds,
                extend_within_seconds,
                receipt: wants_receipt.then_some(permit.receipt),
            }),
            blocked_by: Vec::new(),
            retry_after_ms: None,
        };
        ToolResponse::new(&facts, text, then(Tool::FinishChange, message))
    }

    pub(crate) async fn finish(&self, arguments: Map<String, Value>) -> Result<ToolResponse, Stop> {
        let said: FinishChange = read(arguments)?;
        if said.outcome != ChangeOutcome::Succeeded && said.error.is_none() {
            let why = "an outcome other than `succeeded` requires `error`: what went wrong";
            return Err(Stop::Misread(why.to_owned()));
        }
        let lease = said.lease_id;
        let finish = Finish {
            lease_id: lease,
            outcome: said.outcome.into(),
            error: said.error,
            left_behind: said.left_behind,
            output: said.output,
            details: said.details,
        };
        let finished = self.api.finish(said.execution_id, &finish).await;
        let has_ended = match &finished {
            Ok(_) => true,
            Err(error) => error.is(Code::LeaseLost),
        };
        if let Some(kept) = self.kept.as_ref().filter(|_| has_ended) {
            kept.drop_lease(lease);
        }
        Ok(reported(&finished?))
    }

    /// Acquires locks. The lease id is generated here, so that a refused request can be repeated
    /// and keeps its place.
    pub(crate) async fn acquire(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<ToolResponse, Stop> {
        let wanted: AcquireLocks = read(arguments)?;
        let wait = patience(wanted.wait_seconds)?;
        let is_repeated = wanted.lease_id.is_some();
        let timeout = wanted.timeout_seconds.unwrap_or(MCP_LOCK_TIMEOUT_DEFAULT_SECONDS);
        let lease_id =
            wanted.lease_id.unwrap_or_else(|| LeaseId::from_u128(Uuid::new_v4().as_u128()));
        let new = NewLease {
            lease_id: Some(lease_id),
            process_id: wanted.process_id,
            resources: wanted.resources,
            ttl_seconds: self.ttl(Some(timeout)).await?,
            wait: None,
            priority: 0,
            fenced: wanted.fenced,
            purpose: wanted.purpose,
            held_fence: None,
        };
        let lease = match self.api.acquire(new, wait).await {
            Ok(lease) => lease,
            Err(error) => {
                let id = json!({ "lease_id": lease_id });
                return Ok(ToolResponse::refused(&error).and(&id));
            }
        };
        let mut alerts = Vec::new();
        if let Some(kept) = &self.kept {
            kept.keep_locks(&self.api, &lease, Duration::from_secs(timeout.into()));
        } else if is_repeated || wanted.process_id.is_some() {
            alerts.extend(extend_locks(&self.api, lease_id, wanted.process_id).await?);
        }
        let lives = match wanted.process_id {
            Some(_) => lease.ttl_seconds.min(AGENT_SESSION_TTL.as_secs()),
            None => lease.ttl_seconds,
        };
        Ok(self.held(lease, timeout, lives).with_alerts(alerts))
    }

    fn held(&self, lease: Lease, timeout: u32, lives: u64) -> ToolResponse {
        let extend_within_seconds = self.extend_within(Some(lives));
        let text = format!("The locks are held: lease_id {}", lease.lease_id);
        let facts = HeldLocks {
            lease_id: lease.lease_id,
            process_id: lease.process_id,
            fence: lease.fence,
            resources: lease.resources,
            timeout_seconds: timeout.into(),
            extend_within_seconds,
        };
        let next =
            then(Tool::ReleaseLocks, "do the work that the locks are for, then release them");
        ToolResponse::new(&facts, text, next)
    }

    pub(crate) async fn release(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<ToolResponse, Stop> {
        let ReleaseLocks { lease_id } = read(arguments)?;
        let released = self.api.release(lease_id).await?;
        if let Some(kept) = &self.kept {
            kept.drop_lease(lease_id);
        }
        let state = released.state;
        let text = format!("{lease_id} is {}", state.as_str());
        let next = only("nothing: do not work under these locks any more");
        Ok(ToolResponse::new(&ReleasedLocks { lease_id, state }, text, next))
    }
}

fn reported(ended: &Execution) -> ToolResponse {
    let facts = FinishedChange {
        task_id: ended.task_id,
        execution_id: ended.id,
        outcome: ended.outcome,
        left_behind: ended.left_behind,
    };
    let outcome = ended.outcome.map_or("not reported", ExecutionOutcome::as_str);
    let text = format!("The attempt of {} has ended, outcome {outcome}", ended.task_id);
    ToolResponse::new(&facts, text, after_outcome(ended))
}

fn after_outcome(ended: &Execution) -> NextStep {
    let is_clean = matches!(ended.left_behind, Some(Left::Nothing | Left::RolledBack));
    match ended.outcome {
        Some(ExecutionOutcome::Succeeded) => only("nothing: the change is reported as made"),
        Some(ExecutionOutcome::Failed | ExecutionOutcome::TimedOut) if is_clean => {
            then(Tool::GetRequest, "read whether the change may be started again")
        }
        Some(ExecutionOutcome::Unknown) => only(
            "inform the person you work for: the report came too late, and someone must find out \
             whether the change was made",
        ),
        Some(
            ExecutionOutcome::Failed
            | ExecutionOutcome::TimedOut
            | ExecutionOutcome::Cancelled
            | ExecutionOutcome::Drifted
            | ExecutionOutcome::ReleasedToHost
            | ExecutionOutcome::Lost,
        )
        | None => only("inform the person you work for: they decide what happens now"),
    }
}
