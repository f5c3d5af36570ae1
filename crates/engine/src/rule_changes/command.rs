//! A change to the rules as it is requested, stored and run.

use ade_api::agents::AgentChange;
use ade_api::delegations::NewDelegation;
use ade_api::resources::{ResourceEntry, ResourceImport};
use ade_api::sessions::GroupRoles;
use ade_api::settings::{NewRiskSettings, NewTimeouts, SetFlag};
use ade_api::users::{Alias, NewUser, Roles, UserChange};
use ade_core::access::{Action, Object};
use ade_core::change::Digest;
use ade_core::flag::Flag;
use ade_core::ids::{AgentId, FreezeId, PolicyDraftId, UserId};
use ade_core::resource::ResourceRef;
use ade_core::step_up::ConfirmationSubject;
use serde::{Deserialize, Serialize};

use crate::command::admin_command::{AdminCommand, Applied};
use crate::error::Error;
use crate::{admin, agents, identity, policies, review};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "change")]
pub enum RuleChange {
    #[serde(rename = "risk.settings")]
    SetRisk { expected: u64, new: NewRiskSettings },
    #[serde(rename = "settings.timeouts")]
    SetTimeouts { expected: u64, new: NewTimeouts },
    #[serde(rename = "settings.flag")]
    SetFlag { flag: Flag, set: SetFlag },
    #[serde(rename = "resource.put")]
    PutResource { name: ResourceRef, entry: ResourceEntry },
    #[serde(rename = "resource.import")]
    ImportResources(ResourceImport),
    #[serde(rename = "user.create")]
    CreateUser(NewUser),
    #[serde(rename = "user.change")]
    ChangeUser { id: UserId, change: UserChange },
    #[serde(rename = "user.roles")]
    SetRoles { id: UserId, roles: Roles },
    #[serde(rename = "user.alias")]
    AddAlias { id: UserId, alias: Alias },
    #[serde(rename = "user.confirm")]
    ConfirmPerson { id: UserId },
    #[serde(rename = "user.passkeys")]
    ResetPasskeys { id: UserId },
    #[serde(rename = "group_roles.set")]
    SetGroupRoles(GroupRoles),
    #[serde(rename = "agent.change")]
    ChangeAgent { id: AgentId, change: AgentChange },
    #[serde(rename = "delegation.create")]
    CreateDelegation { owner: UserId, new: NewDelegation },
    #[serde(rename = "freeze.lift")]
    LiftFreeze { id: FreezeId, reason: Option<String> },
    #[serde(rename = "policy.publish")]
    PublishPolicy { draft_id: PolicyDraftId, name: String, digest: Digest, reason: Option<String> },
}

impl RuleChange {
    /// Returns the name under which the change is stored and listed.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::SetRisk { .. } => "risk.settings",
            Self::SetTimeouts { .. } => "settings.timeouts",
            Self::SetFlag { .. } => "settings.flag",
            Self::PutResource { .. } => "resource.put",
            Self::ImportResources(_) => "resource.import",
            Self::CreateUser(_) => "user.create",
            Self::ChangeUser { .. } => "user.change",
            Self::SetRoles { .. } => "user.roles",
            Self::AddAlias { .. } => "user.alias",
            Self::ConfirmPerson { .. } => "user.confirm",
            Self::ResetPasskeys { .. } => "user.passkeys",
            Self::SetGroupRoles(_) => "group_roles.set",
            Self::ChangeAgent { .. } => "agent.change",
            Self::CreateDelegation { .. } => "delegation.create",
            Self::LiftFreeze { .. } => "freeze.lift",
            Self::PublishPolicy { .. } => "policy.publish",
        }
    }

    /// Returns what the change is about, for people.
    pub(super) fn object(&self) -> String {
        match self {
            Self::SetRisk { .. } => "risk settings".to_owned(),
            Self::SetTimeouts { .. } => "timeouts".to_owned(),
            Self::SetFlag { flag, .. } => flag.to_string(),
            Self::PutResource { name, .. } => name.to_string(),
            Self::ImportResources(import) => format!("{} resources", import.items.len()),
            Self::CreateUser(new) => new.name.clone(),
            Self::ChangeUser { id, .. }
            | Self::SetRoles { id, .. }
            | Self::AddAlias { id, .. }
            | Self::ConfirmPerson { id }
            | Self::ResetPasskeys { id } => id.to_string(),
            Self::SetGroupRoles(roles) => roles.issuer.clone(),
            Self::ChangeAgent { id, .. } => id.to_string(),
            Self::CreateDelegation { owner, .. } => owner.to_string(),
            Self::LiftFreeze { id, .. } => id.to_string(),
            Self::PublishPolicy { name, .. } => name.clone(),
        }
    }

    /// Returns the reason that its proposer gave.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::SetRisk { new, .. } => new.reason.clone(),
            Self::SetTimeouts { new, .. } => new.reason.clone(),
            Self::SetFlag { set, .. } => set.reason.clone(),
            Self::PublishPolicy { reason, .. } | Self::LiftFreeze { reason, .. } => reason.clone(),
            _ => None,
        }
    }

    /// Returns the permission that proposing the change requires.
    pub(super) const fn permission(&self) -> (Action, Object) {
        match self {
            Self::SetRisk { .. } | Self::SetTimeouts { .. } | Self::SetFlag { .. } => {
                (Action::EditSettings, Object::Tenant)
            }
            Self::PutResource { .. } | Self::ImportResources(_) => {
                (Action::EditResource, Object::Tenant)
            }
            Self::CreateUser(_)
            | Self::ChangeUser { .. }
            | Self::SetRoles { .. }
            | Self::AddAlias { .. }
            | Self::ConfirmPerson { .. }
            | Self::ResetPasskeys { .. }
            | Self::SetGroupRoles(_) => (Action::AdministerUser, Object::Tenant),
            Self::ChangeAgent { .. } => (Action::AdministerAgent, Object::Tenant),
            Self::CreateDelegation { .. } => {
                (Action::EditDelegation, Object::Own { is_own: false })
            }
            Self::LiftFreeze { .. } => (Action::LiftFreeze, Object::Tenant),
            // In place of the second admin, the draft waits like any other change.
            Self::PublishPolicy { .. } => (Action::PublishPolicy, Object::Own { is_own: false }),
        }
    }

    /// Refuses a change of a person who does not exist, before its proposer has to confirm it.
    pub(super) fn require_object(&self, act: &AdminCommand<'_>) -> Result<(), Error> {
        match self {
            Self::ResetPasskeys { id } if act.book.directory.person(*id).is_none() => {
                Err(Error::NotFound { what: "user" })
            }
            _ => Ok(()),
        }
    }

    /// Returns what its proposer confirms with a passkey.
    pub(super) fn confirmation(&self) -> Option<ConfirmationSubject> {
        match self {
            Self::ResetPasskeys { id } => Some(ConfirmationSubject::reset_passkeys(*id)),
            Self::PublishPolicy { draft_id, digest, .. } => {
                Some(policies::publication_of(*draft_id, *digest))
            }
            _ => None,
        }
    }

    /// Writes the change in the name of its proposer.
    pub(super) async fn apply(
        self,
        act: &mut AdminCommand<'_>,
        by: UserId,
    ) -> Result<Applied, Error> {
        match self {
            Self::SetRisk { expected, new } => policies::set_risk(act, by, expected, new).await,
            Self::SetTimeouts { expected, new } => {
                policies::set_timeouts(act, by, expected, new).await
            }
            Self::SetFlag { flag, set } => policies::set_flag(act, by, flag, set).await,
            Self::PutResource { name, entry } => admin::put_resource(act, &name, entry).await,
            Self::ImportResources(import) => admin::import_resources(act, import).await,
            Self::CreateUser(new) => identity::create_user(act, new).await,
            Self::ChangeUser { id, change } => identity::change_user(act, by, id, change).await,
            Self::SetRoles { id, roles } => identity::set_user_roles(act, id, roles).await,
            Self::AddAlias { id, alias } => identity::add_alias(act, id, alias).await,
            Self::ConfirmPerson { id } => identity::confirm_user(act, id).await,
            Self::ResetPasskeys { id } => identity::reset_passkeys(act, id).await,
            Self::SetGroupRoles(roles) => identity::set_group_roles(act, roles).await,
            Self::ChangeAgent { id, change } => agents::change(act, id, change).await,
            Self::CreateDelegation { owner, new } => {
                review::create_delegation_for(act, owner, &new).await
            }
            Self::LiftFreeze { id, reason } => policies::lift_freeze(act, by, id, reason).await,
            Self::PublishPolicy { draft_id, .. } => policies::publish_waiting(act, draft_id).await,
        }
    }
}
