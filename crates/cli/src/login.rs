//! `ade login`, `logout`, `whoami` and `profiles`: a token is kept once the server has said whose
//! it is.

use std::io::Read as _;

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
    let token = if args.token == "-" { from_input()? } else { args.token.clone() };
    let client = settings::client_with(&token, args.server.as_deref(), profile)?;
    let me = client.me().await.map_err(Failure::from)?;
    let path = settings::keep(client.server(), &token, profile)?;
    output.show(&me, || {
        let name = output.paint.bold(&visible(&me.name));
        let kind = me.actor.get("kind").and_then(Value::as_str).unwrap_or("somebody");
        let tick = output.paint.green("✓");
        let scopes = me.scopes.join(", ");
        format!(
            "{tick} Signed in to {} as {name} ({kind})\n  may      {scopes}\n  kept in  {path}\n",
            client.server()
        )
    })?;
    if is_open(client.server()) {
        output.remark(&output.talk.yellow(
            "! The address is plain http: everybody on the way can read the token. Use https.",
        ));
    }
    Ok(Exit::Done)
}

pub fn logout(cx: &Context) -> Result<Exit, Failure> {
    let path = settings::forget(cx.profile.as_deref())?;
    let what = format!("no token is kept in {path} any more");
    let next = "ade login --token -";
    cx.output.done(&json!({ "path": path }), &what, next)?;
    cx.output.remark("The token itself still works: `ade tokens revoke KEY_ID` ends it.");
    Ok(Exit::Done)
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
                        "has_token": profile.token.is_some(),
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
            let nothing = ("Nothing is kept yet.", "ade login --server URL --token -");
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
