//! Passkeys, and confirmations of single decisions with them. Values for the browser have the
//! format of the Web Authentication standard; bytes are base64url without padding everywhere.

use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, StepUpId};
use ade_core::step_up::Purpose;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPasskey {
    /// The name you give to the passkey.
    #[schema(min_length = 1, max_length = 128, example = "My security key")]
    pub name: String,
}

/// A challenge to register a new passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PasskeyOffer {
    /// The id to answer with: `POST /v1/passkeys/{id}`.
    #[schema(value_type = schema::PasskeyId)]
    pub id: PasskeyId,
    /// For `navigator.credentials.create`.
    pub options: CreationOptions,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions {
    pub rp: RelyingParty,
    pub user: CreationUser,
    pub challenge: String,
    pub pub_key_cred_params: Vec<CredentialParameters>,
    /// In milliseconds.
    pub timeout: u64,
    /// The passkeys that you already have.
    pub exclude_credentials: Vec<CredentialNamed>,
    pub authenticator_selection: AuthenticatorSelection,
    pub attestation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RelyingParty {
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationUser {
    pub id: String,
    pub name: String,
    pub display_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CredentialParameters {
    #[serde(rename = "type")]
    pub kind: String,
    /// The COSE algorithm number.
    pub alg: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CredentialNamed {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticatorSelection {
    pub resident_key: String,
    pub user_verification: String,
}

/// The response of a new passkey, in the parts that the browser returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAnswer {
    /// `clientDataJSON`.
    #[schema(max_length = 5462)]
    pub client_data: String,
    /// `getAuthenticatorData()`.
    #[schema(max_length = 5462)]
    pub authenticator_data: String,
    /// `getPublicKey()`.
    #[schema(max_length = 5462)]
    pub public_key: String,
    /// `getPublicKeyAlgorithm()`.
    pub algorithm: i32,
}

/// The public data of a passkey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Passkey {
    #[schema(value_type = schema::PasskeyId)]
    pub id: PasskeyId,
    pub name: String,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_used_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Passkeys {
    pub items: Vec<Passkey>,
}

/// The action that a passkey confirms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepUpSubject {
    #[schema(value_type = schema::StepUpPurpose)]
    pub purpose: Purpose,
    /// Everything that is decided at once, in any order: tasks, a draft, a resource, a key.
    #[schema(max_items = 200)]
    pub about: Vec<StepUpThing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepUpThing {
    #[schema(min_length = 1, max_length = 321, example = "database:orders")]
    pub id: String,
    /// The digest that the person saw, for objects that have versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Digest>)]
    pub digest: Option<Digest>,
}

/// A challenge for one of your passkeys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepUpQuestion {
    /// The id to answer with: `POST /v1/step-up/{id}`.
    #[schema(value_type = schema::StepUpId)]
    pub id: StepUpId,
    /// For `navigator.credentials.get`.
    pub options: RequestOptions,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions {
    /// The SHA-256 of the subject's digest and of a nonce.
    pub challenge: String,
    /// In milliseconds.
    pub timeout: u64,
    pub rp_id: String,
    pub allow_credentials: Vec<CredentialNamed>,
    pub user_verification: String,
}

/// The response of a passkey, in the parts that the browser returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepUpAnswer {
    /// `rawId`.
    #[schema(max_length = 1364)]
    pub credential: String,
    /// `clientDataJSON`.
    #[schema(max_length = 5462)]
    pub client_data: String,
    /// `authenticatorData`.
    #[schema(max_length = 5462)]
    pub authenticator_data: String,
    #[schema(max_length = 5462)]
    pub signature: String,
}

/// A confirmation that has not been used yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepUp {
    #[schema(value_type = schema::StepUpId)]
    pub id: StepUpId,
    #[schema(value_type = schema::StepUpPurpose)]
    pub purpose: Purpose,
    /// The digest of the confirmed action.
    #[schema(value_type = schema::Digest)]
    pub subject: Digest,
    /// The time until which the confirmation is valid, for one decision in this session.
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}
