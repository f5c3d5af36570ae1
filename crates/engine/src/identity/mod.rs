//! People and programs prove who they are: sign-in with an identity provider, sessions, tokens,
//! devices, invitations and passkeys, and the users, groups and roles behind them.

mod address_links;
pub mod authenticate;
pub mod device;
pub mod group_roles;
pub mod invitations;
pub mod leaks;
pub mod me;
pub mod passkeys;
pub mod sessions;
mod sign_in;
pub mod step_up;
mod token_pruner;
pub mod tokens;
pub mod users;
mod workers;

pub use authenticate::AuthError;
pub(crate) use authenticate::caller_of;
pub(crate) use group_roles::set as set_group_roles;
pub(crate) use invitations::link_of as invitation_link;
pub(crate) use passkeys::reset as reset_passkeys;
pub use sign_in::{Arrival, Departure, Returned, SignInError, begin, end};
pub(crate) use sign_in::{SignInBasis, open as open_session, open_in as open_session_in};
pub(crate) use users::{
    add_alias, change as change_user, confirm as confirm_user, create as create_user,
    set_roles as set_user_roles,
};
pub(crate) use workers::WORKERS;
