//! Who listens to which tenant in this process, and what woke up. Cost follows those who listen:
//! a tenant without listeners has no channel, a shard without channels no reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ade_core::event::shard_of;
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, LIVE_PER_PRINCIPAL_MAX};
use tokio::sync::Notify;

use super::channel::Channel;
use super::seats::{End, Seat};
use crate::error::Error;

#[derive(Debug)]
pub struct Hub {
    rooms: Mutex<Rooms>,
    shards: [Shard; EVENT_SHARDS as usize],
    /// Somebody listens to a shard that nobody has listened to.
    pub(super) unfollowed: Notify,
    /// The heads are to be looked at now.
    pub(super) poked: Notify,
    left: Notify,
    is_draining: AtomicBool,
}

#[derive(Debug, Default)]
struct Rooms {
    channels: BTreeMap<TenantId, (Arc<Channel>, usize)>,
    seats: BTreeMap<u64, Arc<Seat>>,
    /// How often each of them listens.
    principals: BTreeMap<(TenantId, String), usize>,
    next: u64,
}

#[derive(Debug, Default)]
pub(super) struct Shard {
    pub grown: Notify,
    /// Its streams could be read the last time.
    pub is_well: AtomicBool,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            rooms: Mutex::default(),
            shards: std::array::from_fn(|_| Shard::default()),
            unfollowed: Notify::new(),
            poked: Notify::new(),
            left: Notify::new(),
            is_draining: AtomicBool::new(false),
        }
    }
}

impl Hub {
    pub(super) fn shard(&self, shard: u8) -> Option<&Shard> {
        self.shards.get(usize::from(shard))
    }

    /// The streams of this shard have more.
    pub fn grown(&self, shard: u8) {
        if let Some(shard) = self.shard(shard) {
            shard.grown.notify_one();
        }
    }

    /// Events have been numbered and no stream tells of them.
    pub fn poke(&self) {
        self.poked.notify_one();
    }

    /// A place for one more, at the channel of its tenant, which begins at `head` if it is new.
    pub(super) fn seat(&self, seat: &Arc<Seat>, head: u64) -> Result<Placed, Error> {
        let tenant = seat.caller.tenant;
        let mut rooms = self.rooms();
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(Error::Draining);
        }
        let times = rooms.principals.entry((tenant, seat.caller.principal())).or_default();
        if *times >= LIVE_PER_PRINCIPAL_MAX {
            return Err(Error::TooManyListeners { most: LIVE_PER_PRINCIPAL_MAX });
        }
        *times += 1;
        let is_new = !rooms.channels.keys().any(|known| shard_of(*known) == shard_of(tenant));
        let room = rooms.channels.entry(tenant);
        let (channel, count) = room.or_insert_with(|| (Arc::new(Channel::new(tenant, head)), 0));
        *count += 1;
        let channel = Arc::clone(channel);
        let number = rooms.next;
        rooms.next += 1;
        rooms.seats.insert(number, Arc::clone(seat));
        drop(rooms);
        if is_new {
            self.unfollowed.notify_one();
            self.grown(shard_of(tenant));
        }
        // What was numbered between the look at the head and now is in no stream that we read.
        self.poke();
        Ok(Placed { number, channel })
    }

    /// Keeps the channel of a tenant going for whoever waits and does not listen; nothing if it has
    /// to be begun, which needs its head.
    pub(super) fn attend(&self, tenant: TenantId, head: Option<u64>) -> bool {
        let mut rooms = self.rooms();
        let is_known = rooms.channels.contains_key(&tenant);
        let is_new = !rooms.channels.keys().any(|known| shard_of(*known) == shard_of(tenant));
        if head.is_none() && !is_known {
            return false;
        }
        let new = || (Arc::new(Channel::new(tenant, head.unwrap_or_default())), 0);
        rooms.channels.entry(tenant).or_insert_with(new).1 += 1;
        drop(rooms);
        if is_new {
            self.unfollowed.notify_one();
            self.grown(shard_of(tenant));
        }
        if !is_known {
            // As for whoever is seated.
            self.poke();
        }
        true
    }

    pub(super) fn leave_channel(&self, tenant: TenantId) {
        let mut rooms = self.rooms();
        if let Some((_, count)) = rooms.channels.get_mut(&tenant) {
            *count -= 1;
            if *count == 0 {
                rooms.channels.remove(&tenant);
            }
        }
    }

    pub(super) fn leave(&self, placed: &Placed) {
        let mut rooms = self.rooms();
        let tenant = placed.channel.tenant;
        if let Some(seat) = rooms.seats.remove(&placed.number) {
            let principal = (tenant, seat.caller.principal());
            if let Some(times) = rooms.principals.get_mut(&principal) {
                *times -= 1;
                if *times == 0 {
                    rooms.principals.remove(&principal);
                }
            }
        }
        drop(rooms);
        self.leave_channel(tenant);
        self.left.notify_one();
    }

    pub(super) fn channel(&self, tenant: TenantId) -> Option<Arc<Channel>> {
        self.rooms().channels.get(&tenant).map(|(channel, _)| Arc::clone(channel))
    }

    pub(super) fn channels(&self) -> Vec<Arc<Channel>> {
        self.rooms().channels.values().map(|(channel, _)| Arc::clone(channel)).collect()
    }

    /// Those that somebody listens to.
    pub(super) fn wanted(&self) -> BTreeSet<u8> {
        self.rooms().channels.keys().map(|tenant| shard_of(*tenant)).collect()
    }

    pub(super) fn seats(&self) -> Vec<Arc<Seat>> {
        self.rooms().seats.values().cloned().collect()
    }

    pub(super) fn seated(&self) -> usize {
        self.rooms().seats.len()
    }

    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        for seat in self.seats() {
            seat.leave(End::Draining);
        }
    }

    pub(super) async fn emptied(&self) {
        while self.seated() > 0 {
            self.left.notified().await;
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Placed {
    number: u64,
    pub channel: Arc<Channel>,
}
