//! One listener: a position in the events of its tenant, and a filter. It buffers nothing; a
//! listener that is too far behind is asked to reload.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ade_core::access::{Action, Object, TaskRelation};
use ade_core::event::Topic;
use ade_core::limits::LIVE_RESUME_MAX;
use ade_store::events;
use tokio::sync::watch;
use tokio::time::Instant;

use super::rights::rights;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::permit;
use crate::command::permission::standing;
use crate::error::Error;
use crate::services::event_hub::channel::{ChannelRead, StreamedEvent, begin};
use crate::services::event_hub::hub::Placed;
use crate::services::event_hub::subscribers::{End, Rights, Seat};

/// Events sent to one listener at a time.
const LIVE_BATCH: usize = 128;
/// Maximum delay of the notice that sequence numbers advanced over other listeners' events.
const LIVE_SKIP_PERIOD: Duration = Duration::from_secs(1);

/// Which events a listener wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The last number that the listener has seen; `None` to start with new events.
    pub resume: Option<u64>,
    /// The wanted topics; all if empty.
    pub topics: BTreeSet<Topic>,
    /// Limits the events to this object.
    pub object: Option<String>,
}

#[derive(Debug)]
pub enum StreamItem {
    Event(Arc<StreamedEvent>),
    /// Events up to this number exist but are not for this listener.
    Skip(u64),
    /// Some events are no longer available: reload everything, and continue from this number.
    Reset(u64),
}

#[derive(Debug)]
pub struct Listener {
    app: Arc<App>,
    seat: Arc<Seat>,
    placed: Placed,
    heads: watch::Receiver<u64>,
    ends: watch::Receiver<Option<End>>,
    wanted: Wanted,
    /// The last number that was checked.
    seq: u64,
    /// The last number that was delivered.
    delivered: u64,
    must_reset: bool,
    skip_at: Instant,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.app.live.hub.leave(&self.placed);
    }
}

/// Starts a listener after its last seen number, or with new events.
pub async fn listen(app: &Arc<App>, caller: Caller, wanted: Wanted) -> Result<Listener, Error> {
    let mut tx = begin(&app.pools.api, caller.tenant).await?;
    let book = app.books.current(&mut tx).await?;
    let head = events::head(&mut tx).await?;
    tx.roll_back().await;
    let rights = rights(app, &caller, book)?;
    let seat = Arc::new(Seat::new(caller, rights));
    let placed = app.live.hub.seat(&seat, head)?;
    let seq = wanted.resume.unwrap_or(head);
    // A number from the future belongs to a history that was lost, for example before a restore.
    let must_reset = seq > head || head - seq > LIVE_RESUME_MAX;
    let seq = if must_reset { head } else { seq };
    Ok(Listener {
        app: Arc::clone(app),
        heads: placed.channel.follow(),
        ends: seat.end.subscribe(),
        seat,
        placed,
        wanted,
        seq,
        delivered: seq,
        must_reset,
        skip_at: Instant::now(),
    })
}

impl Listener {
    /// Returns the number after which the listener starts.
    pub fn begins_at(&self) -> u64 {
        self.delivered
    }

    /// Returns whether all events so far have been delivered.
    pub fn is_current(&self) -> bool {
        !self.must_reset && self.seq >= self.placed.channel.head()
    }

    /// Returns the next items, and waits until there are some. Cancel-safe: an undelivered item is
    /// found again.
    pub async fn next(&mut self) -> Result<Vec<StreamItem>, End> {
        loop {
            if let Some(end) = *self.ends.borrow_and_update() {
                return Err(end);
            }
            if self.must_reset {
                return Ok(vec![self.reset(self.seq)]);
            }
            self.heads.borrow_and_update();
            let found = match self.placed.channel.after(self.seq, LIVE_BATCH) {
                ChannelRead::Nothing => Vec::new(),
                ChannelRead::Events(events) => events,
                ChannelRead::Forgotten { head } if head - self.seq > LIVE_RESUME_MAX => {
                    return Ok(vec![self.reset(head)]);
                }
                ChannelRead::Forgotten { head } => match self.reread().await {
                    Ok(events) if events.first().is_some_and(|one| one.seq == self.seq + 1) => {
                        events
                    }
                    Ok(_) => return Ok(vec![self.reset(head)]),
                    Err(error) => {
                        tracing::warn!(%error, "failed to replay missed events");
                        return Err(End::Unchecked);
                    }
                },
            };
            if found.is_empty() {
                if let Some(skip) = self.wait().await {
                    return Ok(vec![skip]);
                }
                continue;
            }
            match self.sift(&found).await {
                Ok(seen) => {
                    let items = self.items(&found, seen);
                    if !items.is_empty() {
                        return Ok(items);
                    }
                    // Events for other listeners may arrive without a pause.
                    if Instant::now() >= self.skip_at {
                        self.delivered = self.seq;
                        return Ok(vec![StreamItem::Skip(self.seq)]);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to check listener permissions");
                    return Err(End::Unchecked);
                }
            }
        }
    }

    fn reset(&mut self, seq: u64) -> StreamItem {
        metrics::counter!("ade_live_resets_total").increment(1);
        (self.seq, self.delivered, self.must_reset) = (seq, seq, false);
        StreamItem::Reset(seq)
    }

    async fn reread(&self) -> Result<Vec<Arc<StreamedEvent>>, Error> {
        let mut tx = begin(&self.app.pools.api, self.seat.caller.tenant).await?;
        let most = u32::try_from(LIVE_BATCH).unwrap_or(u32::MAX);
        let page = events::read_after(&mut tx, self.seq, most).await?;
        tx.roll_back().await;
        Ok(page.iter().map(|event| Arc::new(StreamedEvent::from(event))).collect())
    }

    /// Waits until there are new events, or until it is time to report the current number.
    async fn wait(&mut self) -> Option<StreamItem> {
        let is_silent = self.seq == self.delivered;
        tokio::select! {
            _ = self.heads.changed() => None,
            _ = self.ends.changed() => None,
            () = tokio::time::sleep_until(self.skip_at), if !is_silent => {
                self.delivered = self.seq;
                Some(StreamItem::Skip(self.seq))
            }
        }
    }

    /// Decides for each of these events whether the listener gets it.
    async fn sift(&self, found: &[Arc<StreamedEvent>]) -> Result<Vec<bool>, Error> {
        let rights = self.seat.rights();
        let mut seen = Vec::with_capacity(found.len());
        for event in found {
            let is_wanted = self.is_wanted(event);
            // These objects are listed for everyone in the tenant, so their events are visible to
            // everyone.
            let is_listed = match event.topic {
                Topic::Lock | Topic::Agent | Topic::Policy | Topic::Freeze | Topic::Change => true,
                Topic::Task | Topic::Approval => false,
            };
            let is_open = rights.sees_all || is_listed;
            seen.push(is_wanted && (is_open || self.may_see(&rights, event).await?));
        }
        Ok(seen)
    }

    fn is_wanted(&self, event: &StreamedEvent) -> bool {
        let Wanted { topics, object, .. } = &self.wanted;
        (topics.is_empty() || topics.contains(&event.topic))
            && object.as_ref().is_none_or(|object| *object == event.object)
    }

    /// Returns whether the listener may read the task of the event, by the same check as for the
    /// task itself.
    async fn may_see(&self, rights: &Rights, event: &StreamedEvent) -> Result<bool, Error> {
        let (app, caller, book) = (&self.app, &self.seat.caller, &rights.book);
        let Some(found) = event.proposer(&app.pools.api, caller.tenant).await? else {
            return Ok(false);
        };
        let relation = standing(book, &caller.actor, found.author, found.agent, &found.task_type);
        if relation == TaskRelation::default() {
            return Ok(rights.sees_all);
        }
        let object = Object::Task(relation);
        Ok(permit(app, book, &caller.actor, Action::ReadTask, object).is_ok())
    }

    fn items(&mut self, found: &[Arc<StreamedEvent>], seen: Vec<bool>) -> Vec<StreamItem> {
        let mut items = Vec::new();
        let was_silent = self.seq == self.delivered;
        for (event, _) in found.iter().zip(seen).filter(|(_, is_seen)| *is_seen) {
            if event.seq > self.delivered + 1 {
                items.push(StreamItem::Skip(event.seq - 1));
            }
            items.push(StreamItem::Event(Arc::clone(event)));
            self.delivered = event.seq;
        }
        if let Some(last) = found.last() {
            if was_silent || !items.is_empty() {
                self.skip_at = Instant::now() + LIVE_SKIP_PERIOD;
            }
            self.seq = last.seq;
        }
        items
    }
}
