//! `ade webhooks`: manages webhooks and their deliveries.

use ade_api::seconds::Seconds;
use ade_api::webhooks::{
    Delivery, DeliveryState, NewWebhook, Redelivery, Webhook, WebhookChange, WebhookRotation,
    WebhookSecret,
};
use ade_client::gather;
use comfy_table::Cell;

use crate::args::{WebhookArg, WebhooksCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::tasks::word;
use crate::text::visible;

/// The maximum length of a URL or an error in a table.
const TEXT_CHARS: usize = 44;

type Ended = Result<Exit, Failure>;

pub async fn run(command: WebhooksCommand, cx: &Context) -> Ended {
    let client = cx.client()?;
    let webhooks = client.webhooks();
    match command {
        WebhooksCommand::List(limit) => {
            let found = gather(limit.count(), async |page| webhooks.list(&page).await).await?;
            let head = ["ID", "STATE", "URL", "EVENTS", "LABEL"];
            let nothing = ("No webhooks.", "ade webhooks create URL --event 'task.*'");
            cx.output.list(&found.items, &head, |one| row(one, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
            Ok(Exit::Done)
        }
        WebhooksCommand::Get(WebhookArg { id }) => shown(&webhooks.get(id).await?, cx),
        WebhooksCommand::Create { url, events, label, scheme } => {
            let new = NewWebhook { url, events, label, scheme };
            secret(&webhooks.create(&new).await?, cx)
        }
        WebhooksCommand::Change { webhook, url, events, label, active } => {
            let version = webhooks.get(webhook.id).await?.version;
            let events = (!events.is_empty()).then_some(events);
            let change = WebhookChange { url, events, label, active };
            shown(&webhooks.change(webhook.id, version, &change).await?, cx)
        }
        WebhooksCommand::Delete { webhook, yes } => {
            let known = webhooks.get(webhook.id).await?;
            let url = visible(&known.url);
            cx.confirm(&format!("Delete the webhook {url} and its pending deliveries?"), yes)?;
            let gone = webhooks.delete(webhook.id).await?;
            cx.output.done(&gone, &format!("Deleted the webhook {url}"), "ade webhooks list")?;
            Ok(Exit::Done)
        }
        WebhooksCommand::Rotate { webhook, overlap } => {
            let rotation = WebhookRotation { overlap_seconds: overlap.map(Seconds::rounded_up) };
            secret(&webhooks.rotate(webhook.id, &rotation).await?, cx)
        }
        WebhooksCommand::Ping(WebhookArg { id }) => {
            let delivery = webhooks.ping(id).await?;
            let next = format!("ade webhooks deliveries {id}");
            cx.output.done(&delivery, "Queued a test event", &next)?;
            Ok(Exit::Done)
        }
        WebhooksCommand::Deliveries { webhook, state, limit } => {
            let ask = async |page| webhooks.deliveries(webhook.id, state, &page).await;
            let found = gather(limit.count(), ask).await?;
            let head = ["ID", "STATE", "TYPE", "OBJECT", "ATTEMPTS", "STATUS", "CREATED", "ERROR"];
            let next = format!("ade webhooks ping {}", webhook.id);
            let nothing = ("No deliveries.", next.as_str());
            cx.output.list(&found.items, &head, |one| delivery(one, &cx.output), nothing)?;
            cx.more(found.has_more, limit.limit);
            Ok(Exit::Done)
        }
        WebhooksCommand::Redeliver { webhook, deliveries, dead_since } => {
            let deliveries = (!deliveries.is_empty()).then_some(deliveries);
            let asked = Redelivery { delivery_ids: deliveries, dead_since };
            let sent = webhooks.redeliver(webhook.id, &asked).await?;
            let more = if sent.has_more { "; run the command again for the rest" } else { "" };
            let what = format!("Queued {} deliveries for redelivery{more}", sent.count);
            cx.output.done(&sent, &what, &format!("ade webhooks deliveries {}", webhook.id))?;
            Ok(Exit::Done)
        }
    }
}

fn state(webhook: &Webhook) -> (String, Tone) {
    match &webhook.disabled_because {
        _ if webhook.active && webhook.resting_until.is_some() => {
            ("▲ backing off".to_owned(), Tone::Busy)
        }
        _ if webhook.active => ("● active".to_owned(), Tone::Good),
        Some(why) => (format!("■ disabled: {}", visible(why)), Tone::Bad),
        None => ("■ disabled".to_owned(), Tone::Quiet),
    }
}

fn row(webhook: &Webhook, output: &Output) -> Vec<Cell> {
    let (state, tone) = state(webhook);
    vec![
        Cell::new(webhook.id),
        output.cell(&state, tone),
        Cell::new(output.text(&webhook.url, TEXT_CHARS)),
        Cell::new(output.text(&webhook.events.join(", "), TEXT_CHARS)),
        Cell::new(output.text(webhook.label.as_deref().unwrap_or_default(), TEXT_CHARS)),
    ]
}

fn facts(webhook: &Webhook, secret: Option<&str>, output: &Output) -> String {
    let (state, tone) = state(webhook);
    let rows = [
        ("webhook", webhook.id.to_string()),
        ("state", output.paint.tone(&state, tone)),
        ("events", visible(&webhook.events.join(", "))),
        ("label", visible(webhook.label.as_deref().unwrap_or_default())),
        ("scheme", word(&webhook.scheme)),
        ("key", visible(webhook.public_key.as_deref().unwrap_or_default())),
        ("secret", secret.map(|secret| output.paint.bold(&visible(secret))).unwrap_or_default()),
        ("failures", webhook.failures.to_string()),
        ("next", output.paint.bold(&format!("ade webhooks ping {}", webhook.id))),
    ];
    output.facts(&visible(&webhook.url), &rows)
}

fn shown(webhook: &Webhook, cx: &Context) -> Ended {
    cx.output.show(webhook, || facts(webhook, None, &cx.output))?;
    Ok(Exit::Done)
}

/// Shows the secret once, with a reminder to store it.
fn secret(made: &WebhookSecret, cx: &Context) -> Ended {
    cx.output.show(made, || facts(&made.about, made.secret.as_deref(), &cx.output))?;
    if made.secret.is_some() {
        cx.output
            .remark(&cx.output.talk.yellow("! Store the secret now; it will not be shown again."));
    }
    Ok(Exit::Done)
}

fn delivery(one: &Delivery, output: &Output) -> Vec<Cell> {
    let tone = match one.state {
        DeliveryState::Delivered => Tone::Good,
        DeliveryState::Dead => Tone::Bad,
        DeliveryState::Waiting | DeliveryState::Pending => Tone::Busy,
    };
    vec![
        Cell::new(one.id),
        output.cell(&word(&one.state), tone),
        Cell::new(visible(&one.kind)),
        Cell::new(visible(one.object.as_deref().unwrap_or_default())),
        Cell::new(one.tries),
        Cell::new(one.status.map(|status| status.to_string()).unwrap_or_default()),
        Cell::new(output.when(one.created_at)),
        Cell::new(output.text(one.problem.as_deref().unwrap_or_default(), TEXT_CHARS)),
    ]
}
