//! From events to messages: each person's notifications are collected, and sent in one message when
//! it is due. A claimed message is reserved until a deadline; a process that dies in between causes
//! a repetition and no loss.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{MESSAGE_PAUSE_FIRST, MESSAGE_PAUSE_MAX, MESSAGE_TRIES_MAX};
use ade_core::preference::{AccountNotice, Channel, Preference, is_notified};
use ade_core::time::Timestamp;
use ade_store::events::Numbered;
use ade_store::messages::{self, NotifiedUser, PendingNotification, Reached, due_kind};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::{TenantLock, Tx, users};
use uuid::Uuid;

use crate::app::App;
use crate::command::account_notice::channels;
use crate::error::Error;
use crate::identity::invitation_link;
use crate::services::notify::{NotificationMessage, Recipient, Unsent};

/// Time for a process to record the result of a message; well above the time of one attempt.
const MESSAGE_SENDING_MAX: Duration = Duration::from_mins(1);

const WORKER: &str = "message_sender";

/// Queues the messages about these events, in the transaction that advances the cursor.
pub(crate) async fn tell(app: &App, tx: &mut Tx, events: &[Numbered]) -> Result<(), Error> {
    for event in events.iter().filter(|event| is_notified(&event.kind)) {
        let Ok(task) = event.object.parse::<TaskId>() else { continue };
        for recipient in messages::recipients(tx, event, task).await? {
            tell_one(app, tx, event, task, recipient).await?;
        }
    }
    Ok(())
}

async fn tell_one(
    app: &App,
    tx: &mut Tx,
    event: &Numbered,
    task: TaskId,
    NotifiedUser { user, has_mail }: NotifiedUser,
) -> Result<(), Error> {
    let (preference, _) = messages::preference(tx, user).await?;
    for channel in channels(app, has_mail, &preference) {
        if !preference.wants(channel, &event.kind) {
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

/// A message that this process has reserved.
struct Parcel {
    tenant: TenantId,
    user: UserId,
    channel: Channel,
    to: Option<Recipient>,
    items: Vec<PendingNotification>,
    /// The link of the recipient's invitation, if they have an open one.
    join: Option<String>,
    sender: Uuid,
}

/// Sends a due message. Returns whether there was one.
pub(crate) async fn send_due(
    app: &App,
    tenant: TenantId,
    channel: Channel,
    due: ScheduledJob,
) -> Result<bool, Error> {
    let Some(parcel) = take_up(app, tenant, channel, due).await? else { return Ok(false) };
    let sent = match &parcel.to {
        Some(to) => {
            let join = parcel.join.as_deref();
            match NotificationMessage::of(&parcel.items, &app.notify.page, join) {
                Some(letter) => app.notify.send(channel, to, &letter).await,
                None => Err(Unsent::Never("the invitation is no longer open".to_owned())),
            }
        }
        None => Err(Unsent::Never("no address on this channel".to_owned())),
    };
    record(app, &parcel, sent).await?;
    Ok(true)
}

async fn begin(app: &App, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(&app.pools.worker, tenant, Actor::system(WORKER), TenantLock::None).await?)
}

async fn take_up(
    app: &App,
    tenant: TenantId,
    channel: Channel,
    due: ScheduledJob,
) -> Result<Option<Parcel>, Error> {
    let user = UserId::from_uuid(due.object);
    let mut tx = begin(app, tenant).await?;
    let (sender, until) = (Uuid::new_v4(), tx.now().plus(MESSAGE_SENDING_MAX));
    let is_ours = messages::claim(&mut tx, user, channel, sender, until).await?;
    // The sender reschedules it; this is for a sender that dies before.
    scheduled_jobs::postpone(&mut tx, &due, until).await?;
    if !is_ours {
        tx.commit().await?;
        return Ok(None);
    }
    let items = messages::waiting(&mut tx, user, channel).await?;
    if items.is_empty() {
        let reached = messages::reached(&mut tx, user, channel).await?;
        messages::settle(&mut tx, user, channel, sender, &reached, None).await?;
        scheduled_jobs::clear(&mut tx, due_kind(channel), due.object).await?;
        tx.commit().await?;
        return Ok(None);
    }
    let (preference, _) = messages::preference(&mut tx, user).await?;
    let to = recipient(&mut tx, user, channel, preference).await?;
    let has_invitation = items.iter().any(|item| item.kind == AccountNotice::Invited.as_str());
    let join = if has_invitation { invitation_link(app, &mut tx, user).await? } else { None };
    tx.commit().await?;
    Ok(Some(Parcel { tenant, user, channel, to, items, join, sender }))
}

/// Returns the recipient; `None` if the person is deactivated or has no address.
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

/// Records the result, but only while the reservation is valid: otherwise another process records
/// it.
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
        let again = ScheduledJob { kind: due_kind(*channel), object: user.uuid(), at };
        scheduled_jobs::set(&mut tx, &[again]).await?;
    } else {
        messages::end(&mut tx, items, sent.is_ok()).await?;
        rest(&mut tx, *user, *channel, now).await?;
    }
    tx.commit().await?;
    metrics::counter!("ade_messages_total", "channel" => channel.as_str(), "outcome" => outcome)
        .increment(1);
    Ok(())
}

/// Returns the new delivery state, the name of the outcome, and the time of the retry if there is
/// one.
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

/// Schedules notifications that arrived meanwhile for their own time.
async fn rest(tx: &mut Tx, user: UserId, channel: Channel, now: Timestamp) -> Result<(), Error> {
    scheduled_jobs::clear(tx, due_kind(channel), user.uuid()).await?;
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
    fn message_delivery_is_retried_until_the_maximum() {
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
        let never = Unsent::Never("no such recipient".to_owned());
        assert_eq!(judge(&Reached::default(), Some(&never), now).1, "dead");
        let (sent, outcome, again) = judge(&reached, None, now);
        assert_eq!((sent.tries, sent.sent_at, outcome, again), (0, Some(now), "sent", None));
        assert_eq!(pause(50), MESSAGE_PAUSE_MAX);
    }
}
