//! `ade doctor`: prints one line per check, and the next command for each failed check.

use ade_api::status::Readiness;
use ade_client::Client;
use serde::Serialize;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings;
use crate::text::visible;

/// The note about a tenant in setup, which is not a fault.
const IN_SETUP: &str = "note: the tenant is in setup; changes to its rules take effect without a \
                        second admin until one has joined or a first task was applied";

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    is_good: bool,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Finding {
    fn good(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, is_good: true, says: says.into(), next: None }
    }

    fn bad(what: &'static str, says: impl Into<String>, next: &str) -> Self {
        Self { what, is_good: false, says: says.into(), next: Some(next.to_owned()) }
    }
}

pub async fn doctor(cx: &Context) -> Result<Exit, Failure> {
    let mut found = Vec::new();
    found.push(kept(cx));
    match cx.client() {
        Ok(client) => server(&client, &mut found).await,
        Err(failure) => {
            let next = "ade login --server URL";
            found.push(Finding::bad("token", failure.what(), next));
        }
    }
    cx.output.show(&found, || {
        let line = |one: &Finding| {
            let mark =
                if one.is_good { cx.output.paint.green("✓") } else { cx.output.paint.red("✕") };
            let next = one
                .next
                .as_deref()
                .map(|next| format!("             next  {}\n", cx.output.paint.bold(next)));
            format!("{mark} {:<10} {}\n{}", one.what, visible(&one.says), next.unwrap_or_default())
        };
        found.iter().map(line).collect()
    })?;
    let is_good = found.iter().all(|one| one.is_good);
    Ok(if is_good { Exit::Done } else { Exit::NotSo })
}

fn kept(cx: &Context) -> Finding {
    let looked = settings::place().and_then(|path| Ok((settings::read(&path)?, path)));
    let (kept, path) = match looked {
        Ok(looked) => looked,
        Err(failure) => return Finding::bad("settings", failure.what(), "ade login"),
    };
    match settings::choose(cx.profile.as_deref(), &kept) {
        Ok(chosen) => {
            let says = format!("profile {} in {}", chosen.name, settings::shown(&path));
            Finding::good("settings", says)
        }
        Err(failure) => Finding::bad("settings", failure.what(), "ade profiles list"),
    }
}

/// Notes if links in responses do not point to the address that this client uses. That is not a
/// fault: people may reach the server through another address.
async fn links(client: &Client) -> Option<Finding> {
    let index = client.system().index().await.ok()?;
    let (page, address) = (index.docs.strip_suffix("/docs")?, client.server());
    let says = if page == address {
        format!("links in responses point to {page}")
    } else {
        format!(
            "note: links in responses point to {page}, not to {address}; set `notify.page` on the \
             server if people cannot open them"
        )
    };
    Some(Finding::good("links", says))
}

async fn server(client: &Client, found: &mut Vec<Finding>) {
    let address = client.server();
    match client.system().ready().await {
        Ok(health) if health.readiness == Readiness::Ready => {
            found.push(Finding::good("server", format!("{address} accepts requests")));
            found.push(match health.locks {
                Some(false) => {
                    Finding::bad("locks", "the lock service is unavailable", "ade locks list")
                }
                Some(true) | None => Finding::good("locks", "the lock service is available"),
            });
        }
        Ok(_) => {
            found.push(Finding::bad("server", format!("{address} is shutting down"), "ade doctor"));
        }
        Err(error) => {
            found.push(Finding::bad("server", error.to_string(), "export ADE_SERVER=URL"));
            return;
        }
    }
    found.extend(links(client).await);
    match client.me().await {
        Ok(me) => {
            let says = format!("{} with scopes {}", me.name, me.scopes.join(", "));
            found.push(Finding::good("token", says));
            if me.tenant_in_setup {
                found.push(Finding::good("setup", IN_SETUP));
            }
        }
        Err(error) => {
            found.push(Finding::bad("token", error.to_string(), "ade login"));
            return;
        }
    }
    let Ok(status) = client.system().status().await else { return };
    for one in &status.degradations {
        let says = format!("{}: {}", one.part, one.detail);
        found.push(Finding::bad("degraded", says, "ade api GET /v1/status"));
    }
    let failing = status.workers.iter().filter_map(|one| Some((one, one.failure.as_ref()?)));
    for (worker, why) in failing {
        let says = format!("{}: {why}", worker.name);
        found.push(Finding::bad("worker", says, "ade api GET /v1/status"));
    }
    if status.degradations.is_empty() {
        let says = format!("{} workers, no degraded components", status.workers.len());
        found.push(Finding::good("workers", says));
    }
}
