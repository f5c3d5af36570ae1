//! Which groups of an identity provider give which roles here.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::actor::Role;
use sqlx::query;

use crate::error::Error;
use crate::tx::Tx;

/// Groups of one provider with the roles that they give.
pub type Mapping = BTreeMap<String, BTreeSet<Role>>;

/// By the issuer of the provider.
pub async fn all(tx: &mut Tx) -> Result<BTreeMap<String, Mapping>, Error> {
    let query = query!(
        "SELECT issuer, group_name, role FROM group_role WHERE tenant_id = $1
          ORDER BY issuer, group_name, role",
        tx.tenant().uuid(),
    );
    let mut found: BTreeMap<String, Mapping> = BTreeMap::new();
    for row in tx.fetch(query).await? {
        let groups = found.entry(row.issuer).or_default();
        groups.entry(row.group_name).or_default().insert(Role::new(row.role));
    }
    Ok(found)
}

/// These and no others, of this provider.
pub async fn set(tx: &mut Tx, issuer: &str, mapping: &Mapping) -> Result<(), Error> {
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
