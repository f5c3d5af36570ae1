//! `ade-server freeze` and `thaw`: the stop of all tenants at once. Who has the owner's connection
//! has the switch; a server that runs beside needs none of it and obeys at its next permit.

use std::env;
use std::process::ExitCode;

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::INSTALLATION_DRAIN_MAX;
use ade_engine::installation::{self, Frozen};
use ade_engine::{Error, StoreError};
use anyhow::{Context as _, Result, anyhow};
use rustix::process::getuid;
use tokio::runtime::Runtime;

use crate::config::Config;
use crate::telemetry;

/// Who moves the switch, and why.
#[derive(Debug)]
pub struct Moved {
    pub reason: String,
    /// The account at this machine if left out.
    pub by: Option<String>,
}

pub fn freeze(config: &Config, moved: Moved) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    let (url, by) = (config.database.owner_url()?, moved.by.unwrap_or_else(whoever));
    let asked = async { installation::freeze(url.reveal(), &by, &moved.reason).await };
    let done = runtime()?.block_on(asked).map_err(told)?;
    let Frozen { freeze, is_new, is_drained } = done;
    if is_new {
        tracing::warn!(%freeze, "the installation was frozen");
        println!("No permit is given in any tenant from now on.");
    } else {
        println!("It was frozen before, and stays so; nothing is changed.");
    }
    show(&freeze);
    println!("What has its permit goes on. Lift it with:  ade-server thaw --reason TEXT");
    if !is_drained {
        eprintln!(
            "error: a permit asked for before was still on its way after {} s: look for a \
             transaction that is stuck, and run this again",
            INSTALLATION_DRAIN_MAX.as_secs()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

pub fn thaw(config: &Config, moved: Moved) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    let (url, by) = (config.database.owner_url()?, moved.by.unwrap_or_else(whoever));
    let asked = async { installation::thaw(url.reveal(), &by, &moved.reason).await };
    match runtime()?.block_on(asked).map_err(told)? {
        Some(freeze) => {
            tracing::warn!(%freeze, %by, reason = %moved.reason, "the installation was thawed");
            println!("Permits are given again. This was lifted:");
            show(&freeze);
        }
        None => println!("The installation was not frozen; nothing is changed."),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(InstallationFreeze { number, reason, set_by, since }: &InstallationFreeze) {
    println!("number   {number}");
    println!("since    {since}");
    println!("by       {set_by}");
    println!("reason   {reason}");
}

/// As the account is called here; who calls themselves otherwise says so with `--by`.
fn whoever() -> String {
    let names = ["SUDO_USER", "USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let mut names = names.filter(|name| !name.trim().is_empty());
    names.next().unwrap_or_else(|| format!("uid {}", getuid().as_raw()))
}

/// Whoever has only the application's login is told which one it takes.
fn told(error: Error) -> anyhow::Error {
    match error {
        Error::Store(StoreError::Forbidden { .. }) => {
            anyhow!("only the owner of the tables has this switch: set `database.owner_url`")
        }
        other => other.into(),
    }
}

fn runtime() -> Result<Runtime> {
    Runtime::new().context("cannot start the runtime")
}
