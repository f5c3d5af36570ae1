//! Whether a tenant is still in setup: until a second admin has joined or a first task was applied,
//! one admin changes the rules without a second one.

use ade_core::ids::UserId;
use ade_core::rule_change::admins;
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, tenants};

use crate::error::Error;

pub(crate) async fn is_in_setup(tx: &mut Tx, book: &TenantConfig) -> Result<bool, Error> {
    if !book.is_in_setup {
        return Ok(false);
    }
    let accounts: Vec<UserId> = admins(&book.directory).into_iter().collect();
    Ok(!tenants::is_set_up(tx, &accounts).await?)
}
