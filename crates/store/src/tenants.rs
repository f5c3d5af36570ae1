//! A tenant and the way in for its first admin. Written over the owner's connection, since the
//! application may not make tenants, yet in a [`Tx`] like everything else.

use std::collections::BTreeSet;

use ade_core::actor::Role;
use ade_core::ids::{TenantId, UserId};
use sqlx::{query, query_scalar};

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tokens::{self, NewToken, Principal};
use crate::tx::Tx;
use crate::users::{self, NewUser};

/// The name of the transaction's tenant, if there is one.
pub async fn name(tx: &mut Tx) -> Result<Option<String>, Error> {
    let query = query!("SELECT name FROM tenant WHERE tenant_id = $1", tx.tenant().uuid());
    Ok(tx.fetch(query).await?.pop().map(|row| row.name))
}

/// By its name, over the owner's connection: the application never looks across tenants.
pub async fn find(pool: &Pool, name: &str) -> Result<Option<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!("SELECT tenant_id FROM tenant WHERE name = $1 LIMIT 1", name);
    let found = query.fetch_optional(connection.get()?).await?;
    Ok(found.map(TenantId::from_uuid))
}

/// The transaction's tenant, with its first admin in it.
pub async fn create(tx: &mut Tx, name: &str, admin: &NewUser) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO tenant (tenant_id, name, created_at) VALUES ($1, $2, $3)",
        tx.tenant().uuid(),
        name,
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    users::insert(tx, admin).await?;
    let roles = BTreeSet::from([Role::ADMIN, Role::AUTHOR].map(Role::new));
    users::set_roles(tx, admin.id, &roles).await
}

/// A way in for somebody who has none: the earlier ones that nobody used are closed. The token
/// must be of single use.
pub async fn admit(tx: &mut Tx, token: &NewToken) -> Result<(), Error> {
    let Principal::User(user) = token.principal else {
        return Err(unfit("a way in is for a person"));
    };
    if !token.is_single_use {
        return Err(unfit("a way in is used once"));
    }
    close_unused(tx, user).await?;
    tokens::insert(tx, token).await
}

async fn close_unused(tx: &mut Tx, user: UserId) -> Result<(), Error> {
    let query = query!(
        "UPDATE token SET revoked_at = $3
          WHERE tenant_id = $1 AND user_id = $2 AND single_use AND used_at IS NULL
            AND revoked_at IS NULL",
        tx.tenant().uuid(),
        user.uuid(),
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

fn unfit(why: &str) -> Error {
    Error::Unstorable { value: "token".to_owned(), why: why.to_owned() }
}
