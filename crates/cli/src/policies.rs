//! `ade policies`: policy versions, drafts, replays and tests.

mod difference;
mod trial;

use ade_api::policies::{
    DraftPublication, NewDraft, PolicyDraft, PolicyRollback, PolicyVersionShown, Replay, Replayed,
    ReplayedTask,
};
use ade_client::{Client, gather};
use comfy_table::Cell;

use crate::agents::field_changes;
use crate::args::PoliciesCommand;
use crate::context::{Context, text_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::output::{Output, Tone};
use crate::proposal::{remark_open, report};
use crate::tasks::word;
use crate::text::{visible, visible_lines};

/// The maximum number of replayed tasks to show.
const TASKS_SHOWN: usize = 20;
/// The maximum length of a title in a table.
const TITLE_CHARS: usize = 40;

type Ended = Result<Exit, Failure>;

pub async fn run(command: PoliciesCommand, cx: &Context) -> Ended {
    // Tests are the only subcommand that needs no server.
    if let PoliciesCommand::Test { file, policies } = command {
        return trial::test(&policies, &file, cx);
    }
    let client = cx.client()?;
    let policies = client.policies();
    match command {
        PoliciesCommand::List(limit) => {
            let found = gather(limit.count(), async |page| policies.list(&page).await).await?;
            let nothing = ("No policies yet.", "ade policies apply -f FILE");
            versions(&found.items, nothing, cx)?;
            cx.more(found.has_more, limit.limit);
            Ok(Exit::Done)
        }
        PoliciesCommand::Get { policy } => {
            let history = policies.versions(policy).await?;
            let Some(newest) = history.items.first() else {
                return Err(Failure::new(Exit::NotFound, "the policy has no version in force")
                    .or_next("ade policies drafts"));
            };
            cx.output.show(newest, || visible_lines(&newest.yaml))?;
            Ok(Exit::Done)
        }
        PoliciesCommand::Versions { policy } => {
            let history = policies.versions(policy).await?;
            versions(&history.items, ("No versions.", "ade policies list"), cx)?;
            Ok(Exit::Done)
        }
        PoliciesCommand::Diff { file, exit_code } => {
            difference::difference(&client, &file, exit_code, cx).await
        }
        PoliciesCommand::Replay { file, draft, days } => {
            let document = file.as_deref().map(text_of).transpose()?;
            let replayed = policies.replay(&Replay { document, draft_id: draft, days }).await?;
            cx.output.show(&replayed, || replay(&replayed, &cx.output))?;
            Ok(Exit::Done)
        }
        PoliciesCommand::Publish { draft } => {
            report(&policies.publish(draft).await?, cx, |version| {
                let what =
                    format!("Published {} as version {}", visible(&version.name), version.version);
                let next = format!("ade policies get {}", version.policy_id);
                cx.output.done(version, &what, &next)?;
                Ok(Exit::Done)
            })
        }
        other => drafts(&client, other, cx).await,
    }
}

async fn drafts(client: &Client, command: PoliciesCommand, cx: &Context) -> Ended {
    let policies = client.policies();
    let draft = match command {
        PoliciesCommand::Apply { file, reason } => {
            policies.draft(&NewDraft { document: text_of(&file)?, reason }).await?
        }
        PoliciesCommand::Rollback { policy, version, reason } => {
            policies.rollback(policy, &PolicyRollback { version, reason }).await?
        }
        PoliciesCommand::Draft { draft } => policies.get_draft(draft).await?,
        PoliciesCommand::Withdraw { draft } => policies.withdraw(draft).await?,
        PoliciesCommand::Drafts(limit) => {
            let found = gather(limit.count(), async |page| policies.drafts(&page).await).await?;
            let output = &cx.output;
            let row = |draft: &PolicyDraft| draft_row(draft, output);
            let head = ["DRAFT", "NAME", "BASE", "STALE", "BY", "WHEN", "OUTCOME"];
            let nothing = ("No policy drafts.", "ade policies apply -f FILE");
            output.list(&found.items, &head, row, nothing)?;
            cx.more(found.has_more, limit.limit);
            remark_open(client, &["policy.publish"], cx).await;
            return Ok(Exit::Done);
        }
        _ => return Err(Failure::new(Exit::Usage, "unsupported draft command")),
    };
    cx.output.show(&draft, || shown(&draft, &cx.output))?;
    Ok(Exit::Done)
}

fn draft_row(draft: &PolicyDraft, output: &Output) -> Vec<Cell> {
    vec![
        Cell::new(draft.id),
        Cell::new(output.text(&draft.name, TITLE_CHARS)),
        Cell::new(draft.base_version),
        Cell::new(look::yes(draft.is_stale)),
        Cell::new(draft.proposed_by),
        Cell::new(output.when(draft.proposed_at)),
        Cell::new(draft.outcome.as_deref().unwrap_or("open")),
    ]
}

fn shown(draft: &PolicyDraft, output: &Output) -> String {
    let next = match draft.publication {
        DraftPublication::Closed => format!("ade policies versions {}", draft.policy_id),
        DraftPublication::Waiting => "ade changes list".to_owned(),
        DraftPublication::SecondAdmin | DraftPublication::AtOnce | DraftPublication::AfterWait => {
            format!("ade policies publish {}", draft.id)
        }
    };
    let rows = [
        ("draft", draft.id.to_string()),
        ("policy", format!("{}, based on version {}", draft.policy_id, draft.base_version)),
        ("reason", visible(draft.reason.as_deref().unwrap_or_default())),
        ("by", draft.proposed_by.to_string()),
        ("outcome", visible(draft.outcome.as_deref().unwrap_or("open"))),
        ("advice", visible(&draft.next_action.message)),
        ("next", output.paint.bold(&next)),
    ];
    output.facts(&visible(&draft.name), &rows) + &field_changes(&draft.changes, output)
}

fn versions(
    items: &[PolicyVersionShown],
    nothing: (&str, &str),
    cx: &Context,
) -> Result<(), Failure> {
    let output = &cx.output;
    let row = |one: &PolicyVersionShown| {
        vec![
            Cell::new(one.policy_id),
            Cell::new(output.text(&one.name, TITLE_CHARS)),
            Cell::new(one.version),
            Cell::new(look::yes(one.enabled)),
            Cell::new(one.proposed_by),
            Cell::new(one.confirmed_by.map(|by| by.to_string()).unwrap_or_default()),
            Cell::new(output.when(one.published_at)),
        ]
    };
    let head = ["POLICY", "NAME", "VERSION", "ENABLED", "PROPOSED BY", "CONFIRMED BY", "PUBLISHED"];
    output.list(items, &head, row, nothing)
}

fn replay(replayed: &Replayed, output: &Output) -> String {
    let Replayed { days, examined, same, stricter, looser, mixed, .. } = replayed;
    let cut = if replayed.is_cut { " (more exist)" } else { "" };
    let mut out = format!(
        "Replayed {examined} tasks of the last {days} days{cut}; nothing was saved\n  \
         same {same} · stricter {stricter} · looser {looser} · mixed {mixed}\n"
    );
    if replayed.without_a_person > 0 {
        let count = replayed.without_a_person;
        let text = format!("! {count} task(s) would now be approved without a person\n");
        out.push_str(&output.paint.red(&text));
    }
    if replayed.tasks.is_empty() {
        return out;
    }
    out.push_str(&replayed_tasks(&replayed.tasks, output));
    out
}

/// Formats what tasks needed before and would need after a change. Pending changes use it too.
pub fn replayed_tasks(tasks: &[ReplayedTask], output: &Output) -> String {
    let row = |task: &ReplayedTask| {
        let tone = if task.without_a_person { Tone::Bad } else { Tone::Plain };
        vec![
            Cell::new(task.task_id),
            output.cell(&word(&task.verdict), tone),
            Cell::new(output.name(&task.title, TITLE_CHARS)),
            Cell::new(visible(&task.before)),
            Cell::new(visible(&task.after)),
        ]
    };
    let rows = tasks.iter().take(TASKS_SHOWN).map(row).collect();
    output.table(&["TASK", "VERDICT", "TITLE", "BEFORE", "AFTER"], rows)
}
