//! Arguments of `ade locks`.

use std::time::Duration;

use ade_api::locks::WantedLock;
use ade_core::change::Digest;
use ade_core::ids::{AgentId, LeaseId};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use super::read::{duration, moment, ttl, wanted};
use super::tasks::LimitArg;
use crate::completion::{agents, resources};

#[derive(Debug, Subcommand)]
pub enum LocksCommand {
    /// List locked resources and resources with waiters
    List(LimitArg),
    /// Show the holders and waiters of a resource, and what you can do
    #[command(visible_alias = "explain")]
    Get {
        /// Resource, such as `database:orders`
        #[arg(value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
        resource: ResourceRef,
    },
    /// Show a live view of locks and waiters
    Top,
    /// List active leases
    Leases {
        /// Only leases of this agent
        #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
        agent: Option<AgentId>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Show the lock wait graph
    Graph {
        /// Print the graph in Graphviz DOT format
        #[arg(long, conflicts_with = "mermaid")]
        dot: bool,
        /// Print the graph in Mermaid format
        #[arg(long)]
        mermaid: bool,
    },
    /// List resolved deadlocks, newest first
    Deadlocks,
    /// Acquire all given locks or none, and print the lease
    Acquire(AcquireArgs),
    /// Release a lease
    Release {
        /// Lease ID
        #[arg(value_name = "LEASE")]
        lease: LeaseId,
    },
    /// Extend a lease by its TTL
    Extend {
        /// Lease ID
        #[arg(value_name = "LEASE")]
        lease: LeaseId,
    },
    /// Break a lock; its holder can no longer commit
    Break {
        /// Resource, such as `database:orders`
        #[arg(value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
        resource: ResourceRef,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Break only the lease with this hash, as shown by `ade locks get`
        #[arg(long, value_name = "HASH")]
        lease_hash: Option<Digest>,
        /// Skip the confirmation prompt
        #[arg(long, short)]
        yes: bool,
    },
    /// Hold resources during an incident so that no task can lock them
    Take {
        /// Resources to hold, such as `database:orders`
        #[arg(value_name = "TYPE:ID", required = true, add = ArgValueCompleter::new(resources))]
        resources: Vec<ResourceRef>,
        /// Reason, shown to everyone who waits for the resources
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// When the hold ends, such as `2h`; at most one day from now
        #[arg(long, value_name = "WHEN", value_parser = moment)]
        until: Timestamp,
    },
}

#[derive(Debug, Args)]
pub struct AcquireArgs {
    /// Resources to lock; `=shared` allows other shared holders
    #[arg(value_name = "TYPE:ID[=shared]", required = true, value_parser = wanted,
          add = ArgValueCompleter::new(resources))]
    pub resources: Vec<WantedLock>,
    /// Lease lifetime without a heartbeat; defaults to the tenant's setting
    #[arg(long, value_name = "DURATION", value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// Time to wait in the queue, at most 55s; without it the command fails if a lock is held
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Duration>,
    /// Acquire a fenced lease: a holder that loses it can no longer commit
    #[arg(long)]
    pub fenced: bool,
    /// Purpose of the lease, shown to waiters
    #[arg(long, value_name = "TEXT")]
    pub purpose: Option<String>,
    /// Priority in the queue, from 0 to 100
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub priority: u32,
}
