//! Tokens that were found where they should not be. Whoever shows the whole of one could use it, so
//! they may end it, whoever they are; the answer never tells what it was.

use ade_api::tokens::Leak;
use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::limits::{AUDIT_TEXT_MAX_BYTES, LEAK_PLACE_MAX_BYTES};
use ade_core::token::{Token, redacted};
use ade_store::{Gate, Tx, audit, tokens};

use crate::app::App;
use crate::error::Error;

const DESK: &str = "leak_desk";

/// Whether it was good until now.
pub async fn report(app: &App, found: &Leak, place: Where) -> Result<bool, Error> {
    if found.found_at.as_ref().is_some_and(|place| place.len() > LEAK_PLACE_MAX_BYTES) {
        let problem = format!("at most {LEAK_PLACE_MAX_BYTES} bytes");
        return Err(Error::invalid("found_at", problem));
    }
    // No key and no name of ours is longer: it says nothing of what was sent.
    if found.token.len() > AUDIT_TEXT_MAX_BYTES {
        return Err(Error::invalid("token", format!("at most {AUDIT_TEXT_MAX_BYTES} bytes")));
    }
    let text = found.token.trim();
    let Ok(token) = Token::parse(text) else { return Ok(false) };
    let key_id = token.key_id.as_str();
    let holder = tokens::resolve(&app.pools.api, key_id).await?;
    let kept = holder.as_ref().map_or([0; 32], |holder| holder.hash);
    let is_right = app.pepper.matches(&token.secret, &kept);
    let Some(holder) = holder.filter(|holder| is_right && holder.is_live) else { return Ok(false) };
    let (actor, tenant) = (Actor::system(DESK), holder.tenant);
    let mut tx = Tx::begin(&app.pools.api, tenant, actor.clone(), Gate::Unasked).await?;
    let is_ended = tokens::revoke(&mut tx, key_id).await?;
    if is_ended {
        // Somebody who pastes the line in which they found it must not make it worse.
        let found_at = found.found_at.as_deref().map(|place| redacted(place).into_owned());
        let found_at = found_at.unwrap_or_else(|| "nobody said where".to_owned());
        let why = Why { reason: Some(format!("found: {found_at}")), ticket: None };
        let what = What::new(format!("token {key_id}"), "token.leak");
        let leaf = Leaf::new(tenant, Kind::Change, Who::from(&actor), what, tx.now(), place, why);
        audit::append(&mut tx, &[leaf]).await?;
    }
    tx.commit().await?;
    app.tokens.forget(key_id);
    if is_ended {
        tracing::warn!(key_id, "a token was found by somebody, and is revoked");
    }
    Ok(is_ended)
}
