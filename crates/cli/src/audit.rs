//! `ade audit`: what was done, by whom and when.

use ade_api::audit::AuditLeaf;
use ade_api::page::Page;
use ade_client::{AuditFilter, gather};
use ade_core::time::Timestamp;
use comfy_table::Cell;

use crate::args::AuditCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, dotted};

/// A reason in a table.
const REASON_CHARS: usize = 40;

pub async fn run(command: AuditCommand, cx: &Context) -> Result<Exit, Failure> {
    let AuditCommand::List(args) = command;
    let client = cx.client()?;
    let filter = AuditFilter {
        object: args.object,
        user: args.user,
        agent: args.agent,
        from: args.from,
        to: args.to,
    };
    let ask = async |page| {
        let page = client.audit().list(&filter, &page).await?;
        Ok::<_, ade_client::Error>(Page {
            items: page.items,
            next_page_token: page.next_page_token,
        })
    };
    let found = gather(args.limit.count(), ask).await?;
    let head = ["WHEN", "WHO", "ACTION", "OBJECT", "REASON"];
    let nothing = ("Nothing was done that you ask for.", "ade audit list");
    cx.output.list(&found.items, &head, |leaf| row(leaf, &cx.output), nothing)?;
    cx.more(found.has_more, args.limit.limit);
    Ok(Exit::Done)
}

fn row(leaf: &AuditLeaf, output: &Output) -> Vec<Cell> {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| dotted(&leaf.leaf, name)?.as_str());
        output.text(found.unwrap_or_default(), REASON_CHARS)
    };
    let at = dotted(&leaf.leaf, "when").and_then(|at| at.as_str()?.parse::<Timestamp>().ok());
    vec![
        Cell::new(at.map(|at| output.when(at)).unwrap_or_default()),
        Cell::new(text(&["who.agent", "who.user", "who.worker"])),
        Cell::new(text(&["what.action"])),
        Cell::new(text(&["what.object"])),
        Cell::new(text(&["why.reason"])),
    ]
}
