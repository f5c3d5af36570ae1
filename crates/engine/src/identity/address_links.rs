//! Which accounts are linked because they have the same email address. An address that an identity
//! provider has verified belongs to one person; an admin can enter any address any number of times.

use ade_core::ids::UserId;
use ade_core::limits::{ACCOUNTS_OF_ADDRESS_MAX, USER_ALIASES_MAX};
use ade_store::users::{AccountOfAddress, User};

use crate::error::Error;

/// With this many links, an account is not linked because of an address that an admin has entered.
/// The others are left for accounts that have verified it.
const ENTERED_LINKS_MAX: usize = USER_ALIASES_MAX - ACCOUNTS_OF_ADDRESS_MAX;

/// Returns the accounts to link with a person who has verified their address: all others that have
/// verified it, and those for which an admin has entered it, as long as there is room. An admin can
/// enter any address any number of times, so these never end a sign-in and leave room for the
/// verified ones.
pub(super) fn to_link(
    found: &[AccountOfAddress],
    known: Option<&User>,
) -> Result<Vec<UserId>, Error> {
    // Accounts beyond the limit were not read.
    if found.iter().filter(|other| other.is_verified).count() > ACCOUNTS_OF_ADDRESS_MAX {
        return Err(crowded());
    }
    let is_linked = |other: &&AccountOfAddress| {
        known.is_some_and(|user| user.id == other.id || user.aliases.contains(&other.id))
    };
    let others = found.iter().filter(|other| !is_linked(other));
    let (verified, entered): (Vec<&AccountOfAddress>, Vec<&AccountOfAddress>) =
        others.partition(|other| other.is_verified);
    if verified.len() >= ACCOUNTS_OF_ADDRESS_MAX {
        return Err(crowded());
    }
    let links = known.map_or(0, |user| user.aliases.len()).saturating_add(verified.len());
    let entered = entered.into_iter().filter(|other| other.links < ENTERED_LINKS_MAX);
    let entered = entered.take(ENTERED_LINKS_MAX.saturating_sub(links));
    Ok(verified.into_iter().chain(entered).map(|other| other.id).collect())
}

fn crowded() -> Error {
    Error::TooMany { what: "accounts with this email address", most: ACCOUNTS_OF_ADDRESS_MAX }
}
