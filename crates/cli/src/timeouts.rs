//! `ade timeouts`: shows and sets the time limits of leases, reviews and executions.

use ade_api::settings::{NewTimeouts, Timeouts};
use ade_core::policy::period_text;
use std::time::Duration;

use crate::args::TimeoutsCommand;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::proposal::{remark_open, report};

pub async fn timeouts(command: TimeoutsCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let settings = client.settings();
    match command {
        TimeoutsCommand::Get => {
            let found = shown(&settings.timeouts().await?, cx)?;
            remark_open(&client, &["settings.timeouts"], cx).await;
            Ok(found)
        }
        TimeoutsCommand::Set { file, reason } => {
            let new: NewTimeouts = context::read(&file)?;
            let new = NewTimeouts { reason: reason.or(new.reason), ..new };
            let version = settings.timeouts().await?.version;
            let set = settings.set_timeouts(version, &new).await?;
            report(&set, cx, |timeouts| shown(timeouts, cx))
        }
    }
}

fn shown(timeouts: &Timeouts, cx: &Context) -> Result<Exit, Failure> {
    cx.output.show(timeouts, || facts(timeouts, cx))?;
    Ok(Exit::Done)
}

fn facts(timeouts: &Timeouts, cx: &Context) -> String {
    let Timeouts { lock, approval, task, .. } = timeouts;
    let whose = |group: &str| {
        let is_own = timeouts.overridden.iter().any(|own| own == group);
        if is_own { "" } else { "  (installation default)" }
    };
    let row = |seconds: u32, group: &str| {
        let length = period_text(Duration::from_secs(u64::from(seconds)));
        format!("{length:<8}{}", cx.output.paint.dim(whose(group))).trim_end().to_owned()
    };
    let rows = [
        ("lock.default_ttl_seconds", row(lock.default_ttl_seconds, "lock")),
        ("lock.max_ttl_seconds", row(lock.max_ttl_seconds, "lock")),
        ("lock.heartbeat_interval_seconds", row(lock.heartbeat_interval_seconds, "lock")),
        ("approval.default_timeout_seconds", row(approval.default_timeout_seconds, "approval")),
        ("approval.max_timeout_seconds", row(approval.max_timeout_seconds, "approval")),
        ("task.default_timeout_seconds", row(task.default_timeout_seconds, "task")),
    ];
    cx.output.facts(&format!("version {}", timeouts.version), &rows)
}
