//! Keeps the locks of a tool call while the host runs the tool. The hook before the tool starts
//! this process and ends; the hook after the tool removes the file of the call, which ends it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use ade_api::executions::{Finish, Pulse};
use ade_client::LeaseKeepAlive;
use ade_core::limits::HOOK_KEEPER_PERIOD;
use tokio::time::sleep;

use super::open_calls::OpenCalls;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Starts the process for a call. It outlives the hook, is not in the process group of the host,
/// and holds none of its pipes.
pub fn start(name: &str, cx: &Context) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(profile) = &cx.profile {
        command.args(["--profile", profile]);
    }
    command.args(["hook", "keep", name]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

/// Sends heartbeats until the result of the call is reported. A call without a result is released
/// to the host when its time has passed.
pub async fn keep(name: &str, cx: &Context) -> Result<Exit, Failure> {
    let calls = OpenCalls::locate()?;
    let Some(open) = calls.get(name) else { return Ok(Exit::Done) };
    let client = cx.client()?;
    let (beating, execution) = (client.clone(), open.execution);
    let pulse = Pulse { lease_id: open.lease };
    let ttl = Duration::from_secs(open.ttl_seconds);
    let mut lease = LeaseKeepAlive::start(ttl, move |within| {
        let (client, pulse) = (beating.clone(), pulse.clone());
        async move { client.executions().heartbeat(execution, &pulse, within).await }
    });
    tokio::select! {
        () = reported(&calls, name) => return Ok(Exit::Done),
        // The attempt has ended, or its outcome is unknown to the server. The hook after the tool
        // reports to learn why.
        () = lease.lost() => return Ok(Exit::Done),
        () = sleep(open.left()) => {
            let finish = Finish::released_to_host(open.lease);
            client.executions().finish(open.execution, &finish).await?;
        }
    }
    calls.forget(name);
    Ok(Exit::Done)
}

async fn reported(calls: &OpenCalls, name: &str) {
    while calls.contains(name) {
        sleep(HOOK_KEEPER_PERIOD).await;
    }
}
