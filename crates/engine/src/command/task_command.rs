//! One decision on one task, from the lock on its row to the commit: begin, load, let the core
//! decide, write, respond. The commands of people, agents and workers all run through it.

use std::borrow::Cow;

use ade_core::audit::Why;
use ade_core::ids::{ApprovalId, ExecutionId, TaskId, TenantId};
use ade_core::limits::IDEMPOTENCY_KEPT_FOR;
use ade_core::task::{ApplyFacts, Command, Decision, Facts, Refusal, State, Task, decide};
use ade_core::time::Timestamp;
use ade_store::audit::AuditEntryId;
use ade_store::idempotency::{IdempotentResponse, StoredResponse};
use ade_store::scheduled_jobs::ScheduledJob;
use ade_store::tasks::{self, Cause, Committed, Gathered, SideEffects, TaskHeader};
use ade_store::tx::{BeginOptions, LockTarget};
use ade_store::{TenantLock, Tx};
use serde::Serialize;
use uuid::Uuid;

use super::assess::Rated;
use super::idempotency::key_of;
use super::idempotency::{store_response, with_new_key};
use super::permission::entry_of_refusal;
use super::permission::may_read;
use super::schedule::{JobKind, Schedule, grace, schedule, worker_caller};
use super::{Reply, json};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::error::Error;
use crate::services::rulebook_cache::{self, DecisionInputs};

/// The task that the caller means, and the version in which the caller saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskTarget {
    pub task: TaskId,
    pub expected: Option<u64>,
}

/// The response to the caller, decided before it is written.
#[derive(Debug, Clone, Copy)]
pub struct PlannedResponse<'a> {
    receipt: AuditEntryId,
    answer: &'a IdempotentResponse,
}

#[derive(Debug)]
pub struct TaskCommand<'a> {
    app: &'a App,
    caller: Cow<'a, Caller>,
    attempt: Option<&'a IdempotentRequest>,
    pub tx: Tx,
    pub task: Task,
    pub label: TaskHeader,
    pub knowledge: DecisionInputs,
    pub(crate) settled: Option<JobKind>,
    /// The contents of the lock tables; empty until they are loaded.
    pub(crate) apply: ApplyFacts<'static>,
    /// Jobs that are scheduled in addition to those of the task itself.
    pub(crate) dues: Vec<ScheduledJob>,
}

impl<'a> TaskCommand<'a> {
    /// Begins on a task. A repeated request ends here with [`Error::Replayed`].
    pub async fn begin(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        target: TaskTarget,
    ) -> Result<Box<Self>, Error> {
        Self::begin_on(app, caller, attempt, LockTarget::Task(target.task), target.expected).await
    }

    /// Begins on the task of a review request.
    pub async fn begin_of(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        request: ApprovalId,
    ) -> Result<Box<Self>, Error> {
        Self::begin_on(app, caller, attempt, LockTarget::TaskOf(request), None).await
    }

    /// Begins on the task of an execution.
    pub async fn begin_applying(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        execution: ExecutionId,
    ) -> Result<Box<Self>, Error> {
        Self::begin_on(app, caller, attempt, LockTarget::TaskOfExecution(execution), None).await
    }

    async fn begin_on(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        row: LockTarget,
        expected: Option<u64>,
    ) -> Result<Box<Self>, Error> {
        let key = key_of(caller, attempt);
        let opening = BeginOptions { row: Some(row), key: key.as_ref() };
        let actor = caller.actor.clone();
        let mut tx =
            Tx::begin_with(&app.pools.api, caller.tenant, actor, TenantLock::Shared, opening)
                .await?;
        let task = match row {
            LockTarget::Task(task) => task,
            // A missing request leads to a missing task; a repeated request still gets its stored
            // response.
            LockTarget::TaskOf(_) | LockTarget::TaskOfExecution(_) => {
                tx.locked().unwrap_or(TaskId::from_u128(0))
            }
        };
        let asked = key.as_ref().map(|key| (key, &attempt.body));
        let gathered = tasks::gather(&mut tx, task, asked).await?;
        let tx = with_new_key(tx, gathered.claim.clone()).await?;
        let (caller, target) = (Cow::Borrowed(caller), TaskTarget { task, expected });
        Ok(Box::new(Self::load(app, caller, Some(attempt), tx, target, gathered).await?))
    }

    /// Continues on a task in a transaction that has just written it, with the idempotency key
    /// already reserved.
    pub async fn within(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a IdempotentRequest,
        mut tx: Tx,
        task: TaskId,
    ) -> Result<Box<Self>, Error> {
        let gathered = tasks::gather(&mut tx, task, None).await?;
        let (caller, target) = (Cow::Borrowed(caller), TaskTarget { task, expected: None });
        Ok(Box::new(Self::load(app, caller, Some(attempt), tx, target, gathered).await?))
    }

    pub async fn by_worker(
        app: &'a App,
        worker: &str,
        tenant: TenantId,
        task: TaskId,
    ) -> Result<Option<Box<Self>>, Error> {
        let caller = worker_caller(app, worker, tenant);
        let opening = BeginOptions { row: Some(LockTarget::Task(task)), key: None };
        let actor = caller.actor.clone();
        let mut tx =
            Tx::begin_with(&app.pools.worker, tenant, actor, TenantLock::Shared, opening).await?;
        let target = TaskTarget { task, expected: None };
        let gathered = tasks::gather(&mut tx, task, None).await?;
        let caller = Cow::Owned(caller);
        match Self::load(app, caller, None, tx, target, gathered).await {
            Ok(work) => Ok(Some(Box::new(work))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn load(
        app: &'a App,
        caller: Cow<'a, Caller>,
        attempt: Option<&'a IdempotentRequest>,
        mut tx: Tx,
        target: TaskTarget,
        gathered: Gathered,
    ) -> Result<Self, Error> {
        let missing = Error::NotFound { what: "task" };
        let (Some(task), Some(label)) = (gathered.task, gathered.label) else {
            return Err(missing);
        };
        let book = app.books.at(&mut tx, gathered.rulebook).await?;
        if !may_read(app, &book, &caller.actor, &task) {
            return Err(missing);
        }
        if let Some(expected) = target.expected.filter(|expected| *expected != task.version) {
            return Err(Error::VersionMoved { expected, found: task.version });
        }
        let pinned = app.books.pinned(&mut tx, &book, &task.pins).await?;
        let knowledge = rulebook_cache::of_task(book, pinned, &caller.actor, &task);
        let apply = ApplyFacts::default();
        let (settled, dues) = (None, Vec::new());
        Ok(Self { app, caller, attempt, tx, task, label, knowledge, settled, apply, dues })
    }

    pub fn facts(&self) -> Facts<'_> {
        let facts = self.knowledge.facts(&self.app.access, &self.caller.actor);
        Facts { apply: self.apply, ..facts }
    }

    /// Ends the transaction without any effect.
    pub async fn roll_back(self: Box<Self>) {
        self.tx.roll_back().await;
    }

    pub fn decide(&self, command: &Command) -> Result<Decision, Refusal> {
        decide(&self.task, command, &self.facts(), self.tx.now())
    }

    pub fn after(&self, decision: &Decision) -> Option<Task> {
        self.task.after(decision, self.tx.now())
    }

    pub fn now(&self) -> Timestamp {
        self.tx.now()
    }

    pub fn app(&self) -> &'a App {
        self.app
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Ends the command with a refusal, and records it if refusals of this kind are audited.
    pub async fn refuse(self, command: &Command, refusal: Refusal) -> Error {
        let Self { mut tx, caller, task, .. } = self;
        let Some(entry) = entry_of_refusal(&tx, &caller, &task, command, &refusal) else {
            return refusal.into();
        };
        let kept = async {
            ade_store::audit::append(&mut tx, &[entry]).await?;
            tx.commit().await
        };
        match kept.await {
            Ok(()) => refusal.into(),
            Err(error) => error.into(),
        }
    }

    /// Writes everything that the decision requires, with the response for a repeated request, in
    /// one statement; then commits.
    pub async fn finish<T: Serialize>(
        mut self,
        command: &Command,
        decision: &Decision,
        rated: Option<&Rated>,
        why: Why,
        answer: impl FnOnce(Option<&Task>, AuditEntryId) -> Result<(u16, T), Error>,
    ) -> Result<Reply, Error> {
        let receipt = AuditEntryId(Uuid::now_v7());
        let (status, body) = answer(self.after(decision).as_ref(), receipt)?;
        let answer = IdempotentResponse { status, body: json(&body)? };
        let given = PlannedResponse { receipt, answer: &answer };
        let written = self.write(command, decision, rated, why, Some(given));
        let committed = Box::pin(written).await?;
        self.commit(&committed).await?;
        Ok(Reply { status, body: answer.body, is_repeated: false })
    }

    /// Stores the response to a decision that is already written, and commits.
    pub async fn conclude(
        mut self,
        committed: &Committed,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        let reply = match self.attempt {
            Some(attempt) => {
                store_response(&mut self.tx, &self.caller, attempt, status, body).await?
            }
            None => Reply { status, body: json(body)?, is_repeated: false },
        };
        self.commit(committed).await?;
        Ok(reply)
    }

    pub async fn write(
        &mut self,
        command: &Command,
        decision: &Decision,
        rated: Option<&Rated>,
        why: Why,
        given: Option<PlannedResponse<'_>>,
    ) -> Result<Committed, Error> {
        let place = self.caller.place.clone();
        let receipt = given.map(|given| given.receipt);
        let cause = Cause { command: command.kind(), place, why, receipt };
        let next = self.after(decision);
        let executors = self.app.executors.of(&self.knowledge.book.tenant);
        let now = self.tx.now();
        let Schedule { mut dues, mut done } =
            schedule(executors, &self.task, next.as_ref(), &self.facts(), now);
        dues.extend(grace(&self.task, decision, now));
        dues.append(&mut self.dues);
        done.extend(self.settled.map(JobKind::as_str).filter(|kind| !done.contains(kind)));
        let key = self.attempt.and_then(|attempt| key_of(&self.caller, attempt));
        let answer = match (&key, self.attempt, given) {
            (Some(key), Some(attempt), Some(given)) => Some(StoredResponse {
                key,
                body: &attempt.body,
                answer: given.answer,
                expires_at: self.tx.now().plus(IDEMPOTENCY_KEPT_FOR),
            }),
            _ => None,
        };
        let beside = SideEffects { dues: &dues, done: &done, answer };
        let body = rated.map(|rated| &rated.body);
        let written =
            tasks::commit_decision(&mut self.tx, &self.task, decision, body, cause, &beside);
        Ok(written.await?)
    }

    pub(crate) async fn commit(self, committed: &Committed) -> Result<(), Error> {
        let Self { app, tx, .. } = self;
        let tenant = tx.tenant();
        tx.commit().await?;
        app.wake.relay.notify_one();
        if let Some(task) = &committed.task {
            app.watch.tell(tenant, task.id, task.version);
            match task.state {
                State::Submitted => app.wake.review_opener.notify_one(),
                State::Approved => {
                    app.claims.announce(tenant);
                    app.wake.apply_runner.notify_one();
                }
                _ => {}
            }
        }
        Ok(())
    }
}
