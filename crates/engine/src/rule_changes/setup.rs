//! Ends the setup of a tenant with its first change to the rules after a second admin has joined or
//! a first task was applied.

use std::sync::Arc;

use ade_store::tenants;

use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::setup::is_in_setup;
use crate::error::Error;

/// Returns whether the tenant is in setup, and ends the setup if its time is over.
pub(super) async fn is_open(act: &mut AdminCommand<'_>) -> Result<bool, Error> {
    let book = Arc::clone(&act.book);
    let is_open = is_in_setup(&mut act.tx, &book).await?;
    if book.is_in_setup && !is_open {
        tenants::end_setup(&mut act.tx).await?;
        let object = act.tx.tenant().to_string();
        act.also([AuditAction { object, action: "tenant.end_setup" }]).await?;
    }
    Ok(is_open)
}
