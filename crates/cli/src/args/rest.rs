//! The audit, events, webhooks, people, tokens and the raw call.

use std::path::PathBuf;

use ade_api::webhooks::{DeliveryState, WebhookScheme};
use ade_core::event::Topic;
use ade_core::ids::{AgentId, DeliveryId, UserId, WebhookId};
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{past, word};
use super::tasks::LimitArg;
use crate::completion::agents;

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List what was done, the newest first
    List {
        #[command(flatten)]
        only: AuditArgs,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Write all of it, the newest first: one JSON document on a line, each leaf as it was hashed
    Export(AuditArgs),
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only what was done to this, by its id
    #[arg(long, value_name = "ID")]
    pub object: Option<String>,
    /// Only what this person did
    #[arg(long, value_name = "USER")]
    pub user: Option<UserId>,
    /// Only what this agent did
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
    /// Not before, like `2h` (ago) or `2026-11-15T09:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = past)]
    pub from: Option<Timestamp>,
    /// Not after, in the same ways
    #[arg(long, value_name = "WHEN", value_parser = past)]
    pub to: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Print events as they happen; goes on after a break without losing one
    Follow {
        /// Only these: task, approval, lock, agent, policy, freeze; with commas between
        #[arg(long, value_name = "TOPICS", value_delimiter = ',')]
        topics: Vec<Topic>,
        /// Only what happens to this, by its id
        #[arg(long, value_name = "ID")]
        object: Option<String>,
        /// After this number, instead of from now on
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
        /// End after so many events
        #[arg(long, short = 'n', value_name = "N")]
        count: Option<u64>,
    },
}

#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// List addresses
    List(LimitArg),
    /// Show one
    Get(WebhookArg),
    /// Enter an address; its secret is shown once
    Create {
        #[arg(value_name = "URL")]
        url: String,
        /// A type of events, like `task.*`; may be given several times
        #[arg(long = "event", value_name = "TYPE", required = true)]
        events: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// `v1` signs with a shared secret, `v1a` with a key whose public half is shown
        #[arg(long, value_name = "SCHEME", value_parser = word::<WebhookScheme>,
              default_value = "v1")]
        scheme: WebhookScheme,
    },
    /// Change one; what is left out stays as it is
    Change {
        #[command(flatten)]
        webhook: WebhookArg,
        /// Another address
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// All types of events it hears; may be given several times
        #[arg(long = "event", value_name = "TYPE")]
        events: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Switch it on or off
        #[arg(long, value_name = "BOOL")]
        active: Option<bool>,
    },
    /// Forget one, and what waits for it
    Delete {
        #[command(flatten)]
        webhook: WebhookArg,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// A new secret; the old one signs beside it for a while
    Rotate {
        #[command(flatten)]
        webhook: WebhookArg,
        /// For how many hours; 0 if the old one is known to somebody
        #[arg(long, value_name = "N")]
        overlap_hours: Option<u32>,
    },
    /// Send it a word
    Ping(WebhookArg),
    /// What is on its way to it, or was
    Deliveries {
        #[command(flatten)]
        webhook: WebhookArg,
        /// waiting, pending, delivered or dead
        #[arg(long, value_name = "STATE", value_parser = word::<DeliveryState>)]
        state: Option<DeliveryState>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Send some once more
    Redeliver {
        #[command(flatten)]
        webhook: WebhookArg,
        /// These
        #[arg(value_name = "DELIVERY", required_unless_present = "dead_since")]
        deliveries: Vec<DeliveryId>,
        /// All that were given up since then, like `24h` (ago)
        #[arg(long, value_name = "WHEN", value_parser = past, conflicts_with = "deliveries")]
        dead_since: Option<Timestamp>,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct WebhookArg {
    #[arg(value_name = "WEBHOOK")]
    pub id: WebhookId,
}

#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List people and their roles
    List(LimitArg),
    /// Show one person
    Get {
        #[arg(value_name = "USER")]
        id: UserId,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokensCommand {
    /// List your own, or those of somebody, the latest first
    List {
        #[command(flatten)]
        whose: WhoseArgs,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Make one; it is shown once
    Create {
        #[command(flatten)]
        whose: WhoseArgs,
        /// read, propose, execute, decide, operate or administer; may be given several times
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// For how long
        #[arg(long, value_name = "N", default_value_t = 30,
              value_parser = clap::value_parser!(u16).range(1..=90))]
        days: u16,
        /// Where it may be used from, like 10.1.0.0/16; may be given several times
        #[arg(long = "network", value_name = "NETWORK")]
        networks: Vec<String>,
    },
    /// Make one useless, at once
    Revoke {
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct WhoseArgs {
    /// Of this person instead of you
    #[arg(long, value_name = "USER", conflicts_with = "agent")]
    pub user: Option<UserId>,
    /// Of this agent
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
}

#[derive(Debug, Args)]
pub struct ApiArgs {
    /// GET, POST, PUT, PATCH or DELETE
    #[arg(value_name = "METHOD")]
    pub method: String,
    /// From the slash on, with its query: `/v1/tasks?state=DRAFT`
    #[arg(value_name = "PATH")]
    pub path: String,
    /// The body: JSON, or `@FILE`, or `-` for standard input
    #[arg(long, short, value_name = "JSON")]
    pub data: Option<String>,
    /// The version that was read, for `If-Match`
    #[arg(long, value_name = "VERSION")]
    pub if_match: Option<u64>,
}

/// Where a body is written.
pub fn file_of(data: &str) -> Option<PathBuf> {
    match data {
        "-" => Some(PathBuf::from("-")),
        _ => data.strip_prefix('@').map(PathBuf::from),
    }
}
