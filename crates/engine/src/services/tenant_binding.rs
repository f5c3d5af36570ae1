//! The tenants that may use something that the operator configures for the whole installation: an
//! executor, a preview target, an identity provider or an export sink.

use ade_core::ids::TenantId;
use ade_store::tenants::TenantIdentity;

/// The tenants that one thing of the installation serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantBinding {
    /// The only tenant of the installation, and no tenant once there are two.
    Sole,
    /// The tenants with these ids or names.
    Listed(Vec<String>),
    /// Every tenant. The thing itself distinguishes tenants.
    Every,
}

impl TenantBinding {
    pub(crate) fn serves(&self, tenant: &TenantIdentity) -> bool {
        match self {
            Self::Sole => tenant.is_only,
            Self::Listed(entries) => entries.iter().any(|entry| is_named(tenant, entry)),
            Self::Every => true,
        }
    }
}

/// The `tenants` of a table in the settings.
impl From<Option<Vec<String>>> for TenantBinding {
    fn from(tenants: Option<Vec<String>>) -> Self {
        tenants.map_or(Self::Sole, Self::Listed)
    }
}

/// Returns whether an entry names this tenant. An entry in the form of an id is compared with ids
/// only, so that a tenant cannot impersonate another one by its name.
fn is_named(tenant: &TenantIdentity, entry: &str) -> bool {
    match entry.parse::<TenantId>() {
        Ok(id) => id == tenant.id,
        Err(_) => entry == tenant.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128, name: &str, is_only: bool) -> TenantIdentity {
        TenantIdentity { id: TenantId::from_u128(number), name: name.to_owned(), is_only }
    }

    fn listed(entries: &[&str]) -> TenantBinding {
        TenantBinding::Listed(entries.iter().map(|entry| (*entry).to_owned()).collect())
    }

    #[test]
    fn binding_with_a_list_serves_only_those_listed() {
        let acme = tenant(1, "acme", false);
        let id = acme.id.to_string();
        for entries in [vec!["acme"], vec!["other", "acme"], vec![id.as_str()]] {
            assert!(listed(&entries).serves(&acme), "{entries:?}");
        }
        for entries in [vec![], vec![""], vec!["other"], vec!["Acme"], vec!["acme "]] {
            assert!(!listed(&entries).serves(&acme), "{entries:?}");
        }
        assert!(!listed(&["other"]).serves(&tenant(1, "acme", true)), "even the only tenant");
    }

    #[test]
    fn binding_by_id_ignores_a_tenant_of_that_name() {
        let acme = tenant(1, "acme", false);
        let impostor = tenant(2, &acme.id.to_string(), false);
        assert!(!listed(&[&impostor.name]).serves(&impostor));
    }

    #[test]
    fn binding_without_a_list_serves_only_a_sole_tenant() {
        let binding = TenantBinding::from(None);
        assert!(binding.serves(&tenant(1, "acme", true)));
        assert!(!binding.serves(&tenant(1, "acme", false)));
    }
}
