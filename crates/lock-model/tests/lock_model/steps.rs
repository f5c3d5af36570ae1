//! The steps of a process: it acquires, waits, registers, works and commits, and reconciles a queue
//! that has lost data with the database.

use std::time::Duration;

use ade_core::ids::{LeaseId, TaskId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, FencingToken, LeaseClass, LeaseStatus, LiveHold, LockRefusal, Mode, Owner, Request,
    RequestDraft,
};
use ade_core::time::Timestamp;
use ade_lock_model::fence::Registration;

use crate::world::{Fact, Locks, Phase, Rule, TICK, World, resources, session};

impl Locks {
    pub fn request(&self, index: usize, attempt: u8) -> Request {
        let number = u128::try_from(index).unwrap();
        Request::new(RequestDraft {
            lease: LeaseId::from_u128(number * 16 + u128::from(attempt)),
            owner: Owner::Task(TaskId::from_u128(number)),
            node: "n".to_owned(),
            birth: Timestamp::from_micros(0),
            class: LeaseClass::Fenced { lock_delay: TICK },
            set: self.wanted[index].clone(),
            ttl: TICK,
            wait: TICK * 2,
            boost: 0,
        })
        .unwrap()
    }

    fn versions(&self, index: usize, world: &World) -> Vec<u8> {
        let all = resources();
        let wanted = self.wanted[index].resources();
        let places = wanted.filter_map(|name| all.iter().position(|known| known == name));
        places.map(|place| world.versions[place]).collect()
    }

    fn follow(world: &mut World, index: usize, standing: LeaseStatus) {
        let process = &mut world.processes[index];
        process.phase = match standing {
            LeaseStatus::Granted { token, .. } | LeaseStatus::Spent { token, .. } => {
                Phase::Holding(token)
            }
            LeaseStatus::Waiting { .. } => Phase::Waiting,
            LeaseStatus::Delayed { .. } | LeaseStatus::Over { .. } | LeaseStatus::Unknown => {
                process.attempt += 1;
                Phase::Idle
            }
        };
    }

    pub fn acquire(&self, world: &mut World, index: usize) -> Option<()> {
        let (epoch, now) = (world.epoch(), world.now());
        let request = self.request(index, world.processes[index].attempt);
        let reply = world.space.acquire(epoch, request, Arrival::New, now);
        let standing = reply.answer.ok()?;
        Self::follow(world, index, standing);
        Some(())
    }

    pub fn poll(&self, world: &mut World, index: usize) -> Option<()> {
        let (epoch, now) = (world.epoch(), world.now());
        let id = self.request(index, world.processes[index].attempt).lease();
        let standing = world.space.renew(epoch, &[id], now).answer.ok()?.remove(0);
        Self::follow(world, index, standing);
        Some(())
    }

    /// Registers the hold and then starts to work. `TokenAtWrite` does not register.
    pub fn begin(&self, world: &mut World, index: usize, token: FencingToken) -> Option<()> {
        let versions = self.versions(index, world);
        let mut shown = token;
        if self.rule != Rule::TokenAtWrite {
            if self.rule == Rule::AnyEpoch {
                shown = FencingToken::new(world.epoch(), token.counter())?;
            }
            if let Err(refusal) = self.register(world, index, shown) {
                return self.turn_back(world, index, &refusal);
            }
            let id = self.request(index, world.processes[index].attempt).lease();
            // This is only a hint: if it is lost, the sole consequence may be a delay.
            let _ = world.space.register(world.fences.epoch(), id, world.now());
        }
        world.processes[index].phase = Phase::Working(shown, versions);
        Some(())
    }

    fn register(
        &self,
        world: &mut World,
        index: usize,
        token: FencingToken,
    ) -> Result<(), RegisterRefusal> {
        let request = self.request(index, world.processes[index].attempt);
        let now = world.now();
        let registration = Registration {
            lease: request.lease(),
            session: session(index),
            agent: None,
            token,
            set: request.set().clone(),
            deadline: now.plus(TICK),
            lock_delay: if self.rule == Rule::NoDelay { Duration::ZERO } else { TICK },
        };
        let outcome = world.fences.register(&registration, now);
        match outcome {
            Err(RegisterRefusal::Held { by, .. }) if self.rule == Rule::StealsLive => {
                for lease in by {
                    world.fences.release(lease);
                }
                world.fences.register(&registration, now)
            }
            known => known,
        }
    }

    fn turn_back(&self, world: &mut World, index: usize, refusal: &RegisterRefusal) -> Option<()> {
        let (epoch, now) = (world.epoch(), world.now());
        let request = self.request(index, world.processes[index].attempt);
        match refusal {
            RegisterRefusal::TokenLow { floor, .. } => {
                world.facts.insert(Fact::TokenLow);
                let reply = world.space.refence(epoch, request.lease(), *floor, now);
                Self::follow(world, index, reply.answer.ok()?);
            }
            RegisterRefusal::Held { by, .. } => {
                world.facts.insert(Fact::Held);
                for id in by {
                    let hold = self.live_hold(world, *id);
                    world.space.adopt(epoch, hold, now).answer.ok()?;
                }
                let reply = world.space.renew(epoch, &[request.lease()], now);
                Self::follow(world, index, reply.answer.ok()?.remove(0));
            }
            RegisterRefusal::StaleEpoch { .. } => {
                world.facts.insert(Fact::StaleEpoch);
                Self::follow(world, index, LeaseStatus::Unknown);
            }
            RegisterRefusal::SessionDead => {
                world.facts.insert(Fact::SessionDead);
                world.processes[index].phase = Phase::Dead;
            }
            RegisterRefusal::LeaseSpent | RegisterRefusal::TooMany { .. } => {
                world.processes[index].phase = Phase::Dead;
            }
        }
        Some(())
    }

    fn live_hold(&self, world: &World, lease: LeaseId) -> LiveHold {
        let live = world.fences.live_leases();
        let (_, hold) = live[&lease][0];
        let number = usize::try_from(lease.uuid().as_u128()).unwrap();
        let attempt = u8::try_from(number % 16).unwrap();
        LiveHold {
            request: self.request(number / 16, attempt),
            token: hold.token,
            deadline: hold.deadline,
        }
    }

    pub fn commit(&self, world: &mut World, index: usize, token: FencingToken, read: &[u8]) {
        let request = self.request(index, world.processes[index].attempt);
        let all = resources();
        let changed = request.set().iter().filter(|(_, mode)| *mode == Mode::Exclusive);
        let places: Vec<usize> =
            changed.filter_map(|(name, _)| all.iter().position(|known| known == name)).collect();
        let may_commit = match self.rule {
            Rule::RegisterFirst | Rule::AnyEpoch | Rule::StealsLive | Rule::NoDelay => {
                let count = request.set().len();
                let asserted = world.fences.assert_holds(request.lease(), token, count);
                asserted.is_ok()
            }
            Rule::TokenAtWrite => places.iter().all(|place| Some(token) >= world.floors[*place]),
        };
        world.processes[index].phase = Phase::Done;
        if !may_commit {
            world.facts.insert(Fact::FencedAtCommit);
            return;
        }
        if self.versions(index, world) != read {
            world.facts.insert(Fact::LostUpdate);
        }
        world.commits += 1;
        for place in places {
            world.versions[place] += 1;
            world.floors[place] = Some(token);
        }
        world.fences.release(request.lease());
        // This may fail; the lease then expires at its deadline.
        let _ = world.space.release(world.epoch(), request.lease(), world.now());
    }

    pub fn rebuild(&self, world: &mut World) -> Option<()> {
        let live: Vec<LeaseId> = world.fences.live_leases().keys().copied().collect();
        let holds: Vec<LiveHold> = live.iter().map(|id| self.live_hold(world, *id)).collect();
        let epoch = world.epoch();
        match world.space.rebuild(epoch, holds, None).answer {
            Ok(_) => Some(()),
            Err(LockRefusal::StaleEpoch { .. }) => None,
            Err(other) => panic!("{other}"),
        }
    }
}
