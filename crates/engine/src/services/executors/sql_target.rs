//! The databases on which SQL is previewed, and the tenants that may use each of them.

use std::fmt;

use ade_store::preview::TargetKind;
use ade_store::tenants::TenantIdentity;

use crate::services::tenant_binding::TenantBinding;

/// A database for previews. Its address may hold a password and is never printed.
#[derive(Clone)]
pub struct PreviewTarget {
    url: String,
    kind: TargetKind,
    tenants: TenantBinding,
}

impl PreviewTarget {
    pub fn new(url: String, kind: TargetKind, tenants: TenantBinding) -> Self {
        Self { url, kind, tenants }
    }

    pub(super) fn kind(&self) -> TargetKind {
        self.kind
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether this tenant may preview on the target.
    pub(super) fn serves(&self, tenant: &TenantIdentity) -> bool {
        self.tenants.serves(tenant)
    }
}

impl fmt::Debug for PreviewTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("kind", &self.kind)
            .field("tenants", &self.tenants)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_debug_output_hides_the_address() {
        let url = "postgres://robot:hunter2@localhost/orders".to_owned();
        let tenants = TenantBinding::Listed(vec!["acme".to_owned()]);
        let target = PreviewTarget::new(url, TargetKind::Copy, tenants);
        let printed = format!("{target:?}");
        assert!(printed.contains("acme") && !printed.contains("hunter2"), "{printed}");
    }
}
