//! API tokens of people and agents: shown once in full, listed without their secret, revoked
//! immediately. A caller cannot issue a token with more scopes than their own.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::tokens::{IssuedToken, NewToken, Token};
use ade_core::access::{Action, Scope};
use ade_core::actor::Actor;
use ade_core::ids::UserId;
use ade_core::limits::{NAME_MAX_BYTES, TOKEN_DAYS_MAX};
use ade_core::network::Networks;
use ade_core::step_up::{ConfirmationSubject, TokenTerms};
use ade_core::time::Timestamp;
use ade_core::token;
use ade_store::tenant_config::TenantConfig;
pub use ade_store::tokens::Principal;
use ade_store::{Tx, tokens};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{look, permit, refuse};
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;
use crate::services::secrets;

pub(crate) const DAY: Duration = Duration::from_hours(24);

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewToken,
) -> Result<Reply, Error> {
    check(&new)?;
    let networks = networks_of(&new)?;
    let principal = principal_of(caller, &new)?;
    let scopes = scopes_of(caller, principal, &new.scopes)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    if let Err(error) = require_rights(app, &act.book, caller, principal) {
        return Err(act.refuse(error).await);
    }
    require_active(&act.book, principal)?;
    if !own_networks(&mut act.tx, caller).await?.hold(&networks) {
        let problem = "your own token is bound to networks: name some within them";
        return Err(Error::invalid("networks", problem));
    }
    let label = new.label.unwrap_or_default();
    let lifetime = DAY * u32::from(new.days);
    // Only the person themself gets this far with one of these scopes.
    if scopes.iter().any(|scope| !scope.is_open_to_tokens_for_others()) {
        let terms = TokenTerms { label: &label, scopes: &scopes, lifetime, networks: &networks };
        act = act.confirmed(&ConfirmationSubject::create_token(&terms)).await?;
    }
    let kind = match principal {
        Principal::User(_) => token::TokenKind::User,
        Principal::Agent(_) => token::TokenKind::Agent,
    };
    let made = secrets::issue(kind)?;
    let now = act.tx.now();
    let kept = tokens::NewToken {
        key_id: made.key_id.to_string(),
        principal,
        hash: app.pepper.hash(&made.secret),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        label,
        expires_at: now.plus(lifetime),
        is_single_use: false,
        networks,
        issued_by: issuer(caller),
    };
    tokens::insert(&mut act.tx, &kept).await.map_err(|error| refused(error, principal))?;
    let about = tokens::get(&mut act.tx, &kept.key_id).await?.map(shown);
    let about = about.ok_or(Error::NotFound { what: "token" })?;
    let action = AuditAction { object: format!("token {}", kept.key_id), action: "token.create" };
    let kept = IssuedToken { about: about.clone(), token: None };
    let issued = IssuedToken { about, token: Some(made.reveal()) };
    act.finish_with_secret(action, 201, &kept, &issued).await
}

/// The position at which a page of tokens ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKey {
    at: Timestamp,
    id: String,
}

/// Lists the caller's own tokens, or those of an agent or person the caller may administer; the
/// latest first.
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
    attempt: &IdempotentRequest,
    key_id: &str,
) -> Result<Reply, Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let missing = || Error::NotFound { what: "token" };
    let holder = tokens::holder(&mut act.tx, key_id).await?.ok_or_else(missing)?;
    // A caller who may not revoke the token does not learn that it exists.
    if let Err(error) = require_rights(app, &act.book, caller, holder) {
        return Err(match act.refuse(error).await {
            Error::Denied(_) | Error::NotFound { .. } => missing(),
            failed => failed,
        });
    }
    tokens::revoke(&mut act.tx, key_id).await?;
    let token = tokens::get(&mut act.tx, key_id).await?.ok_or_else(missing)?;
    let action = AuditAction { object: format!("token {key_id}"), action: "token.revoke" };
    let reply = act.finish(action, 200, &shown(token)).await?;
    app.tokens.forget(key_id);
    Ok(reply)
}

fn check(new: &NewToken) -> Result<(), Error> {
    if new.days == 0 || new.days > TOKEN_DAYS_MAX {
        return Err(Error::invalid("days", format!("1 to {TOKEN_DAYS_MAX}")));
    }
    if new.label.as_ref().is_some_and(|label| label.len() > NAME_MAX_BYTES) {
        return Err(Error::invalid("label", format!("must be at most {NAME_MAX_BYTES} bytes")));
    }
    Ok(())
}

fn networks_of(new: &NewToken) -> Result<Networks, Error> {
    let known = Networks::parse(new.networks.iter().map(String::as_str));
    known.map_err(|error| Error::invalid("networks", error.to_string()))
}

/// Returns the allowed networks of the caller's token.
pub(crate) async fn own_networks(tx: &mut Tx, caller: &Caller) -> Result<Networks, Error> {
    match caller.key_id() {
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

/// Returns the person who is responsible for a token that this caller issues. An agent's new token
/// stays the responsibility of the person who issued its present one.
fn issuer(caller: &Caller) -> Option<UserId> {
    caller.actor.token_issuer().or_else(|| caller.actor.human())
}

fn principal_of(caller: &Caller, new: &NewToken) -> Result<Principal, Error> {
    match (new.user_id, new.agent_id) {
        (None, None) => own(caller),
        (Some(user), None) => Ok(Principal::User(user)),
        (None, Some(agent)) => Ok(Principal::Agent(agent)),
        (Some(_), Some(_)) => Err(Error::invalid("agent_id", "name a user or an agent, not both")),
    }
}

/// Returns the scopes of a new token. It never has more than the token that requested it, an
/// agent's token never decides, and a token for another person carries no authority of that person.
pub(crate) fn scopes_of(
    caller: &Caller,
    principal: Principal,
    names: &BTreeSet<String>,
) -> Result<BTreeSet<Scope>, Error> {
    if names.is_empty() {
        return Err(Error::invalid("scopes", "name at least one"));
    }
    let mut scopes = BTreeSet::new();
    for name in names {
        let scope = Scope::ALL.into_iter().find(|class| class.as_str() == name);
        let scope =
            scope.ok_or_else(|| Error::invalid("scopes", format!("`{name}` is no scope")))?;
        if !caller.scopes.contains(&scope) {
            let problem = format!("your own token does not open `{name}`");
            return Err(Error::invalid("scopes", problem));
        }
        match principal {
            Principal::Agent(_) if !scope.is_open_to_agents() => {
                return Err(Error::invalid("scopes", format!("`{name}` is never open to agents")));
            }
            Principal::User(user)
                if own(caller).ok() != Some(principal) && !scope.is_open_to_tokens_for_others() =>
            {
                let problem = format!(
                    "a token for another person cannot carry `{name}`, because its holder would \
                     act in their name: invite the person with \
                     `POST /v1/users/{user}/invitations`, and they create the token themself"
                );
                return Err(Error::invalid("scopes", problem));
            }
            Principal::Agent(_) | Principal::User(_) => {}
        }
        scopes.insert(scope);
    }
    Ok(scopes)
}

/// Requires that the token is the caller's own or of one of their agents, or that the caller is an
/// admin.
fn require_rights(
    app: &App,
    book: &TenantConfig,
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

/// Refuses a token for an inactive principal, which would be useless.
fn require_active(book: &TenantConfig, principal: Principal) -> Result<(), Error> {
    let (what, why, is_active) = match principal {
        Principal::User(user) => {
            let person = book.directory.person(user);
            ("user", "it is not active", person.is_some_and(|person| person.active))
        }
        Principal::Agent(agent) => {
            let entry = book.agents.get(&agent);
            ("agent", "it is revoked", entry.is_some_and(|entry| entry.is_active))
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

pub(crate) fn refused(error: ade_store::StoreError, principal: Principal) -> Error {
    match error {
        ade_store::StoreError::Constraint { constraint, .. }
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

fn shown(token: tokens::TokenRecord) -> Token {
    let (user, agent) = match token.principal {
        Principal::User(id) => (Some(id), None),
        Principal::Agent(id) => (None, Some(id)),
    };
    Token {
        key_id: token.key_id,
        user_id: user,
        agent_id: agent,
        scopes: token.scopes.into_iter().collect(),
        label: Some(token.label).filter(|label| !label.is_empty()),
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
        networks: token.networks.texts(),
        last_used_at: token.last_used_at,
        issued_by: token.issued_by,
    }
}
