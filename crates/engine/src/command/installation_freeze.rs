//! The freeze of all tenants, for operators of the server. It is set over the owner's connection:
//! no route and no tenant account can set it.

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{INSTALLATION_REASON_MAX_BYTES, NAME_MAX_BYTES};
use ade_store::installation;

use crate::error::Error;

pub use ade_store::installation::Frozen;

/// Freezes the installation: no tenant gets a permit from now on. The result says whether permits
/// that were in progress may still exist.
pub async fn freeze(owner_url: &str, by: &str, reason: &str) -> Result<Frozen, Error> {
    check(by, reason)?;
    Ok(installation::freeze(owner_url, by, reason).await?)
}

/// Ends the freeze. Returns the freeze that was lifted; `None` if there was none.
pub async fn thaw(
    owner_url: &str,
    by: &str,
    reason: &str,
) -> Result<Option<InstallationFreeze>, Error> {
    check(by, reason)?;
    Ok(installation::thaw(owner_url, by, reason).await?)
}

fn check(by: &str, reason: &str) -> Result<(), Error> {
    for (field, text, most) in
        [("by", by, NAME_MAX_BYTES), ("reason", reason, INSTALLATION_REASON_MAX_BYTES)]
    {
        if text.trim().is_empty() || text.len() > most {
            return Err(Error::invalid(field, format!("must be 1 to {most} bytes")));
        }
    }
    Ok(())
}
