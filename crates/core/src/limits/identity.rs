//! Limits of sign-in and sessions. Part of [`limits`](super); the same rules apply.

use std::time::Duration;

// Tokens.
/// Active tokens of one principal, so that a new one can replace the old; sessions are counted
/// separately.
pub const TOKENS_OPEN_MAX: i64 = 2;
/// Networks that one token can be bound to.
pub const TOKEN_NETWORKS_MAX: usize = 16;
/// Length of the reported location of a leaked token.
pub const LEAK_PLACE_MAX_BYTES: usize = 1024;
/// How long expired, revoked and used-up tokens are listed; afterwards only the audit log contains
/// them.
pub const TOKEN_KEPT: Duration = Duration::from_hours(90 * 24);

// Sign-in.
/// From the redirect to the return from the identity provider.
pub const SIGN_IN_TTL: Duration = Duration::from_mins(10);
/// Length of the configured name of an identity provider.
pub const PROVIDER_NAME_MAX_BYTES: usize = 64;
/// Length of the code that a provider sends back.
pub const PROVIDER_CODE_MAX_BYTES: usize = 4096;
pub const PROVIDER_STATE_MAX_BYTES: usize = 128;
pub const PROVIDER_ERROR_MAX_BYTES: usize = 128;
/// Length of the path of the page to return to after sign-in.
pub const RETURN_TO_MAX_BYTES: usize = 1024;
/// One request to an identity provider, from the first byte to the last.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of a discovery document, key set or token response.
pub const PROVIDER_ANSWER_MAX_BYTES: usize = 256 * 1024;
/// Concurrent waiters for a provider; further ones get an error, so that a slow provider does not
/// block other requests.
pub const PROVIDER_WAITERS_MAX: usize = 32;
/// Tolerated clock difference to the provider.
pub const ID_TOKEN_LEEWAY: Duration = Duration::from_mins(1);
/// An older ID token was not issued for this sign-in.
pub const ID_TOKEN_MAX_AGE: Duration = Duration::from_mins(10);
/// Longer ID tokens are refused.
pub const ID_TOKEN_MAX_BYTES: usize = 32 * 1024;
/// Groups of one person that are considered; further ones are ignored.
pub const GROUPS_OF_PERSON_MAX: usize = 512;
/// Groups of one provider with roles in one tenant.
pub const GROUP_ROLES_MAX: usize = 256;
/// Providers with group roles in one tenant; more than an installation configures.
pub const GROUP_ROLE_PROVIDERS_MAX: usize = 64;
/// Accounts of one tenant that have verified the same email address, which are linked as one
/// person; a sign-in that needs one more is refused because it could not be linked with all.
/// Accounts for which only an admin has entered the address do not count, and are linked as long as
/// this many links are left.
pub const ACCOUNTS_OF_ADDRESS_MAX: usize = 50;
/// Tenants that one sign-in updates and that the person can switch to.
pub const TENANTS_OF_PERSON_MAX: usize = 32;

// Sessions.
/// A session without requests for this long expires.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// The maximum session lifetime; afterwards the person signs in again.
pub const SESSION_TTL: Duration = Duration::from_hours(12);
/// Active sessions of one person in one tenant; a new one ends the oldest.
pub const SESSIONS_OPEN_MAX: u32 = 20;
/// How long an ended session is stored; it is not listed, and the audit log contains it.
pub const SESSION_KEPT: Duration = Duration::from_hours(7 * 24);

// Rate limits.
/// The longest time in which a burst may refill; slower limits are refused.
pub const RATE_KEPT_MAX: Duration = Duration::from_hours(24);

// Sign-in of a terminal through a browser.
/// From the start of the sign-in to the token; a later code must be requested again.
pub const DEVICE_LOGIN_TTL: Duration = Duration::from_mins(10);
/// Minimum poll interval of a terminal, and the increment after each early poll.
pub const DEVICE_POLL_PACE: Duration = Duration::from_secs(5);
/// Pending sign-ins from one address, which a whole office may share; few enough that a code cannot
/// be guessed.
pub const DEVICE_LOGINS_PER_ADDRESS: u32 = 100;
/// How long further sign-ins from an address are refused after the limit is reached.
pub const DEVICE_LOGIN_PAUSE: Duration = Duration::from_mins(1);
/// The token is stored on a disk, so it lives no longer than a default token.
pub const DEVICE_TOKEN_DAYS_MAX: u16 = 30;
/// A terminal's token with the scope `decide` is valid for a working day.
pub const DEVICE_DECIDE_TTL: Duration = Duration::from_hours(8);

// Invitations.
/// How long an invitation can be accepted. It is handed over while both people are available.
pub const INVITATION_TTL: Duration = Duration::from_mins(15);

// Passkeys.
/// From the challenge to the response of a new or registered passkey.
pub const PASSKEY_ANSWER_TTL: Duration = Duration::from_mins(5);
/// The shortest configurable time in which a person may decide after a sign-in without a passkey.
pub const DECIDE_WITHIN_MIN: Duration = Duration::from_mins(1);
/// The shortest configurable age from which roles, and passkeys enrolled after a reset, count for
/// tasks of high and critical risk.
pub const AUTHORITY_AGE_MIN: Duration = Duration::from_hours(1);
/// The longest such age: longer ones would leave a team without reviewers.
pub const AUTHORITY_AGE_MAX: Duration = Duration::from_hours(30 * 24);
/// How long a passkey confirmation is valid.
pub const STEP_UP_MAX_AGE: Duration = Duration::from_mins(5);
/// Enough for a phone, a laptop and several security keys.
pub const PASSKEYS_OF_PERSON_MAX: usize = 10;
/// Open confirmations of one person; a new one replaces the oldest.
pub const STEP_UPS_OPEN_MAX: u32 = 16;
/// The longest name of a confirmed object: a resource with its type.
pub const STEP_UP_THING_MAX_BYTES: usize = 321;
/// The longest credential id that an authenticator may use.
pub const CREDENTIAL_MAX_BYTES: usize = 1023;
/// Size of each part of a response: enough for an 8192-bit RSA key and the browser's client data.
pub const PASSKEY_PART_MAX_BYTES: usize = 4 * 1024;
