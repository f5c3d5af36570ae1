//! `ade users` and `ade tokens`: lists users and manages API tokens.

use ade_api::tokens::{NewToken, Token};
use ade_api::users::User;
use ade_client::gather;
use ade_core::ids::UserId;
use ade_core::limits::INVITATION_TTL;
use comfy_table::Cell;

use crate::args::{TokensCommand, UsersCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::output::Output;
use crate::proposal::{remark_open, report};
use crate::text::{named, visible};

/// The maximum length of a name in a table.
const NAME_CHARS: usize = 32;

pub async fn users(command: &UsersCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    match command {
        UsersCommand::List(limit) => {
            let ask = async |page| client.users().list(&page).await;
            let found = gather(limit.count(), ask).await?;
            let output = &cx.output;
            let row = |user: &User| {
                vec![
                    Cell::new(user.id),
                    Cell::new(output.name(&user.name, NAME_CHARS)),
                    Cell::new(roles(user)),
                    Cell::new(look::yes(user.active)),
                    Cell::new(look::yes(user.unconfirmed.is_none())),
                    Cell::new(output.text(user.email.as_deref().unwrap_or_default(), NAME_CHARS)),
                ]
            };
            let head = ["ID", "NAME", "ROLES", "ACTIVE", "CONFIRMED", "EMAIL"];
            output.list(&found.items, &head, row, ("No users.", "ade whoami"))?;
            cx.more(found.has_more, limit.limit);
            let kinds = [
                "user.create",
                "user.change",
                "user.roles",
                "user.alias",
                "user.confirm",
                "user.passkeys",
            ];
            remark_open(&client, &kinds, cx).await;
        }
        UsersCommand::Get { id } => {
            let user = client.users().get(*id).await?;
            cx.output.show(&user, || {
                let rows = [
                    ("user", user.id.to_string()),
                    ("roles", roles(&user)),
                    ("active", look::yes(user.active).to_owned()),
                    ("email", visible(user.email.as_deref().unwrap_or_default())),
                    ("manager", user.manager_id.map(|one| one.to_string()).unwrap_or_default()),
                    ("confirmed", confirmed(&user)),
                    ("identity", visible(&format!("{} at {}", user.subject, user.issuer))),
                ];
                cx.output.facts(&named(&user.name), &rows)
            })?;
        }
        UsersCommand::Invite { id } => invite(*id, cx).await?,
        UsersCommand::Confirm { id } => {
            let submitted = client.users().confirm(*id).await?;
            return report(&submitted, cx, |user| {
                let what = format!("Confirmed {}", named(&user.name));
                cx.output.done(user, &what, "ade users list")?;
                Ok(Exit::Done)
            });
        }
    }
    Ok(Exit::Done)
}

/// Says whether a second admin has confirmed the person.
fn confirmed(user: &User) -> String {
    match user.unconfirmed {
        None => look::yes(true).to_owned(),
        Some(unconfirmed) => {
            format!("no: invited by {}; another admin confirms", unconfirmed.invited_by)
        }
    }
}

async fn invite(id: UserId, cx: &Context) -> Result<(), Failure> {
    let made = cx.client()?.users().invite(id).await?;
    if let Some(address) = &made.sent_to {
        let what = format!("Sent an invitation to {}", visible(address));
        cx.output.done(&made, &what, &format!("ade users get {id}"))?;
        return Ok(());
    }
    cx.output.show(&made, || {
        let url = made.url.as_deref().unwrap_or("shown before, and not again");
        let rows = [
            ("link", cx.output.paint.bold(&visible(url))),
            ("expires", cx.output.when(made.expires_at)),
        ];
        cx.output.facts(&made.user_id.to_string(), &rows)
    })?;
    let minutes = INVITATION_TTL.as_secs() / 60;
    let remark = format!(
        "! The link signs its holder in as this person. It works once, within {minutes} minutes, \
         and is not shown again. Then another admin confirms them: ade users confirm {id}"
    );
    cx.output.remark(&cx.output.talk.yellow(&remark));
    Ok(())
}

fn roles(user: &User) -> String {
    let roles: Vec<String> = user.roles.iter().map(|role| visible(role)).collect();
    roles.join(", ")
}

pub async fn tokens(command: TokensCommand, cx: &Context) -> Result<Exit, Failure> {
    let client = cx.client()?;
    match command {
        TokensCommand::List { whose, limit } => {
            let ask = async |page| client.tokens().list(whose.user, whose.agent, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head =
                ["KEY_ID", "OWNER", "SCOPES", "NETWORKS", "USED", "EXPIRES", "REVOKED", "LABEL"];
            let nothing = ("No tokens.", "ade tokens create --scope read");
            cx.output.list(&found.items, &head, |token| row(token, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
        }
        TokensCommand::Create { whose, scopes, label, days, networks } => {
            let new = NewToken {
                user_id: whose.user,
                agent_id: whose.agent,
                scopes: scopes.into_iter().collect(),
                label,
                days,
                networks,
            };
            let made = client.tokens().create(&new).await?;
            cx.output.show(&made, || {
                let token = made.token.as_deref().unwrap_or("(cannot be shown again)");
                let rows = [
                    ("token", cx.output.paint.bold(&visible(token))),
                    ("owner", of(&made.about)),
                    ("networks", from(&made.about)),
                    ("expires", cx.output.when(made.about.expires_at)),
                    ("next", "ade login --token -".to_owned()),
                ];
                cx.output.facts(&visible(&made.about.key_id), &rows)
            })?;
            cx.output.remark(
                &cx.output.talk.yellow("! Store the token now; it will not be shown again."),
            );
        }
        TokensCommand::Revoke { key_id } => {
            let token = client.tokens().revoke(&key_id).await?;
            let what = format!("Revoked token {}", visible(&token.key_id));
            cx.output.done(&token, &what, "ade tokens list")?;
        }
    }
    Ok(Exit::Done)
}

fn of(token: &Token) -> String {
    let user = token.user_id.map(|user| user.to_string());
    user.or(token.agent_id.map(|agent| agent.to_string())).unwrap_or_default()
}

/// Formats the networks a token may be used from.
fn from(token: &Token) -> String {
    let networks: Vec<String> = token.networks.iter().map(|network| visible(network)).collect();
    if networks.is_empty() { "any".to_owned() } else { networks.join(", ") }
}

fn row(token: &Token, output: &Output) -> Vec<Cell> {
    let scopes: Vec<String> = token.scopes.iter().map(|scope| visible(scope)).collect();
    vec![
        Cell::new(visible(&token.key_id)),
        Cell::new(of(token)),
        Cell::new(scopes.join(", ")),
        Cell::new(from(token)),
        Cell::new(token.last_used_at.map(|at| output.when(at)).unwrap_or_default()),
        Cell::new(output.when(token.expires_at)),
        Cell::new(token.revoked_at.map(|at| output.when(at)).unwrap_or_default()),
        Cell::new(output.text(token.label.as_deref().unwrap_or_default(), NAME_CHARS)),
    ]
}
