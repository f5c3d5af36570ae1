//! `ade approve`, `reject`, `request-changes` and `withdraw`. A vote is bound to the revision and
//! digest that were just shown. The server alone decides who may vote; this module only makes it
//! harder for a program to vote in the name of a person.

use ade_api::approvals::{Approval, NewVote, Voted};
use ade_api::batches::{BatchAction, BatchAnswer, BatchItem, NewBatch};
use ade_api::tasks::Task;
use ade_client::Client;
use ade_core::actor::Actor;
use ade_core::approval::{Answer, ApprovalStatus};
use ade_core::ids::{ApprovalId, UserId};
use ade_core::risk::Level;
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use crate::args::{AnswerArgs, ApproveArgs, Asked, RejectArgs, WithdrawArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Tone;
use crate::text::visible;
use crate::{look, reading, tasks};

/// Environment variables that agent hosts set. The check is only a courtesy and can be bypassed;
/// the server rejects every vote that an agent casts.
const AGENT_MARKS: [&str; 4] = ["ADE_TASK", "AI_AGENT", "CLAUDECODE", "CODEX_SANDBOX"];
/// The maximum length of a title in a table.
const TITLE_CHARS: usize = 48;

type Ended = Result<Exit, Failure>;

/// An approval request with the current state of its task.
struct Item {
    approval: ApprovalId,
    task: Task,
}

impl Item {
    fn vote(&self, reason: Option<String>) -> NewVote {
        let summary = &self.task.summary;
        NewVote { revision: summary.revision, digest: summary.digest, reason }
    }

    fn is_grave(&self) -> bool {
        matches!(self.task.summary.risk.level, Level::High | Level::Critical)
    }
}

pub async fn approve(args: ApproveArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let items = items(&client, &args.ids, args.rev).await?;
    if args.dry_run {
        let batch = batch(BatchAction::Approve, &items, args.reason);
        return verdicts(&client.approvals().batch(&batch, true).await?, cx);
    }
    by_a_person()?;
    if let [item] = items.as_slice() {
        agree(item, args.yes, cx).await?;
        let voted =
            client.approvals().approve(item.task.summary.id, &item.vote(args.reason)).await?;
        return receipt(&voted, cx);
    }
    if let Some(grave) = items.iter().find(|item| item.is_grave()) {
        let id = grave.task.summary.id;
        return Err(Failure::new(Exit::NotAllowed, format!("{id} must be approved on its own"))
            .detail(format!("its risk is {}", look::risk(grave.task.summary.risk)))
            .or_next(format!("ade approve {id}")));
    }
    agree_to_all(&items, args.yes, cx).await?;
    let batch = batch(BatchAction::Approve, &items, args.reason);
    verdicts(&client.approvals().batch(&batch, false).await?, cx)
}

pub async fn reject(args: RejectArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let items = items(&client, &args.ids, args.rev).await?;
    match items.as_slice() {
        [item] if !args.dry_run => {
            let vote = item.vote(Some(args.reason));
            receipt(&client.approvals().reject(item.task.summary.id, &vote).await?, cx)
        }
        several => {
            let batch = batch(BatchAction::Reject, several, Some(args.reason));
            verdicts(&client.approvals().batch(&batch, args.dry_run).await?, cx)
        }
    }
}

pub async fn request_changes(args: AnswerArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let items = items(&client, &[args.id], args.rev).await?;
    let Some(item) = items.first() else { return Ok(Exit::Done) };
    let vote = item.vote(Some(args.reason));
    receipt(&client.approvals().request_changes(item.task.summary.id, &vote).await?, cx)
}

pub async fn withdraw(args: &WithdrawArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let approval = match args.id {
        Asked::Approval(id) => id,
        Asked::Task(id) => {
            let me = person(&client).await?;
            let all = client.tasks().approvals(id).await?.approvals;
            let mine =
                all.iter().filter(|one| one.reviewer_id == me).max_by_key(|one| one.revision);
            mine.ok_or_else(|| no_request(&id.to_string()))?.id
        }
    };
    let task = client.approvals().withdraw(approval).await?;
    let what = format!("Withdrew your vote on {}", task.id);
    cx.output.done(&task, &what, "ade inbox")?;
    Ok(Exit::Done)
}

/// Returns the caller's approval request for each ID.
async fn items(client: &Client, ids: &[Asked], rev: Option<u32>) -> Result<Vec<Item>, Failure> {
    let me = person(client).await?;
    let mut items = Vec::new();
    for id in ids {
        let item = item(client, *id, me).await?;
        let is = item.task.summary.revision;
        if let Some(rev) = rev.filter(|rev| *rev != is) {
            let id = item.task.summary.id;
            return Err(Failure::new(Exit::Stale, format!("{id} is at revision {is}, not {rev}"))
                .detail("no vote was sent")
                .or_next(format!("ade tasks diff {id} --rev {rev}..{is}")));
        }
        items.push(item);
    }
    Ok(items)
}

async fn item(client: &Client, id: Asked, me: UserId) -> Result<Item, Failure> {
    match id {
        Asked::Approval(id) => {
            let approval = client.approvals().get(id).await?;
            Ok(Item { approval: id, task: client.tasks().get(approval.task.id).await? })
        }
        Asked::Task(id) => {
            let all = client.tasks().approvals(id).await?.approvals;
            let is_mine =
                |one: &&Approval| one.reviewer_id == me && one.status == ApprovalStatus::Pending;
            let mine = all.iter().filter(is_mine).max_by_key(|one| one.revision);
            let approval = mine.ok_or_else(|| no_request(&id.to_string()))?.id;
            Ok(Item { approval, task: client.tasks().get(id).await? })
        }
    }
}

fn no_request(id: &str) -> Failure {
    Failure::new(Exit::NotAllowed, format!("you have no open approval request for {id}"))
        .or_next(format!("ade can-i approve {id}"))
}

async fn person(client: &Client) -> Result<UserId, Failure> {
    let me = client.me().await?;
    match serde_json::from_value::<Actor>(me.actor) {
        Ok(Actor::User { id, .. }) => Ok(id),
        _ => Err(Failure::new(Exit::NotAllowed, "only people can decide on tasks")
            .detail(format!("the current token belongs to {}", me.name))
            .or_next("ade login --profile me")),
    }
}

/// Fails if an agent host seems to have started this shell.
fn by_a_person() -> Result<(), Failure> {
    let mark = AGENT_MARKS.into_iter().find(|name| std::env::var_os(name).is_some());
    let Some(mark) = mark else { return Ok(()) };
    Err(Failure::new(Exit::NotAllowed, "this shell seems to have been started by an agent")
        .detail(format!("{mark} is set; approve tasks in your own terminal"))
        .or_next("ade inbox"))
}

/// Shows the task and asks for confirmation. For high risk, the user must type the task number,
/// which requires looking at the task.
async fn agree(item: &Item, is_yes: bool, cx: &Context) -> Result<(), Failure> {
    let summary = &item.task.summary;
    let (id, revision) = (summary.id, summary.revision);
    if is_yes && item.is_grave() {
        let what = format!("{id} has risk {}; --yes is not allowed", look::risk(summary.risk));
        return Err(Failure::new(Exit::NotAllowed, what)
            .detail("only LOW and MEDIUM risk can be approved without a prompt")
            .or_next(format!("ade approve {id}")));
    }
    let shown = tasks::whole(&item.task, cx.output.talk);
    if is_yes {
        reading::print(&shown);
        return Ok(());
    }
    reading::show(&shown, cx).await?;
    let question = format!("Approve revision {revision}?");
    if !item.is_grave() {
        return confirmed(&question, cx).await;
    }
    let number = TaskRef::Number(summary.number);
    let question = format!("{question} Type the task number {number} to confirm: ");
    if reading::ask(&question, cx).await?.trim().parse() == Ok(number) {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "cancelled: the task number does not match"))
}

/// Shows every task and asks once for all. They must be the same change, because that is what a
/// person can judge together.
async fn agree_to_all(items: &[Item], is_yes: bool, cx: &Context) -> Result<(), Failure> {
    let shape = items.first().map(|item| item.task.shape);
    if let Some(other) = items.iter().find(|item| Some(item.task.shape) != shape) {
        let id = other.task.summary.id;
        return Err(Failure::new(Exit::NotAllowed, format!("{id} makes another change"))
            .detail("only tasks that make the same change can be approved together")
            .or_next(format!("ade approve {id}")));
    }
    let shown = items.iter().map(|item| tasks::whole(&item.task, cx.output.talk));
    let all = format!("{}{}\n", shown.collect::<String>(), overview(items, cx));
    if is_yes {
        reading::print(&all);
        return Ok(());
    }
    reading::show(&all, cx).await?;
    confirmed(&format!("Approve these {} tasks?", items.len()), cx).await
}

async fn confirmed(question: &str, cx: &Context) -> Result<(), Failure> {
    let answer = reading::ask(&format!("{question} [y/N] "), cx).await?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "cancelled; nothing was changed"))
}

fn batch(action: BatchAction, items: &[Item], reason: Option<String>) -> NewBatch {
    let item = |item: &Item| BatchItem {
        approval_id: item.approval,
        revision: item.task.summary.revision,
        digest: item.task.summary.digest,
    };
    NewBatch {
        action,
        reason,
        items: items.iter().map(item).collect(),
        apply_immediately: false,
        skip_validation: false,
    }
}

fn overview(items: &[Item], cx: &Context) -> String {
    let rows = items.iter().map(|item| {
        let summary = &item.task.summary;
        let counts = item.task.effect.counts;
        vec![
            Cell::new(summary.id),
            Cell::new(summary.revision),
            Cell::new(look::risk(summary.risk)),
            Cell::new(format!("+{} ~{} -{}", counts.adds, counts.changes, counts.removes)),
            Cell::new(counts.irreversible),
            Cell::new(cx.output.name(&summary.title, TITLE_CHARS)),
        ]
    });
    cx.output.table(&["TASK", "REV", "RISK", "EFFECT", "IRREVERSIBLE", "TITLE"], rows.collect())
}

/// Shows the receipt of a vote and marks a vote that came too late.
fn receipt(voted: &Voted, cx: &Context) -> Ended {
    let output = &cx.output;
    output.show(voted, || {
        let id = voted.task.id;
        let did = match voted.answer {
            Answer::Approve => "Approved",
            Answer::Reject => "Rejected",
            Answer::RequestChanges => "Requested changes to",
        };
        let mark = if voted.counted { output.paint.green("✓") } else { output.paint.yellow("!") };
        let counts = if voted.counted { "" } else { ", too late to count" };
        let rows = [
            ("state", look::state_text(voted.state, output.paint)),
            ("receipt", visible(&voted.receipt)),
            ("advice", visible(&voted.next_action.message)),
            ("undo", output.paint.bold(&format!("ade withdraw {id}"))),
            ("next", output.paint.bold(&format!("ade watch {id}"))),
        ];
        format!("{mark} {}", output.facts(&format!("{did} {id}{counts}"), &rows))
    })?;
    Ok(if voted.counted { Exit::Done } else { Exit::Stale })
}

fn verdicts(answer: &BatchAnswer, cx: &Context) -> Ended {
    let output = &cx.output;
    let is_refused = answer.items.iter().any(|item| item.refusal.is_some());
    output.show(answer, || {
        let rows = answer.items.iter().map(|item| {
            let state = item.state.map(|state| state.to_string()).unwrap_or_default();
            let (word, tone) = match &item.refusal {
                Some(why) => (visible(why), Tone::Bad),
                None => ("ok".to_owned(), Tone::Good),
            };
            vec![
                Cell::new(item.approval_id),
                Cell::new(item.task_id),
                Cell::new(state),
                output.cell(&word, tone),
            ]
        });
        let table = output.table(&["REQUEST", "TASK", "STATE", "VERDICT"], rows.collect());
        let written = if answer.is_written { "saved" } else { "nothing was saved" };
        format!("{table}{written}: {}\n", visible(&answer.next_action.message))
    })?;
    Ok(if is_refused { Exit::Stale } else { Exit::Done })
}
