//! Every interleaving of a small system: two tasks that share a resource, a queue that loses
//! what it acknowledged, a database that does not. The rule that a hold is registered before
//! anything is read must keep every update; the usual rule, a token compared at the write, must
//! be caught losing one.
#![cfg(test)]

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::ids::{AgentSessionId, LeaseId, TaskId};
use ade_core::lock::fence::{Fences, RegisterRefusal, Registration};
use ade_core::lock::{
    Arrival, Class, Epoch, LiveHold, LockSet, Mode, Owner, Refusal, Request, RequestDraft, Space,
    Standing, State, Token,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use stateright::{Checker, Model, Property};

const TICK: Duration = Duration::from_secs(1);
const TICKS_MAX: u8 = 2;
const ATTEMPTS_MAX: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    RegisterFirst,
    /// What is often done: no registration; at the write, the token must not be below the
    /// highest that the resource has seen.
    TokenAtWrite,
}

#[derive(Debug, Clone)]
struct Locks {
    rule: Rule,
    wanted: Vec<LockSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Holding(Token),
    /// Has read what it is going to change.
    Working(Token, Vec<u8>),
    Done,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    phase: Phase,
    attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    space: Space,
    /// What a replica of the space has received; it takes over when the master is lost.
    replica: Option<Space>,
    fences: Fences,
    tick: u8,
    losses: u8,
    processes: Vec<Process>,
    /// How often each resource was changed.
    versions: Vec<u8>,
    /// Of the broken rule: the highest token at a write.
    floors: Vec<Option<Token>>,
    commits: u8,
    facts: BTreeSet<Fact>,
}

/// What has ever happened, for the properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Fact {
    LostUpdate,
    FencedAtCommit,
    Held,
    TokenLow,
    StaleEpoch,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Action {
    Acquire(usize),
    Poll(usize),
    Begin(usize),
    Commit(usize),
    Crash(usize),
    Tick,
    Replicate,
    FailOver,
    Flush,
    Bump,
    Rebuild,
}

fn resources() -> Vec<ResourceRef> {
    ["db:a", "db:b"].map(|name| name.parse().unwrap()).into()
}

fn set(wanted: &[(&str, Mode)]) -> LockSet {
    let pairs = wanted.iter().map(|(name, mode)| (name.parse().unwrap(), *mode));
    LockSet::new(pairs).unwrap()
}

fn session() -> AgentSessionId {
    AgentSessionId::from_u128(1)
}

impl World {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0).plus(TICK * u32::from(self.tick))
    }

    fn epoch(&self) -> Epoch {
        self.fences.epoch()
    }
}

impl Locks {
    fn request(&self, index: usize, attempt: u8) -> Request {
        let number = u128::try_from(index).unwrap();
        Request::new(RequestDraft {
            lease: LeaseId::from_u128(number * 16 + u128::from(attempt)),
            owner: Owner::Task(TaskId::from_u128(number)),
            node: "n".to_owned(),
            birth: Timestamp::from_micros(0),
            class: Class::Fenced { lock_delay: TICK },
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

    fn follow(world: &mut World, index: usize, standing: Standing) {
        let process = &mut world.processes[index];
        process.phase = match standing {
            Standing::Granted { token, .. } => Phase::Holding(token),
            Standing::Waiting { .. } => Phase::Waiting,
            Standing::Delayed { .. } | Standing::Over { .. } | Standing::Unknown => {
                process.attempt += 1;
                Phase::Idle
            }
        };
    }

    fn acquire(&self, world: &mut World, index: usize) -> Option<()> {
        let (epoch, now) = (world.epoch(), world.now());
        let request = self.request(index, world.processes[index].attempt);
        let reply = world.space.acquire(epoch, request, Arrival::New, now);
        let standing = reply.answer.ok()?;
        Self::follow(world, index, standing);
        Some(())
    }

    fn poll(&self, world: &mut World, index: usize) -> Option<()> {
        let (epoch, now) = (world.epoch(), world.now());
        let id = self.request(index, world.processes[index].attempt).lease();
        let standing = world.space.renew(epoch, &[id], now).answer.ok()?.remove(0);
        Self::follow(world, index, standing);
        Some(())
    }

    /// The permit: registers, and only then reads. The broken rule reads at once.
    fn begin(&self, world: &mut World, index: usize, token: Token) -> Option<()> {
        let versions = self.versions(index, world);
        if self.rule == Rule::RegisterFirst {
            let request = self.request(index, world.processes[index].attempt);
            let now = world.now();
            let registration = Registration {
                lease: request.lease(),
                session: session(),
                token,
                set: request.set().clone(),
                deadline: now.plus(TICK),
                lock_delay: TICK,
            };
            if let Err(refusal) = world.fences.register(&registration, now) {
                return self.turn_back(world, index, &refusal);
            }
            let id = request.lease();
            // Only a note: its loss must cost nothing but a delay.
            let _ = world.space.register(world.fences.epoch(), id, now);
        }
        world.processes[index].phase = Phase::Working(token, versions);
        Some(())
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
                Self::follow(world, index, Standing::Unknown);
            }
            RegisterRefusal::SessionDead | RegisterRefusal::LeaseSpent => {
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

    fn commit(&self, world: &mut World, index: usize, token: Token, read: &[u8]) {
        let request = self.request(index, world.processes[index].attempt);
        let all = resources();
        let places: Vec<usize> = request
            .set()
            .resources()
            .filter_map(|name| all.iter().position(|known| known == name))
            .collect();
        let may_commit = match self.rule {
            Rule::RegisterFirst => {
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
        // It may fail, and then the lease runs out by itself.
        let _ = world.space.release(world.epoch(), request.lease(), world.now());
    }

    fn rebuild(&self, world: &mut World) -> Option<()> {
        let live: Vec<LeaseId> = world.fences.live_leases().keys().copied().collect();
        let holds: Vec<LiveHold> = live.iter().map(|id| self.live_hold(world, *id)).collect();
        let epoch = world.epoch();
        match world.space.rebuild(epoch, holds, None).answer {
            Ok(_) => Some(()),
            Err(Refusal::StaleEpoch { .. }) => None,
            Err(other) => panic!("{other}"),
        }
    }
}

impl Model for Locks {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut space = Space::default();
        space.rebuild(Epoch::FIRST, [], None).answer.unwrap();
        let mut fences = Fences::new(Epoch::FIRST);
        fences.keep_session(session(), Timestamp::from_micros(i64::MAX));
        let process = Process { phase: Phase::Idle, attempt: 0 };
        vec![World {
            space,
            replica: None,
            fences,
            tick: 0,
            losses: 0,
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
                Phase::Idle if process.attempt < ATTEMPTS_MAX => {
                    actions.push(Action::Acquire(index));
                }
                Phase::Waiting => actions.push(Action::Poll(index)),
                Phase::Holding(_) => actions.push(Action::Begin(index)),
                Phase::Working(..) => {
                    actions.push(Action::Commit(index));
                    // The other one may simply never be scheduled again, which is the same.
                    if index == 0 {
                        actions.push(Action::Crash(index));
                    }
                }
                Phase::Idle | Phase::Done | Phase::Dead => {}
            }
        }
        if world.tick < TICKS_MAX {
            actions.push(Action::Tick);
        }
        if world.losses == 0 {
            actions.push(Action::Flush);
            match world.replica {
                None => actions.push(Action::Replicate),
                Some(_) => actions.push(Action::FailOver),
            }
        }
        // Nobody need notice a loss at once, so a bump is possible at any time after.
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
            Action::Tick => world.tick += 1,
            Action::Replicate => world.replica = Some(world.space.clone()),
            Action::FailOver => {
                world.space = world.replica.take()?;
                world.losses += 1;
            }
            Action::Flush => {
                world.space = Space::default();
                world.replica = None;
                world.losses += 1;
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
            Property::always("exclusivity within the queue", |_, world: &World| {
                resources().iter().all(|name| {
                    let modes: Vec<Mode> = world.space.holders(name).map(|held| held.1).collect();
                    modes.len() <= 1 || modes.iter().all(|mode| *mode == Mode::Shared)
                })
            }),
            Property::sometimes("everybody commits", |model: &Self, world: &World| {
                usize::from(world.commits) == model.wanted.len()
            }),
            Property::sometimes("everybody commits after a loss", |model: &Self, world: &World| {
                usize::from(world.commits) == model.wanted.len() && world.losses > 0
            }),
            Property::sometimes("a stale holder is fenced", |_, world: &World| {
                world.facts.contains(&Fact::FencedAtCommit) && world.commits > 0
            }),
            Property::sometimes("the truth refuses to steal", |_, world: &World| {
                world.facts.contains(&Fact::Held)
            }),
            Property::sometimes("a token comes twice", |_, world: &World| {
                world.facts.contains(&Fact::TokenLow)
            }),
            Property::sometimes("an old epoch is refused", |_, world: &World| {
                world.facts.contains(&Fact::StaleEpoch)
            }),
            Property::sometimes("a registered hold rests", |_, world: &World| {
                world.space.leases().any(|lease| lease.state == State::Delayed)
            }),
            Property::sometimes("a rebuilt space grants", |_, world: &World| {
                let granted = |lease: &ade_core::lock::Lease| {
                    let epoch = lease.token.map(Token::epoch);
                    epoch > Some(Epoch::FIRST)
                };
                world.space.leases().any(granted)
            }),
        ]
    }
}

fn clash(one: Mode, other: Mode) -> bool {
    one == Mode::Exclusive || other == Mode::Exclusive
}

fn locks(rule: Rule) -> Locks {
    let wanted = vec![
        set(&[("db:a", Mode::Exclusive), ("db:b", Mode::Shared)]),
        set(&[("db:a", Mode::Exclusive)]),
    ];
    Locks { rule, wanted }
}

#[test]
fn exclusivity_register_first_loses_no_update_whatever_the_queue_loses() {
    let checker = locks(Rule::RegisterFirst).checker().threads(2).spawn_bfs().join();
    println!(
        "register first: {} states, {} unique, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

#[test]
fn the_usual_token_check_at_the_write_is_caught_losing_an_update() {
    let checker = locks(Rule::TokenAtWrite).checker().spawn_bfs().join();
    println!("token at write: {} unique states", checker.unique_state_count());
    let path = checker.assert_any_discovery("no update is lost");
    println!("{} steps: {:?}", path.clone().into_actions().len(), path.into_actions());
}
