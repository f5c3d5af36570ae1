//! The roles that groups of an identity provider grant. Changes take effect at the next sign-in.

use ade_api::sessions::GroupRoles;
use ade_core::access::{Action, Object};
use ade_core::actor::Role;
use ade_core::limits::{
    GROUP_ROLE_PROVIDERS_MAX, GROUP_ROLES_MAX, IDENTITY_MAX_BYTES, USER_ROLES_MAX,
};
use ade_core::rule_change::compare_group_roles;
use ade_store::group_roles::{self, Mapping};

use crate::app::App;
use crate::caller::Caller;
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::check_name;
use crate::command::permission::enter;
use crate::command::{Paged, Span, paged};
use crate::error::Error;

/// Lists the mappings, by issuer.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<String>,
) -> Result<Paged<GroupRoles, String>, Error> {
    let (mut tx, _) = enter(app, caller, Action::AdministerUser, Object::Tenant).await?;
    let limit = span.limit.saturating_add(1);
    let found = group_roles::list(&mut tx, span.after.as_deref(), limit).await?;
    let items = found.into_iter().map(|(issuer, mapping)| shown(issuer, mapping)).collect();
    Ok(paged(items, span.limit, |roles: &GroupRoles| roles.issuer.clone()))
}

/// Replaces all mappings of one provider; those of other providers stay.
pub(crate) async fn set(act: &mut AdminCommand<'_>, new: GroupRoles) -> Result<Applied, Error> {
    let mapping = check(&new)?;
    if !mapping.is_empty()
        && group_roles::count_others(&mut act.tx, &new.issuer).await? >= GROUP_ROLE_PROVIDERS_MAX
    {
        let what = "identity providers with group roles";
        return Err(Error::TooMany { what, most: GROUP_ROLE_PROVIDERS_MAX });
    }
    let before = group_roles::of_issuer(&mut act.tx, &new.issuer).await?;
    group_roles::set(&mut act.tx, &new.issuer, &mapping).await?;
    let mapping = group_roles::of_issuer(&mut act.tx, &new.issuer).await?;
    let findings = compare_group_roles(&before, &mapping);
    let body = shown(new.issuer.clone(), mapping);
    let action = AuditAction { object: new.issuer, action: "group_roles.set" };
    Ok(Applied::new(action, 200, &body)?.with_findings(findings))
}

fn check(new: &GroupRoles) -> Result<Mapping, Error> {
    let is_fit = |text: &str| !text.trim().is_empty() && text.len() <= IDENTITY_MAX_BYTES;
    let length = format!("must be 1 to {IDENTITY_MAX_BYTES} bytes and not blank");
    if !is_fit(&new.issuer) {
        return Err(Error::invalid("issuer", length));
    }
    if new.groups.len() > GROUP_ROLES_MAX {
        return Err(Error::invalid("groups", format!("must be at most {GROUP_ROLES_MAX} groups")));
    }
    let mut mapping = Mapping::new();
    for (group, names) in &new.groups {
        if !is_fit(group) {
            return Err(Error::invalid("groups", length));
        }
        if names.is_empty() || names.len() > USER_ROLES_MAX {
            return Err(Error::invalid(
                "groups",
                format!("must be 1 to {USER_ROLES_MAX} roles for each group"),
            ));
        }
        for name in names {
            check_name("groups", name)?;
        }
        mapping.insert(group.clone(), names.iter().map(|name| Role::new(name.as_str())).collect());
    }
    Ok(mapping)
}

fn shown(issuer: String, mapping: Mapping) -> GroupRoles {
    let groups = mapping
        .into_iter()
        .map(|(group, roles)| (group, roles.iter().map(|role| role.as_str().to_owned()).collect()));
    GroupRoles { issuer, groups: groups.collect() }
}
