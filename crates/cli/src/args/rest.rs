//! Arguments of `ade audit`, `ade events`, `ade webhooks`, `ade users`, `ade tokens` and `ade api`.

use std::path::PathBuf;
use std::time::Duration;

use ade_api::webhooks::{DeliveryState, WebhookScheme};
use ade_core::audit::EntryKind;
use ade_core::event::Topic;
use ade_core::ids::{AgentId, DeliveryId, UserId, WebhookId};
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{duration, past, word};
use super::tasks::LimitArg;
use crate::completion::agents;

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List audit entries, newest first
    List {
        #[command(flatten)]
        only: AuditArgs,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Export audit entries as JSON lines, newest first, exactly as they were hashed
    Export(AuditArgs),
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only entries about the object with this ID, or about the task with this number
    #[arg(long, value_name = "ID")]
    pub object: Option<String>,
    /// Only actions of this user
    #[arg(long, value_name = "USER")]
    pub user: Option<UserId>,
    /// Only actions of this agent
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
    /// Only entries of this kind: change, refusal or disclosure
    #[arg(long, value_name = "KIND", value_parser = word::<EntryKind>)]
    pub kind: Option<EntryKind>,
    /// Earliest time, such as `2h` (ago) or `2026-11-15T09:00:00Z`
    #[arg(long, value_name = "WHEN", value_parser = past)]
    pub from: Option<Timestamp>,
    /// Latest time, in the same formats
    #[arg(long, value_name = "WHEN", value_parser = past)]
    pub to: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
pub enum EventsCommand {
    /// Print events as they happen; reconnects without losing events
    Follow {
        /// Comma-separated topics: task, approval, lock, agent, policy, freeze; defaults to all
        #[arg(long, value_name = "TOPICS", value_delimiter = ',')]
        topics: Vec<Topic>,
        /// Only events about the object with this ID
        #[arg(long, value_name = "ID")]
        object: Option<String>,
        /// Start after this sequence number instead of now
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
        /// Exit after this many events
        #[arg(long, short = 'n', value_name = "N")]
        count: Option<u64>,
    },
}

#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// List webhooks
    List(LimitArg),
    /// Show a webhook
    Get(WebhookArg),
    /// Create a webhook; its secret is shown only once
    Create {
        /// URL that receives the events
        #[arg(value_name = "URL")]
        url: String,
        /// Event type to send, such as `task.*`; can be repeated
        #[arg(long = "event", value_name = "TYPE", required = true)]
        events: Vec<String>,
        /// Description
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Signature scheme: `v1` uses a shared secret, `v1a` a public/private key pair
        #[arg(long, value_name = "SCHEME", value_parser = word::<WebhookScheme>,
              default_value = "v1")]
        scheme: WebhookScheme,
    },
    /// Update a webhook; values that are not given stay unchanged
    Change {
        #[command(flatten)]
        webhook: WebhookArg,
        /// New URL
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Event type to send, replaces all current types; can be repeated
        #[arg(long = "event", value_name = "TYPE")]
        events: Vec<String>,
        /// Description
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Enable or disable the webhook
        #[arg(long, value_name = "BOOL")]
        active: Option<bool>,
    },
    /// Delete a webhook and its pending deliveries
    Delete {
        #[command(flatten)]
        webhook: WebhookArg,
        /// Skip the confirmation prompt
        #[arg(long, short)]
        yes: bool,
    },
    /// Rotate the signing secret of a webhook
    Rotate {
        #[command(flatten)]
        webhook: WebhookArg,
        /// How long the old secret also signs, such as 24h; use 0s if it has leaked
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        overlap: Option<Duration>,
    },
    /// Send a test event to a webhook
    Ping(WebhookArg),
    /// List the deliveries of a webhook
    Deliveries {
        #[command(flatten)]
        webhook: WebhookArg,
        /// Only deliveries in this state: waiting, pending, delivered or dead
        #[arg(long, value_name = "STATE", value_parser = word::<DeliveryState>)]
        state: Option<DeliveryState>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Resend deliveries
    Redeliver {
        #[command(flatten)]
        webhook: WebhookArg,
        /// Delivery IDs to resend
        #[arg(value_name = "DELIVERY", required_unless_present = "dead_since")]
        deliveries: Vec<DeliveryId>,
        /// Resend all dead deliveries since this time, such as `24h` (ago)
        #[arg(long, value_name = "WHEN", value_parser = past, conflicts_with = "deliveries")]
        dead_since: Option<Timestamp>,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct WebhookArg {
    /// Webhook ID
    #[arg(value_name = "WEBHOOK")]
    pub id: WebhookId,
}

#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List users and their roles
    List(LimitArg),
    /// Show a user
    Get {
        /// User ID
        #[arg(value_name = "USER")]
        id: UserId,
    },
    /// Invite a person without an identity provider to sign in
    ///
    /// The link is valid for 15 minutes and works once: it signs the person in, and they add a
    /// passkey. A new invitation replaces the earlier one. Where mail is configured, the link is
    /// sent to the person's address and not shown.
    Invite {
        #[arg(value_name = "USER")]
        id: UserId,
    },
    /// Confirm a person who joined by a link that another admin could read
    ///
    /// Until then, their votes are marked. If you created the invitation, another admin must
    /// publish the change.
    Confirm {
        #[arg(value_name = "USER")]
        id: UserId,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokensCommand {
    /// List your tokens or those of another user or agent, newest first
    List {
        #[command(flatten)]
        whose: WhoseArgs,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Create a token; it is shown only once
    Create {
        #[command(flatten)]
        whose: WhoseArgs,
        /// Scope: read, propose, execute, decide, operate or administer; can be repeated
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// Description
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Days until the token expires
        #[arg(long, value_name = "N", default_value_t = 30,
              value_parser = clap::value_parser!(u16).range(1..=90))]
        days: u16,
        /// Network the token may be used from, such as 10.1.0.0/16; can be repeated
        #[arg(long = "network", value_name = "NETWORK")]
        networks: Vec<String>,
    },
    /// Revoke a token immediately
    Revoke {
        /// Key ID of the token, as shown by `ade tokens list`
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct WhoseArgs {
    /// ID of the user the token belongs to; defaults to yourself
    #[arg(long, value_name = "USER", conflicts_with = "agent")]
    pub user: Option<UserId>,
    /// ID of the agent the token belongs to
    #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
    pub agent: Option<AgentId>,
}

#[derive(Debug, Args)]
pub struct ApiArgs {
    /// HTTP method: GET, POST, PUT, PATCH or DELETE
    #[arg(value_name = "METHOD")]
    pub method: String,
    /// Path and query, such as `/v1/tasks?state=DRAFT`
    #[arg(value_name = "PATH")]
    pub path: String,
    /// Request body: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, value_name = "JSON")]
    pub data: Option<String>,
    /// Expected resource version, sent as `If-Match`
    #[arg(long, value_name = "VERSION")]
    pub if_match: Option<u64>,
}

/// Returns the file that a `--data` value refers to (`@FILE` or `-`), if it does.
pub fn file_of(data: &str) -> Option<PathBuf> {
    match data {
        "-" => Some(PathBuf::from("-")),
        _ => data.strip_prefix('@').map(PathBuf::from),
    }
}
