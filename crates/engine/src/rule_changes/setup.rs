//! The setup of a tenant: until a second admin has joined or a first task was applied, one admin
//! changes the rules without a second one.

use ade_core::ids::UserId;
use ade_core::rule_change::admins;
use ade_store::tenants;

use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::error::Error;

/// Returns whether the tenant is in setup, and ends the setup if its time is over.
pub(super) async fn is_open(act: &mut AdminCommand<'_>) -> Result<bool, Error> {
    if !act.book.is_in_setup {
        return Ok(false);
    }
    let directory = &act.book.directory;
    let accounts: Vec<UserId> = admins(directory).into_iter().collect();
    if !tenants::is_set_up(&mut act.tx, &accounts).await? {
        return Ok(true);
    }
    tenants::end_setup(&mut act.tx).await?;
    let object = act.tx.tenant().to_string();
    act.also([AuditAction { object, action: "tenant.end_setup" }]).await?;
    Ok(false)
}
