//! `ade mcp`: serves the tools of an agent over standard input and output, and keeps alive what is
//! granted through it. The server authorizes every tool call like any other API call.

use ade_mcp::{Tools, serve_stdio};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Serves until the host disconnects. Only the protocol writes to standard output.
pub async fn mcp(cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let page = client.server().to_owned();
    let served = serve_stdio(Tools::keeping_leases_alive(client, &page)).await;
    served.map_err(|why| {
        Failure::new(Exit::Failed, "the Model Context Protocol session with the host failed")
            .detail(why)
            .or_next("ade mcp --help")
    })?;
    Ok(Exit::Done)
}
