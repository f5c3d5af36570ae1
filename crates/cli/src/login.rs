//! `ade login`, `logout`, `whoami` and `profiles`: a token is kept once the server has said whose
//! it is, and revoked when it is forgotten.

mod device;

use std::io::Read as _;

use ade_api::code::Code;
use ade_client::Client;
use ade_core::limits::HEAD_MAX_BYTES;
use comfy_table::Cell;
use serde_json::{Value, json};

use crate::args::{LoginArgs, ProfilesCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;
use crate::{look, settings};

pub async fn login(args: &LoginArgs, cx: &Context) -> Result<Exit, Failure> {
    let (output, profile) = (&cx.output, cx.profile.as_deref());
    // Before anybody is asked: what cannot be kept need not be got. A keyring that does not open
    // is no reason to stay out.
    settings::read(&settings::place()?)?;
    let before = settings::kept(profile).ok().flatten();
    let server = settings::server(args.server.as_deref(), profile)?;
    let token = match args.token.as_deref() {
        Some("-") => from_input()?,
        Some(token) => token.to_owned(),
        None => match device::token(&server, args.browser, output).await? {
            device::Ended::LetIn(token) => token,
            device::Ended::Interrupted(exit) => return Ok(exit),
        },
    };
    let client = settings::client_with(&server, &token)?;
    let me = client.me().await.map_err(Failure::from)?;
    let lies = settings::keep(client.server(), &token, profile, args.keyring)?;
    output.line(&me, || {
        let name = output.paint.bold(&visible(&me.name));
        let kind = me.actor.get("kind").and_then(Value::as_str).unwrap_or("somebody");
        let tick = output.paint.green("✓");
        let scopes = me.scopes.join(", ");
        let server = client.server();
        format!(
            "{tick} Signed in to {server} as {name} ({kind})\n  may      {scopes}\n  \
             kept in  {}\n",
            lies.place
        )
    })?;
    if let Some(trouble) = &lies.trouble {
        output.remark(&output.talk.yellow(&format!("! {}", visible(trouble))));
    }
    if is_open(client.server()) {
        output.remark(&output.talk.yellow(
            "! The address is plain http: everybody on the way can read the token. Use https.",
        ));
    }
    if let Some((_, before)) = before.filter(|(_, before)| before.reveal() != token.trim()) {
        output.remark(&still_works(&before.key_id.to_string()));
    }
    Ok(Exit::Done)
}

/// What a person wants who signs out is that nobody gets in with what lay here.
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
    // One that the server does not know opens nothing either.
    let is_over = ended.as_ref().err().is_none_or(|error| error.is(Code::Unauthenticated));
    let path = settings::forget(profile)?;
    let what = "no token is kept any more";
    let told = json!({ "path": path, "is_revoked": kept.is_some() && is_over });
    cx.output.done(&told, what, "ade login")?;
    if let Some((_, token)) = kept.filter(|_| !is_over) {
        let talk = cx.output.talk;
        cx.output.remark(&talk.yellow(&format!("! {}", still_works(token.key_id.as_str()))));
    }
    Ok(Exit::Done)
}

fn still_works(key_id: &str) -> String {
    format!("The token {key_id} still works: `ade tokens revoke {key_id}` ends it.")
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
            ("may", visible(&me.scopes.join(", "))),
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
            // Never the token itself.
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
            let nothing = ("Nothing is kept yet.", "ade login --server URL");
            cx.output.list(&all, &["NAME", "SERVER", "TOKEN", "IN USE"], row, nothing)?;
        }
        ProfilesCommand::Use { name } => {
            settings::use_profile(name)?;
            cx.output.done(&json!({ "name": name }), &format!("{name} is in use"), "ade whoami")?;
        }
        ProfilesCommand::Rm { name } => {
            settings::remove(name)?;
            let what = format!("{name} is forgotten");
            cx.output.done(&json!({ "name": name }), &what, "ade profiles list")?;
        }
    }
    Ok(Exit::Done)
}

fn from_input() -> Result<String, Failure> {
    let mut text = String::new();
    // No token is as long as a header may be.
    let bound = u64::try_from(HEAD_MAX_BYTES).unwrap_or(u64::MAX);
    let read = std::io::stdin().lock().take(bound).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot read the token: {error}"))
            .or_next("ade login --token - < FILE")
    })?;
    Ok(text.trim().to_owned())
}

/// Plain HTTP to another machine.
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
    fn only_plain_http_to_another_machine_is_open() {
        for near in ["http://127.0.0.1:7700", "http://localhost", "http://[::1]:1", "https://x"] {
            assert!(!is_open(near), "{near}");
        }
        for far in ["http://ade.example.org", "http://localhost.example.org", "http://10.0.0.1:1"] {
            assert!(is_open(far), "{far}");
        }
    }
}
