//! The state of the model: processes that share resources, a queue that can lose data, a database
//! that cannot, and the actions on them.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::ids::{LeaseId, ProcessId};
use ade_core::lock::{Epoch, FencingToken, LockSet, Mode};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_lock_model::Space;
use ade_lock_model::fence::Fences;

pub const TICK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    RegisterFirst,
    /// A common approach: no registration; at the write, the token must not be below the highest
    /// that the resource has seen.
    TokenAtWrite,
    /// Registers tokens of any epoch.
    AnyEpoch,
    /// Takes a resource from a live holder.
    StealsLive,
    /// Admits the next holder at the deadline, however long a step overruns.
    NoDelay,
}

#[derive(Debug, Clone)]
pub struct Locks {
    pub rule: Rule,
    pub wanted: Vec<LockSet>,
    /// How often each process acquires again after it has lost its lease.
    pub attempts: u8,
    pub ticks: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Phase {
    Idle,
    Waiting,
    Holding(FencingToken),
    /// The process has read the values that it is going to change.
    Working(FencingToken, Vec<u8>),
    Done,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    pub phase: Phase,
    pub attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub space: Space,
    /// The data that a replica of the space has received; it takes over when the master is lost.
    pub replica: Option<Space>,
    pub fences: Fences,
    pub tick: u8,
    pub losses: u8,
    /// The last epoch in which the queue lost data.
    pub forgot: Option<Epoch>,
    pub processes: Vec<Process>,
    /// How often each resource was changed.
    pub versions: Vec<u8>,
    /// The highest token of a write to each resource, for `TokenAtWrite`.
    pub floors: Vec<Option<FencingToken>>,
    pub commits: u8,
    pub facts: BTreeSet<Fact>,
}

/// An event that the properties refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    LostUpdate,
    FencedAtCommit,
    Held,
    TokenLow,
    StaleEpoch,
    SessionDead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    Acquire(usize),
    Poll(usize),
    Begin(usize),
    Commit(usize),
    Crash(usize),
    EndSession(usize),
    Tick,
    Replicate,
    FailOver,
    Flush,
    Bump,
    Rebuild,
}

pub fn resources() -> Vec<ResourceRef> {
    ["db:a", "db:b"].map(|name| name.parse().unwrap()).into()
}

pub fn set(wanted: &[(&str, Mode)]) -> LockSet {
    let pairs = wanted.iter().map(|(name, mode)| (name.parse().unwrap(), *mode));
    LockSet::new(pairs).unwrap()
}

/// Returns the session of a process.
pub fn session(index: usize) -> ProcessId {
    ProcessId::from_u128(u128::try_from(index).unwrap())
}

impl World {
    pub fn now(&self) -> Timestamp {
        Timestamp::from_micros(0).plus(TICK * u32::from(self.tick))
    }

    pub fn epoch(&self) -> Epoch {
        self.fences.epoch()
    }
}

impl World {
    /// Returns whether this process may be in the middle of a step that nothing can fence: it stops
    /// at its known deadline, and the step overruns it by at most the delay.
    pub fn is_acting(&self, lease: LeaseId, index: usize) -> bool {
        let is_working = matches!(self.processes[index].phase, Phase::Working(..));
        let mut rows = self.fences.holds().filter(|(_, owner, _)| *owner == lease);
        is_working && rows.any(|(_, _, hold)| hold.deadline.plus(TICK) > self.now())
    }

    /// Returns whether the queue has lost nothing of the current epoch.
    pub fn is_in_step(&self) -> bool {
        self.space.epoch() == Some(self.epoch()) && self.forgot < Some(self.epoch())
    }
}

pub fn clash(one: Mode, other: Mode) -> bool {
    one == Mode::Exclusive || other == Mode::Exclusive
}
