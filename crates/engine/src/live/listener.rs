//! One who listens: a number in the events of its tenant, and what it may see of them. It keeps
//! nothing for itself; whoever is too far behind is told to begin anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use ade_core::access::{Action, Object, Standing};
use ade_core::event::Topic;
use ade_core::limits::{LIVE_BATCH, LIVE_RESUME_MAX, LIVE_SKIP_PERIOD};
use ade_store::events;
use tokio::sync::watch;
use tokio::time::Instant;

use super::channel::{Found, Told, begin};
use super::hub::Placed;
use super::seats::{End, Rights, Seat};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act::permit;
use crate::ops::decision::standing;

/// What somebody wants to hear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The last number they have seen; from now on if nothing is said.
    pub resume: Option<u64>,
    /// All if none is named.
    pub topics: BTreeSet<Topic>,
    /// Only what happens to this.
    pub object: Option<String>,
}

#[derive(Debug)]
pub enum Item {
    Event(Arc<Told>),
    /// Up to here the numbers are of events that are not for this listener.
    Skip(u64),
    /// Some events cannot be told: read everything anew, and go on from this number.
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
    /// The last number it was looked for.
    seq: u64,
    /// The last number it was told of.
    told: u64,
    must_reset: bool,
    skip_at: Instant,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.app.live.hub.leave(&self.placed);
    }
}

/// From the number they have seen, or from now on.
pub async fn listen(app: &Arc<App>, caller: Caller, wanted: Wanted) -> Result<Listener, Error> {
    let mut tx = begin(app, caller.tenant).await?;
    let book = app.books.current(&mut tx).await?;
    let head = events::head(&mut tx).await?;
    tx.roll_back().await;
    let seat = Arc::new(Seat::new(app, caller, book)?);
    let placed = app.live.hub.seat(&seat, head)?;
    let seq = wanted.resume.unwrap_or(head);
    // A number from the future is of another life of this record.
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
        told: seq,
        must_reset,
        skip_at: Instant::now(),
    })
}

impl Listener {
    /// The number from which it listens.
    pub fn begins_at(&self) -> u64 {
        self.told
    }

    /// Nothing that happened so far is left to be told.
    pub fn is_current(&self) -> bool {
        !self.must_reset && self.seq >= self.placed.channel.head()
    }

    /// What comes next; waits until there is something. Whoever lets go of it before loses
    /// nothing: it is found again.
    pub async fn next(&mut self) -> Result<Vec<Item>, End> {
        loop {
            if let Some(end) = *self.ends.borrow_and_update() {
                return Err(end);
            }
            if self.must_reset {
                return Ok(vec![self.reset(self.seq)]);
            }
            self.heads.borrow_and_update();
            let found = match self.placed.channel.after(self.seq, LIVE_BATCH) {
                Found::Nothing => Vec::new(),
                Found::Events(events) => events,
                Found::Forgotten { head } if head - self.seq > LIVE_RESUME_MAX => {
                    return Ok(vec![self.reset(head)]);
                }
                Found::Forgotten { head } => match self.reread().await {
                    Ok(events) if events.first().is_some_and(|one| one.seq == self.seq + 1) => {
                        events
                    }
                    Ok(_) => return Ok(vec![self.reset(head)]),
                    Err(error) => {
                        tracing::warn!(%error, "a listener cannot be told what it missed");
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
                    // Others' events may never pause.
                    if Instant::now() >= self.skip_at {
                        self.told = self.seq;
                        return Ok(vec![Item::Skip(self.seq)]);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "nobody can be asked what a listener may see");
                    return Err(End::Unchecked);
                }
            }
        }
    }

    fn reset(&mut self, seq: u64) -> Item {
        metrics::counter!("ade_live_resets_total").increment(1);
        (self.seq, self.told, self.must_reset) = (seq, seq, false);
        Item::Reset(seq)
    }

    async fn reread(&self) -> Result<Vec<Arc<Told>>, Error> {
        let mut tx = begin(&self.app, self.seat.caller.tenant).await?;
        let most = u32::try_from(LIVE_BATCH).unwrap_or(u32::MAX);
        let page = events::read_after(&mut tx, self.seq, most).await?;
        tx.roll_back().await;
        Ok(page.iter().map(|event| Arc::new(Told::from(event))).collect())
    }

    /// Until there is more, or it is time to say how far the numbers have gone.
    async fn wait(&mut self) -> Option<Item> {
        let is_silent = self.seq == self.told;
        tokio::select! {
            _ = self.heads.changed() => None,
            _ = self.ends.changed() => None,
            () = tokio::time::sleep_until(self.skip_at), if !is_silent => {
                self.told = self.seq;
                Some(Item::Skip(self.seq))
            }
        }
    }

    /// Which of these it is told.
    async fn sift(&self, found: &[Arc<Told>]) -> Result<Vec<bool>, Error> {
        let rights = self.seat.rights();
        let mut seen = Vec::with_capacity(found.len());
        for told in found {
            let is_wanted = self.is_wanted(told);
            // What anybody of the tenant may list, anybody may hear of.
            let is_listed = match told.topic {
                Topic::Lock | Topic::Agent | Topic::Policy | Topic::Freeze => true,
                Topic::Task | Topic::Approval => false,
            };
            let is_open = rights.sees_all || is_listed;
            seen.push(is_wanted && (is_open || self.may_see(&rights, told).await?));
        }
        Ok(seen)
    }

    fn is_wanted(&self, told: &Told) -> bool {
        let Wanted { topics, object, .. } = &self.wanted;
        (topics.is_empty() || topics.contains(&told.topic))
            && object.as_ref().is_none_or(|object| *object == told.object)
    }

    /// The same question as for whoever reads the task itself.
    async fn may_see(&self, rights: &Rights, told: &Told) -> Result<bool, Error> {
        let (app, caller, book) = (&self.app, &self.seat.caller, &rights.book);
        let Some(found) = told.proposer(app, caller.tenant).await? else { return Ok(false) };
        let standing = standing(book, &caller.actor, found.author, found.agent, &found.task_type);
        if standing == Standing::default() {
            return Ok(rights.sees_all);
        }
        let object = Object::Task(standing);
        Ok(permit(app, book, &caller.actor, Action::ReadTask, object).is_ok())
    }

    fn items(&mut self, found: &[Arc<Told>], seen: Vec<bool>) -> Vec<Item> {
        let mut items = Vec::new();
        let was_silent = self.seq == self.told;
        for (told, _) in found.iter().zip(seen).filter(|(_, is_seen)| *is_seen) {
            if told.seq > self.told + 1 {
                items.push(Item::Skip(told.seq - 1));
            }
            items.push(Item::Event(Arc::clone(told)));
            self.told = told.seq;
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
