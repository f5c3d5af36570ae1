//! The possible steps, and the properties that must hold in every state or in some state.

use std::collections::BTreeSet;

use ade_core::lock::{Epoch, FencingToken, LeasePhase, Mode, Request};
use ade_core::time::Timestamp;
use ade_lock_model::Space;
use ade_lock_model::fence::Fences;
use stateright::{Model, Property};

use crate::world::{Action, Fact, Locks, Phase, Process, World, clash, resources, session};

impl Model for Locks {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut space = Space::default();
        space.rebuild(Epoch::FIRST, [], None).answer.unwrap();
        let mut fences = Fences::new(Epoch::FIRST);
        for index in 0..self.wanted.len() {
            fences.keep_session(session(index), Timestamp::from_micros(i64::MAX));
        }
        let process = Process { phase: Phase::Idle, attempt: 0 };
        vec![World {
            space,
            replica: None,
            fences,
            tick: 0,
            losses: 0,
            forgot: None,
            processes: vec![process; self.wanted.len()],
            versions: vec![0; 2],
            floors: vec![None; 2],
            commits: 0,
            facts: BTreeSet::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (index, process) in world.processes.iter().enumerate() {
            match process.phase {
                Phase::Idle if process.attempt < self.attempts => {
                    actions.push(Action::Acquire(index));
                }
                Phase::Waiting => actions.push(Action::Poll(index)),
                Phase::Holding(_) => {
                    actions.push(Action::Begin(index));
                    if index == 0 {
                        actions.push(Action::EndSession(index));
                    }
                }
                Phase::Working(..) => {
                    actions.push(Action::Commit(index));
                    // The other process may simply never be scheduled again, which is equivalent.
                    if index == 0 {
                        actions.push(Action::Crash(index));
                    }
                }
                Phase::Idle | Phase::Done | Phase::Dead => {}
            }
        }
        if world.tick < self.ticks {
            actions.push(Action::Tick);
        }
        if world.losses == 0 {
            actions.push(Action::Flush);
            match world.replica {
                None => actions.push(Action::Replicate),
                Some(_) => actions.push(Action::FailOver),
            }
        }
        // A loss may go unnoticed for a while, so a bump is possible at any later time.
        if world.losses > 0 && world.epoch() == Epoch::FIRST {
            actions.push(Action::Bump);
        }
        if world.space.epoch() < Some(world.epoch()) {
            actions.push(Action::Rebuild);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        let phase = |index: usize| last.processes[index].phase.clone();
        match action {
            Action::Acquire(index) => self.acquire(&mut world, index)?,
            Action::Poll(index) => self.poll(&mut world, index)?,
            Action::Begin(index) => {
                let Phase::Holding(token) = phase(index) else {
                    return None;
                };
                self.begin(&mut world, index, token)?;
            }
            Action::Commit(index) => {
                let Phase::Working(token, read) = phase(index) else {
                    return None;
                };
                self.commit(&mut world, index, token, &read);
            }
            Action::Crash(index) => world.processes[index].phase = Phase::Dead,
            Action::EndSession(index) => world.fences.close_session(session(index)),
            Action::Tick => world.tick += 1,
            Action::Replicate => world.replica = Some(world.space.clone()),
            Action::FailOver => {
                world.space = world.replica.take()?;
                world.losses += 1;
                world.forgot = Some(world.epoch());
            }
            Action::Flush => {
                world.space = Space::default();
                world.replica = None;
                world.losses += 1;
                world.forgot = Some(world.epoch());
            }
            Action::Bump => {
                let next = world.epoch().next()?;
                world.fences.bump_epoch(next);
            }
            Action::Rebuild => self.rebuild(&mut world)?,
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no update is lost", |_, world: &World| {
                !world.facts.contains(&Fact::LostUpdate)
            }),
            Property::always("no two unfenced conflicting holds", |_, world: &World| {
                let open: Vec<_> = world.fences.holds().filter(|row| row.2.is_open()).collect();
                open.iter().all(|(name, id, hold)| {
                    open.iter().all(|(other_name, other_id, other)| {
                        name != other_name || id == other_id || !clash(hold.mode, other.mode)
                    })
                })
            }),
            Property::always("steps that nothing can fence do not overlap", Self::are_steps_apart),
            Property::always("the queue knows every registered hold", |_, world: &World| {
                let live = world.fences.live_leases();
                let mut current = live.iter().filter(|(_, rows)| rows[0].1.deadline > world.now());
                !world.is_in_step() || current.all(|(id, _)| world.space.lease(*id).is_some())
            }),
            // A queue that has lost data learns of holders later.
            Property::always("exclusivity within a queue in step", |_, world: &World| {
                let is_in_step = world.is_in_step();
                !is_in_step
                    || resources().iter().all(|name| {
                        let modes: Vec<Mode> =
                            world.space.holders(name).map(|held| held.1).collect();
                        modes.len() <= 1 || modes.iter().all(|mode| *mode == Mode::Shared)
                    })
            }),
            Property::sometimes("all processes commit", |model: &Self, world: &World| {
                usize::from(world.commits) == model.wanted.len()
            }),
            Property::sometimes(
                "all processes commit after a loss",
                |model: &Self, world: &World| {
                    usize::from(world.commits) == model.wanted.len() && world.losses > 0
                },
            ),
            Property::sometimes("a stale holder is fenced", |_, world: &World| {
                world.facts.contains(&Fact::FencedAtCommit) && world.commits > 0
            }),
            Property::sometimes("a held resource cannot be registered", |_, world: &World| {
                world.facts.contains(&Fact::Held)
            }),
            Property::sometimes("a token comes twice", |_, world: &World| {
                world.facts.contains(&Fact::TokenLow)
            }),
            Property::sometimes("an old epoch is refused", |_, world: &World| {
                world.facts.contains(&Fact::StaleEpoch)
            }),
            Property::sometimes("a dead session registers nothing", |_, world: &World| {
                world.facts.contains(&Fact::SessionDead)
            }),
            Property::sometimes("a registered hold is delayed", |_, world: &World| {
                world.space.leases().any(|lease| lease.state == LeasePhase::Delayed)
            }),
            Property::sometimes("a rebuilt space grants", |_, world: &World| {
                let granted = |lease: &ade_core::lock::Lease| {
                    let epoch = lease.token.map(FencingToken::epoch);
                    epoch > Some(Epoch::FIRST)
                };
                world.space.leases().any(granted)
            }),
        ]
    }
}

impl Locks {
    fn are_steps_apart(&self, world: &World) -> bool {
        let acting: Vec<Request> = (0..self.wanted.len())
            .map(|index| (index, self.request(index, world.processes[index].attempt)))
            .filter(|(index, request)| world.is_acting(request.lease(), *index))
            .map(|(_, request)| request)
            .collect();
        let meet = |one: &Request, other: &Request| {
            one.set()
                .iter()
                .any(|(name, mode)| other.set().mode_of(name).is_some_and(|held| clash(mode, held)))
        };
        acting
            .iter()
            .enumerate()
            .all(|(place, one)| acting[place + 1..].iter().all(|other| !meet(one, other)))
    }
}
