//! `ade-server read-models`: the copies in Redis, written anew or held against the record. Safe
//! beside a running server; ends with 2 where there is no Redis to speak of.

use std::process::ExitCode;

use ade_engine::App;
use ade_engine::models::{self, Checked, Models};
use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use crate::assemble;
use crate::config::Config;

const NO_REDIS: u8 = 2;

pub fn rebuild(config: &Config) -> Result<ExitCode> {
    over(config, async |app, models| {
        let (tenants, mut tasks) = (models::tenants(app).await?, 0);
        for (tenant, _) in &tenants {
            tasks += models::rebuild(app, models, *tenant, true).await?;
        }
        println!("rebuilt: {tasks} open tasks of {} tenants", tenants.len());
        Ok(ExitCode::SUCCESS)
    })
}

pub fn check(config: &Config) -> Result<ExitCode> {
    over(config, async |app, models| {
        let mut checked = Checked::default();
        for (tenant, _) in models::tenants(app).await? {
            checked.add(models::check(app, models, tenant).await?);
        }
        for difference in &checked.differences {
            println!("{difference}");
        }
        let Checked { tasks, queues, missing, behind, differences } = checked;
        println!("checked: {tasks} tasks, {queues} queues; {missing} not kept, {behind} behind");
        println!("differences: {}", differences.len());
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn over(
    config: &Config,
    work: impl AsyncFnOnce(&App, &Models) -> Result<ExitCode>,
) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        let app = assemble::app(config, "read-models")?;
        let Some(models) = &app.live.models else {
            eprintln!("`redis.urls` is not set: there are no read models");
            return Ok(ExitCode::from(NO_REDIS));
        };
        work(&app, models).await
    })
}
