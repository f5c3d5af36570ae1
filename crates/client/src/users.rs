//! Calls for users.

use ade_api::invitations::Invitation;
use ade_api::page::{Page, PageQuery};
use ade_api::passkeys::Passkeys;
use ade_api::sessions::GroupRoles;
use ade_api::users::{Alias, NewUser, Roles, User, UserChange};
use ade_core::ids::UserId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Users<'a>(pub(crate) &'a Client);

impl Users<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<User>, Error> {
        self.0.read_page("/v1/users", page).await
    }

    pub async fn get(self, id: UserId) -> Result<User, Error> {
        self.0.read(path(id)).await
    }

    pub async fn create(self, new: &NewUser) -> Result<Submitted<User>, Error> {
        self.0.submit(Call::post("/v1/users").body(new)).await
    }

    pub async fn change(self, id: UserId, change: &UserChange) -> Result<Submitted<User>, Error> {
        self.0.submit(Call::patch(path(id)).body(change)).await
    }

    /// Replaces the roles of a user.
    pub async fn set_roles(self, id: UserId, roles: &Roles) -> Result<Submitted<User>, Error> {
        self.0.submit(Call::put(format!("{}/roles", path(id))).body(roles)).await
    }

    /// Lists the roles that groups of identity providers grant.
    pub async fn group_roles(self, page: &PageQuery) -> Result<Page<GroupRoles>, Error> {
        self.0.read_page("/v1/group-roles", page).await
    }

    /// Replaces the group roles of one provider; those of others stay.
    pub async fn set_group_roles(self, roles: &GroupRoles) -> Result<Submitted<GroupRoles>, Error> {
        self.0.submit(Call::put("/v1/group-roles").body(roles)).await
    }

    /// Removes all passkeys of a user who has lost them.
    pub async fn reset_passkeys(self, id: UserId) -> Result<Submitted<Passkeys>, Error> {
        self.0.submit(Call::delete(format!("{}/passkeys", path(id)))).await
    }

    /// Confirms a person who joined by an invitation that its admin could read.
    pub async fn confirm(self, id: UserId) -> Result<Submitted<User>, Error> {
        self.0.submit(Call::post(format!("{}/confirm", path(id)))).await
    }

    /// Invites a person to sign in. Only this response contains the secret, unless it is sent by
    /// mail.
    pub async fn invite(self, id: UserId) -> Result<Invitation, Error> {
        self.0.send(Call::post(format!("{}/invitations", path(id)))).await
    }

    pub async fn add_alias(self, id: UserId, alias: &Alias) -> Result<Submitted<User>, Error> {
        self.0.submit(Call::post(format!("{}/aliases", path(id))).body(alias)).await
    }
}

fn path(id: UserId) -> String {
    format!("/v1/users/{id}")
}
