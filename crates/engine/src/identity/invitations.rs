//! Invitations: an admin creates one for a person who has no other way to sign in, and accepting it
//! opens a session in which the person enrols a passkey. An invitation can be accepted once, for a
//! few minutes. It is sent to the person where mail is configured, and shown to the admin
//! elsewhere.

use ade_api::invitations::Invitation;
use ade_core::access::Action;
use ade_core::actor::{Actor, Credential, CredentialKind};
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::INVITATION_TTL;
use ade_core::preference::{AccountNotice, Channel};
use ade_core::token::{KeyId, Token, TokenKind};
use ade_store::invitations::{self, AcceptedInvitation, NewInvitation, ResolvedInvitation};
use ade_store::users::User;
use ade_store::{TenantLock, Tx, account_messages, audit, messages, passkeys, sessions, users};

use super::users::{LOCAL, require_room};
use super::{SignInBasis, open_session_in};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::person;
use crate::command::setup::is_in_setup;
use crate::error::Error;
use crate::error::InvitationRefusal;
use crate::services::secrets::{self, SecretError};

/// Creates an invitation and replaces an earlier one of the same person.
///
/// An invitation gives its holder the person's account, so it is only for people who cannot sign in
/// otherwise. Those with a passkey, with an identity provider or with an open session are refused.
pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: UserId,
) -> Result<Reply, Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::AdministerUser)).await?;
    let user = users::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "user" })?;
    require_invitable(&mut act.tx, &user).await?;
    let by = person(caller)?;
    let is_shown = !app.notify.is_on(Channel::Mail);
    let made = if is_shown {
        require_room_for_link(&mut act, by, id).await?;
        secrets::issue(TokenKind::Invitation)?
    } else {
        derived(app, caller.tenant, id, secrets::key_id()?)?
    };
    let new = NewInvitation {
        key_id: made.key_id.to_string(),
        user: id,
        hash: app.pepper.hash(&made.secret),
        expires_at: act.tx.now().plus(INVITATION_TTL),
        invited_by: by,
        is_shown,
    };
    invitations::put(&mut act.tx, &new).await?;
    let action = AuditAction { object: id.to_string(), action: "invitation.create" };
    let kept = Invitation {
        user_id: id,
        invitation: None,
        url: None,
        sent_to: None,
        expires_at: new.expires_at,
    };
    if is_shown {
        let url = Some(link(app, &made));
        let issued = Invitation { invitation: Some(made.reveal()), url, ..kept.clone() };
        return act.finish_with_secret(action, 201, &kept, &issued).await;
    }
    let sent_to = Some(user.profile.email.ok_or(InvitationRefusal::NoAddress)?);
    send(&mut act, id, by).await?;
    act.finish(action, 201, &Invitation { sent_to, ..kept }).await
}

/// Queues the message that contains the invitation.
async fn send(act: &mut AdminCommand<'_>, id: UserId, by: UserId) -> Result<(), Error> {
    let inviter = act.book.names.get(&by).cloned().unwrap_or_default();
    let detail = format!("{inviter} invited you to {}", act.book.tenant.name);
    let notice = AccountNotice::Invited;
    account_messages::add(&mut act.tx, id, Channel::Mail, notice, &detail).await?;
    let now = act.tx.now();
    messages::send_at(&mut act.tx, id, Channel::Mail, now).await?;
    Ok(())
}

/// Refuses an invitation that would link one more account to its admin than an account can have.
async fn require_room_for_link(
    act: &mut AdminCommand<'_>,
    by: UserId,
    id: UserId,
) -> Result<(), Error> {
    if by == id {
        return Ok(());
    }
    let inviter = users::get(&mut act.tx, by).await?.ok_or(Error::NotFound { what: "user" })?;
    require_room(&inviter)
}

/// Returns an invitation whose secret can be derived again when its message is sent.
fn derived(app: &App, tenant: TenantId, user: UserId, key_id: KeyId) -> Result<Token, Error> {
    let secret = app.pepper.invitation(tenant, user, &key_id).ok_or(SecretError::NoKey)?;
    Ok(Token { kind: TokenKind::Invitation, key_id, secret })
}

/// Returns the address of the page on which an invitation is accepted. Browsers do not send the
/// fragment, so the secret is in no request line and in no log.
fn link(app: &App, invitation: &Token) -> String {
    format!("{}/join#{}", app.notify.page, invitation.reveal())
}

/// Returns the link of the open invitation of a person, for the message to them; `None` if there is
/// none, or if the pepper was replaced since.
pub(crate) async fn link_of(app: &App, tx: &mut Tx, user: UserId) -> Result<Option<String>, Error> {
    let Some(open) = invitations::open(tx, user).await? else { return Ok(None) };
    let key_id = KeyId::parse(&open.key_id).map_err(|error| Error::invalid("invitation", error))?;
    let made = derived(app, tx.tenant(), user, key_id)?;
    Ok(app.pepper.matches(&made.secret, &open.hash).then(|| link(app, &made)))
}

async fn require_invitable(tx: &mut Tx, user: &User) -> Result<(), Error> {
    if !user.profile.is_active {
        return Err(InvitationRefusal::Inactive.into());
    }
    if user.issuer != LOCAL {
        return Err(InvitationRefusal::HasProvider.into());
    }
    if passkeys::has_any(tx, user.id).await? {
        return Err(InvitationRefusal::HasPasskey.into());
    }
    if !sessions::list(tx, user.id).await?.is_empty() {
        return Err(InvitationRefusal::SignedIn.into());
    }
    Ok(())
}

/// Uses an invitation up and opens a session for the invited person, in one transaction: of several
/// callers with the same invitation, one gets a session.
pub async fn accept(app: &App, text: &str, place: Where) -> Result<Token, Error> {
    let not_valid = InvitationRefusal::NotValid;
    let token = Token::parse(text.trim()).map_err(|_| not_valid)?;
    let found = verified(app, &token).await?.filter(|found| found.is_live).ok_or(not_valid)?;
    let credential = Credential {
        kind: CredentialKind::Invitation,
        key_id: token.key_id.to_string(),
        issued_by: None,
        step_up: None,
    };
    let actor = Actor::User { id: found.user, credential: Some(credential) };
    let mut tx =
        Tx::begin(&app.pools.api, found.tenant, actor.clone(), TenantLock::Exclusive).await?;
    let invitation = invitations::take(&mut tx, token.key_id.as_str()).await?;
    // The person may have enrolled a passkey since, in another session.
    let is_locked_out = passkeys::has_any(&mut tx, found.user).await?;
    let Some(invitation) = invitation.filter(|_| !is_locked_out) else {
        tx.roll_back().await;
        return Err(not_valid.into());
    };
    mark(app, &mut tx, found.user, invitation).await?;
    let what = What::new(found.user.to_string(), "invitation.accept");
    let who = Who::from(&actor);
    let why = Why::default();
    let entry =
        AuditEntry::new(tx.tenant(), EntryKind::Change, who, what, tx.now(), place.clone(), why);
    audit::append(&mut tx, &[entry]).await?;
    let session = open_session_in(app, &mut tx, found.user, SignInBasis::default(), place).await?;
    tx.commit().await?;
    Ok(session)
}

/// Marks a person whose invitation its admin could read. Until another admin has confirmed them,
/// both count as one person, except in a tenant in setup, where one admin invites everyone.
async fn mark(
    app: &App,
    tx: &mut Tx,
    user: UserId,
    invitation: AcceptedInvitation,
) -> Result<(), Error> {
    let AcceptedInvitation { invited_by, is_shown } = invitation;
    let Some(by) = invited_by.filter(|by| is_shown && *by != user) else { return Ok(()) };
    let book = app.books.current(tx).await?;
    // The stored mark of the setup ends only with the next change to the rules.
    let is_linked = !is_in_setup(tx, &book).await?;
    users::mark_unconfirmed(tx, user, by, is_linked).await?;
    Ok(())
}

/// Reads an invitation and compares its secret. An unknown invitation is compared with zeros, so
/// that the response time does not reveal whether the key id exists.
pub(crate) async fn verified(
    app: &App,
    token: &Token,
) -> Result<Option<ResolvedInvitation>, Error> {
    if token.kind != TokenKind::Invitation {
        return Ok(None);
    }
    let found = invitations::resolve(&app.pools.api, token.key_id.as_str()).await?;
    let hash = found.as_ref().map_or([0; 32], |found| found.hash);
    let is_right = app.pepper.matches(&token.secret, &hash);
    Ok(found.filter(|_| is_right))
}
