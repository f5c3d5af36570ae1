//! Bounds of signing in and of sessions. A part of [`limits`](super), by the same rules.

use std::time::Duration;

// Signing in.
/// From the click to the return from the identity provider.
pub const SIGN_IN_TTL: Duration = Duration::from_mins(10);
/// A page that somebody comes back to after signing in.
pub const RETURN_TO_MAX_BYTES: usize = 1024;
/// One question to an identity provider, from the first byte to the last.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);
/// Its description, its keys or its answer to a code.
pub const PROVIDER_ANSWER_MAX_BYTES: usize = 256 * 1024;
/// How long its description and keys are believed without asking again.
pub const PROVIDER_KEPT: Duration = Duration::from_hours(1);
/// A key that is not known makes us ask at once, but not more often than this.
pub const PROVIDER_ASKED_AGAIN: Duration = Duration::from_secs(10);
/// Clocks of others may differ from ours by so much.
pub const ID_TOKEN_LEEWAY: Duration = Duration::from_mins(1);
/// One that was made longer ago was not made for this sign-in.
pub const ID_TOKEN_MAX_AGE: Duration = Duration::from_mins(10);
/// The longest text of a token that is looked at.
pub const ID_TOKEN_MAX_BYTES: usize = 32 * 1024;
/// Groups of one person that are looked at; whoever is in more gets the roles of the first.
pub const GROUPS_OF_PERSON_MAX: usize = 512;
/// Groups of one provider that give roles in one tenant.
pub const GROUP_ROLES_MAX: usize = 256;
/// Tenants that one person is brought up to date in by one sign-in.
pub const TENANTS_OF_PERSON_MAX: usize = 32;

// Sessions.
/// Without a request for so long, a session is over.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// However much it is used: then the person proves anew who they are.
pub const SESSION_TTL: Duration = Duration::from_hours(12);
/// How exactly it is known when a session was last used; a write for each request would be waste.
pub const SESSION_KEPT_PACE: Duration = Duration::from_mins(1);
/// Open ones of one person in one tenant; the oldest gives way.
pub const SESSIONS_OPEN_MAX: u32 = 20;
