//! One decision on one task, from the lock on its row to the commit: begin, load, let the core
//! decide, write everything, answer. People, agents and workers all come through here.

use std::borrow::Cow;

use ade_core::access::{Action, Object, Standing};
use ade_core::actor::Actor;
use ade_core::audit::Why;
use ade_core::ids::{ApprovalId, ExecutionId, TaskId, TenantId, UserId};
use ade_core::limits::IDEMPOTENCY_KEPT_FOR;
use ade_core::task::{ApplyFacts, Command, Decision, Facts, Refusal, State, Task, decide};
use ade_core::time::Timestamp;
use ade_store::audit::LeafId;
use ade_store::due::Due;
use ade_store::idempotency::{self, Answer, Claim, Kept};
use ade_store::rulebook::Rulebook;
use ade_store::tasks::{self, Beside, Cause, Committed, Gathered, Label};
use ade_store::tx::{Opening, Row};
use ade_store::{Gate, Tx};
use serde::Serialize;
use uuid::Uuid;

use super::act::{key_of, leaf_of_refusal, permit, told_before};
use super::deadline::{Deadline, Schedule, grace, schedule, worker_caller};
use super::{Reply, json};
use crate::app::App;
use crate::book::{self, Knowledge};
use crate::caller::{Attempt, Caller};
use crate::content::Rated;
use crate::error::Error;

/// Which task is meant, and in which version the caller saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub task: TaskId,
    pub expected: Option<u64>,
}

/// What the caller is told, decided before it is written.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    receipt: LeafId,
    answer: &'a Answer,
}

#[derive(Debug)]
pub struct Work<'a> {
    app: &'a App,
    caller: Cow<'a, Caller>,
    attempt: Option<&'a Attempt>,
    pub tx: Tx,
    pub task: Task,
    pub label: Label,
    pub knowledge: Knowledge,
    pub(super) settled: Option<Deadline>,
    /// What the lock tables say; nothing until somebody has asked them.
    pub(super) apply: ApplyFacts<'static>,
    /// What becomes due besides what the task itself says.
    pub(super) dues: Vec<Due>,
}

#[derive(Debug)]
pub enum Begun<'a> {
    Work(Box<Work<'a>>),
    Repeated(Reply),
}

impl<'a> Work<'a> {
    pub async fn begin(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a Attempt,
        target: Target,
    ) -> Result<Begun<'a>, Error> {
        Self::begin_on(app, caller, attempt, Row::Task(target.task), target.expected).await
    }

    /// On the task that a request is about.
    pub async fn begin_of(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a Attempt,
        request: ApprovalId,
    ) -> Result<Begun<'a>, Error> {
        Self::begin_on(app, caller, attempt, Row::TaskOf(request), None).await
    }

    /// On the task that an attempt applies.
    pub async fn begin_applying(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a Attempt,
        execution: ExecutionId,
    ) -> Result<Begun<'a>, Error> {
        Self::begin_on(app, caller, attempt, Row::TaskOfExecution(execution), None).await
    }

    async fn begin_on(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a Attempt,
        row: Row,
        expected: Option<u64>,
    ) -> Result<Begun<'a>, Error> {
        let key = key_of(caller, attempt);
        let opening = Opening { row: Some(row), key: key.as_ref() };
        let actor = caller.actor.clone();
        let mut tx =
            Tx::begin_with(&app.pools.api, caller.tenant, actor, Gate::Shared, opening).await?;
        let task = match row {
            Row::Task(task) => task,
            // A request that is not there leads to a task that is not there; a repetition is
            // still answered.
            Row::TaskOf(_) | Row::TaskOfExecution(_) => tx.locked().unwrap_or(TaskId::from_u128(0)),
        };
        let asked = key.as_ref().map(|key| (key, &attempt.body));
        let gathered = tasks::gather(&mut tx, task, asked).await?;
        match repeated(gathered.claim.clone()) {
            Ok(None) => {}
            answered => return told_before(tx, answered).await.map(Begun::Repeated),
        }
        let (caller, target) = (Cow::Borrowed(caller), Target { task, expected });
        let work = Self::load(app, caller, Some(attempt), tx, target, gathered).await?;
        Ok(Begun::Work(Box::new(work)))
    }

    pub async fn by_worker(
        app: &'a App,
        worker: &str,
        tenant: TenantId,
        task: TaskId,
    ) -> Result<Option<Box<Self>>, Error> {
        let caller = worker_caller(app, worker, tenant);
        let opening = Opening { row: Some(Row::Task(task)), key: None };
        let actor = caller.actor.clone();
        let mut tx =
            Tx::begin_with(&app.pools.worker, tenant, actor, Gate::Shared, opening).await?;
        let target = Target { task, expected: None };
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
        attempt: Option<&'a Attempt>,
        mut tx: Tx,
        target: Target,
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
        let knowledge = book::of_task(book, pinned, &caller.actor, &task);
        let apply = ApplyFacts::default();
        let (settled, dues) = (None, Vec::new());
        Ok(Self { app, caller, attempt, tx, task, label, knowledge, settled, apply, dues })
    }

    pub fn facts(&self) -> Facts<'_> {
        let facts = self.knowledge.facts(&self.app.access, &self.caller.actor);
        Facts { apply: self.apply, ..facts }
    }

    /// Nothing of it happens.
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

    /// Somebody asked for what they may not do, or nobody may do now: that alone is kept. Other
    /// refusals are answers.
    pub async fn refuse(self, command: &Command, refusal: Refusal) -> Error {
        let Self { mut tx, caller, task, .. } = self;
        let Some(leaf) = leaf_of_refusal(&tx, &caller, &task, command, &refusal) else {
            return refusal.into();
        };
        let kept = async {
            ade_store::audit::append(&mut tx, &[leaf]).await?;
            tx.commit().await
        };
        match kept.await {
            Ok(()) => refusal.into(),
            Err(error) => error.into(),
        }
    }

    /// Everything the decision asks for, with the answer that a repetition will get, in one
    /// statement; then the commit.
    pub async fn finish<T: Serialize>(
        mut self,
        command: &Command,
        decision: &Decision,
        rated: Option<&Rated>,
        why: Why,
        answer: impl FnOnce(Option<&Task>, LeafId) -> Result<(u16, T), Error>,
    ) -> Result<Reply, Error> {
        let receipt = LeafId(Uuid::now_v7());
        let (status, body) = answer(self.after(decision).as_ref(), receipt)?;
        let answer = Answer { status, body: json(&body)? };
        let given = Given { receipt, answer: &answer };
        let written = self.write(command, decision, rated, why, Some(given));
        let committed = Box::pin(written).await?;
        self.commit(&committed).await?;
        Ok(Reply { status, body: answer.body, is_repeated: false })
    }

    /// For a decision that is written with something else in the same transaction.
    pub async fn conclude(
        mut self,
        committed: &Committed,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        let reply = match self.attempt {
            Some(attempt) => keep(&mut self.tx, &self.caller, attempt, status, body).await?,
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
        given: Option<Given<'_>>,
    ) -> Result<Committed, Error> {
        let place = self.caller.place.clone();
        let receipt = given.map(|given| given.receipt);
        let cause = Cause { command: command.kind(), place, why, receipt };
        let next = self.after(decision);
        let (executors, now) = (&self.app.executors, self.tx.now());
        let Schedule { mut dues, mut done } =
            schedule(executors, &self.task, next.as_ref(), &self.facts(), now);
        dues.extend(grace(&self.task, decision, now));
        dues.append(&mut self.dues);
        done.extend(self.settled.map(Deadline::as_str).filter(|kind| !done.contains(kind)));
        let key = self.attempt.and_then(|attempt| key_of(&self.caller, attempt));
        let answer = match (&key, self.attempt, given) {
            (Some(key), Some(attempt), Some(given)) => Some(Kept {
                key,
                body: &attempt.body,
                answer: given.answer,
                expires_at: self.tx.now().plus(IDEMPOTENCY_KEPT_FOR),
            }),
            _ => None,
        };
        let beside = Beside { dues: &dues, done: &done, answer };
        let body = rated.map(|rated| &rated.body);
        let written =
            tasks::commit_decision(&mut self.tx, &self.task, decision, body, cause, &beside);
        Ok(written.await?)
    }

    pub(super) async fn commit(self, committed: &Committed) -> Result<(), Error> {
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

/// The answer, kept for whoever asks the same again.
pub async fn keep(
    tx: &mut Tx,
    caller: &Caller,
    attempt: &Attempt,
    status: u16,
    body: &impl Serialize,
) -> Result<Reply, Error> {
    let body = json(body)?;
    if let Some(key) = key_of(caller, attempt) {
        let answer = Answer { status, body: body.clone() };
        let expires_at = tx.now().plus(IDEMPOTENCY_KEPT_FOR);
        let kept = Kept { key: &key, body: &attempt.body, answer: &answer, expires_at };
        idempotency::keep(tx, &kept).await?;
    }
    Ok(Reply { status, body, is_repeated: false })
}

pub async fn claim(
    tx: &mut Tx,
    caller: &Caller,
    attempt: &Attempt,
) -> Result<Option<Reply>, Error> {
    let Some(key) = key_of(caller, attempt) else { return Ok(None) };
    repeated(idempotency::claim(tx, &key, &attempt.body).await?)
}

/// The answer that was given before, if there was one.
fn repeated(claim: Claim) -> Result<Option<Reply>, Error> {
    match claim {
        Claim::Fresh => Ok(None),
        Claim::Answered(answer) => Ok(Some(Reply::repeated(answer))),
        Claim::OtherBody => Err(Error::KeyReused),
        Claim::InFlight => Err(Error::KeyInFlight),
    }
}

/// Whether the actor may know of this task at all.
pub fn may_read(app: &App, book: &Rulebook, actor: &Actor, task: &Task) -> bool {
    let involvement = &task.involvement;
    let mut standing = standing(
        book,
        actor,
        involvement.author,
        involvement.agent,
        &task.content.subject.task_type,
    );
    standing.holds_permit =
        task.execution.as_ref().is_some_and(|execution| execution.holder == *actor);
    permit(app, book, actor, Action::ReadTask, Object::Task(standing)).is_ok()
}

/// What the actor is to a task of which only the heading is known: enough for reading it.
pub fn standing(
    book: &Rulebook,
    actor: &Actor,
    author: UserId,
    proposer: Option<ade_core::ids::AgentId>,
    task_type: &str,
) -> Standing {
    let is_authors = actor.human().is_some_and(|human| book.directory.same_human(human, author));
    let agent = match actor {
        Actor::Agent { id, .. } => Some(*id),
        Actor::User { .. } | Actor::System { .. } => None,
    };
    Standing {
        is_author: matches!(actor, Actor::User { .. }) && is_authors,
        is_own_agent: agent.is_some() && (is_authors || agent == proposer),
        is_executor: book::agent_facts(book, actor, task_type).is_capable,
        ..Standing::default()
    }
}
