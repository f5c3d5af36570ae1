//! `ade config`: shows and changes the settings of the CLI.

use serde_json::json;

use crate::args::{Setting, SettingsCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings;
use crate::text::visible;

pub fn config(command: SettingsCommand, cx: &Context) -> Result<Exit, Failure> {
    let profile = cx.profile.as_deref();
    match command {
        SettingsCommand::Get => {
            let found = settings::in_force(profile)?;
            cx.output.show(&found, || {
                let by = |value: &str, by: &str| format!("{} (from {by})", visible(value));
                let token = found.token_in;
                let token =
                    token.map_or_else(|| "not set".to_owned(), |place| format!("in {place}"));
                let rows = [
                    ("profile", by(&found.profile, found.profile_by)),
                    ("server", by(&found.server, found.server_by)),
                    ("token", token),
                ];
                cx.output.facts(&found.path, &rows)
            })?;
        }
        SettingsCommand::Set { name: Setting::Server, value } => {
            settings::set_server(&value, profile)?;
            let what = format!("Set the server to {}", visible(&value));
            cx.output.done(&json!({ "server": value }), &what, "ade login")?;
        }
        SettingsCommand::Set { name: Setting::Profile, value } => {
            settings::use_profile(&value)?;
            let what = format!("Switched to profile {}", visible(&value));
            cx.output.done(&json!({ "profile": value }), &what, "ade whoami")?;
        }
        SettingsCommand::Path => {
            let path = settings::shown(&settings::place()?);
            cx.output.line(&json!({ "path": path }), || format!("{path}\n"))?;
        }
    }
    Ok(Exit::Done)
}
