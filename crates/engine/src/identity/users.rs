//! People, their roles and their other accounts. Only admins change them; everyone reads them,
//! because approvals name them.

use std::collections::BTreeSet;

use ade_api::users::{Alias, NewUser, Roles, UnconfirmedPerson, User, UserChange};
use ade_core::actor::Role;
use ade_core::ids::UserId;
use ade_core::limits::{EMAIL_MAX_BYTES, IDENTITY_MAX_BYTES, USER_ALIASES_MAX, USER_ROLES_MAX};
use ade_core::policy::Strictness;
use ade_core::rule_change::RuleFinding;
use ade_store::passkeys;
use ade_store::scheduled_jobs;
use ade_store::users::{self, UserProfile};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::check_name;
use crate::command::permission::look;
use crate::command::schedule::JobKind;
use crate::command::{Paged, Span, paged};
use crate::error::Error;

const CONFIRMED: Error =
    Error::Closed { what: "confirmation", why: "the person needs none or was confirmed already" };

/// The issuer of people without an identity provider.
pub(crate) const LOCAL: &str = "local";

pub(crate) async fn create(act: &mut AdminCommand<'_>, new: NewUser) -> Result<Applied, Error> {
    check_name("name", &new.name)?;
    check_text("email", new.email.as_deref(), EMAIL_MAX_BYTES)?;
    check_text("issuer", new.issuer.as_deref(), IDENTITY_MAX_BYTES)?;
    check_text("subject", new.subject.as_deref(), IDENTITY_MAX_BYTES)?;
    let roles = roles_of(&new.roles)?;
    let id = UserId::from_uuid(Uuid::now_v7());
    let issuer = new.issuer.unwrap_or_else(|| LOCAL.to_owned());
    let subject = new.subject.unwrap_or_else(|| id.to_string());
    if users::of_subject(&mut act.tx, &issuer, &subject).await?.is_some() {
        return Err(Error::Taken { what: "subject", name: subject });
    }
    require_manager(act, new.manager_id).await?;
    let profile =
        UserProfile { name: new.name, email: new.email, manager: new.manager_id, is_active: true };
    let person = users::NewUser { id, issuer, subject, profile, has_verified_email: false };
    users::insert(&mut act.tx, &person).await?;
    users::set_roles(&mut act.tx, id, &roles).await?;
    let created = get_in(act, id).await?;
    let findings = invited_at(act, &created, &roles).await?;
    Ok(applied(act, id, "user.create", 201).await?.with_findings(findings))
}

pub(crate) async fn change(
    act: &mut AdminCommand<'_>,
    by: UserId,
    id: UserId,
    change: UserChange,
) -> Result<Applied, Error> {
    if change == UserChange::default() {
        return Err(Error::invalid("body", "give at least one field to change"));
    }
    check_text("email", change.email.as_deref(), EMAIL_MAX_BYTES)?;
    let user = get_in(act, id).await?;
    let mut profile = user.profile;
    if let Some(name) = change.name {
        check_name("name", &name)?;
        profile.name = name;
    }
    if let Some(manager) = change.manager_id {
        if manager == id {
            return Err(Error::invalid("manager_id", "a person cannot be their own manager"));
        }
        require_manager(act, Some(manager)).await?;
        profile.manager = Some(manager);
    }
    let has_new_address = change.email.is_some() && change.email != profile.email;
    profile.email = change.email.or(profile.email);
    let was_active = profile.is_active;
    profile.is_active = change.active.unwrap_or(was_active);
    users::update(&mut act.tx, id, &profile).await?;
    if was_active && !profile.is_active {
        scheduled_jobs::set_for_reviewer(&mut act.tx, JobKind::Reassign.as_str(), id).await?;
        act.doubt_approved().await?;
    }
    // Invitations and notices of changes to the account go to this address.
    let finding = RuleFinding::new(
        Strictness::Looser,
        format!("mail for {} goes to {}", profile.name, profile.email.as_deref().unwrap_or("-")),
    );
    // A person who joined by an invitation of this admin counts as the same person until another
    // admin confirms them. Their address is still theirs.
    let is_taken_over = has_new_address && by != id && !user.roles.is_empty();
    let findings = Some(finding).filter(|_| is_taken_over);
    Ok(applied(act, id, "user.change", 200).await?.with_findings(findings.into_iter().collect()))
}

pub(crate) async fn set_roles(
    act: &mut AdminCommand<'_>,
    id: UserId,
    wanted: Roles,
) -> Result<Applied, Error> {
    let roles = roles_of(&wanted.roles)?;
    let user = get_in(act, id).await?;
    users::set_roles(&mut act.tx, id, &roles).await?;
    act.doubt_approved().await?;
    let findings = invited_at(act, &user, &roles).await?;
    Ok(applied(act, id, "user.set_roles", 200).await?.with_findings(findings))
}

pub(crate) async fn add_alias(
    act: &mut AdminCommand<'_>,
    id: UserId,
    alias: Alias,
) -> Result<Applied, Error> {
    if alias.alias_id == id {
        return Err(Error::invalid("alias_id", "both are the same account"));
    }
    let person = get_in(act, id).await?;
    let Some(other) = users::get(&mut act.tx, alias.alias_id).await? else {
        return Err(Error::invalid("alias_id", "no such user"));
    };
    if !person.aliases.contains(&other.id) {
        require_room(&person)?;
        require_room(&other)?;
    }
    users::add_alias(&mut act.tx, id, alias.alias_id).await?;
    act.doubt_approved().await?;
    applied(act, id, "user.add_alias", 200).await
}

/// Confirms a person who joined by an invitation that its admin could read.
pub(crate) async fn confirm(act: &mut AdminCommand<'_>, id: UserId) -> Result<Applied, Error> {
    let user = get_in(act, id).await?;
    if user.unconfirmed.is_none() {
        return Err(CONFIRMED);
    }
    users::confirm(&mut act.tx, id).await?;
    act.doubt_approved().await?;
    let sentence = format!("{} counts as a person whom a second admin knows", user.profile.name);
    let findings = vec![RuleFinding::new(Strictness::Looser, sentence)];
    Ok(applied(act, id, "user.confirm", 200).await?.with_findings(findings))
}

/// Names the address to which the invitation of a new holder of roles goes, if they have not
/// joined.
async fn invited_at(
    act: &mut AdminCommand<'_>,
    user: &users::User,
    roles: &BTreeSet<Role>,
) -> Result<Vec<RuleFinding>, Error> {
    let Some(address) = user.profile.email.as_deref() else { return Ok(Vec::new()) };
    let is_new = user.issuer == LOCAL && roles.iter().any(|role| !user.roles.contains(role));
    let is_first = is_new || user.created_at == act.tx.now() && !roles.is_empty();
    if !is_first || passkeys::has_any(&mut act.tx, user.id).await? {
        return Ok(Vec::new());
    }
    let sentence = format!("{} has not joined; invitations go to {address}", user.profile.name);
    Ok(vec![RuleFinding::new(Strictness::Looser, sentence)])
}

pub async fn get(app: &App, caller: &Caller, id: UserId) -> Result<User, Error> {
    let mut tx = look(app, caller).await?;
    let user = users::get(&mut tx, id).await?.ok_or(Error::NotFound { what: "user" })?;
    Ok(shown(user))
}

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<UserId>,
) -> Result<Paged<User, UserId>, Error> {
    let mut tx = look(app, caller).await?;
    let users = users::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    Ok(paged(users.into_iter().map(shown).collect(), span.limit, |user: &User| user.id))
}

async fn get_in(act: &mut AdminCommand<'_>, id: UserId) -> Result<users::User, Error> {
    users::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "user" })
}

async fn require_manager(act: &mut AdminCommand<'_>, manager: Option<UserId>) -> Result<(), Error> {
    let Some(manager) = manager else { return Ok(()) };
    if users::get(&mut act.tx, manager).await?.is_none() {
        return Err(Error::invalid("manager_id", "no such user"));
    }
    Ok(())
}

/// Refuses one more linked account beyond the limit.
pub(crate) fn require_room(person: &users::User) -> Result<(), Error> {
    if person.aliases.len() >= USER_ALIASES_MAX {
        return Err(Error::TooMany { what: "aliases of one account", most: USER_ALIASES_MAX });
    }
    Ok(())
}

async fn applied(
    act: &mut AdminCommand<'_>,
    id: UserId,
    action: &'static str,
    status: u16,
) -> Result<Applied, Error> {
    let user = shown(get_in(act, id).await?);
    let action = AuditAction { object: id.to_string(), action };
    Applied::new(action, status, &user)
}

fn check_text(field: &str, text: Option<&str>, max: usize) -> Result<(), Error> {
    if text.is_some_and(|text| text.trim().is_empty() || text.len() > max) {
        return Err(Error::invalid(field, format!("must be 1 to {max} bytes and not blank")));
    }
    Ok(())
}

fn roles_of(names: &BTreeSet<String>) -> Result<BTreeSet<Role>, Error> {
    if names.len() > USER_ROLES_MAX {
        return Err(Error::invalid("roles", format!("must be at most {USER_ROLES_MAX} roles")));
    }
    names.iter().map(|name| check_name("roles", name).map(|()| Role::new(name.as_str()))).collect()
}

fn shown(user: users::User) -> User {
    User {
        id: user.id,
        name: user.profile.name,
        email: user.profile.email,
        issuer: user.issuer,
        subject: user.subject,
        manager_id: user.profile.manager,
        active: user.profile.is_active,
        roles: user.roles.iter().map(|role| role.as_str().to_owned()).collect(),
        alias_ids: user.aliases,
        created_at: user.created_at,
        unconfirmed: user.unconfirmed.map(|unconfirmed| UnconfirmedPerson {
            invited_by: unconfirmed.invited_by,
            since: unconfirmed.since,
        }),
    }
}
