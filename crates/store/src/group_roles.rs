//! The roles that groups of an identity provider grant in a tenant.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::actor::Role;
use sqlx::{query, query_scalar};

use crate::error::StoreError;
use crate::tx::Tx;

/// Groups of one provider with the roles that they give.
pub type Mapping = BTreeMap<String, BTreeSet<Role>>;

/// Returns providers with their mappings, in the order of their issuers, after the last one of the
/// previous page. The mapping of a provider is never split.
pub async fn list(
    tx: &mut Tx,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<(String, Mapping)>, StoreError> {
    let query = query!(
        r#"SELECT own.issuer AS "issuer!", own.group_name AS "group_name!", own.role AS "role!"
             FROM (SELECT DISTINCT g.issuer FROM group_role g
                    WHERE g.tenant_id = $1 AND g.issuer > $2
                    ORDER BY g.issuer LIMIT $3) AS page
            CROSS JOIN LATERAL (
                  SELECT g.issuer, g.group_name, g.role FROM group_role g
                   WHERE g.tenant_id = $1 AND g.issuer = page.issuer OFFSET 0) AS own
            ORDER BY own.issuer, own.group_name, own.role"#,
        tx.tenant().uuid(),
        // An issuer is never empty.
        after.unwrap_or_default(),
        i64::from(limit),
    );
    // The order of pages is that of the database.
    let mut found: Vec<(String, Mapping)> = Vec::new();
    for row in tx.fetch(query).await? {
        if found.last().is_none_or(|(issuer, _)| *issuer != row.issuer) {
            found.push((row.issuer, Mapping::new()));
        }
        if let Some((_, groups)) = found.last_mut() {
            groups.entry(row.group_name).or_default().insert(Role::new(row.role));
        }
    }
    Ok(found)
}

/// Returns the mapping of this provider.
pub async fn of_issuer(tx: &mut Tx, issuer: &str) -> Result<Mapping, StoreError> {
    let query = query!(
        "SELECT group_name, role FROM group_role WHERE tenant_id = $1 AND issuer = $2",
        tx.tenant().uuid(),
        issuer,
    );
    let mut found = Mapping::new();
    for row in tx.fetch(query).await? {
        found.entry(row.group_name).or_default().insert(Role::new(row.role));
    }
    Ok(found)
}

/// Returns how many other providers have groups that grant roles.
pub async fn count_others(tx: &mut Tx, issuer: &str) -> Result<usize, StoreError> {
    let query = query_scalar!(
        r#"SELECT count(DISTINCT issuer) AS "count!" FROM group_role
            WHERE tenant_id = $1 AND issuer <> $2"#,
        tx.tenant().uuid(),
        issuer,
    );
    let count = tx.fetch_value(query).await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Replaces the mapping of this provider.
pub async fn set(tx: &mut Tx, issuer: &str, mapping: &Mapping) -> Result<(), StoreError> {
    let pairs = mapping.iter().flat_map(|(group, roles)| {
        roles.iter().map(|role| (group.clone(), role.as_str().to_owned()))
    });
    let (groups, roles): (Vec<String>, Vec<String>) = pairs.unzip();
    let query = query!(
        "WITH gone AS (
             DELETE FROM group_role g
              WHERE g.tenant_id = $1 AND g.issuer = $2
                AND (g.group_name, g.role) NOT IN (
                    SELECT * FROM unnest($3::text[], $4::text[])))
         INSERT INTO group_role (tenant_id, issuer, group_name, role)
         SELECT $1, $2, group_name, role
           FROM unnest($3::text[], $4::text[]) AS wanted (group_name, role)
         ON CONFLICT ON CONSTRAINT group_role_pkey DO NOTHING",
        tx.tenant().uuid(),
        issuer,
        &groups,
        &roles,
    );
    tx.write(query).await?;
    Ok(())
}
