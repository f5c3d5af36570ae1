//! `ade login`, `logout`, `whoami` and `profiles`. A token is stored after the server has
//! identified its owner, and revoked when it is removed.

mod device;

use std::io::Read as _;

use ade_api::code::Code;
use ade_client::Client;
use ade_core::access::Scope;
use ade_core::limits::HEAD_MAX_BYTES;
use ade_core::token::Token;
use comfy_table::Cell;
use serde_json::{Value, json};

use crate::args::{LoginArgs, ProfilesCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::TokenStore;
use crate::text::visible;
use crate::{look, settings};

pub async fn login(args: &LoginArgs, cx: &Context) -> Result<Exit, Failure> {
    let (output, profile) = (&cx.output, cx.profile.as_deref());
    // Check first that the settings can be written, before a token is issued. A locked keyring does
    // not prevent the login.
    settings::read(&settings::place()?)?;
    let before = settings::kept(profile).ok().flatten();
    let server = settings::server(args.server.as_deref(), profile)?;
    let token = match args.token.as_deref() {
        Some("-") => from_input()?,
        Some(token) => token.to_owned(),
        None => match device::token(&server, args.browser, output).await? {
            device::DeviceLoginEnd::LetIn(token) => token,
            device::DeviceLoginEnd::Interrupted(exit) => return Ok(exit),
        },
    };
    let client = settings::client_with(&server, &token)?;
    let me = client.me().await.map_err(Failure::from)?;
    let store = store_for(&me.scopes, args.keyring);
    let stored = match settings::keep(client.server(), &token, profile, store) {
        Ok(stored) => stored,
        Err(failure) => {
            // Without a copy, the new token of a device login could never be used or revoked here.
            if args.token.is_none() {
                revoke(&client, &token).await;
            }
            return Err(failure);
        }
    };
    output.line(&me, || {
        let name = output.paint.bold(&visible(&me.name));
        let kind = me.actor.get("kind").and_then(Value::as_str).unwrap_or("unknown");
        let tick = output.paint.green("✓");
        let scopes = me.scopes.join(", ");
        let server = client.server();
        format!(
            "{tick} Logged in to {server} as {name} ({kind})\n  scopes   {scopes}\n  \
             token    stored in {}\n",
            stored.place
        )
    })?;
    if let Some(trouble) = &stored.trouble {
        output.remark(&output.talk.yellow(&format!("! {}", visible(trouble))));
    }
    if is_open(client.server()) {
        output.remark(&output.talk.yellow(
            "! The connection uses plain HTTP, so the token can be intercepted. Use https.",
        ));
    }
    if let Some((_, before)) = before.filter(|(_, before)| before.reveal() != token.trim()) {
        output.remark(&still_works(&before.key_id.to_string()));
    }
    Ok(Exit::Done)
}

/// Returns where a token with these scopes may be stored.
fn store_for(scopes: &[String], in_keyring: bool) -> TokenStore {
    if scopes.iter().any(|scope| scope == Scope::Decide.as_str()) {
        TokenStore::KeyringOnly
    } else if in_keyring {
        TokenStore::Keyring
    } else {
        TokenStore::File
    }
}

/// Revokes a token that was not stored. If that fails, the token expires within hours.
async fn revoke(client: &Client, token: &str) {
    if let Ok(token) = Token::parse(token.trim()) {
        drop(client.tokens().revoke(token.key_id.as_str()).await);
    }
}

/// Revokes the stored token on the server and removes it here.
pub async fn logout(cx: &Context) -> Result<Exit, Failure> {
    let profile = cx.profile.as_deref();
    let kept = settings::kept(profile)?;
    let ended = match &kept {
        Some((server, token)) => {
            let client = Client::new(server, &token.reveal())?;
            client.tokens().revoke(token.key_id.as_str()).await.map(drop)
        }
        None => Ok(()),
    };
    // A token that the server does not know is already useless.
    let is_over = ended.as_ref().err().is_none_or(|error| error.is(Code::Unauthenticated));
    let path = settings::forget(profile)?;
    let what = "Logged out; the stored token was removed";
    let result = json!({ "path": path, "is_revoked": kept.is_some() && is_over });
    cx.output.done(&result, what, "ade login")?;
    if let Some((_, token)) = kept.filter(|_| !is_over) {
        let talk = cx.output.talk;
        cx.output.remark(&talk.yellow(&format!("! {}", still_works(token.key_id.as_str()))));
    }
    Ok(Exit::Done)
}

fn still_works(key_id: &str) -> String {
    format!("Token {key_id} is still valid; revoke it with `ade tokens revoke {key_id}`.")
}

pub async fn whoami(cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    let me = client.me().await?;
    let output = &cx.output;
    output.show(&me, || {
        let text = |name: &str| me.actor.get(name).and_then(Value::as_str);
        let roles: Vec<String> = me.roles.iter().map(|role| visible(role)).collect();
        let rows = [
            ("id", visible(text("id").unwrap_or_default())),
            ("kind", visible(text("kind").unwrap_or_default())),
            ("for", visible(text("on_behalf_of").unwrap_or_default())),
            ("roles", roles.join(", ")),
            ("scopes", visible(&me.scopes.join(", "))),
            ("server", client.server().to_owned()),
        ];
        output.facts(&visible(&me.name), &rows)
    })?;
    Ok(Exit::Done)
}

pub fn profiles(command: &ProfilesCommand, cx: &Context) -> Result<Exit, Failure> {
    match command {
        ProfilesCommand::List => {
            let kept = settings::read(&settings::place()?)?;
            let used = settings::choose(cx.profile.as_deref(), &kept)?;
            // The output never contains the token itself.
            let all: Vec<_> = kept
                .profiles
                .iter()
                .map(|(name, profile)| {
                    json!({
                        "name": name,
                        "server": profile.server,
                        "has_token": profile.has_token(),
                        "is_used": *name == used.name,
                    })
                })
                .collect();
            let text = |one: &Value, name: &str| match &one[name] {
                Value::String(text) => visible(text),
                Value::Bool(is_so) => look::yes(*is_so).to_owned(),
                _ => String::new(),
            };
            let names = ["name", "server", "has_token", "is_used"];
            let row = |one: &Value| names.iter().map(|name| Cell::new(text(one, name))).collect();
            let nothing = ("No profiles yet.", "ade login --server URL");
            cx.output.list(&all, &["NAME", "SERVER", "TOKEN", "CURRENT"], row, nothing)?;
        }
        ProfilesCommand::Use { name } => {
            settings::use_profile(name)?;
            cx.output.done(
                &json!({ "name": name }),
                &format!("Switched to profile {name}"),
                "ade whoami",
            )?;
        }
        ProfilesCommand::Rm { name } => {
            settings::remove(name)?;
            let what = format!("Removed profile {name}");
            cx.output.done(&json!({ "name": name }), &what, "ade profiles list")?;
        }
    }
    Ok(Exit::Done)
}

fn from_input() -> Result<String, Failure> {
    let mut text = String::new();
    // A token is shorter than the maximum header size.
    let bound = u64::try_from(HEAD_MAX_BYTES).unwrap_or(u64::MAX);
    let read = std::io::stdin().lock().take(bound).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read the token: {error}"))
            .or_next("ade login --token - < FILE")
    })?;
    Ok(text.trim().to_owned())
}

/// Checks whether the server is another machine reached over plain HTTP.
fn is_open(server: &str) -> bool {
    let Some(rest) = server.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let is_near = |near: &str| host == near || host.starts_with(&format!("{near}:"));
    !["127.0.0.1", "localhost", "[::1]"].into_iter().any(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_to_another_host_is_reported_as_unencrypted() {
        for near in ["http://127.0.0.1:7700", "http://localhost", "http://[::1]:1", "https://x"] {
            assert!(!is_open(near), "{near}");
        }
        for far in ["http://ade.example.org", "http://localhost.example.org", "http://10.0.0.1:1"] {
            assert!(is_open(far), "{far}");
        }
    }
}
