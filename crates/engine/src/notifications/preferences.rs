//! The notification preferences of one person, for that person only.

use ade_api::notifications::{NewPreferences, Preferences, QuietHours};
use ade_core::policy::Hours;
use ade_core::preference::Preference;
use ade_core::webhook::Subscription;
use ade_store::messages::{self, Window};

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{look, person};
use crate::error::Error;

pub async fn get(app: &App, caller: &Caller) -> Result<Preferences, Error> {
    let me = person(caller)?;
    let mut tx = look(app, caller).await?;
    let (preference, version) = messages::preference(&mut tx, me).await?;
    let quiet = messages::quiet_window(&mut tx, me).await?;
    Ok(shown(&preference, quiet, version))
}

/// Sets the preferences; it is a conflict if the current version is not the one that was read.
pub async fn set(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    expected: u64,
    new: NewPreferences,
) -> Result<Reply, Error> {
    let me = person(caller)?;
    let (preference, quiet) = preference_of(new)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let (_, found) = messages::preference(&mut act.tx, me).await?;
    if found != expected {
        return Err(Error::VersionMoved { expected, found });
    }
    let version = found.saturating_add(1);
    messages::set_preference(&mut act.tx, me, &preference, quiet.as_ref(), version).await?;
    let shown = shown(&preference, quiet, version);
    act.finish(AuditAction { object: me.to_string(), action: "preference.set" }, 200, &shown).await
}

fn preference_of(new: NewPreferences) -> Result<(Preference, Option<Window>), Error> {
    let kinds = |field: &'static str, texts: Vec<String>| {
        if texts.is_empty() {
            return Ok(None);
        }
        Subscription::new(&texts).map(Some).map_err(|error| Error::invalid(field, error))
    };
    let window =
        new.quiet_hours.map(|quiet| Window { zone: quiet.zone, from: quiet.from, to: quiet.to });
    let quiet = window
        .as_ref()
        .map(|window| Hours::new(&window.zone, [], &window.from, &window.to))
        .transpose()
        .map_err(|error| Error::invalid("quiet_hours", error))?;
    let preference = Preference {
        mail: kinds("mail", new.mail)?,
        slack: kinds("slack", new.slack)?,
        slack_member: new.slack_member,
        quiet,
        digest: new.digest_seconds.into(),
    };
    preference.check().map_err(|error| {
        use ade_core::preference::PreferenceError as Wrong;
        let field = match error {
            Wrong::Digest => "digest_seconds",
            Wrong::Member | Wrong::NoMember => "slack_member",
        };
        Error::invalid(field, error)
    })?;
    Ok((preference, window))
}

fn shown(preference: &Preference, quiet: Option<Window>, version: u64) -> Preferences {
    let texts =
        |kinds: &Option<Subscription>| kinds.as_ref().map(Subscription::texts).unwrap_or_default();
    Preferences {
        mail: texts(&preference.mail),
        slack: texts(&preference.slack),
        slack_member: preference.slack_member.clone(),
        quiet_hours: quiet.map(|window| QuietHours {
            zone: window.zone,
            from: window.from,
            to: window.to,
        }),
        digest_seconds: preference.digest.as_secs(),
        version,
    }
}
