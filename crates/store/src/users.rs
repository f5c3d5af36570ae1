//! People: profiles, roles, and linked accounts of the same person. Every change increments the
//! rulebook version; permissions are checked elsewhere.

use std::collections::BTreeSet;

use ade_core::actor::Role;
use ade_core::ids::UserId;
use ade_core::limits::ACCOUNTS_OF_ADDRESS_MAX;
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// The issuer of the subject: an identity provider, or this installation itself.
    pub issuer: String,
    pub subject: String,
    pub profile: UserProfile,
    /// Whether an identity provider has verified the address in the profile.
    pub has_verified_email: bool,
    pub roles: BTreeSet<Role>,
    /// The linked accounts as they were entered, in either direction; the rules resolve them
    /// transitively.
    pub aliases: BTreeSet<UserId>,
    pub created_at: Timestamp,
    /// Set while no second admin has confirmed the person.
    pub unconfirmed: Option<Unconfirmed>,
    pub passkeys_reset_at: Option<Timestamp>,
}

/// How a person joined whom no second admin has confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unconfirmed {
    /// The admin who could read the invitation.
    pub invited_by: UserId,
    pub since: Timestamp,
}

/// The fields of a person that an admin can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProfile {
    pub name: String,
    pub email: Option<String>,
    pub manager: Option<UserId>,
    pub is_active: bool,
}

/// A new person; roles and aliases are added separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    pub id: UserId,
    pub issuer: String,
    pub subject: String,
    pub profile: UserProfile,
    pub has_verified_email: bool,
}

/// An account with a given email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountOfAddress {
    pub id: UserId,
    /// Whether an identity provider has verified the address, or only an admin has entered it.
    pub is_verified: bool,
    /// The number of accounts with which this one is linked directly.
    pub links: usize,
}

struct UserRow {
    id: Uuid,
    issuer: String,
    subject: String,
    name: String,
    email: Option<String>,
    has_verified_email: bool,
    manager_id: Option<Uuid>,
    active: bool,
    created_at: PgTimestamp,
    invited_by: Option<Uuid>,
    unconfirmed_since: Option<PgTimestamp>,
    passkeys_reset_at: Option<PgTimestamp>,
    roles: Vec<String>,
    aliases: Vec<Uuid>,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        let profile = UserProfile {
            name: row.name,
            email: row.email,
            manager: row.manager_id.map(UserId::from_uuid),
            is_active: row.active,
        };
        Self {
            id: UserId::from_uuid(row.id),
            issuer: row.issuer,
            subject: row.subject,
            profile,
            has_verified_email: row.has_verified_email,
            roles: row.roles.into_iter().map(Role::new).collect(),
            aliases: row.aliases.into_iter().map(UserId::from_uuid).collect(),
            created_at: row.created_at.0,
            unconfirmed: row.invited_by.zip(row.unconfirmed_since).map(|(by, since)| Unconfirmed {
                invited_by: UserId::from_uuid(by),
                since: since.0,
            }),
            passkeys_reset_at: row.passkeys_reset_at.map(|at| at.0),
        }
    }
}

pub async fn insert(tx: &mut Tx, user: &NewUser) -> Result<(), StoreError> {
    let profile = &user.profile;
    let query = query!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name, email, manager_id, active,
             created_at, email_verified_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CASE WHEN $10 THEN $9::timestamptz END)",
        tx.tenant().uuid(),
        user.id.uuid(),
        user.issuer,
        user.subject,
        profile.name,
        profile.email.as_deref(),
        profile.manager.map(UserId::uuid),
        profile.is_active,
        PgTimestamp(tx.now()) as _,
        user.has_verified_email,
    );
    tx.write(query).await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: UserId) -> Result<Option<User>, StoreError> {
    Ok(within(tx, id.uuid(), id.uuid(), 1).await?.pop())
}

/// Returns the person whom an issuer knows by this subject.
pub async fn of_subject(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
) -> Result<Option<UserId>, StoreError> {
    let query = query!(
        "SELECT id FROM app_user WHERE tenant_id = $1 AND issuer = $2 AND subject = $3",
        tx.tenant().uuid(),
        issuer,
        subject,
    );
    Ok(tx.fetch(query).await?.pop().map(|row| UserId::from_uuid(row.id)))
}

/// Returns people in the order of their ids, after the last one of the previous page.
pub async fn list(tx: &mut Tx, after: Option<UserId>, limit: u32) -> Result<Vec<User>, StoreError> {
    let first = after.map_or(0, |after| after.uuid().as_u128().saturating_add(1));
    within(tx, Uuid::from_u128(first), Uuid::max(), limit).await
}

async fn within(tx: &mut Tx, first: Uuid, last: Uuid, limit: u32) -> Result<Vec<User>, StoreError> {
    let query = query_as!(
        UserRow,
        r#"SELECT u.id, u.issuer, u.subject, u.name, u.email, u.manager_id, u.active,
                  u.email_verified_at IS NOT NULL AS "has_verified_email!",
                  u.created_at AS "created_at: PgTimestamp", u.invited_by,
                  u.unconfirmed_since AS "unconfirmed_since: PgTimestamp",
                  u.passkeys_reset_at AS "passkeys_reset_at: PgTimestamp",
                  array(SELECT r.role FROM user_role r
                         WHERE (r.tenant_id, r.user_id) = (u.tenant_id, u.id)) AS "roles!",
                  array(SELECT a.alias_id FROM user_alias a
                         WHERE (a.tenant_id, a.user_id) = (u.tenant_id, u.id)
                        UNION ALL
                        SELECT a.user_id FROM user_alias a
                         WHERE (a.tenant_id, a.alias_id) = (u.tenant_id, u.id)) AS "aliases!"
             FROM app_user u
            WHERE u.tenant_id = $1 AND u.id BETWEEN $2 AND $3
            ORDER BY u.id LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    Ok(tx.fetch(query).await?.into_iter().map(User::from).collect())
}

/// Updates a person. A changed address is no longer verified. `Conflict` if the person does not
/// exist.
pub async fn update(tx: &mut Tx, id: UserId, profile: &UserProfile) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE app_user SET name = $3, email = $4, manager_id = $5, active = $6,
                email_verified_at = CASE WHEN email = $4 THEN email_verified_at END
          WHERE tenant_id = $1 AND id = $2",
        tx.tenant().uuid(),
        id.uuid(),
        profile.name,
        profile.email.as_deref(),
        profile.manager.map(UserId::uuid),
        profile.is_active,
    );
    tx.write_one(&id, query).await
}

/// Records that an identity provider has verified the address of a person.
pub async fn verify_email(tx: &mut Tx, id: UserId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE app_user SET email_verified_at = $3 WHERE tenant_id = $1 AND id = $2",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// Replaces the roles of a person.
pub async fn set_roles(tx: &mut Tx, id: UserId, roles: &BTreeSet<Role>) -> Result<(), StoreError> {
    let roles: Vec<String> = roles.iter().map(|role| role.as_str().to_owned()).collect();
    let query = query!(
        "WITH gone AS (
             DELETE FROM user_role
              WHERE tenant_id = $1 AND user_id = $2 AND role <> ALL ($3::text[]))
         INSERT INTO user_role (tenant_id, user_id, role, granted_at)
         SELECT $1, $2, role, $4 FROM unnest($3::text[]) AS wanted (role)
         ON CONFLICT ON CONSTRAINT user_role_pkey DO NOTHING",
        tx.tenant().uuid(),
        id.uuid(),
        &roles,
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Returns accounts with this address, ignoring case, and first those that have verified it; one
/// more than allowed, so that an excess is noticed.
pub async fn with_email(tx: &mut Tx, email: &str) -> Result<Vec<AccountOfAddress>, StoreError> {
    let query = query!(
        r#"SELECT u.id, u.email_verified_at IS NOT NULL AS "is_verified!",
                  (SELECT count(*) FROM user_alias a
                    WHERE a.tenant_id = $1 AND (a.user_id = u.id OR a.alias_id = u.id))
                      AS "links!"
             FROM app_user u WHERE u.tenant_id = $1 AND lower(u.email) = lower($2)
            ORDER BY u.email_verified_at IS NULL, u.id LIMIT $3"#,
        tx.tenant().uuid(),
        email,
        i64::try_from(ACCOUNTS_OF_ADDRESS_MAX + 1).unwrap_or(i64::MAX),
    );
    let rows = tx.fetch(query).await?;
    let account = rows.into_iter().map(|row| AccountOfAddress {
        id: UserId::from_uuid(row.id),
        is_verified: row.is_verified,
        links: usize::try_from(row.links).unwrap_or(usize::MAX),
    });
    Ok(account.collect())
}

/// Links two accounts and returns whether the link is new.
pub async fn add_alias(tx: &mut Tx, id: UserId, alias: UserId) -> Result<bool, StoreError> {
    let query = query!(
        "INSERT INTO user_alias AS known (tenant_id, user_id, alias_id) VALUES ($1, $2, $3)
         ON CONFLICT ON CONSTRAINT user_alias_pkey DO UPDATE SET until_confirmed = false
          WHERE known.until_confirmed",
        tx.tenant().uuid(),
        id.uuid(),
        alias.uuid(),
    );
    Ok(tx.write_if_left(query).await? > 0)
}

/// Records that a person joined by an invitation that this admin could read. If `is_linked`, both
/// accounts count as one person until another admin has confirmed the new one.
pub async fn mark_unconfirmed(
    tx: &mut Tx,
    id: UserId,
    invited_by: UserId,
    is_linked: bool,
) -> Result<(), StoreError> {
    let query = query!(
        "WITH earlier AS (
             DELETE FROM user_alias
              WHERE tenant_id = $1 AND user_id = $2 AND until_confirmed AND alias_id <> $3),
         link AS (
             INSERT INTO user_alias (tenant_id, user_id, alias_id, until_confirmed)
             SELECT $1, $2, $3, true WHERE $5
             ON CONFLICT ON CONSTRAINT user_alias_pkey DO NOTHING)
         UPDATE app_user SET invited_by = $3, unconfirmed_since = $4
          WHERE tenant_id = $1 AND id = $2",
        tx.tenant().uuid(),
        id.uuid(),
        invited_by.uuid(),
        PgTimestamp(tx.now()) as _,
        is_linked,
    );
    tx.write_one(&id, query).await
}

/// Records that another admin has confirmed the person, and ends the link to the inviting admin.
pub async fn confirm(tx: &mut Tx, id: UserId) -> Result<(), StoreError> {
    let query = query!(
        "WITH link AS (
             DELETE FROM user_alias WHERE tenant_id = $1 AND user_id = $2 AND until_confirmed)
         UPDATE app_user SET invited_by = NULL, unconfirmed_since = NULL
          WHERE tenant_id = $1 AND id = $2 AND unconfirmed_since IS NOT NULL",
        tx.tenant().uuid(),
        id.uuid(),
    );
    tx.write_one(&id, query).await
}

/// Records that the passkeys of a person were reset.
pub async fn note_passkey_reset(tx: &mut Tx, id: UserId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE app_user SET passkeys_reset_at = $3 WHERE tenant_id = $1 AND id = $2",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}
