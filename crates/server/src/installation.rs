//! `ade-server freeze` and `thaw` stop and resume all tenants at once. They need the connection of
//! the owner of the tables. Running servers need no notification: they check at the next permit.

use std::env;
use std::process::ExitCode;

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::INSTALLATION_DRAIN_MAX;
use ade_engine::command::installation_freeze::{self, Frozen};
use ade_engine::{Error, StoreError};
use anyhow::{Result, anyhow};
use rustix::process::getuid;

use crate::config::Config;
use crate::run::runtime;
use crate::telemetry;

/// The reason of a freeze or thaw, and the person who does it.
#[derive(Debug)]
pub struct Moved {
    pub reason: String,
    /// Defaults to the local account.
    pub by: Option<String>,
}

pub fn freeze(config: &Config, moved: Moved) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    let (url, by) = (config.database.owner_url()?, moved.by.unwrap_or_else(local_account));
    let asked = async { installation_freeze::freeze(url.reveal(), &by, &moved.reason).await };
    let done = runtime()?.block_on(asked).map_err(explain_forbidden)?;
    let Frozen { freeze, is_new, is_drained } = done;
    if is_new {
        tracing::warn!(%freeze, "installation frozen");
        println!("The installation is frozen: no permits are granted in any tenant.");
    } else {
        println!("The installation was already frozen; nothing was changed.");
    }
    show(&freeze);
    println!(
        "Tasks that already have a permit continue. Lift the freeze with:  ade-server thaw \
              --reason TEXT"
    );
    if !is_drained {
        eprintln!(
            "error: a permit requested earlier was still in progress after {} s: look for a stuck \
             transaction, and run this again",
            INSTALLATION_DRAIN_MAX.as_secs()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

pub fn thaw(config: &Config, moved: Moved) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    let (url, by) = (config.database.owner_url()?, moved.by.unwrap_or_else(local_account));
    let asked = async { installation_freeze::thaw(url.reveal(), &by, &moved.reason).await };
    match runtime()?.block_on(asked).map_err(explain_forbidden)? {
        Some(freeze) => {
            tracing::warn!(%freeze, %by, reason = %moved.reason, "installation freeze lifted");
            println!("Permits are granted again. Lifted freeze:");
            show(&freeze);
        }
        None => println!("The installation was not frozen; nothing was changed."),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(InstallationFreeze { number, reason, set_by, since }: &InstallationFreeze) {
    println!("number   {number}");
    println!("since    {since}");
    println!("by       {set_by}");
    println!("reason   {reason}");
}

/// Returns the name of the local account; `--by` overrides it.
fn local_account() -> String {
    let names = ["SUDO_USER", "USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let mut names = names.filter(|name| !name.trim().is_empty());
    names.next().unwrap_or_else(|| format!("uid {}", getuid().as_raw()))
}

/// Replaces a permission error with one that names the required setting.
fn explain_forbidden(error: Error) -> anyhow::Error {
    match error {
        Error::Store(StoreError::Forbidden { .. }) => {
            anyhow!("only the owner of the tables can do this: set `database.owner_url`")
        }
        other => other.into(),
    }
}
