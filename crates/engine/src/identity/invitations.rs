//! Invitations: an admin creates one for a person who has no other way to sign in, and accepting it
//! opens a session in which the person enrols a passkey. An invitation can be accepted once, for a
//! few minutes.

use ade_api::invitations::Invitation;
use ade_core::access::Action;
use ade_core::actor::{Actor, Credential, CredentialKind};
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::UserId;
use ade_core::limits::INVITATION_TTL;
use ade_core::token::{Token, TokenKind};
use ade_store::invitations::{self, NewInvitation, ResolvedInvitation};
use ade_store::users::User;
use ade_store::{TenantLock, Tx, audit, passkeys, sessions, users};

use super::users::LOCAL;
use super::{SignInBasis, open_session_in};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::error::Error;
use crate::error::InvitationRefusal;
use crate::services::secrets;

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
    let made = secrets::issue(TokenKind::Invitation)?;
    let new = NewInvitation {
        key_id: made.key_id.to_string(),
        user: id,
        hash: app.pepper.hash(&made.secret),
        expires_at: act.tx.now().plus(INVITATION_TTL),
    };
    invitations::put(&mut act.tx, &new).await?;
    let action = AuditAction { object: id.to_string(), action: "invitation.create" };
    let kept = Invitation { user_id: id, invitation: None, url: None, expires_at: new.expires_at };
    // Browsers do not send the fragment, so the secret is in no request line and in no log.
    let url = format!("{}/join#{}", app.notify.page, made.reveal());
    let issued = Invitation { invitation: Some(made.reveal()), url: Some(url), ..kept.clone() };
    act.finish_with_secret(action, 201, &kept, &issued).await
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
    let mut tx = Tx::begin(&app.pools.api, found.tenant, actor.clone(), TenantLock::None).await?;
    let is_taken = invitations::take(&mut tx, token.key_id.as_str()).await?;
    // The person may have enrolled a passkey since, in another session.
    if !is_taken || passkeys::has_any(&mut tx, found.user).await? {
        tx.roll_back().await;
        return Err(not_valid.into());
    }
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
