//! `ade risk`, `ade freeze`, `ade unfreeze` and `ade freezes`.

use ade_api::freezes::{Freeze, FreezeScope, NewFreeze};
use ade_api::tasks::{Factor, RiskAssessment, TaskSummary};
use ade_client::{Client, TaskFilter, gather};
use ade_core::ids::FreezeId;
use ade_core::task::State;
use ade_core::task_ref::TaskRef;
use comfy_table::Cell;

use crate::args::{FreezeArgs, FreezesCommand, RiskCommand, TaskArg, UnfreezeArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::output::{Output, Tone};
use crate::proposal::{remark_open, report};
use crate::text::{named, visible};

/// The maximum number of freezes to search for active ones.
const FREEZES: usize = 200;
/// The number of tasks to list that a freeze may hold.
const HELD_SHOWN: usize = 20;
/// The length of the bar of a risk factor.
const BAR: usize = 10;
/// The maximum length of a reason in a table.
const REASON_CHARS: usize = 40;

type Ended = Result<Exit, Failure>;

pub async fn risk(command: &RiskCommand, cx: &Context) -> Ended {
    let client = cx.client()?;
    match command {
        RiskCommand::Explain(TaskArg { id }) => {
            let risk = client.tasks().risk(*id).await?;
            cx.output.show(&risk, || assessed(&risk, &cx.output))?;
        }
        RiskCommand::Settings => {
            let settings = client.settings().risk().await?;
            cx.output.show(&settings, || {
                let weights = settings.weights;
                let percent = |bp: u16| format!("{}.{:02} %", bp / 100, bp % 100);
                let levels = settings.thresholds;
                let rows = [
                    ("criticality", percent(weights.resource_criticality_bp)),
                    ("magnitude", percent(weights.change_magnitude_bp)),
                    ("blast radius", percent(weights.blast_radius_bp)),
                    ("failures", percent(weights.historical_failure_rate_bp)),
                    ("medium from", levels.medium.to_string()),
                    ("high from", levels.high.to_string()),
                    ("critical from", levels.critical.to_string()),
                ];
                cx.output.facts(&format!("version {}", settings.version), &rows)
            })?;
            remark_open(&client, &["risk.settings", "settings.flag"], cx).await;
        }
    }
    Ok(Exit::Done)
}

fn assessed(risk: &RiskAssessment, output: &Output) -> String {
    let head = output.paint.tone(&look::bars(risk.risk), look::level_tone(risk.risk.level));
    let row = |factor: &Factor| {
        let filled = usize::from(factor.score) * BAR / 100;
        let bar = format!("{}{}", "▓".repeat(filled), "░".repeat(BAR - filled));
        vec![
            Cell::new(visible(&factor.name).replace('_', " ")),
            Cell::new(format!("{} %", factor.weight_bp / 100)),
            Cell::new(format!("{bar} {:>3}", factor.score)),
            Cell::new(format!(
                "+{}.{}",
                factor.contribution_bp / 10_000,
                factor.contribution_bp / 1_000 % 10
            )),
            Cell::new(visible(&factor.sentence)),
        ]
    };
    let rows = risk.factors.iter().map(row).collect();
    let table = output.table(&["FACTOR", "WEIGHT", "SCORE", "ADDS", "WHY"], rows);
    let by = format!("assessed by {} for revision {}", visible(&risk.assessed_by), risk.revision);
    format!("{head}\n{table}{}\n", output.paint.dim(&by))
}

pub async fn freeze(args: FreezeArgs, cx: &Context) -> Ended {
    let (scope, target) = match args.scope {
        None => (FreezeScope::Tenant, None),
        Some(scope) => match scope.strip_prefix("env:") {
            Some(environment) => (FreezeScope::Environment, Some(environment.to_owned())),
            None => (FreezeScope::Resources, Some(scope)),
        },
    };
    let new = NewFreeze { scope, target, reason: args.reason, ends_at: args.until };
    let freeze = cx.client()?.freezes().create(&new).await?;
    let what = format!("Froze applies for {}", scope_of(&freeze));
    cx.output.done(&freeze, &what, &format!("ade unfreeze {} --reason TEXT", freeze.id))?;
    Ok(Exit::Done)
}

fn scope_of(freeze: &Freeze) -> String {
    match &freeze.target {
        Some(target) => format!("{} {}", visible(&freeze.scope), visible(target)),
        None => "everything".to_owned(),
    }
}

pub async fn unfreeze(args: &UnfreezeArgs, cx: &Context) -> Ended {
    let client = cx.client()?;
    let id = match args.id {
        Some(id) => id,
        None => only(&client).await?,
    };
    let held = approved(&client).await?;
    cx.output.remark(&held);
    cx.confirm("Lift the freeze?", args.yes)?;
    report(&client.freezes().lift(id, args.reason.clone()).await?, cx, |lifted| {
        let what = format!("Lifted the freeze of {}", scope_of(lifted));
        cx.output.done(lifted, &what, "ade freezes list")?;
        Ok(Exit::Done)
    })
}

/// Lists what could start when a freeze ends.
async fn approved(client: &Client) -> Result<String, Failure> {
    let filter = TaskFilter { states: vec![State::Approved], ..TaskFilter::default() };
    let found = gather(HELD_SHOWN, async |page| client.tasks().list(&filter, &page).await).await?;
    if found.items.is_empty() {
        return Ok("No approved task is waiting.".to_owned());
    }
    let line = |task: &TaskSummary| {
        let number = TaskRef::Number(task.number);
        format!("  {number}  {}  {}\n", look::risk(task.risk), named(&task.title))
    };
    let lines: String = found.items.iter().map(line).collect();
    let more =
        if found.has_more { "  … and more: ade tasks list --state approved\n" } else { "" };
    Ok(format!("These approved tasks could start at once:\n{lines}{more}"))
}

/// Returns the only active freeze; fails if there are several, so that no wrong one is lifted.
async fn only(client: &Client) -> Result<FreezeId, Failure> {
    let found = gather(FREEZES, async |page| client.freezes().list(&page).await).await?;
    let in_force: Vec<&Freeze> = found.items.iter().filter(|one| one.in_force).collect();
    match in_force.as_slice() {
        [one] => Ok(one.id),
        [] => Err(Failure::new(Exit::NotFound, "no freeze is active").or_next("ade freezes list")),
        several => Err(Failure::new(Exit::Usage, format!("{} freezes are active", several.len()))
            .detail("pass the ID of the freeze to lift")
            .or_next("ade freezes list")),
    }
}

pub async fn freezes(command: &FreezesCommand, cx: &Context) -> Ended {
    let FreezesCommand::List(limit) = command;
    let client = cx.client()?;
    let found = gather(limit.count(), async |page| client.freezes().list(&page).await).await?;
    let output = &cx.output;
    if let Ok(status) = client.system().status().await
        && let Some(all) = status.freeze
    {
        let (since, by) = (output.when(all.since), visible(&all.set_by));
        let reason = visible(&all.reason);
        output.remark(&format!("The whole installation was frozen {since} by {by}: {reason}"));
    }
    let row = |one: &Freeze| {
        let (word, tone) =
            if one.in_force { ("active", Tone::Busy) } else { ("ended", Tone::Quiet) };
        vec![
            Cell::new(one.id),
            output.cell(word, tone),
            Cell::new(scope_of(one)),
            Cell::new(one.set_by),
            Cell::new(output.when(one.set_at)),
            Cell::new(one.ends_at.map(|at| output.when(at)).unwrap_or_default()),
            Cell::new(output.text(&one.reason, REASON_CHARS)),
        ]
    };
    let head = ["ID", "STATE", "SCOPE", "BY", "SINCE", "ENDS", "REASON"];
    output.list(&found.items, &head, row, ("No freezes.", "ade freeze --reason TEXT"))?;
    cx.more(found.has_more, limit.limit);
    remark_open(&client, &["freeze.lift"], cx).await;
    Ok(Exit::Done)
}
