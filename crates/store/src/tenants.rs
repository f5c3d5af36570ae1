//! Tenants and the access of their first admin. They are written over the connection of the owner,
//! because the application may not create tenants, but in a [`Tx`] like everything else.

use std::collections::BTreeSet;

use ade_core::actor::Role;
use ade_core::ids::{TenantId, UserId};
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tokens::{self, NewToken, Principal};
use crate::tx::Tx;
use crate::users::{self, NewUser};

const IDENTITY: &str = "SELECT name, has_several_tenants() FROM tenant WHERE tenant_id = $1";
const HAS_SEVERAL: &str = "SELECT has_several_tenants()";

/// A tenant as the settings of the server refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantIdentity {
    pub id: TenantId,
    pub name: String,
    /// Whether the installation has no other tenant.
    pub is_only: bool,
}

/// Returns the identity of the transaction's tenant, if that tenant exists.
pub async fn identity(tx: &mut Tx) -> Result<Option<TenantIdentity>, StoreError> {
    let id = tx.tenant();
    let query = query_as::<_, (String, bool)>(IDENTITY).bind(id.uuid());
    let found = tx.read(query).await?.pop();
    Ok(found.map(|(name, has_several)| TenantIdentity { id, name, is_only: !has_several }))
}

/// Returns whether the installation has more than one tenant.
pub async fn has_several(pool: &Pool) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await?;
    let (has_several,): (bool,) = query_as(HAS_SEVERAL).fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(has_several)
}

/// Returns the name of the transaction's tenant, if that tenant exists.
pub async fn name(tx: &mut Tx) -> Result<Option<String>, StoreError> {
    let query = query!("SELECT name FROM tenant WHERE tenant_id = $1", tx.tenant().uuid());
    Ok(tx.fetch(query).await?.pop().map(|row| row.name))
}

/// Returns whether the setup of the transaction's tenant may end: a second admin has joined, or a
/// first task was applied.
pub async fn is_set_up(tx: &mut Tx, admins: &[UserId]) -> Result<bool, StoreError> {
    let admins: Vec<Uuid> = admins.iter().map(|admin| admin.uuid()).collect();
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM task WHERE tenant_id = $1 AND state = 'COMPLETED')
               OR (SELECT count(*) > 1 FROM unnest($2::uuid[]) AS admin (id)
                    WHERE EXISTS (SELECT FROM passkey p
                                   WHERE p.tenant_id = $1 AND p.user_id = admin.id)
                       OR EXISTS (SELECT FROM token t
                                   WHERE t.tenant_id = $1 AND t.user_id = admin.id
                                     AND t.idle_until IS NOT NULL)) AS "is_set_up!""#,
        tx.tenant().uuid(),
        &admins,
    );
    tx.fetch_value(query).await
}

/// Ends the setup of the transaction's tenant.
pub async fn end_setup(tx: &mut Tx) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE tenant SET setup_ended_at = $2 WHERE tenant_id = $1 AND setup_ended_at IS NULL",
        tx.tenant().uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Finds a tenant by its name, over the connection of the owner: the application never reads across
/// tenants.
pub async fn find(pool: &Pool, name: &str) -> Result<Option<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!("SELECT tenant_id FROM tenant WHERE name = $1 LIMIT 1", name);
    let found = query.fetch_optional(connection.get()?).await?;
    Ok(found.map(TenantId::from_uuid))
}

/// Returns whether there are tenants and none has this name, over the connection of the owner.
pub async fn would_add(pool: &Pool, name: &str) -> Result<bool, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM tenant)
              AND NOT EXISTS (SELECT FROM tenant WHERE name = $1) AS "would_add!""#,
        name
    );
    Ok(query.fetch_one(connection.get()?).await?)
}

/// Creates the tenant of the transaction with its first admin.
pub async fn create(tx: &mut Tx, name: &str, admin: &NewUser) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO tenant (tenant_id, name, created_at) VALUES ($1, $2, $3)",
        tx.tenant().uuid(),
        name,
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    users::insert(tx, admin).await?;
    let roles = BTreeSet::from([Role::ADMIN, Role::AUTHOR].map(Role::new));
    users::set_roles(tx, admin.id, &roles).await
}

/// Stores a bootstrap token for an admin and revokes unused earlier ones. The token must be
/// single-use.
pub async fn admit(tx: &mut Tx, token: &NewToken) -> Result<(), StoreError> {
    let Principal::User(user) = token.principal else {
        return Err(unfit("a bootstrap token must belong to a person"));
    };
    if !token.is_single_use {
        return Err(unfit("a bootstrap token must be single-use"));
    }
    close_unused(tx, user).await?;
    tokens::insert(tx, token).await
}

async fn close_unused(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE token SET revoked_at = $3
          WHERE tenant_id = $1 AND user_id = $2 AND single_use AND used_at IS NULL
            AND revoked_at IS NULL",
        tx.tenant().uuid(),
        user.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

fn unfit(why: &str) -> StoreError {
    StoreError::Unstorable { value: "token".to_owned(), why: why.to_owned() }
}
