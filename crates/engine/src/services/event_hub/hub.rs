//! The listeners of this process by tenant. The cost depends on the number of listeners: a tenant
//! without listeners has no channel, and a shard without channels has no reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ade_core::event::shard_of;
use ade_core::ids::TenantId;
use ade_core::limits::{EVENT_SHARDS, LIVE_PER_PRINCIPAL_MAX};
use tokio::sync::Notify;

use super::channel::Channel;
use super::subscribers::{End, Seat};

/// Why a listener is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatRefused {
    Draining,
    TooMany { most: usize },
}

#[derive(Debug)]
pub struct Hub {
    rooms: Mutex<Rooms>,
    shards: [Shard; EVENT_SHARDS as usize],
    /// Notified when the first listener of a shard arrives.
    pub(crate) unfollowed: Notify,
    /// Notified when the heads must be checked now.
    pub(crate) poked: Notify,
    left: Notify,
    is_draining: AtomicBool,
}

#[derive(Debug, Default)]
struct Rooms {
    channels: BTreeMap<TenantId, (Arc<Channel>, usize)>,
    seats: BTreeMap<u64, Arc<Seat>>,
    /// The number of open listeners of each principal.
    principals: BTreeMap<(TenantId, String), usize>,
    next: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Shard {
    pub grown: Notify,
    /// Whether the last read of the streams succeeded.
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
    pub(crate) fn shard(&self, shard: u8) -> Option<&Shard> {
        self.shards.get(usize::from(shard))
    }

    /// Wakes the reader of this shard: its streams have new entries.
    pub fn grown(&self, shard: u8) {
        if let Some(shard) = self.shard(shard) {
            shard.grown.notify_one();
        }
    }

    /// Requests a check of the heads: events have been numbered, and no stream announces them.
    pub fn poke(&self) {
        self.poked.notify_one();
    }

    /// Adds a listener to the channel of its tenant. A new channel begins at `head`.
    pub(crate) fn seat(&self, seat: &Arc<Seat>, head: u64) -> Result<Placed, SeatRefused> {
        let tenant = seat.caller.tenant;
        let mut rooms = self.rooms();
        if self.is_draining.load(Ordering::Relaxed) {
            return Err(SeatRefused::Draining);
        }
        let times = rooms.principals.entry((tenant, seat.caller.principal())).or_default();
        if *times >= LIVE_PER_PRINCIPAL_MAX {
            return Err(SeatRefused::TooMany { most: LIVE_PER_PRINCIPAL_MAX });
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
        // Events numbered since `head` was read may not be in any stream that is read here.
        self.poke();
        Ok(Placed { number, channel })
    }

    /// Keeps the channel of a tenant running for a waiting caller. Returns `false` if the channel
    /// must be started first, which needs `head`.
    pub(crate) fn attend(&self, tenant: TenantId, head: Option<u64>) -> bool {
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
            // As in `seat`, events may have been numbered since `head` was read.
            self.poke();
        }
        true
    }

    pub(crate) fn leave_channel(&self, tenant: TenantId) {
        let mut rooms = self.rooms();
        if let Some((_, count)) = rooms.channels.get_mut(&tenant) {
            *count -= 1;
            if *count == 0 {
                rooms.channels.remove(&tenant);
            }
        }
    }

    pub(crate) fn leave(&self, placed: &Placed) {
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

    pub(crate) fn channel(&self, tenant: TenantId) -> Option<Arc<Channel>> {
        self.rooms().channels.get(&tenant).map(|(channel, _)| Arc::clone(channel))
    }

    pub(crate) fn channels(&self) -> Vec<Arc<Channel>> {
        self.rooms().channels.values().map(|(channel, _)| Arc::clone(channel)).collect()
    }

    /// Returns the shards with listeners.
    pub(crate) fn wanted(&self) -> BTreeSet<u8> {
        self.rooms().channels.keys().map(|tenant| shard_of(*tenant)).collect()
    }

    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        self.rooms().seats.values().cloned().collect()
    }

    pub(crate) fn seated(&self) -> usize {
        self.rooms().seats.len()
    }

    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        for seat in self.seats() {
            seat.leave(End::Draining);
        }
    }

    pub(crate) async fn emptied(&self) {
        while self.seated() > 0 {
            self.left.notified().await;
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Placed {
    number: u64,
    pub channel: Arc<Channel>,
}
