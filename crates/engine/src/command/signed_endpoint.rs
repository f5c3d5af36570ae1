//! What webhooks and inbound sources have in common: admins manage them, and each has a label and a
//! signing secret. The secret is shown once, and a new one is valid beside the old one for a while.

use std::time::Duration;

use ade_api::seconds::Seconds;
use ade_core::access::{Action, Object};
use ade_core::limits::{NAME_MAX_BYTES, WEBHOOK_OVERLAP_DEFAULT, WEBHOOK_OVERLAP_MAX};
use ade_core::time::Timestamp;
use ade_store::Tx;

use super::admin_command::AdminCommand;
use super::permission;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::error::Error;

pub(crate) async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a IdempotentRequest,
) -> Result<AdminCommand<'a>, Error> {
    AdminCommand::begin(app, caller, attempt, Some(Action::AdministerWebhook)).await
}

/// Opens a transaction for reading; a refused caller is recorded.
pub(crate) async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    Ok(permission::enter(app, caller, Action::ReadWebhook, Object::Tenant).await?.0)
}

pub(crate) fn check_version(found: u64, expected: u64) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::VersionMoved { expected, found }) }
}

pub(crate) fn label_of(label: String) -> Result<String, Error> {
    if label.len() > NAME_MAX_BYTES || label.chars().any(char::is_control) {
        let problem = format!("must be at most {NAME_MAX_BYTES} bytes, without control characters");
        return Err(Error::invalid("label", problem));
    }
    Ok(label)
}

/// Returns how long the old secret stays valid beside a new one.
pub(crate) fn overlap_of(asked: Option<Seconds>) -> Result<Duration, Error> {
    let overlap = asked.map_or(WEBHOOK_OVERLAP_DEFAULT, Duration::from);
    if overlap > WEBHOOK_OVERLAP_MAX {
        let problem = format!("must be at most {}", WEBHOOK_OVERLAP_MAX.as_secs());
        return Err(Error::invalid("overlap_seconds", problem));
    }
    Ok(overlap)
}

/// Returns when the old secret expires, while it is still valid.
pub(crate) fn old_secret_until<S>(
    old_salt: Option<(S, Timestamp)>,
    now: Timestamp,
) -> Option<Timestamp> {
    old_salt.map(|(_, until)| until).filter(|until| now < *until)
}
