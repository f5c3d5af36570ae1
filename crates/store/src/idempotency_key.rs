//! The idempotency key of a request, and the advisory lock that reserves it.

use ade_core::change::Digest;
use ade_core::ids::TenantId;

/// The idempotency key of one caller for one request. The tenant is that of the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub principal: String,
    pub route: String,
    pub key: String,
}

impl IdempotencyKey {
    /// The advisory lock number of this key. The parts are separated by their lengths: joined as
    /// text, two keys could look alike.
    pub(crate) fn lock(&self, tenant: TenantId) -> i64 {
        let mut bytes = tenant.uuid().as_bytes().to_vec();
        for part in [&self.principal, &self.route, &self.key] {
            bytes.extend(part.len().to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        let digest = Digest::of(&bytes);
        digest.bytes().first_chunk().copied().map_or(0, i64::from_be_bytes)
    }
}
