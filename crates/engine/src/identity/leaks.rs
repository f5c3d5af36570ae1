//! Leaked tokens. Anyone who has a complete token could use it, so anyone may revoke it; the
//! response never reveals what it was.

use ade_api::tokens::Leak;
use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::limits::{AUDIT_TEXT_MAX_BYTES, LEAK_PLACE_MAX_BYTES};
use ade_core::token::{Token, TokenKind, redacted};
use ade_store::{TenantLock, Tx, audit, invitations, tokens};

use super::authenticate::verified;
use crate::app::App;
use crate::error::Error;

const DESK: &str = "leak_desk";

/// Revokes a leaked token. Returns whether it was valid until now.
pub async fn report(app: &App, found: &Leak, place: Where) -> Result<bool, Error> {
    if found.found_at.as_ref().is_some_and(|place| place.len() > LEAK_PLACE_MAX_BYTES) {
        let problem = format!("must be at most {LEAK_PLACE_MAX_BYTES} bytes");
        return Err(Error::invalid("found_at", problem));
    }
    // No token and no name is this long: it cannot be one of ours.
    if found.token.len() > AUDIT_TEXT_MAX_BYTES {
        return Err(Error::invalid(
            "token",
            format!("must be at most {AUDIT_TEXT_MAX_BYTES} bytes"),
        ));
    }
    let text = found.token.trim();
    let Ok(token) = Token::parse(text) else { return Ok(false) };
    let key_id = token.key_id.as_str();
    let is_invitation = token.kind == TokenKind::Invitation;
    let tenant = if is_invitation {
        let known = super::invitations::verified(app, &token).await?;
        known.filter(|known| known.is_live).map(|known| known.tenant)
    } else {
        let holder = verified(app, &token).await?;
        holder.filter(|holder| holder.is_live).map(|holder| holder.tenant)
    };
    let Some(tenant) = tenant else { return Ok(false) };
    let actor = Actor::system(DESK);
    let mut tx = Tx::begin(&app.pools.api, tenant, actor.clone(), TenantLock::None).await?;
    let is_ended = if is_invitation {
        invitations::take(&mut tx, key_id).await?.is_some()
    } else {
        tokens::revoke(&mut tx, key_id).await?
    };
    if is_ended {
        // A pasted line with the token must not leak it again.
        let found_at = found.found_at.as_deref().map(|place| redacted(place).into_owned());
        let found_at = found_at.unwrap_or_else(|| "location not given".to_owned());
        let why = Why { reason: Some(format!("leaked: {found_at}")), ticket: None };
        let noun = if is_invitation { "invitation" } else { "token" };
        let what = What::new(format!("{noun} {key_id}"), format!("{noun}.leak"));
        let entry = AuditEntry::new(
            tenant,
            EntryKind::Change,
            Who::from(&actor),
            what,
            tx.now(),
            place,
            why,
        );
        audit::append(&mut tx, &[entry]).await?;
    }
    tx.commit().await?;
    app.tokens.forget(key_id);
    if is_ended {
        tracing::warn!(key_id, "leaked token revoked");
    }
    Ok(is_ended)
}
