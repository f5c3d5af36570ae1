//! The permit: APPROVED to APPLYING in one transaction that checks everything again (basis,
//! policies, freezes) and registers the holds, all or none, or moves the task to the state it
//! belongs in. The signed receipt states what was committed.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_api::claims::{Claimed, FencedResource, Permit};
use ade_api::tasks::Mode;
use ade_core::approval::Answer;
use ade_core::audit::Why;
use ade_core::ids::{ExecutionId, LeaseId, ProcessId};
use ade_core::limits::APPLY_BEGIN_WITHIN;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{self, FencingToken};
use ade_core::task::{Command, Decision, Hold, Refusal, Task};
use ade_core::time::Timestamp;
use ade_receipt::{Fenced, LockMode as FencedMode, PolicyVersion, Receipt, Voted};
use ade_store::executions::{self, Holder, Registered};
use ade_store::scheduled_jobs::ScheduledJob;
use ade_store::tasks::{self, Revision};
use ade_store::tenant_config::AgentEntry;
use uuid::Uuid;

use super::matching::environments;
use super::settle::{reopen, tell_queue, withdraw};
use super::{Taker, lock_delay, request, slot};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::present;
use crate::command::schedule::JobKind;
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::error::Error;
use crate::services::claim_queue::ClaimMatch;
use crate::services::receipts::seconds;

/// One claim on its way to a permit.
#[derive(Debug)]
pub(super) struct ClaimRequest<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
    pub attempt: &'a IdempotentRequest,
    pub taker: Taker,
    pub ttl: Duration,
    pub session: Option<ProcessId>,
    pub audience: String,
}

#[derive(Debug)]
pub(super) enum PermitOutcome {
    Permitted(Reply),
    /// Another claimer has the task, or this one may not run it.
    FellThrough,
    /// The task cannot be claimed now.
    NotNow,
}

pub(super) async fn permit(
    asked: &ClaimRequest<'_>,
    offer: ClaimMatch,
) -> Result<PermitOutcome, Error> {
    let ClaimRequest { app, caller, attempt, .. } = asked;
    let target = TaskTarget { task: offer.candidate.task, expected: None };
    let mut work = match TaskCommand::begin(app, caller, attempt, target).await {
        Ok(work) => work,
        Err(Error::NotFound { .. }) => return Ok(PermitOutcome::FellThrough),
        Err(error) => return Err(error),
    };
    let (task, revision) = (work.task.id, work.task.revision);
    let is_taking_work = match asked.taker {
        Taker::Agent(agent) => {
            let entry = work.knowledge.book.agents.get(&agent);
            entry.is_some_and(AgentEntry::is_taking_work)
        }
        Taker::Server => true,
    };
    if work.task.since != offer.candidate.since || !is_taking_work {
        // The idempotency key must be free again before the next offer uses it.
        work.roll_back().await;
        return Ok(PermitOutcome::FellThrough);
    }
    let revision = tasks::revision(&mut work.tx, task, revision).await?;
    let revision = revision.ok_or(Error::NotFound { what: "revision" })?;
    let named = offer.candidate.resources.iter().map(|(name, _)| name.clone()).collect();
    let known = environments(&mut work.tx, &work.knowledge.book, named).await?;
    let gates = work.load_gates(known.into_values().collect()).await?;
    work.apply.has_capacity = true;
    let execution = ExecutionId::from_uuid(Uuid::now_v7());
    let token = offer.token.map_or(0, FencingToken::number);
    let command =
        Command::StartApply { execution, hold: Hold { lease: offer.lease, token }, gates };
    let decision = match work.decide(&command) {
        Ok(decision) => decision,
        Err(refusal) => return refused(asked, work, &offer, command, refusal).await,
    };
    let registered = match register(asked, &mut work, &offer).await? {
        Ok(registered) => registered,
        Err(refusal) => {
            work.roll_back().await;
            return not_held(asked, &offer, refusal).await;
        }
    };
    let (command, decision) = under(&work, command, decision, &offer, registered)?;
    let granted = Granted { execution, lease: offer.lease, registered, revision };
    let reply = granted.write(asked, work, &command, &decision).await?;
    tell_queue(app, caller.tenant, offer.lease, offer.token.is_some()).await;
    Ok(PermitOutcome::Permitted(reply))
}

/// Repeats the decision with the token issued by PostgreSQL, if it differs from the queue's.
fn under(
    work: &TaskCommand<'_>,
    command: Command,
    decision: Decision,
    offer: &ClaimMatch,
    registered: Registered,
) -> Result<(Command, Decision), Error> {
    if offer.token == Some(registered.token) {
        return Ok((command, decision));
    }
    let hold = Hold { lease: offer.lease, token: registered.token.number() };
    let Command::StartApply { execution, gates, .. } = command else {
        return Ok((command, decision));
    };
    let command = Command::StartApply { execution, hold, gates };
    let decision = work.decide(&command)?;
    Ok((command, decision))
}

/// Handles a permit that the rules refuse, and moves the task accordingly.
async fn refused(
    asked: &ClaimRequest<'_>,
    work: Box<TaskCommand<'_>>,
    offer: &ClaimMatch,
    command: Command,
    refusal: Refusal,
) -> Result<PermitOutcome, Error> {
    let (app, tenant) = (asked.app, asked.caller.tenant);
    match refusal {
        // Another process was faster.
        Refusal::WrongState { .. } => {
            work.roll_back().await;
            Ok(PermitOutcome::FellThrough)
        }
        Refusal::BasisLost(_) => {
            work.roll_back().await;
            reopen(app, tenant, offer.candidate.task).await?;
            withdraw(app, tenant, offer.lease).await;
            Ok(PermitOutcome::FellThrough)
        }
        Refusal::Frozen { .. } | Refusal::AttemptsExhausted => {
            work.roll_back().await;
            withdraw(app, tenant, offer.lease).await;
            Ok(PermitOutcome::NotNow)
        }
        // A tenant must be able to show why nothing was applied, because the freeze is not its own.
        Refusal::InstallationFrozen(_) => {
            metrics::counter!("ade_permits_refused_total", "why" => "installation_frozen")
                .increment(1);
            withdraw(app, tenant, offer.lease).await;
            Err(work.refuse(&command, refusal).await)
        }
        other => {
            withdraw(app, tenant, offer.lease).await;
            Err(work.refuse(&command, other).await)
        }
    }
}

async fn register(
    asked: &ClaimRequest<'_>,
    work: &mut TaskCommand<'_>,
    offer: &ClaimMatch,
) -> Result<Result<Registered, RegisterRefusal>, Error> {
    let (agent, slot) = match asked.taker {
        Taker::Agent(agent) => {
            let entry = work.knowledge.book.agents.get(&agent);
            let capacity = entry.ok_or(Error::NotFound { what: "agent" })?.max_tasks;
            (Some(agent), Some((slot(agent)?, lock::Mode::Counting { capacity })))
        }
        Taker::Server => (None, None),
    };
    let (offered, taker) = ((&offer.candidate, offer.lease), (asked.taker, asked.ttl));
    let request = request(asked.app, offered, taker, Duration::ZERO, slot)?;
    let own = ProcessId::from_uuid(offer.lease.uuid());
    let holder = Holder {
        agent,
        session: asked.session.unwrap_or(own),
        is_own_session: asked.session.is_none(),
    };
    Ok(executions::register(&mut work.tx, &request, holder, offer.token).await?)
}

/// Corrects the queue, with which PostgreSQL disagreed; the task keeps its place.
async fn not_held(
    asked: &ClaimRequest<'_>,
    offer: &ClaimMatch,
    refusal: RegisterRefusal,
) -> Result<PermitOutcome, Error> {
    let tenant = asked.caller.tenant;
    tracing::info!(task = %offer.candidate.task, %refusal, "permit refused");
    metrics::counter!("ade_permits_refused_total", "why" => why(&refusal)).increment(1);
    match &refusal {
        RegisterRefusal::SessionDead => return Err(Error::ProcessExpired),
        // All slots of the agent are in use: the task is free for others.
        RegisterRefusal::Held { resource, .. } if resource.is_reserved() => {
            return Ok(PermitOutcome::FellThrough);
        }
        _ => {
            if let (Some(keeper), Some(_)) = (&asked.app.locks, offer.token)
                && let Err(error) = keeper.queue.correct(tenant, offer.lease, &refusal).await
            {
                tracing::warn!(%error, "failed to record a live hold in the lock queue");
            }
        }
    }
    Ok(PermitOutcome::NotNow)
}

const fn why(refusal: &RegisterRefusal) -> &'static str {
    match refusal {
        RegisterRefusal::SessionDead => "session_dead",
        RegisterRefusal::StaleEpoch { .. } => "stale_epoch",
        RegisterRefusal::TokenLow { .. } => "token_low",
        RegisterRefusal::Held { .. } => "held",
        RegisterRefusal::TooMany { .. } => "too_many",
        RegisterRefusal::LeaseSpent => "lease_spent",
    }
}

/// The parts of a permit that are written, signed and returned.
struct Granted {
    execution: ExecutionId,
    lease: LeaseId,
    registered: Registered,
    revision: Revision,
}

impl Granted {
    async fn write(
        self,
        asked: &ClaimRequest<'_>,
        mut work: Box<TaskCommand<'_>>,
        command: &Command,
        decision: &Decision,
    ) -> Result<Reply, Error> {
        let (now, object) = (work.now(), work.task.id.uuid());
        let silent_at = self.registered.deadline.plus(lock_delay(asked.app));
        let begin_before = now.plus(APPLY_BEGIN_WITHIN);
        work.dues.extend([
            ScheduledJob { kind: JobKind::RescueApply.as_str(), object, at: silent_at },
            ScheduledJob { kind: JobKind::TimeApply.as_str(), object, at: begin_before },
        ]);
        let (label, pins) = (work.label.clone(), work.task.pins.clone());
        let fenced = self.fenced();
        let receipt = self.receipt(asked, &work, &fenced, &pins, now)?;
        work.finish(command, decision, None, Why::default(), |next, _| {
            let next = next.ok_or(Error::NotFound { what: "task" })?;
            let permit = Permit {
                execution_id: self.execution,
                task: present::decided_whole(asked.app, &label, next, &self.revision, now)?,
                attempt: next.attempts,
                lease_id: self.lease,
                fence: self.registered.token.number(),
                resources: fenced,
                expires_at: self.registered.deadline,
                ttl_seconds: asked.ttl.as_secs(),
                begin_before,
                begun_at: None,
                timeout_seconds: label.heading.timeout_seconds,
                receipt,
            };
            Ok((200, Claimed::granted(permit)))
        })
        .await
    }

    fn fenced(&self) -> Vec<FencedResource> {
        let fence = self.registered.token.number();
        let named = self.revision.resources.iter().map(|(resource, mode)| FencedResource {
            resource: resource.clone(),
            mode: mode.as_deref().and_then(Mode::parse).unwrap_or(Mode::Exclusive),
            fence,
        });
        named.collect()
    }

    fn receipt(
        &self,
        asked: &ClaimRequest<'_>,
        work: &TaskCommand<'_>,
        fenced: &[FencedResource],
        pins: &[ade_core::policy::PolicyRef],
        now: Timestamp,
    ) -> Result<String, Error> {
        let receipts = asked.app.receipts.as_ref().ok_or(Error::ReceiptsOff)?;
        let until = now
            .plus(APPLY_BEGIN_WITHIN)
            .plus(Duration::from_secs(u64::from(work.label.heading.timeout_seconds)));
        let receipt = Receipt {
            issuer: receipts.issuer().to_owned(),
            audience: asked.audience.clone(),
            nonce: self.execution.to_string(),
            issued_at: seconds(now.micros()),
            expires_at: seconds(until.micros()),
            task: work.task.id.to_string(),
            tenant: asked.caller.tenant.to_string(),
            revision: work.task.revision,
            digest: work.task.content.digest.to_string(),
            agent: asked.taker.name(),
            lease: crate::locks::hash(&self.lease).to_string(),
            votes: voted(&work.task),
            policies: pins
                .iter()
                .map(|pin| PolicyVersion { policy: pin.id.to_string(), version: pin.version })
                .collect(),
            resources: fenced.iter().map(fenced_of).collect(),
            versions: versions_of(&self.revision),
        };
        receipts.sign(&receipt).map_err(|_| Error::ReceiptsOff)
    }
}

fn fenced_of(fenced: &FencedResource) -> Fenced {
    Fenced {
        resource: fenced.resource.to_string(),
        mode: match fenced.mode {
            Mode::Exclusive => FencedMode::Exclusive,
            Mode::Shared => FencedMode::Shared,
        },
        fence: fenced.fence,
    }
}

fn versions_of(revision: &Revision) -> BTreeMap<String, String> {
    let versions = revision.versions.0.iter();
    versions.map(|(resource, version)| (resource.to_string(), version.clone())).collect()
}

/// The decisions that count for this revision.
fn voted(task: &Task) -> Vec<Voted> {
    let counts = task.votes.iter().filter(|vote| {
        vote.effectual
            && !vote.withdrawn
            && vote.revision == task.revision
            && vote.answer == Answer::Approve
    });
    let voted = counts.map(|vote| Voted { user: vote.voter.to_string(), at: vote.at.to_string() });
    voted.collect()
}
