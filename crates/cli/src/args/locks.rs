//! `ade locks`.

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
    /// List what is held or waited for
    List(LimitArg),
    /// Who holds one resource, who waits for it, and what can be done
    #[command(visible_alias = "explain")]
    Get {
        #[arg(value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
        resource: ResourceRef,
    },
    /// A live screen of who holds what and who waits
    Top,
    /// Leases, of everybody or of one agent
    Leases {
        /// Only those of this agent
        #[arg(long, value_name = "AGENT", add = ArgValueCompleter::new(agents))]
        agent: Option<AgentId>,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Who waits for whom, and at whom all waiting ends
    Graph {
        /// As a graph that `dot` draws
        #[arg(long, conflicts_with = "mermaid")]
        dot: bool,
        /// As a graph that Mermaid draws
        #[arg(long)]
        mermaid: bool,
    },
    /// Circles of waiting that were broken up, the newest first
    Deadlocks,
    /// Take locks, all of them or none, and print the lease
    Acquire(AcquireArgs),
    /// Give a lease back
    Release {
        #[arg(value_name = "LEASE")]
        lease: LeaseId,
    },
    /// Keep a lease alive once more
    Extend {
        #[arg(value_name = "LEASE")]
        lease: LeaseId,
    },
    /// Take a lock from whoever holds it; they cannot commit any more
    Break {
        #[arg(value_name = "TYPE:ID", add = ArgValueCompleter::new(resources))]
        resource: ResourceRef,
        /// Why; it is kept in the audit
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Only this holder, by the hash that `ade locks get` shows
        #[arg(long, value_name = "HASH")]
        lease_hash: Option<Digest>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Keep resources from everybody during an incident
    Take {
        #[arg(value_name = "TYPE:ID", required = true, add = ArgValueCompleter::new(resources))]
        resources: Vec<ResourceRef>,
        /// Why; everybody who waits for them sees it
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// When they are free again at the latest, like `2h`; within a day
        #[arg(long, value_name = "WHEN", value_parser = moment)]
        until: Timestamp,
    },
}

#[derive(Debug, Args)]
pub struct AcquireArgs {
    /// What to lock; `=shared` lets others share it
    #[arg(value_name = "TYPE:ID[=shared]", required = true, value_parser = wanted,
          add = ArgValueCompleter::new(resources))]
    pub resources: Vec<WantedLock>,
    /// How long it lives without a heartbeat; else what the tenant has
    #[arg(long, value_name = "DURATION", value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// How long to stand in line, 55s at most; now or not at all if left out
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Duration>,
    /// Registered in the record: whoever is overtaken by it cannot commit any more
    #[arg(long)]
    pub fenced: bool,
    /// What for
    #[arg(long, value_name = "TEXT")]
    pub purpose: Option<String>,
    /// 0 to 100: overtakes some who came before
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub priority: u32,
}
