//! Replays submitted tasks under other rules. Nothing is written.

use std::time::Duration;

use ade_api::policies::{Replay, Replayed, ReplayedTask};
use ade_core::access::{Action, Object};
use ade_core::ids::TaskId;
use ade_core::limits::{REPLAY_DAYS_MAX, REPLAY_SHOWN_MAX, REPLAY_TASKS_MAX};
use ade_core::policy::{
    AutoApproval, Document, Policy, Requirement, Strictness, compare, requirement,
};
use ade_core::timeouts::ApprovalTimeouts;
use ade_store::Tx;
use ade_store::tasks::{self, Replayed as Past};
use ade_store::tenant_config::TenantConfig;

use super::{find, parse, with_document};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{look, permit};
use crate::error::Error;

const REPLAY_PAGE: u32 = 2_000;

const DAY: Duration = Duration::from_hours(24);

/// Decides the tasks of the last days again, under another document.
pub async fn replay(app: &App, caller: &Caller, asked: Replay) -> Result<Replayed, Error> {
    if asked.days == 0 || asked.days > REPLAY_DAYS_MAX {
        return Err(Error::invalid("days", format!("must be 1 to {REPLAY_DAYS_MAX}")));
    }
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    permit(app, &book, &caller.actor, Action::DraftPolicy, Object::Tenant)?;
    let document = document_of(&mut tx, &asked).await?;
    let changed = with_document(&book, document);
    let since = tx.now().minus(DAY * asked.days);
    let mut tally = Tally::new(asked.days);
    let mut after = (since, TaskId::from_u128(0));
    while tally.answer.examined < u64::try_from(REPLAY_TASKS_MAX).unwrap_or(u64::MAX) {
        let page = tasks::replay(&mut tx, after, REPLAY_PAGE).await?;
        let Some(last) = page.last() else { return Ok(tally.finish()) };
        after = (last.submitted_at, last.task);
        for task in &page {
            tally.judge(task, &book, &changed);
        }
    }
    tally.answer.is_cut = !tasks::replay(&mut tx, after, 1).await?.is_empty();
    tx.roll_back().await;
    Ok(tally.finish())
}

async fn document_of(tx: &mut Tx, asked: &Replay) -> Result<Document, Error> {
    match (&asked.document, asked.draft_id) {
        (Some(text), None) => parse(text),
        (None, Some(draft)) => Ok(find(tx, draft).await?.document),
        _ => Err(Error::invalid("document", "give either a document or a draft")),
    }
}

#[derive(Debug)]
struct Tally {
    answer: Replayed,
}

impl Tally {
    fn new(days: u32) -> Self {
        Self {
            answer: Replayed {
                days,
                examined: 0,
                is_cut: false,
                same: 0,
                stricter: 0,
                looser: 0,
                mixed: 0,
                without_a_person: 0,
                tasks: Vec::new(),
            },
        }
    }

    fn judge(&mut self, past: &Past, book: &TenantConfig, changed: &[Policy]) {
        let timeouts = &book.timeouts.approval;
        let compared = compare_task(past, (&book.policies, timeouts), (changed, timeouts));
        let answer = &mut self.answer;
        answer.examined += 1;
        answer.without_a_person += u64::from(compared.without_a_person);
        match compared.verdict {
            Strictness::Same => answer.same += 1,
            Strictness::Stricter => answer.stricter += 1,
            Strictness::Looser => answer.looser += 1,
            Strictness::Mixed => answer.mixed += 1,
        }
        if compared.verdict != Strictness::Same || compared.without_a_person {
            self.show(compared);
        }
    }

    fn show(&mut self, compared: ReplayedTask) {
        // The number of each kind is limited; the list is cut by weight at the end.
        let like = |task: &&ReplayedTask| weight(task) == weight(&compared);
        if self.answer.tasks.iter().filter(like).count() < REPLAY_SHOWN_MAX {
            self.answer.tasks.push(compared);
        }
    }

    fn finish(mut self) -> Replayed {
        self.answer.tasks.sort_by_key(weight);
        self.answer.tasks.truncate(REPLAY_SHOWN_MAX);
        self.answer
    }
}

/// Compares what a past task needed with what it would need under other policies and timeouts.
pub(crate) fn compare_task(
    past: &Past,
    old: (&[Policy], &ApprovalTimeouts),
    new: (&[Policy], &ApprovalTimeouts),
) -> ReplayedTask {
    let asked =
        |(policies, timeouts)| requirement(policies, &past.subject, past.submitted_at, timeouts);
    let (before, after): (Requirement, Requirement) = (asked(old), asked(new));
    let passes = |asked: &Requirement| matches!(asked.auto_approve, AutoApproval::Allowed { .. });
    ReplayedTask {
        task_id: past.task,
        number: past.number,
        title: past.title.clone(),
        verdict: compare(&before, &after),
        without_a_person: passes(&after) && !passes(&before),
        before: summary(&before),
        after: summary(&after),
    }
}

/// Returns the position in the list: cases that a person must look at come first.
fn weight(task: &ReplayedTask) -> u8 {
    match (task.without_a_person, task.verdict) {
        (true, _) => 0,
        (false, Strictness::Looser) => 1,
        (false, Strictness::Mixed) => 2,
        (false, Strictness::Stricter) => 3,
        (false, Strictness::Same) => 4,
    }
}

fn summary(asked: &Requirement) -> String {
    match asked.auto_approve {
        AutoApproval::Allowed { .. } => "auto-approved".to_owned(),
        AutoApproval::Never | AutoApproval::Refused { .. } => asked.in_words(),
    }
}
