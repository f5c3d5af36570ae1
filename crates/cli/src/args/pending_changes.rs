//! Arguments of `ade changes`.

use ade_core::ids::PendingChangeId;
use clap::{Args, Subcommand};

use super::tasks::LimitArg;

#[derive(Debug, Subcommand)]
pub enum ChangesCommand {
    /// List pending changes, newest first
    List {
        /// List closed changes instead of the open ones
        #[arg(long)]
        closed: bool,
        #[command(flatten)]
        limit: LimitArg,
    },
    /// Show a pending change, its consequences and what it waits for
    Show(ChangeArg),
    /// Publish a change that another admin proposed; it takes effect immediately
    Publish(ChangeArg),
    /// Withdraw a pending change
    Withdraw(ChangeArg),
    /// Object to a change that would take effect without a second admin
    Object {
        #[command(flatten)]
        change: ChangeArg,
        /// Reason, shown to the person who proposed the change
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub struct ChangeArg {
    /// Pending change ID
    #[arg(value_name = "CHANGE")]
    pub id: PendingChangeId,
}
