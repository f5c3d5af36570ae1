//! People, their roles and their other accounts. Only admins change them; everybody reads them,
//! since approvals name them.

use std::collections::BTreeSet;

use ade_api::users::{Alias, NewUser, Roles, User, UserChange};
use ade_core::access::Action;
use ade_core::actor::Role;
use ade_core::ids::UserId;
use ade_core::limits::{
    EMAIL_MAX_BYTES, IDENTITY_MAX_BYTES, NAME_MAX_BYTES, USER_ALIASES_MAX, USER_ROLES_MAX,
};
use ade_store::due;
use ade_store::users::{self, Profile};
use uuid::Uuid;

use super::act::{Act, Begun, Deed, look};
use super::deadline::Deadline;
use super::{Paged, Reply, Span, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

/// People who come from no identity provider are vouched for by the installation itself.
const LOCAL: &str = "local";

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewUser,
) -> Result<Reply, Error> {
    check_name("name", &new.name)?;
    check_text("email", new.email.as_deref(), EMAIL_MAX_BYTES)?;
    check_text("issuer", new.issuer.as_deref(), IDENTITY_MAX_BYTES)?;
    check_text("subject", new.subject.as_deref(), IDENTITY_MAX_BYTES)?;
    let roles = roles_of(&new.roles)?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let id = UserId::from_uuid(Uuid::now_v7());
    let issuer = new.issuer.unwrap_or_else(|| LOCAL.to_owned());
    let subject = new.subject.unwrap_or_else(|| id.to_string());
    if users::of_subject(&mut act.tx, &issuer, &subject).await?.is_some() {
        return Err(Error::Taken { what: "subject", name: subject });
    }
    require_manager(&mut act, new.manager).await?;
    let profile =
        Profile { name: new.name, email: new.email, manager: new.manager, is_active: true };
    let person = users::NewUser { id, issuer, subject, profile };
    users::insert(&mut act.tx, &person).await?;
    users::set_roles(&mut act.tx, id, &roles).await?;
    finish(act, id, "user.create", 201).await
}

pub async fn change(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: UserId,
    change: UserChange,
) -> Result<Reply, Error> {
    if change == UserChange::default() {
        return Err(Error::invalid("body", "name at least one thing to change"));
    }
    check_text("email", change.email.as_deref(), EMAIL_MAX_BYTES)?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let user = get_in(&mut act, id).await?;
    let mut profile = user.profile;
    if let Some(name) = change.name {
        check_name("name", &name)?;
        profile.name = name;
    }
    if let Some(manager) = change.manager {
        if manager == id {
            return Err(Error::invalid("manager", "nobody is their own manager"));
        }
        require_manager(&mut act, Some(manager)).await?;
        profile.manager = Some(manager);
    }
    profile.email = change.email.or(profile.email);
    let was_active = profile.is_active;
    profile.is_active = change.active.unwrap_or(was_active);
    users::update(&mut act.tx, id, &profile).await?;
    if was_active && !profile.is_active {
        due::set_for_reviewer(&mut act.tx, Deadline::Reassign.as_str(), id).await?;
        act.doubt_approved().await?;
    }
    finish(act, id, "user.change", 200).await
}

pub async fn set_roles(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: UserId,
    wanted: Roles,
) -> Result<Reply, Error> {
    let roles = roles_of(&wanted.roles)?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    get_in(&mut act, id).await?;
    users::set_roles(&mut act.tx, id, &roles).await?;
    act.doubt_approved().await?;
    finish(act, id, "user.set_roles", 200).await
}

pub async fn add_alias(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: UserId,
    alias: Alias,
) -> Result<Reply, Error> {
    if alias.alias == id {
        return Err(Error::invalid("alias", "that is the same account"));
    }
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let person = get_in(&mut act, id).await?;
    let Some(other) = users::get(&mut act.tx, alias.alias).await? else {
        return Err(Error::invalid("alias", "there is no such user"));
    };
    if !person.aliases.contains(&other.id) {
        require_room(&person)?;
        require_room(&other)?;
    }
    users::add_alias(&mut act.tx, id, alias.alias).await?;
    act.doubt_approved().await?;
    finish(act, id, "user.add_alias", 200).await
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

async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a Attempt,
) -> Result<Begun<'a>, Error> {
    Act::begin(app, caller, attempt, Some(Action::AdministerUser)).await
}

async fn get_in(act: &mut Act<'_>, id: UserId) -> Result<users::User, Error> {
    users::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "user" })
}

async fn require_manager(act: &mut Act<'_>, manager: Option<UserId>) -> Result<(), Error> {
    let Some(manager) = manager else { return Ok(()) };
    if users::get(&mut act.tx, manager).await?.is_none() {
        return Err(Error::invalid("manager", "there is no such user"));
    }
    Ok(())
}

/// For one more account of the same human.
pub(crate) fn require_room(person: &users::User) -> Result<(), Error> {
    if person.aliases.len() >= USER_ALIASES_MAX {
        return Err(Error::TooMany { what: "aliases of one account", most: USER_ALIASES_MAX });
    }
    Ok(())
}

async fn finish(
    mut act: Act<'_>,
    id: UserId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let user = shown(get_in(&mut act, id).await?);
    let deed = Deed { object: id.to_string(), action };
    act.finish(deed, status, &user).await
}

pub(crate) fn check_name(field: &str, name: &str) -> Result<(), Error> {
    if name.trim().is_empty() || name.len() > NAME_MAX_BYTES {
        let problem = format!("1 to {NAME_MAX_BYTES} bytes, not blank");
        return Err(Error::invalid(field, problem));
    }
    Ok(())
}

fn check_text(field: &str, text: Option<&str>, max: usize) -> Result<(), Error> {
    if text.is_some_and(|text| text.trim().is_empty() || text.len() > max) {
        return Err(Error::invalid(field, format!("1 to {max} bytes, not blank")));
    }
    Ok(())
}

fn roles_of(names: &BTreeSet<String>) -> Result<BTreeSet<Role>, Error> {
    if names.len() > USER_ROLES_MAX {
        return Err(Error::invalid("roles", format!("at most {USER_ROLES_MAX}")));
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
        manager: user.profile.manager,
        active: user.profile.is_active,
        roles: user.roles.iter().map(|role| role.as_str().to_owned()).collect(),
        aliases: user.aliases,
        created_at: user.created_at,
    }
}
