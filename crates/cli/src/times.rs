//! `ade times`: how long leases, reviews and attempts may take.

use ade_api::settings::{NewTimes, Times};
use ade_core::policy::period_text;
use std::time::Duration;

use crate::args::TimesCommand;
use crate::context::{self, Context};
use crate::exit::Exit;
use crate::failure::Failure;

pub async fn times(command: TimesCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let settings = client.settings();
    let times = match command {
        TimesCommand::Get => settings.times().await?,
        TimesCommand::Set { file, reason } => {
            let new: NewTimes = context::read(&file)?;
            let new = NewTimes { reason: reason.or(new.reason), ..new };
            let version = settings.times().await?.version;
            settings.set_times(version, &new).await?
        }
    };
    cx.output.show(&times, || shown(&times, cx))?;
    Ok(Exit::Done)
}

fn shown(times: &Times, cx: &Context) -> String {
    let Times { lock, approval, task, .. } = times;
    let whose = |group: &str| {
        let is_own = times.own.iter().any(|own| own == group);
        if is_own { "" } else { "  (as the installation has it)" }
    };
    let told = |seconds: u32, group: &str| {
        let length = period_text(Duration::from_secs(u64::from(seconds)));
        format!("{length:<8}{}", cx.output.paint.dim(whose(group))).trim_end().to_owned()
    };
    let rows = [
        ("lock.default_ttl", told(lock.default_ttl, "lock")),
        ("lock.max_ttl", told(lock.max_ttl, "lock")),
        ("lock.heartbeat_interval", told(lock.heartbeat_interval, "lock")),
        ("approval.default_timeout", told(approval.default_timeout, "approval")),
        ("approval.max_timeout", told(approval.max_timeout, "approval")),
        ("task.default_timeout", told(task.default_timeout, "task")),
    ];
    cx.output.facts(&format!("version {}", times.version), &rows)
}
