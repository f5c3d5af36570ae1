//! API tokens of people and agents: issued once in full, listed without their secret, revoked at
//! once. Nobody can hand out more than their own token opens.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::tokens::{IssuedToken, NewToken, Token};
use ade_core::access::{Action, Class};
use ade_core::actor::Actor;
use ade_core::limits::{NAME_MAX_BYTES, TOKEN_DAYS_MAX};
use ade_core::network::Networks;
use ade_core::time::Timestamp;
use ade_core::token;
use ade_store::rulebook::Rulebook;
pub use ade_store::tokens::Principal;
use ade_store::{Tx, tokens};
use serde::{Deserialize, Serialize};

use super::act::{Act, Begun, Deed, look, permit, refuse};
use super::{Paged, Reply, Span, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::secret;

pub(super) const DAY: Duration = Duration::from_hours(24);

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewToken,
) -> Result<Reply, Error> {
    check(&new)?;
    let networks = networks_of(&new)?;
    let principal = principal_of(caller, &new)?;
    let scopes = scopes_of(caller, principal, &new.scopes)?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    if let Err(error) = require_rights(app, &act.book, caller, principal) {
        return Err(act.refuse(error).await);
    }
    require_active(&act.book, principal)?;
    if !own_networks(&mut act.tx, caller).await?.hold(&networks) {
        let problem = "your own token is bound to networks: name some within them";
        return Err(Error::invalid("networks", problem));
    }
    let kind = match principal {
        Principal::User(_) => token::Kind::User,
        Principal::Agent(_) => token::Kind::Agent,
    };
    let made = secret::issue(kind)?;
    let now = act.tx.now();
    let kept = tokens::NewToken {
        key_id: made.key_id.to_string(),
        principal,
        hash: app.pepper.hash(&made.secret),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        label: new.label.unwrap_or_default(),
        expires_at: now.plus(DAY * u32::from(new.days)),
        is_single_use: false,
        networks,
    };
    tokens::insert(&mut act.tx, &kept).await.map_err(|error| refused(error, principal))?;
    let about = tokens::get(&mut act.tx, &kept.key_id).await?.map(shown);
    let about = about.ok_or(Error::NotFound { what: "token" })?;
    let deed = Deed { object: format!("token {}", kept.key_id), action: "token.create" };
    let kept = IssuedToken { about: about.clone(), token: None };
    let issued = IssuedToken { about, token: Some(made.reveal()) };
    act.finish_with_secret(deed, 201, &kept, &issued).await
}

/// Where a page of tokens ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKey {
    at: Timestamp,
    id: String,
}

/// The caller's own, or those of an agent or person the caller may administer; the latest first.
pub async fn list(
    app: &App,
    caller: &Caller,
    principal: Option<Principal>,
    span: Span<TokenKey>,
) -> Result<Paged<Token, TokenKey>, Error> {
    let mut tx = look(app, caller).await?;
    let principal = match principal {
        Some(principal) => principal,
        None => own(caller)?,
    };
    let book = app.books.current(&mut tx).await?;
    if let Err(error) = require_rights(app, &book, caller, principal) {
        let Error::Denied(denied) = &error else { return Err(error) };
        refuse(tx, caller, denied.action.as_str(), caller.tenant.to_string(), denied).await?;
        return Err(error);
    }
    let after = span.after.as_ref().map(|key| (key.at, key.id.as_str()));
    let found = tokens::list(&mut tx, principal, after, span.limit.saturating_add(1)).await?;
    let items = found.into_iter().map(shown).collect();
    let key = |token: &Token| TokenKey { at: token.created_at, id: token.key_id.clone() };
    Ok(paged(items, span.limit, key))
}

pub async fn revoke(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    key_id: &str,
) -> Result<Reply, Error> {
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let missing = || Error::NotFound { what: "token" };
    let holder = tokens::holder(&mut act.tx, key_id).await?.ok_or_else(missing)?;
    // Whoever may not revoke it need not know that it is there.
    if let Err(error) = require_rights(app, &act.book, caller, holder) {
        return Err(match act.refuse(error).await {
            Error::Denied(_) | Error::NotFound { .. } => missing(),
            failed => failed,
        });
    }
    tokens::revoke(&mut act.tx, key_id).await?;
    let token = tokens::get(&mut act.tx, key_id).await?.ok_or_else(missing)?;
    let deed = Deed { object: format!("token {key_id}"), action: "token.revoke" };
    let reply = act.finish(deed, 200, &shown(token)).await?;
    app.tokens.forget(key_id);
    Ok(reply)
}

fn check(new: &NewToken) -> Result<(), Error> {
    if new.days == 0 || new.days > TOKEN_DAYS_MAX {
        return Err(Error::invalid("days", format!("1 to {TOKEN_DAYS_MAX}")));
    }
    if new.label.as_ref().is_some_and(|label| label.len() > NAME_MAX_BYTES) {
        return Err(Error::invalid("label", format!("at most {NAME_MAX_BYTES} bytes")));
    }
    Ok(())
}

fn networks_of(new: &NewToken) -> Result<Networks, Error> {
    let known = Networks::parse(new.networks.iter().map(String::as_str));
    known.map_err(|error| Error::invalid("networks", error.to_string()))
}

/// Those of the token that the caller speaks with.
pub(super) async fn own_networks(tx: &mut Tx, caller: &Caller) -> Result<Networks, Error> {
    match &caller.key_id {
        Some(key_id) => Ok(tokens::networks_of(tx, key_id).await?),
        None => Ok(Networks::default()),
    }
}

fn own(caller: &Caller) -> Result<Principal, Error> {
    match caller.actor {
        Actor::User { id, .. } => Ok(Principal::User(id)),
        Actor::Agent { id, .. } => Ok(Principal::Agent(id)),
        Actor::System { .. } => Err(Error::NotFound { what: "token" }),
    }
}

fn principal_of(caller: &Caller, new: &NewToken) -> Result<Principal, Error> {
    match (new.user, new.agent) {
        (None, None) => own(caller),
        (Some(user), None) => Ok(Principal::User(user)),
        (None, Some(agent)) => Ok(Principal::Agent(agent)),
        (Some(_), Some(_)) => Err(Error::invalid("agent", "name a user or an agent, not both")),
    }
}

/// A token never opens more than the one that asked for it, and an agent's never decides.
pub(super) fn scopes_of(
    caller: &Caller,
    principal: Principal,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<Class>, Error> {
    if names.is_empty() {
        return Err(Error::invalid("scopes", "name at least one"));
    }
    let mut scopes = BTreeSet::new();
    for name in names {
        let scope = Class::ALL.into_iter().find(|class| class.as_str() == name);
        let scope =
            scope.ok_or_else(|| Error::invalid("scopes", format!("`{name}` is no scope")))?;
        if !caller.scopes.contains(&scope) {
            let problem = format!("your own token does not open `{name}`");
            return Err(Error::invalid("scopes", problem));
        }
        if matches!(principal, Principal::Agent(_)) && !scope.is_open_to_agents() {
            return Err(Error::invalid("scopes", format!("`{name}` is never open to agents")));
        }
        scopes.insert(scope);
    }
    Ok(scopes)
}

/// One's own, one's agents', or whatever an admin administers.
fn require_rights(
    app: &App,
    book: &Rulebook,
    caller: &Caller,
    principal: Principal,
) -> Result<(), Error> {
    let Actor::User { id: person, .. } = caller.actor else {
        return if own(caller)? == principal { Ok(()) } else { Err(unknown(principal)) };
    };
    let (exists, is_own, action) = match principal {
        Principal::User(user) => {
            (book.directory.person(user).is_some(), user == person, Action::AdministerUser)
        }
        Principal::Agent(agent) => {
            let entry = book.agents.get(&agent);
            let is_own = entry.is_some_and(|entry| entry.owner == person);
            (entry.is_some(), is_own, Action::AdministerAgent)
        }
    };
    if !exists {
        return Err(unknown(principal));
    }
    if is_own {
        return Ok(());
    }
    let object = ade_core::access::Object::Tenant;
    Ok(permit(app, book, &caller.actor, action, object)?)
}

/// A token that opens nothing would only take up room.
fn require_active(book: &Rulebook, principal: Principal) -> Result<(), Error> {
    let (what, why, is_active) = match principal {
        Principal::User(user) => {
            let person = book.directory.person(user);
            ("user", "it is not active", person.is_some_and(|person| person.active))
        }
        Principal::Agent(agent) => {
            let entry = book.agents.get(&agent);
            ("agent", "it was revoked", entry.is_some_and(|entry| entry.is_active))
        }
    };
    if is_active { Ok(()) } else { Err(Error::Closed { what, why }) }
}

fn unknown(principal: Principal) -> Error {
    let what = match principal {
        Principal::User(_) => "user",
        Principal::Agent(_) => "agent",
    };
    Error::NotFound { what }
}

pub(super) fn refused(error: ade_store::Error, principal: Principal) -> Error {
    match error {
        ade_store::Error::Constraint { constraint, .. }
            if constraint == "token_two_open_at_most" =>
        {
            let principal = match principal {
                Principal::User(id) => id.to_string(),
                Principal::Agent(id) => id.to_string(),
            };
            Error::TooManyTokens { principal }
        }
        other => other.into(),
    }
}

fn shown(token: tokens::Token) -> Token {
    let (user, agent) = match token.principal {
        Principal::User(id) => (Some(id), None),
        Principal::Agent(id) => (None, Some(id)),
    };
    Token {
        key_id: token.key_id,
        user,
        agent,
        scopes: token.scopes.into_iter().collect(),
        label: Some(token.label).filter(|label| !label.is_empty()),
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
        networks: token.networks.texts(),
        last_used_at: token.last_used_at,
    }
}
