//! Many answers in one transaction. Each item is decided by the same rule as alone; one that is
//! refused leaves nothing written, and says so.

use std::collections::BTreeMap;

use ade_api::batches::{BatchAction, BatchAnswer, BatchItem, BatchVerdict, NewBatch};
use ade_core::approval::batch::{Item, Order, Preflight, preflight};
use ade_core::approval::{Answer, Seen};
use ade_core::audit::Why;
use ade_core::flag::Flag;
use ade_core::ids::TaskId;
use ade_core::limits::{BATCH_ITEMS_MAX, REASON_MAX_BYTES};
use ade_core::step_up::Subject;
use ade_core::task::{Command, Decision, Facts, Task, To};
use ade_store::tasks::{self, Beside, Cause};
use ade_store::{Gate, Tx, approvals};

use super::act::{begin, person, told_before};
use super::deadline::{Schedule, schedule};
use super::decision::{claim, keep, may_read};
use super::{Reply, json, step_up};
use crate::app::App;
use crate::book::{self, Knowledge};
use crate::caller::{Attempt, Caller};
use crate::error::Error;

/// One task of the batch, locked.
#[derive(Debug)]
struct Loaded {
    task: Task,
    knowledge: Knowledge,
}

pub async fn vote(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewBatch,
    is_dry_run: bool,
) -> Result<Reply, Error> {
    person(caller)?;
    if new.items.is_empty() || new.items.len() > BATCH_ITEMS_MAX {
        return Err(Error::invalid("items", format!("1 to {BATCH_ITEMS_MAX}")));
    }
    if new.items.iter().any(|item| item.revision == 0) {
        return Err(Error::invalid("items", "revisions count from 1"));
    }
    // Said of each item, it would read as if other items could be answered with it.
    if new.reason.as_ref().is_some_and(|reason| reason.len() > REASON_MAX_BYTES) {
        return Err(Error::invalid("reason", format!("at most {REASON_MAX_BYTES} bytes")));
    }
    let mut tx = begin(&app.pools.api, caller, Gate::Shared).await?;
    match claim(&mut tx, caller, attempt).await {
        Ok(None) => {}
        answered => return told_before(tx, answered).await,
    }
    if !is_dry_run {
        let book = app.books.current(&mut tx).await?;
        let flag = Flag::BatchApprovals;
        if !book.flags.contains(&flag) {
            return Err(Error::FeatureOff { flag });
        }
    }
    let found = tasks_of(&mut tx, &new.items).await?;
    let loaded = load(app, caller, &mut tx, &found).await?;
    let order = order_of(&new);
    let facts: Vec<Facts<'_>> =
        loaded.iter().map(|loaded| loaded.knowledge.facts(&app.access, &caller.actor)).collect();
    let items: Vec<Item<'_>> = new
        .items
        .iter()
        .zip(&found)
        .filter_map(|(item, task)| {
            let at = loaded.iter().position(|loaded| loaded.task.id == *task)?;
            let seen = Seen { revision: item.revision, digest: item.digest };
            Some(Item { task: &loaded.get(at)?.task, facts: facts.get(at)?, seen })
        })
        .collect();
    let judged =
        preflight(&items, &order, tx.now()).map_err(|refusal| Error::invalid("body", refusal))?;
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
    if let Err(error) = confirm(app, caller, &mut tx, order.answer, &items).await {
        tx.roll_back().await;
        return Err(error);
    }
    for (item, (_, verdict)) in items.iter().zip(&judged.verdicts) {
        if let Ok(decision) = verdict {
            let cause = cause_of(caller, item, &order);
            write(app, &mut tx, item.task, item.facts, decision, cause).await?;
        }
    }
    let reply = keep(&mut tx, caller, attempt, 200, &answer).await?;
    let tenant = tx.tenant();
    tx.commit().await?;
    app.wake.relay.notify_one();
    for item in &items {
        app.watch.tell(tenant, item.task.id, item.task.version + 1);
    }
    Ok(reply)
}

/// One word for all of them: another set of tasks, or another effect of one, needs another.
async fn confirm(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    answer: Answer,
    items: &[Item<'_>],
) -> Result<(), Error> {
    match Subject::answering(answer, items.iter().map(|item| item.task)) {
        Some(subject) => step_up::require(app, caller, tx, &subject).await,
        None => Ok(()),
    }
}

fn answer_of(is_dry_run: bool, is_allowed: bool, items: Vec<BatchVerdict>) -> BatchAnswer {
    let next_action = match (is_dry_run, is_allowed) {
        (false, _) => "nothing: all answers are given",
        (true, true) => "send it without `dry_run` to give the answers",
        (true, false) => "take the refused items out, or look at them one by one",
    };
    BatchAnswer { is_written: !is_dry_run, items, next_action: next_action.to_owned() }
}

fn order_of(new: &NewBatch) -> Order {
    Order {
        answer: match new.action {
            BatchAction::Approve => Answer::Approve,
            BatchAction::Reject => Answer::Reject,
        },
        reason: new.reason.clone().filter(|reason| !reason.trim().is_empty()),
        apply_immediately: new.apply_immediately,
        skip_validation: new.skip_validation,
    }
}

/// The task of each item, in the order given.
async fn tasks_of(tx: &mut Tx, items: &[BatchItem]) -> Result<Vec<TaskId>, Error> {
    let wanted: Vec<_> = items.iter().map(|item| item.approval).collect();
    let known: BTreeMap<_, _> = approvals::tasks_of(tx, &wanted).await?.into_iter().collect();
    wanted
        .iter()
        .map(|id| known.get(id).copied().ok_or(Error::NotFound { what: "approval" }))
        .collect()
}

/// Locked in the order of their ids, as everywhere.
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
        let knowledge = book::of_task(book.clone(), pinned, &caller.actor, &task);
        loaded.push(Loaded { task, knowledge });
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
        BatchVerdict { approval: item.approval, task: *task, state, refusal }
    })
    .collect()
}

/// One decision of several in one transaction; the answer to all of them is kept apart.
pub(super) async fn write(
    app: &App,
    tx: &mut Tx,
    task: &Task,
    facts: &Facts<'_>,
    decision: &Decision,
    cause: Cause,
) -> Result<(), Error> {
    let (next, now) = (task.after(decision, tx.now()), tx.now());
    let Schedule { dues, done } = schedule(&app.executors, task, next.as_ref(), facts, now);
    let beside = Beside { dues: &dues, done: &done, answer: None };
    tasks::commit_decision(tx, task, decision, None, cause, &beside).await?;
    Ok(())
}

fn cause_of(caller: &Caller, item: &Item<'_>, order: &Order) -> Cause {
    let command =
        Command::Vote { answer: order.answer, seen: item.seen, reason: order.reason.clone() };
    let why = Why { reason: order.reason.clone(), ticket: None };
    Cause { command: command.kind(), place: caller.place.clone(), why, receipt: None }
}
