//! Invitations: how a person without an identity provider signs in for the first time.

use ade_core::ids::UserId;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A single-use invitation. Its secret is in the response that created it, and in no other.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    /// The invited person.
    #[schema(value_type = schema::UserId)]
    pub user_id: UserId,
    /// For `POST /v1/invitations/accept`. Absent if it was sent by mail, or if the same request was
    /// answered before.
    pub invitation: Option<String>,
    /// The page of the dashboard on which the person accepts the invitation. Absent if it
    /// was sent by mail, or if the same request was answered before.
    pub url: Option<String>,
    /// The address to which the invitation was sent, where mail is configured.
    #[serde(default)]
    pub sent_to: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

/// The secret stays out of logs.
impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invitation")
            .field("user", &self.user_id)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvitationAcceptance {
    /// As the response to `POST /v1/users/{id}/invitations` contains it.
    #[schema(max_length = 128)]
    pub invitation: String,
}

/// The secret stays out of logs.
impl std::fmt::Debug for InvitationAcceptance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InvitationAcceptance(…)")
    }
}
