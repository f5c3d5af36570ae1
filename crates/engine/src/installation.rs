//! The one switch of all tenants, for whoever runs the server. It is moved over the owner's
//! connection: no route leads here, and no account of a tenant.

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{INSTALLATION_REASON_MAX_BYTES, NAME_MAX_BYTES};
use ade_store::installation;

use crate::error::Error;

pub use ade_store::installation::Frozen;

/// No permit is given in any tenant from now on, and none that was on its way is left, unless the
/// answer says so.
pub async fn freeze(owner_url: &str, by: &str, reason: &str) -> Result<Frozen, Error> {
    check(by, reason)?;
    Ok(installation::freeze(owner_url, by, reason).await?)
}

/// The one that was lifted; nothing if there was none.
pub async fn thaw(
    owner_url: &str,
    by: &str,
    reason: &str,
) -> Result<Option<InstallationFreeze>, Error> {
    check(by, reason)?;
    Ok(installation::thaw(owner_url, by, reason).await?)
}

fn check(by: &str, reason: &str) -> Result<(), Error> {
    for (field, said, most) in
        [("by", by, NAME_MAX_BYTES), ("reason", reason, INSTALLATION_REASON_MAX_BYTES)]
    {
        if said.trim().is_empty() || said.len() > most {
            return Err(Error::invalid(field, format!("1 to {most} bytes")));
        }
    }
    Ok(())
}
