//! From events to messages: what each person wants to hear waits for them, and goes out in one
//! message when its time has come. What is taken up is ours until a deadline; whoever dies in
//! between costs a repetition and no message.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{
    MESSAGE_PAUSE_FIRST, MESSAGE_PAUSE_MAX, MESSAGE_SENDING_MAX, MESSAGE_TRIES_MAX,
};
use ade_core::preference::{Channel, Preference, is_told};
use ade_core::time::Timestamp;
use ade_store::due::{self, Due};
use ade_store::events::Numbered;
use ade_store::messages::{self, Item, Reached, Told, due_kind};
use ade_store::{Gate, Tx, users};
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;
use crate::notify::{Letter, Recipient, Unsent};

const WORKER: &str = "message_sender";

/// In the transaction that moves the cursor.
pub(crate) async fn tell(app: &App, tx: &mut Tx, events: &[Numbered]) -> Result<(), Error> {
    for event in events.iter().filter(|event| is_told(&event.kind)) {
        let Ok(task) = event.object.parse::<TaskId>() else { continue };
        for told in messages::told_of(tx, event, task).await? {
            tell_one(app, tx, event, task, told).await?;
        }
    }
    Ok(())
}

async fn tell_one(
    app: &App,
    tx: &mut Tx,
    event: &Numbered,
    task: TaskId,
    Told { user, has_mail }: Told,
) -> Result<(), Error> {
    let (preference, _) = messages::preference(tx, user).await?;
    for channel in Channel::ALL {
        let has_address = match channel {
            Channel::Mail => has_mail,
            Channel::Slack => preference.slack_member.is_some(),
        };
        let is_wanted = has_address && preference.wants(channel, &event.kind);
        if !is_wanted || !app.notify.is_on(channel) {
            continue;
        }
        if messages::add(tx, user, channel, event, task).await? {
            let last = messages::reached(tx, user, channel).await?.sent_at;
            let at = preference.goes_at(&event.kind, tx.now(), last);
            messages::send_at(tx, user, channel, at).await?;
        }
    }
    Ok(())
}

/// A message that is ours to send.
struct Parcel {
    tenant: TenantId,
    user: UserId,
    channel: Channel,
    to: Option<Recipient>,
    items: Vec<Item>,
    sender: Uuid,
}

/// Whether there was anything to send.
pub(crate) async fn send_due(
    app: &App,
    tenant: TenantId,
    channel: Channel,
    due: Due,
) -> Result<bool, Error> {
    let Some(parcel) = take_up(app, tenant, channel, due).await? else { return Ok(false) };
    let sent = match &parcel.to {
        Some(to) => {
            let letter = Letter::new(&parcel.items, &app.notify.page);
            app.notify.send(channel, to, &letter).await
        }
        None => Err(Unsent::Never("they have no address on this channel".to_owned())),
    };
    record(app, &parcel, sent).await?;
    Ok(true)
}

async fn begin(app: &App, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(&app.pools.worker, tenant, Actor::system(WORKER), Gate::Unasked).await?)
}

async fn take_up(
    app: &App,
    tenant: TenantId,
    channel: Channel,
    due: Due,
) -> Result<Option<Parcel>, Error> {
    let user = UserId::from_uuid(due.object);
    let mut tx = begin(app, tenant).await?;
    let (sender, until) = (Uuid::new_v4(), tx.now().plus(MESSAGE_SENDING_MAX));
    let is_ours = messages::claim(&mut tx, user, channel, sender, until).await?;
    // Whoever sends says what comes next; this is for one that dies before.
    due::postpone(&mut tx, &due, until).await?;
    if !is_ours {
        tx.commit().await?;
        return Ok(None);
    }
    let items = messages::waiting(&mut tx, user, channel).await?;
    if items.is_empty() {
        let reached = messages::reached(&mut tx, user, channel).await?;
        messages::settle(&mut tx, user, channel, sender, &reached, None).await?;
        due::clear(&mut tx, due_kind(channel), due.object).await?;
        tx.commit().await?;
        return Ok(None);
    }
    let (preference, _) = messages::preference(&mut tx, user).await?;
    let to = recipient(&mut tx, user, channel, preference).await?;
    tx.commit().await?;
    Ok(Some(Parcel { tenant, user, channel, to, items, sender }))
}

/// Nobody, if they are here no more or have no address.
async fn recipient(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    preference: Preference,
) -> Result<Option<Recipient>, Error> {
    let Some(found) = users::get(tx, user).await?.filter(|user| user.profile.is_active) else {
        return Ok(None);
    };
    let address = match channel {
        Channel::Mail => found.profile.email,
        Channel::Slack => preference.slack_member,
    };
    Ok(address.map(|address| Recipient { name: found.profile.name, address }))
}

/// If it is still ours: else somebody else tells what became of it.
async fn record(app: &App, parcel: &Parcel, sent: Result<(), Unsent>) -> Result<(), Error> {
    let Parcel { tenant, user, channel, items, sender, .. } = parcel;
    let mut tx = begin(app, *tenant).await?;
    let now = tx.now();
    let before = messages::reached(&mut tx, *user, *channel).await?;
    let (reached, outcome, next) = judge(&before, sent.as_ref().err(), now);
    let problem = sent.as_ref().err().map(Unsent::problem);
    if !messages::settle(&mut tx, *user, *channel, *sender, &reached, problem).await? {
        tx.roll_back().await;
        return Ok(());
    }
    if let Some(at) = next {
        let again = Due { kind: due_kind(*channel), object: user.uuid(), at };
        due::set(&mut tx, &[again]).await?;
    } else {
        messages::end(&mut tx, items, sent.is_ok()).await?;
        rest(&mut tx, *user, *channel, now).await?;
    }
    tx.commit().await?;
    metrics::counter!("ade_messages_total", "channel" => channel.as_str(), "outcome" => outcome)
        .increment(1);
    Ok(())
}

/// How they are reached from now on, what to call it, and when it is tried again if it is.
fn judge(
    before: &Reached,
    unsent: Option<&Unsent>,
    now: Timestamp,
) -> (Reached, &'static str, Option<Timestamp>) {
    let tries = before.tries.saturating_add(1);
    match unsent {
        None => (Reached { sent_at: Some(now), tries: 0 }, "sent", None),
        Some(Unsent::Later(_)) if tries < MESSAGE_TRIES_MAX => {
            let next = now.plus(pause(tries));
            (Reached { tries, ..before.clone() }, "failed", Some(next))
        }
        Some(Unsent::Later(_) | Unsent::Never(_)) => {
            (Reached { tries: 0, ..before.clone() }, "dead", None)
        }
    }
}

fn pause(tries: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
    MESSAGE_PAUSE_FIRST.saturating_mul(doubled).min(MESSAGE_PAUSE_MAX)
}

/// What came meanwhile goes out when its own time comes.
async fn rest(tx: &mut Tx, user: UserId, channel: Channel, now: Timestamp) -> Result<(), Error> {
    due::clear(tx, due_kind(channel), user.uuid()).await?;
    let (preference, _) = messages::preference(tx, user).await?;
    let waiting = messages::waiting(tx, user, channel).await?;
    let first = waiting.iter().map(|item| preference.goes_at(&item.kind, now, Some(now))).min();
    if let Some(at) = first {
        messages::send_at(tx, user, channel, at).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_tried_again_for_so_long_and_given_up_then() {
        let now = Timestamp::from_micros(1_000_000);
        let later = Unsent::Later("busy".to_owned());
        let mut reached = Reached::default();
        for tries in 1..MESSAGE_TRIES_MAX {
            let (next, outcome, again) = judge(&reached, Some(&later), now);
            assert_eq!((next.tries, outcome), (tries, "failed"));
            assert!(again.is_some_and(|at| at > now));
            reached = next;
        }
        assert_eq!(judge(&reached, Some(&later), now).1, "dead");
        let never = Unsent::Never("nobody".to_owned());
        assert_eq!(judge(&Reached::default(), Some(&never), now).1, "dead");
        let (sent, outcome, again) = judge(&reached, None, now);
        assert_eq!((sent.tries, sent.sent_at, outcome, again), (0, Some(now), "sent", None));
        assert_eq!(pause(50), MESSAGE_PAUSE_MAX);
    }
}
