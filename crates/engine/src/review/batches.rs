//! Several decisions in one transaction. Each item is decided by the same rules as alone; if one is
//! refused, nothing is written and the response says why.

use std::collections::BTreeMap;

use ade_api::batches::{BatchAction, BatchAnswer, BatchItem, BatchVerdict, NewBatch};
use ade_api::problem::NextAction;
use ade_core::approval::batch::{BatchOrder, BatchTask, Preflight, preflight};
use ade_core::approval::{Answer, Seen, VoteMark};
use ade_core::audit::Why;
use ade_core::flag::Flag;
use ade_core::ids::TaskId;
use ade_core::limits::{BATCH_ITEMS_MAX, REASON_MAX_BYTES};
use ade_core::step_up::ConfirmationSubject;
use ade_core::task::{Command, Decision, Facts, Task, To};
use ade_store::tasks::{self, Cause, SideEffects};
use ade_store::{TenantLock, Tx, approvals};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::confirmation;
use crate::command::idempotency::{reserve_key, store_response};
use crate::command::permission::may_read;
use crate::command::permission::{begin, person};
use crate::command::schedule::{Schedule, schedule};
use crate::command::{Reply, json};
use crate::error::Error;
use crate::services::executors::TenantExecutors;
use crate::services::rulebook_cache::{self, DecisionInputs};

/// One task of the batch, locked.
#[derive(Debug)]
struct Loaded {
    task: Task,
    inputs: DecisionInputs,
}

pub async fn vote(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewBatch,
    is_dry_run: bool,
) -> Result<Reply, Error> {
    person(caller)?;
    if new.items.is_empty() || new.items.len() > BATCH_ITEMS_MAX {
        return Err(Error::invalid("items", format!("must have 1 to {BATCH_ITEMS_MAX} items")));
    }
    let is_revision = |number: u32| number > 0 && i32::try_from(number).is_ok();
    if !new.items.iter().all(|item| is_revision(item.revision)) {
        return Err(Error::invalid("items", "revisions start at 1 and are less than 2147483648"));
    }
    // Reported for each item, the error would suggest that other items could be decided with this
    // reason.
    if new.reason.as_ref().is_some_and(|reason| reason.len() > REASON_MAX_BYTES) {
        return Err(Error::invalid("reason", format!("must be at most {REASON_MAX_BYTES} bytes")));
    }
    let tx = begin(&app.pools.api, caller, TenantLock::Shared).await?;
    let mut tx = reserve_key(tx, caller, attempt).await?;
    let book = app.books.current(&mut tx).await?;
    let flag = Flag::BatchApprovals;
    if !is_dry_run && !book.flags.contains(&flag) {
        return Err(Error::FeatureOff { flag });
    }
    let found = tasks_of(&mut tx, &new.items).await?;
    let loaded = load(app, caller, &mut tx, &found).await?;
    let order = order_of(&new);
    let facts: Vec<Facts<'_>> =
        loaded.iter().map(|loaded| loaded.inputs.facts(&app.access, &caller.actor)).collect();
    let items: Vec<BatchTask<'_>> = new
        .items
        .iter()
        .zip(&found)
        .filter_map(|(item, task)| {
            let at = loaded.iter().position(|loaded| loaded.task.id == *task)?;
            let seen = Seen { revision: item.revision, digest: item.digest };
            Some(BatchTask { task: &loaded.get(at)?.task, facts: facts.get(at)?, seen })
        })
        .collect();
    let judged = preflight(&items, &order, app.books.base().thresholds, tx.now())
        .map_err(|refusal| Error::invalid("body", refusal))?;
    let verdicts = verdicts(&new.items, &found, &judged);
    let is_allowed = judged.all().is_some();
    if !is_allowed && !is_dry_run {
        return Err(Error::BatchRefused { items: verdicts });
    }
    let answer = answer_of(is_dry_run, is_allowed, verdicts);
    if is_dry_run {
        tx.roll_back().await;
        return Ok(Reply { status: 200, body: json(&answer)?, is_repeated: false });
    }
    let mark = match confirm(app, caller, &mut tx, order.answer, &items).await {
        Ok(mark) => mark,
        Err(error) => {
            tx.roll_back().await;
            return Err(error);
        }
    };
    let executors = app.executors.of(&book.tenant);
    for (item, (_, verdict)) in items.iter().zip(&judged.verdicts) {
        if let Ok(decision) = verdict {
            let decision = decision.clone().with_mark(mark);
            let cause = cause_of(caller, item, &order);
            write(executors, &mut tx, item.task, item.facts, &decision, cause).await?;
        }
    }
    let reply = store_response(&mut tx, caller, attempt, 200, &answer).await?;
    let tenant = tx.tenant();
    tx.commit().await?;
    app.wake.relay.notify_one();
    for item in &items {
        app.watch.tell(tenant, item.task.id, item.task.version + 1);
    }
    Ok(reply)
}

/// Requires one passkey confirmation for all items. Another set of tasks, or another effect of one
/// of them, needs another confirmation. Returns the mark of the votes, if the passkey is too new
/// and counts only because the tenant is in setup.
async fn confirm(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    answer: Answer,
    items: &[BatchTask<'_>],
) -> Result<Option<VoteMark>, Error> {
    let tasks = items.iter().map(|item| item.task);
    let subject = ConfirmationSubject::answering(answer, tasks, app.books.base().thresholds);
    let (Some(subject), Some(item)) = (subject, items.first()) else { return Ok(None) };
    let used = confirmation::require(app, caller, tx, &subject).await?;
    let counts_from = used.counts_from.filter(|_| subject.needs_tenured_passkey());
    Ok(item.facts.authority.judge_passkey(counts_from, tx.now())?)
}

fn answer_of(is_dry_run: bool, is_allowed: bool, items: Vec<BatchVerdict>) -> BatchAnswer {
    let next_action = match (is_dry_run, is_allowed) {
        (false, _) => "nothing: all answers are recorded",
        (true, true) => "repeat the call without `dry_run` to record the answers",
        (true, false) => "remove the refused items, or decide them separately",
    };
    BatchAnswer { is_written: !is_dry_run, items, next_action: NextAction::new(next_action) }
}

fn order_of(new: &NewBatch) -> BatchOrder {
    BatchOrder {
        answer: match new.action {
            BatchAction::Approve => Answer::Approve,
            BatchAction::Reject => Answer::Reject,
        },
        reason: new.reason.clone().filter(|reason| !reason.trim().is_empty()),
        apply_immediately: new.apply_immediately,
        skip_validation: new.skip_validation,
    }
}

/// Returns the task of each item, in the order given.
async fn tasks_of(tx: &mut Tx, items: &[BatchItem]) -> Result<Vec<TaskId>, Error> {
    let wanted: Vec<_> = items.iter().map(|item| item.approval_id).collect();
    let known: BTreeMap<_, _> = approvals::tasks_of(tx, &wanted).await?.into_iter().collect();
    wanted
        .iter()
        .map(|id| known.get(id).copied().ok_or(Error::NotFound { what: "approval" }))
        .collect()
}

/// Loads the tasks, locked in the order of their ids to avoid deadlocks.
async fn load(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    wanted: &[TaskId],
) -> Result<Vec<Loaded>, Error> {
    let mut order = wanted.to_vec();
    order.sort();
    order.dedup();
    let book = app.books.current(tx).await?;
    let mut loaded = Vec::with_capacity(order.len());
    for id in order {
        let missing = Error::NotFound { what: "approval" };
        let Some(task) = tasks::load(tx, id).await? else { return Err(missing) };
        if !may_read(app, &book, &caller.actor, &task) {
            return Err(missing);
        }
        let pinned = app.books.pinned(tx, &book, &task.pins).await?;
        let inputs = rulebook_cache::of_task(book.clone(), pinned, &caller.actor, &task);
        loaded.push(Loaded { task, inputs });
    }
    Ok(loaded)
}

fn verdicts(items: &[BatchItem], tasks: &[TaskId], judged: &Preflight) -> Vec<BatchVerdict> {
    let judged = judged.verdicts.iter();
    let rows = items.iter().zip(tasks).zip(judged);
    rows.map(|((item, task), (_, verdict))| {
        let (state, refusal) = match verdict {
            Ok(decision) => match decision.to {
                To::State(state) => (Some(state), None),
                To::NewDraft | To::Gone => (None, None),
            },
            Err(refusal) => (None, Some(refusal.to_string())),
        };
        BatchVerdict { approval_id: item.approval_id, task_id: *task, state, refusal }
    })
    .collect()
}

/// Writes one decision of several in one transaction; the response to all of them is stored
/// separately.
pub(crate) async fn write(
    executors: TenantExecutors<'_, '_>,
    tx: &mut Tx,
    task: &Task,
    facts: &Facts<'_>,
    decision: &Decision,
    cause: Cause,
) -> Result<(), Error> {
    let (next, now) = (task.after(decision, tx.now()), tx.now());
    let Schedule { dues, done } = schedule(executors, task, next.as_ref(), facts, now);
    let beside = SideEffects { dues: &dues, done: &done, answer: None };
    tasks::commit_decision(tx, task, decision, None, cause, &beside).await?;
    Ok(())
}

fn cause_of(caller: &Caller, item: &BatchTask<'_>, order: &BatchOrder) -> Cause {
    let command =
        Command::Vote { answer: order.answer, seen: item.seen, reason: order.reason.clone() };
    let why = Why { reason: order.reason.clone(), ticket: None };
    Cause { command: command.kind(), place: caller.place.clone(), why, receipt: None }
}
