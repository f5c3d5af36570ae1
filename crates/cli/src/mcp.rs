//! The tools of an agent over standard input and output. The server decides about each call as it
//! does about every other; here is only the way.

use ade_mcp::{Tools, serve_stdio};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Ends with its host. Standard output belongs to the protocol: nothing else is written there.
pub async fn mcp(cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let page = client.server().to_owned();
    let served = serve_stdio(Tools::new(client, &page)).await;
    served.map_err(|why| {
        Failure::new(Exit::Failed, "the host does not speak the Model Context Protocol")
            .detail(why)
            .or_next("ade mcp --help")
    })?;
    Ok(Exit::Done)
}
