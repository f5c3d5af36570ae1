//! `ade audit`: lists and exports the audit log.

use ade_api::audit::{AuditLeaf, AuditPage};
use ade_api::page::{Page, PageQuery};
use ade_client::{AuditFilter, Client, gather};
use ade_core::audit::EntryKind;
use ade_core::limits::PAGE_SIZE_MAX;
use ade_core::time::Timestamp;
use comfy_table::Cell;

use crate::args::{AuditArgs, AuditCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, dotted};

/// The maximum length of a reason in a table.
const REASON_CHARS: usize = 40;

pub async fn run(command: AuditCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    match command {
        AuditCommand::List { only, limit } => {
            let filter = filter(only);
            let ask = async |page| asked(&client, &filter, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head = ["WHEN", "WHO", "RESULT", "ACTION", "OBJECT", "REASON"];
            let nothing = ("No matching audit entries.", "ade audit list");
            cx.output.list(&found.items, &head, |entry| row(entry, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
        }
        AuditCommand::Export(only) => export(&client, &filter(only), cx).await?,
    }
    Ok(Exit::Done)
}

fn filter(only: AuditArgs) -> AuditFilter {
    let AuditArgs { object, user, agent, kind, from, to } = only;
    AuditFilter { object, user, agent, kind, from, to }
}

async fn asked(
    client: &Client,
    filter: &AuditFilter,
    page: &PageQuery,
) -> Result<Page<AuditLeaf>, ade_client::Error> {
    let AuditPage { items, next_page_token, .. } = client.audit().list(filter, page).await?;
    Ok(Page { items, next_page_token })
}

/// Writes all entries page by page, without holding them in memory.
async fn export(client: &Client, filter: &AuditFilter, cx: &Context) -> Result<(), Failure> {
    let mut page = PageQuery { page_size: Some(PAGE_SIZE_MAX), page_token: None };
    let mut count = 0_usize;
    loop {
        let found = asked(client, filter, &page).await?;
        for entry in &found.items {
            let line = || serde_json::to_string(entry).unwrap_or_default() + "\n";
            cx.output.line(entry, line)?;
        }
        count += found.items.len();
        page.page_token = found.next_page_token;
        if page.page_token.is_none() {
            break;
        }
    }
    cx.output.remark(&cx.output.talk.dim(&format!("{count} audit entries")));
    Ok(())
}

/// Returns the actor, and who issued the token in use if that is another person than the one who is
/// responsible.
fn who(entry: &AuditLeaf, output: &Output) -> String {
    let field = |name| dotted(&entry.leaf, name)?.as_str();
    let actor = field("who.agent").or(field("who.user")).or(field("who.worker"));
    let actor = output.text(actor.unwrap_or_default(), REASON_CHARS);
    let responsible = field("who.on_behalf_of").or(field("who.user"));
    match field("who.credential.issued_by") {
        Some(issuer) if responsible != Some(issuer) => {
            format!("{actor} with a token issued by {}", output.text(issuer, REASON_CHARS))
        }
        _ => actor,
    }
}

fn row(entry: &AuditLeaf, output: &Output) -> Vec<Cell> {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| dotted(&entry.leaf, name)?.as_str());
        output.text(found.unwrap_or_default(), REASON_CHARS)
    };
    let at = dotted(&entry.leaf, "when").and_then(|at| at.as_str()?.parse::<Timestamp>().ok());
    let is_refused =
        dotted(&entry.leaf, "kind").is_some_and(|kind| kind == EntryKind::Refusal.as_str());
    vec![
        Cell::new(at.map(|at| output.when(at)).unwrap_or_default()),
        Cell::new(who(entry, output)),
        Cell::new(if is_refused { "refused" } else { "done" }),
        Cell::new(text(&["what.action"])),
        Cell::new(text(&["what.object"])),
        Cell::new(text(&["why.reason"])),
    ]
}
