//! `ade-server read-models` rebuilds the read models or compares them with the database. It is safe
//! while a server runs, and exits with 2 if Redis is not configured.

use std::process::ExitCode;

use ade_engine::App;
use ade_engine::read_models::{self, Checked};
use ade_engine::services::read_models::Models;
use anyhow::Result;

use crate::assemble;
use crate::config::Config;
use crate::run::runtime;

const NO_REDIS: u8 = 2;

pub fn rebuild(config: &Config) -> Result<ExitCode> {
    over(config, async |app, models| {
        let (tenants, mut tasks) = (read_models::tenants(app).await?, 0);
        for (tenant, _) in &tenants {
            tasks += read_models::rebuild(app, models, *tenant, true).await?;
        }
        println!("rebuilt: {tasks} open tasks of {} tenants", tenants.len());
        Ok(ExitCode::SUCCESS)
    })
}

pub fn check(config: &Config) -> Result<ExitCode> {
    over(config, async |app, models| {
        let mut checked = Checked::default();
        for (tenant, _) in read_models::tenants(app).await? {
            checked.add(read_models::check(app, models, tenant).await?);
        }
        for difference in &checked.differences {
            println!("{difference}");
        }
        let Checked { tasks, queues, missing, behind, differences } = checked;
        println!("checked: {tasks} tasks, {queues} queues; {missing} missing, {behind} behind");
        println!("differences: {}", differences.len());
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn over(
    config: &Config,
    work: impl AsyncFnOnce(&App, &Models) -> Result<ExitCode>,
) -> Result<ExitCode> {
    runtime()?.block_on(async {
        let app = assemble::app(config, "read-models")?;
        let Some(models) = &app.live.models else {
            eprintln!("`redis.urls` is not set: there are no read models");
            return Ok(ExitCode::from(NO_REDIS));
        };
        work(&app, models).await
    })
}
