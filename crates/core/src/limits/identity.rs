//! Bounds of signing in and of sessions. A part of [`limits`](super), by the same rules.

use std::time::Duration;

// Tokens.
/// Open ones of one principal, so that a new one can take over from the old; sessions count apart.
pub const TOKENS_OPEN_MAX: i64 = 2;
/// Networks that one token may be bound to.
pub const TOKEN_NETWORKS_MAX: usize = 16;
/// A token in use writes this at most as often: its holder sees the day, not the call.
pub const TOKEN_USE_PACE: Duration = Duration::from_mins(1);
/// Where somebody says that they found a token.
pub const LEAK_PLACE_MAX_BYTES: usize = 1024;
/// How long one that has expired, was revoked or is used up is still listed; then only the audit
/// tells of it.
pub const TOKEN_KEPT: Duration = Duration::from_hours(90 * 24);

// Signing in.
/// From the click to the return from the identity provider.
pub const SIGN_IN_TTL: Duration = Duration::from_mins(10);
/// What an operator calls an identity provider.
pub const PROVIDER_NAME_MAX_BYTES: usize = 64;
/// What a provider sends a browser back with: its code, what we gave it, who it is, and why not.
pub const PROVIDER_CODE_MAX_BYTES: usize = 4096;
pub const PROVIDER_STATE_MAX_BYTES: usize = 128;
pub const PROVIDER_ERROR_MAX_BYTES: usize = 128;
/// A page that somebody comes back to after signing in.
pub const RETURN_TO_MAX_BYTES: usize = 1024;
/// One question to an identity provider, from the first byte to the last.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);
/// Its description, its keys or its answer to a code.
pub const PROVIDER_ANSWER_MAX_BYTES: usize = 256 * 1024;
/// How long its description and keys are believed without asking again.
pub const PROVIDER_KEPT: Duration = Duration::from_hours(1);
/// Who may wait for its answer at once; the others are told that it does not answer. A silent one
/// must leave room for everybody who does not sign in.
pub const PROVIDER_WAITERS_MAX: usize = 32;
/// A key that is not known makes us ask at once, but not more often than this; nor is one that
/// did not answer asked again so soon.
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
/// Providers whose groups give roles in one tenant: more than an installation talks to.
pub const GROUP_ROLE_PROVIDERS_MAX: usize = 64;
/// Accounts with one verified address, which are joined as one human; whoever would need one more
/// is not let in, since they could not be joined with all of them.
pub const ACCOUNTS_OF_ADDRESS_MAX: usize = 100;
/// Tenants that one person is brought up to date in by one sign-in, and can go on in.
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
/// How long one that is over stays: nobody lists it, and the audit tells of it.
pub const SESSION_KEPT: Duration = Duration::from_hours(7 * 24);

// How often somebody may call.
/// The longest that a burst may take to come back; a rate that needs more is not taken.
pub const RATE_KEPT_MAX: Duration = Duration::from_hours(24);
/// Calls that a process takes at once for a caller who has plenty left, so that not each of them
/// asks Redis; what is not used of them in time is lost.
pub const RATE_DRAWN_MAX: u32 = 32;
pub const RATE_DRAWN_FOR: Duration = Duration::from_millis(500);
/// No more than this part of a burst is taken at once.
pub const RATE_DRAWN_PART: u32 = 64;
pub const RATES_DRAWN_KEPT_MAX: u64 = 50_000;

// Signing a terminal in from a browser.
/// From the question to the token; whoever types the code after that begins again.
pub const DEVICE_LOGIN_TTL: Duration = Duration::from_mins(10);
/// How often a terminal may ask whether somebody has answered, and by how much longer it has to
/// wait each time that it asks too early.
pub const DEVICE_POLL_PACE: Duration = Duration::from_secs(5);
/// Unanswered ones from one address, where a whole office may sit; no code can be hit by guessing
/// while so few are open.
pub const DEVICE_LOGINS_PER_ADDRESS: u32 = 100;
/// How long whoever began one too many stays away.
pub const DEVICE_LOGIN_PAUSE: Duration = Duration::from_mins(1);
/// The token lies on somebody's disk: it lives no longer than one does by default.
pub const DEVICE_TOKEN_DAYS_MAX: u16 = 30;

// Passkeys.
/// From the question to the answer of a passkey, whether it is new or known.
pub const PASSKEY_ANSWER_TTL: Duration = Duration::from_mins(5);
/// For so long the word of a passkey counts: whoever gave it is still at the same decision.
pub const STEP_UP_MAX_AGE: Duration = Duration::from_mins(5);
/// A phone, a laptop, keys in two drawers, and room.
pub const PASSKEYS_OF_PERSON_MAX: usize = 10;
/// Words of one person that wait to be given or used; the oldest gives way.
pub const STEP_UPS_OPEN_MAX: u32 = 16;
/// The longest name of what a word is given for: that of a resource, with its type.
pub const STEP_UP_THING_MAX_BYTES: usize = 321;
/// The longest name that an authenticator may give a key.
pub const CREDENTIAL_MAX_BYTES: usize = 1023;
/// Each part of an answer: an RSA key of 8192 bits with its frame fits, and so does what browsers
/// say of themselves.
pub const PASSKEY_PART_MAX_BYTES: usize = 4 * 1024;
