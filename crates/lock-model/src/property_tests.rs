//! Random command sequences over few resources and owners, so that collisions are the rule.
//! After every step the space is judged from its records alone, by oracles that share no code
//! with the rules: pairs are compared, sums are counted, cycles are found by closure.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use ade_core::ids::LeaseId;
use ade_core::limits::LOCK_BOOST_MAX;
use ade_core::lock::*;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::Space;
use super::sample::*;

const NAMES: [&str; 4] = ["a", "b", "c", "slots"];
const OWNERS: u128 = 5;

#[derive(Debug, Clone)]
struct Ask {
    owner: u128,
    /// For each resource: 0 or 1 not wanted, 2 exclusive, 3 shared, 4 and up counting.
    wanted: [u8; 4],
    boost: u32,
    wait_ms: u64,
    ttl_ms: u64,
    delay_ms: Option<u64>,
}

#[derive(Debug, Clone)]
enum Step {
    Acquire(Ask),
    Resend(usize),
    Renew(usize, usize),
    Release(usize),
    Cancel(usize),
    Break(usize),
    Refence(usize, u64),
    Register(usize),
    Sweep(usize),
    Pass(i64),
    /// The space is lost; the nth registered hold is left out, as if its row came too late.
    Rebuild(usize),
    ComeBack(usize),
    Adopt,
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let wanted = (0_u8..5, 0_u8..5, 0_u8..5, 0_u8..8);
    let boost = prop_oneof![3 => Just(0_u32), 1 => 1_u32..4];
    let wait_ms = prop_oneof![1 => Just(0_u64), 2 => Just(500), 4 => Just(5_000)];
    let ttl_ms = prop_oneof![Just(400_u64), Just(4_000), Just(20_000)];
    let delay_ms =
        prop_oneof![Just(None), Just(Some(0_u64)), Just(Some(700_u64)), Just(Some(6_000_u64))];
    (0..OWNERS, wanted, boost, wait_ms, ttl_ms, delay_ms).prop_map(
        |(owner, wanted, boost, wait_ms, ttl_ms, delay_ms)| Ask {
            owner,
            wanted: wanted.into(),
            boost,
            wait_ms,
            ttl_ms,
            delay_ms,
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    let any = any::<prop::sample::Index>;
    let pick = move || any().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        14 => any_ask().prop_map(Step::Acquire),
        1 => pick().prop_map(Step::Resend),
        3 => (pick(), pick()).prop_map(|(one, two)| Step::Renew(one, two)),
        5 => pick().prop_map(Step::Release),
        1 => pick().prop_map(Step::Cancel),
        1 => pick().prop_map(Step::Break),
        1 => (pick(), 0_u64..9).prop_map(|(lease, floor)| Step::Refence(lease, floor)),
        3 => pick().prop_map(Step::Register),
        1 => (0_usize..4).prop_map(Step::Sweep),
        4 => prop::sample::select(vec![1, 399, 1_000, 3_500, 12_000]).prop_map(Step::Pass),
        1 => pick().prop_map(Step::Rebuild),
        2 => pick().prop_map(Step::ComeBack),
        1 => Just(Step::Adopt),
    ]
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any_step(), 1..70)
}

/// One step with everything it did.
struct Scene<'a> {
    before: &'a Space,
    after: &'a Space,
    step: &'a Step,
    now: Timestamp,
    events: &'a [LockEvent],
    /// The leases of the step, each with the reply to its caller.
    replies: Replies,
}

type Replies = Vec<(LeaseId, Result<LeaseStatus, LockRefusal>)>;
type Outcome = (Replies, Vec<LockEvent>);

struct World {
    space: Space,
    epoch: Epoch,
    now_ms: i64,
    asked: Vec<Request>,
    /// Waits that a rebuild has lost, with their places.
    lost: Vec<(Request, Order)>,
    forgotten: Option<LiveHold>,
}

impl World {
    fn new() -> Self {
        let mut space = Space::default();
        space.rebuild(Epoch::FIRST, [], None).answer.unwrap();
        Self {
            space,
            epoch: Epoch::FIRST,
            now_ms: 0,
            asked: Vec::new(),
            lost: Vec::new(),
            forgotten: None,
        }
    }

    fn request(&mut self, ask: &Ask) -> Option<Request> {
        let number = u128::try_from(self.asked.len()).unwrap() + 1;
        let mode = |code| match code {
            2 => Some(X),
            3 => Some(S),
            4.. => Some(counting(u32::from(code) - 3)),
            _ => None,
        };
        let pairs = NAMES.iter().zip(ask.wanted);
        let wanted: Vec<_> =
            pairs.filter_map(|(name, code)| Some((resource(name), mode(code)?))).collect();
        let request = Request::new(RequestDraft {
            // Scattered, so that ids do not sort like arrivals.
            lease: LeaseId::from_u128(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) << 40 | number),
            owner: owner(ask.owner),
            node: "node-1".to_owned(),
            birth: at(i64::try_from(ask.owner % 3).unwrap()),
            class: ask
                .delay_ms
                .map_or(LeaseClass::Advisory, |delay| LeaseClass::Fenced { lock_delay: ms(delay) }),
            set: LockSet::new(wanted).ok()?,
            ttl: ms(ask.ttl_ms),
            wait: ms(ask.wait_ms),
            boost: ask.boost,
        });
        self.asked.push(request.unwrap());
        self.asked.last().cloned()
    }

    fn pick(&self, index: usize) -> Option<Request> {
        // Mostly recent ones, because old ones are tombstones or gone.
        let recent = self.asked.iter().rev().take(12).collect::<Vec<_>>();
        let index = index.checked_rem(recent.len())?;
        recent.get(index).map(|request| (*request).clone())
    }

    fn acquire(&mut self, request: &Request, arrival: Arrival) -> Outcome {
        let now = at(self.now_ms);
        let reply = self.space.acquire(self.epoch, request.clone(), arrival, now);
        (vec![(request.lease(), reply.answer)], reply.events)
    }

    /// Runs one step and passes it to `judge`; steps that pick from nothing do nothing.
    fn play(&mut self, step: &Step, judge: &mut impl FnMut(&Scene<'_>)) {
        let before = self.space.clone();
        if let Step::Pass(ms) = step {
            self.now_ms += ms;
        }
        let (epoch, now) = (self.epoch, at(self.now_ms));
        let Some((replies, events)) = self.run(step, epoch, now) else {
            return;
        };
        judge(&Scene { before: &before, after: &self.space, step, now, events: &events, replies });
    }

    fn run(&mut self, step: &Step, epoch: Epoch, now: Timestamp) -> Option<Outcome> {
        let one = |id: LeaseId, reply: Reply<LeaseStatus>| (vec![(id, reply.answer)], reply.events);
        Some(match step {
            Step::Acquire(ask) => {
                let request = self.request(ask)?;
                self.acquire(&request, Arrival::New)
            }
            Step::Resend(index) => {
                let request = self.pick(*index)?;
                self.acquire(&request, Arrival::New)
            }
            Step::Renew(first, second) => {
                let ids = [self.pick(*first)?.lease(), self.pick(*second)?.lease()];
                let reply = self.space.renew(epoch, &ids, now);
                let replies = ids.into_iter().zip(reply.answer.unwrap());
                let replies = replies.map(|(id, standing)| (id, Ok(standing)));
                (replies.collect(), reply.events)
            }
            Step::Release(index) => {
                let id = self.pick(*index)?.lease();
                one(id, self.space.release(epoch, id, now))
            }
            Step::Cancel(index) => {
                let id = self.pick(*index)?.lease();
                one(id, self.space.cancel(epoch, id, now))
            }
            Step::Break(index) => {
                let id = self.pick(*index)?.lease();
                one(id, self.space.break_lease(epoch, id, now))
            }
            Step::Refence(index, above) => {
                let id = self.pick(*index)?.lease();
                let floor = FencingToken::new(epoch, self.space.tokens + above).unwrap();
                one(id, self.space.refence(epoch, id, floor, now))
            }
            Step::Register(index) => {
                let id = self.pick(*index)?.lease();
                one(id, self.space.register(epoch, id, now))
            }
            Step::Sweep(limit) => {
                let reply = self.space.sweep(epoch, *limit, now);
                (Vec::new(), reply.events)
            }
            Step::Pass(_) => (Vec::new(), Vec::new()),
            Step::Rebuild(left_out) => {
                self.lose(*left_out, now);
                (Vec::new(), Vec::new())
            }
            Step::ComeBack(index) => {
                let index = index.checked_rem(self.lost.len())?;
                let (request, order) = self.lost.remove(index);
                self.acquire(&request, Arrival::Waited(order))
            }
            Step::Adopt => {
                let hold = self.forgotten.take()?;
                let id = hold.request.lease();
                // PostgreSQL would not have registered two leases that conflict.
                let fits = hold.request.set().iter().all(|(name, mode)| {
                    let registered = self.space.leases().filter(|lease| {
                        lease.registered
                            && matches!(lease.state, LeasePhase::Granted | LeasePhase::Delayed)
                            && lease.request.lease() != id
                    });
                    let modes = registered.filter_map(|lease| lease.request.set().mode_of(name));
                    fits(mode, &modes.collect::<Vec<_>>())
                });
                if !fits {
                    return None;
                }
                one(id, self.space.adopt(epoch, hold, now))
            }
        })
    }

    fn lose(&mut self, left_out: usize, now: Timestamp) {
        let known = |state| {
            let leases = self.space.leases();
            leases.filter(move |lease| lease.state == state && !lease.is_due(now))
        };
        self.lost = known(LeasePhase::Waiting)
            .map(|lease| (lease.request.clone(), lease.order.unwrap()))
            .collect();
        let mut holds: Vec<LiveHold> = known(LeasePhase::Granted)
            .filter(|lease| lease.registered)
            .map(|lease| LiveHold {
                request: lease.request.clone(),
                token: lease.token.unwrap(),
                deadline: lease.deadline,
            })
            .collect();
        let left_out = left_out.checked_rem(holds.len());
        self.forgotten = left_out.map(|index| holds.remove(index));
        self.epoch = self.epoch.next().unwrap();
        let until = now.plus(ms(300));
        self.space.rebuild(self.epoch, holds, Some(until)).answer.unwrap();
    }
}

// Oracles: independent restatements of the rules over the records.

fn fits(mode: Mode, others: &[Mode]) -> bool {
    match mode {
        Mode::Exclusive => others.is_empty(),
        Mode::Shared => others.iter().all(|other| matches!(other, Mode::Shared)),
        Mode::Counting { capacity } => {
            let mut capacities = vec![capacity];
            for other in others {
                let Mode::Counting { capacity } = other else {
                    return false;
                };
                capacities.push(*capacity);
            }
            let least = *capacities.iter().min().unwrap();
            capacities.len() <= usize::try_from(least).unwrap()
        }
    }
}

fn holds(lease: &Lease) -> bool {
    lease.state == LeasePhase::Granted || lease.state == LeasePhase::Delayed
}

/// Returns the resources on which this waiter has to wait, from the records alone.
fn blocked_on(space: &Space, waiter: &Lease) -> BTreeSet<ResourceRef> {
    let wanted = waiter.request.set().iter();
    wanted
        .filter(|(name, mode)| {
            let ahead = space.leases().filter(|lease| {
                holds(lease) || lease.state == LeasePhase::Waiting && lease.order < waiter.order
            });
            let modes: Vec<_> =
                ahead.filter_map(|lease| lease.request.set().mode_of(name)).collect();
            !fits(*mode, &modes)
        })
        .map(|(name, _)| name.clone())
        .collect()
}

fn clash(one: Mode, other: Mode) -> bool {
    one == X || other == X
}

fn owner_number(lease: &Lease) -> usize {
    (0..OWNERS).position(|number| owner(number) == lease.request.owner()).unwrap()
}

/// Returns who waits for whom, as a matrix over owners, from the records.
fn edges(space: &Space, now: Timestamp) -> Vec<Vec<bool>> {
    let count = usize::try_from(OWNERS).unwrap();
    let mut direct = vec![vec![false; count]; count];
    let live: Vec<&Lease> = space.leases().filter(|l| l.deadline > now).collect();
    for waiter in live.iter().filter(|l| l.state == LeasePhase::Waiting) {
        for other in &live {
            let ahead = other.state == LeasePhase::Granted
                || other.state == LeasePhase::Waiting && other.order < waiter.order;
            let counted = |mode: Mode| mode != X && mode != S;
            let clashes = waiter.request.set().iter().any(|(name, mode)| {
                let held = other.request.set().mode_of(name);
                held.is_some_and(|held| !counted(held) && !counted(mode) && clash(mode, held))
            });
            if ahead && clashes {
                direct[owner_number(waiter)][owner_number(other)] = true;
            }
        }
    }
    direct
}

/// Computes reachability by one or more edges (Floyd–Warshall).
fn closure(space: &Space, now: Timestamp) -> Vec<Vec<bool>> {
    let mut reach = edges(space, now);
    let count = reach.len();
    for middle in 0..count {
        for from in 0..count {
            for to in 0..count {
                reach[from][to] |= reach[from][middle] && reach[middle][to];
            }
        }
    }
    reach
}

fn has_cycle(space: &Space, now: Timestamp) -> bool {
    let reach = closure(space, now);
    (0..reach.len()).any(|node| reach[node][node])
}

fn play(steps: &[Step], mut judge: impl FnMut(&Scene<'_>)) {
    let mut world = World::new();
    for step in steps {
        world.play(step, &mut judge);
    }
}

/// The properties below are meaningful only if the sequences reach the interesting cases.
#[test]
fn random_sequences_reach_every_event_and_refusal() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut met: BTreeSet<String> = BTreeSet::new();
    let first_word = |text: String| text.split([' ', '{', '(']).next().unwrap().to_owned();
    for _ in 0..150 {
        let steps = any_steps().new_tree(&mut runner).unwrap().current();
        play(&steps, |scene| {
            met.extend(scene.events.iter().map(|e| first_word(format!("{e:?}"))));
            let refusals = scene.replies.iter().filter_map(|(_, reply)| reply.as_ref().err());
            met.extend(refusals.map(|refusal| first_word(format!("{refusal:?}"))));
            met.extend(scene.after.leases().map(|lease| format!("{:?}", lease.state)));
        });
    }
    let expected = "Acquired Queued Promoted Released Expired TimedOut Broken Displaced Deadlock \
        Unsure Busy SelfConflict AlreadyWaiting AlreadyRegistered NotFenced \
        Waiting Granted Delayed Victim";
    let missing: Vec<_> = expected.split(' ').filter(|name| !met.contains(*name)).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

fn tokens_in(events: &[LockEvent]) -> impl Iterator<Item = (LeaseId, FencingToken)> {
    events.iter().filter_map(|event| match event {
        LockEvent::Acquired { lease, token } | LockEvent::Promoted { lease, token } => {
            Some((*lease, *token))
        }
        LockEvent::Queued { .. }
        | LockEvent::Released { .. }
        | LockEvent::Expired { .. }
        | LockEvent::TimedOut { .. }
        | LockEvent::Broken { .. }
        | LockEvent::Displaced { .. }
        | LockEvent::Deadlock { .. } => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exclusivity_holds_after_every_step(steps in any_steps()) {
        play(&steps, |scene| {
            let holding: Vec<_> = scene.after.leases().filter(|lease| holds(lease)).collect();
            for one in &holding {
                for other in &holding {
                    if one.request.lease() == other.request.lease() {
                        continue;
                    }
                    for (name, mode) in one.request.set().iter() {
                        let Some(held) = other.request.set().mode_of(name) else {
                            continue;
                        };
                        let alike = std::mem::discriminant(&mode) == std::mem::discriminant(&held);
                        assert!(alike && mode != X, "{name}: {mode:?} beside {held:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn capacity_is_never_exceeded(steps in any_steps()) {
        play(&steps, |scene| {
            for name in NAMES.map(resource) {
                let modes: Vec<_> = scene.after.leases().filter(|lease| holds(lease))
                    .filter_map(|lease| lease.request.set().mode_of(&name))
                    .collect();
                for mode in &modes {
                    if let Mode::Counting { capacity } = mode {
                        assert!(modes.len() <= usize::try_from(*capacity).unwrap());
                    }
                }
            }
        });
    }

    /// A lease that waits through a step is not blocked by more leases than before. Only a boost,
    /// a returning place or a takeover may step ahead; those have their own tests.
    #[test]
    fn overtaking_without_a_boost_never_happens(steps in any_steps()) {
        play(&steps, |scene| {
            let steps_ahead = match scene.step {
                Step::Acquire(ask) => ask.boost > 0,
                Step::Resend(_) | Step::ComeBack(_) | Step::Adopt | Step::Rebuild(_) => true,
                Step::Renew(..) | Step::Release(_) | Step::Cancel(_) | Step::Break(_)
                | Step::Refence(..) | Step::Register(_) | Step::Sweep(_) | Step::Pass(_) => false,
            };
            if steps_ahead {
                return;
            }
            for waiter in scene.before.leases().filter(|l| l.state == LeasePhase::Waiting) {
                let Some(still) = scene.after.lease(waiter.request.lease()) else {
                    continue;
                };
                if still.state == LeasePhase::Waiting {
                    let now = blocked_on(scene.after, still);
                    let then = blocked_on(scene.before, waiter);
                    assert!(now.is_subset(&then), "{now:?} from {then:?}");
                }
            }
        });
    }

    /// A grant from the queue never passes an earlier waiter that it conflicts with.
    #[test]
    fn overtaking_by_promotion_never_happens(steps in any_steps()) {
        play(&steps, |scene| {
            for (id, _) in tokens_in(scene.events) {
                let Some(granted) = scene.after.lease(id) else { continue };
                let Some(order) = granted.order else { continue };
                if granted.state != LeasePhase::Granted {
                    continue;
                }
                for waiter in scene.before.leases().filter(|l| l.state == LeasePhase::Waiting) {
                    let still = scene.after.lease(waiter.request.lease());
                    if still.is_none_or(|still| still.state != LeasePhase::Waiting) {
                        continue;
                    }
                    let clashes = granted.request.set().iter().any(|(name, mode)| {
                        waiter.request.set().mode_of(name).is_some_and(|wanted| {
                            std::mem::discriminant(&mode) != std::mem::discriminant(&wanted)
                                || mode == X
                        })
                    });
                    assert!(!clashes || waiter.order > Some(order));
                }
            }
        });
    }

    #[test]
    fn bounded_overtaking_a_boost_of_k_passes_at_most_k(steps in any_steps()) {
        let mut passed_by: BTreeMap<LeaseId, BTreeSet<LeaseId>> = BTreeMap::new();
        play(&steps, |scene| {
            let Step::Acquire(ask) = scene.step else { return };
            let (id, _) = scene.replies[0];
            let Some(newcomer) = scene.after.lease(id) else { return };
            // Waiters that were there before, conflict, and are now behind: by place if it waits,
            // or by still being queued if it holds.
            let passed: Vec<_> = scene.before.leases()
                .filter(|l| l.state == LeasePhase::Waiting)
                .filter_map(|l| scene.after.lease(l.request.lease()))
                .filter(|l| l.state == LeasePhase::Waiting)
                .filter(|l| {
                    let clashes = newcomer.request.set().iter().any(|(name, mode)| {
                        l.request.set().mode_of(name).is_some_and(|wanted| {
                            std::mem::discriminant(&mode) != std::mem::discriminant(&wanted)
                                || mode == X
                        })
                    });
                    clashes && match newcomer.state {
                        LeasePhase::Waiting => newcomer.order < l.order,
                        LeasePhase::Granted =>
                            newcomer.order.is_none_or(|order| Some(order) < l.order),
                        LeasePhase::Delayed | LeasePhase::Released | LeasePhase::Expired
                        | LeasePhase::Broken
                        | LeasePhase::TimedOut | LeasePhase::Victim => false,
                    }
                })
                .map(|l| l.request.lease())
                .collect();
            assert!(passed.len() <= usize::try_from(ask.boost).unwrap(), "{passed:?}");
            for waiter in passed {
                let overtakers = passed_by.entry(waiter).or_default();
                overtakers.insert(id);
                assert!(overtakers.len() <= usize::try_from(LOCK_BOOST_MAX).unwrap());
            }
        });
    }

    #[test]
    fn work_conservation_no_grantable_waiter_waits(steps in any_steps()) {
        play(&steps, |scene| {
            for waiter in scene.after.leases().filter(|l| l.state == LeasePhase::Waiting) {
                if waiter.deadline > scene.now {
                    let blocked = blocked_on(scene.after, waiter);
                    assert!(!blocked.is_empty(), "{:?} may go", waiter.request.lease());
                }
            }
        });
    }

    #[test]
    fn wait_graph_is_acyclic_after_every_step(steps in any_steps()) {
        play(&steps, |scene| assert!(!has_cycle(scene.after, scene.now)));
    }

    /// No wait is aborted needlessly: with the newcomer queued and no lease aborted there is a
    /// cycle, the first victim is the youngest on a cycle, and the named cycle is a real one.
    #[test]
    fn deadlock_victims_are_needed_and_the_youngest(steps in any_steps()) {
        let mut world = World::new();
        for step in &steps {
            // Swept before the step, so that the space before the search is the one before the
            // step plus the newcomer.
            let (epoch, now) = (world.epoch, at(world.now_ms));
            while world.space.sweep(epoch, 100, now).answer.unwrap() > 0 {}
            world.play(step, &mut |scene| {
                let Step::Acquire(_) = scene.step else { return };
                let named = scene.events.iter().find_map(|event| match event {
                    LockEvent::Deadlock { victim, cycle } => Some((*victim, cycle)),
                    LockEvent::Acquired { .. } | LockEvent::Queued { .. }
                    | LockEvent::Promoted { .. }
                    | LockEvent::Released { .. } | LockEvent::Expired { .. }
                    | LockEvent::TimedOut { .. }
                    | LockEvent::Broken { .. } | LockEvent::Displaced { .. } => None,
                });
                let Some((victim, cycle)) = named else { return };
                let (newcomer, _) = scene.replies[0];
                let mut unsearched = scene.before.clone();
                let mut lease = scene.after.lease(newcomer).unwrap().clone();
                lease.state = LeasePhase::Waiting;
                lease.deadline = now.plus(ms(1));
                unsearched.put(lease);
                let reach = closure(&unsearched, now);
                let on_a_cycle = unsearched.leases()
                    .filter(|l| l.state == LeasePhase::Waiting)
                    .filter(|l| reach[owner_number(l)][owner_number(l)]);
                let youngest = on_a_cycle.max_by_key(|l| (l.request.birth(), l.request.lease()));
                assert_eq!(youngest.map(|l| l.request.lease()), Some(victim));
                assert_eq!(cycle.first(), Some(&victim));
                let direct = edges(&unsearched, now);
                let owners: Vec<_> = cycle.iter()
                    .map(|id| owner_number(unsearched.lease(*id).unwrap()))
                    .collect();
                let next = owners.iter().cycle().skip(1);
                assert!(owners.iter().zip(next).all(|(from, to)| direct[*from][*to]));
            });
        }
    }

    #[test]
    fn tokens_and_places_are_unique_and_rise(steps in any_steps()) {
        let mut last_token = None;
        let mut last_arrival = None;
        play(&steps, |scene| {
            let minted = tokens_in(scene.events).map(|(_, token)| token);
            let refenced = match scene.step {
                Step::Refence(..) => scene.replies.iter().find_map(|(id, standing)| {
                    let old = scene.before.lease(*id)?;
                    match standing {
                        Ok(LeaseStatus::Granted { token, .. }) if old.token.is_some() =>
                            Some(*token),
                        _ => None,
                    }
                }),
                _ => None,
            };
            for token in minted.chain(refenced) {
                assert!(Some(token) > last_token);
                last_token = Some(token);
            }
            if let Step::Acquire(_) = scene.step {
                for (_, standing) in &scene.replies {
                    if let Ok(LeaseStatus::Waiting { order, .. }) = standing {
                        assert!(Some(order.arrival()) > last_arrival);
                        last_arrival = Some(order.arrival());
                    }
                }
            }
            let places = scene.after.leases().filter_map(|lease| lease.order);
            let count = scene.after.leases().filter(|lease| lease.order.is_some()).count();
            assert_eq!(places.collect::<BTreeSet<_>>().len(), count);
        });
    }

    /// Tables rebuilt from the records equal those of the space. It follows that a set is in the
    /// tables of all of its resources or of none.
    #[test]
    fn tables_agree_with_the_records_and_sets_are_whole(steps in any_steps()) {
        play(&steps, |scene| {
            let space = scene.after;
            let (mut held, mut queued) = (BTreeSet::new(), BTreeSet::new());
            let mut owners = BTreeMap::new();
            for lease in space.leases() {
                let id = lease.request.lease();
                for (name, mode) in lease.request.set().iter() {
                    if holds(lease) {
                        held.insert((name.clone(), id, mode));
                    }
                    if lease.state == LeasePhase::Waiting {
                        queued.insert((name.clone(), lease.order.unwrap(), id, mode));
                    }
                }
                if lease.state == LeasePhase::Waiting {
                    assert_eq!(owners.insert(lease.request.owner(), id), None);
                }
                assert!(lease.state != LeasePhase::Granted || lease.token.is_some());
            }
            let table: BTreeSet<_> = space.holders.iter()
                .flat_map(|(name, table)| table.iter().map(|(id, mode)| (name.clone(), *id, *mode)))
                .collect();
            assert_eq!(table, held);
            let table: BTreeSet<_> = space.queues.iter()
                .flat_map(|(name, table)| table.iter()
                    .map(|((order, id), mode)| (name.clone(), *order, *id, *mode)))
                .collect();
            assert_eq!(table, queued);
            assert_eq!(&space.waiting, &owners);
            let deadlines = space.leases().map(|lease| (lease.deadline, lease.request.lease()));
            assert_eq!(&space.deadlines, &deadlines.collect::<BTreeSet<_>>());
            assert!(space.holders.values().all(|table| !table.is_empty()));
            assert!(space.queues.values().all(|table| !table.is_empty()));
        });
    }

    #[test]
    fn expired_is_never_revived_and_tombstones_refuse_resurrection(steps in any_steps()) {
        play(&steps, |scene| {
            if matches!(scene.step, Step::Rebuild(_)) {
                return;
            }
            for lease in scene.before.leases() {
                let id = lease.request.lease();
                let after = scene.after.lease(id).map(|lease| lease.state);
                let was_over = lease.state.is_over();
                let was_due = lease.deadline <= scene.now;
                if was_over && !was_due {
                    assert_eq!(after, Some(lease.state));
                }
                if was_due && !was_over {
                    // It may not have been swept yet, but its deadline must not have moved on.
                    let untouched = scene.after.lease(id) == Some(lease);
                    let gone = after.is_none_or(|s| s.is_over() || s == LeasePhase::Delayed);
                    assert!(untouched || gone, "{after:?}");
                    for (asked, standing) in &scene.replies {
                        let alive = matches!(
                            standing,
                            Ok(LeaseStatus::Granted { .. } | LeaseStatus::Waiting { .. })
                        );
                        assert!(*asked != id || !alive);
                    }
                }
            }
        });
    }

    /// A call repeated at the same instant returns the same and changes nothing.
    #[test]
    fn commands_are_idempotent(steps in any_steps()) {
        let mut world = World::new();
        for step in &steps {
            world.play(step, &mut |_| {});
            let (epoch, now) = (world.epoch, at(world.now_ms));
            // Sweeps everything first, so that only the command itself can change anything.
            while world.space.sweep(epoch, 100, now).answer.unwrap() > 0 {}
            let Some(request) = world.asked.last().cloned() else { continue };
            let id = request.lease();
            let first = world.space.acquire(epoch, request.clone(), Arrival::New, now);
            let after = world.space.clone();
            let second = world.space.acquire(epoch, request, Arrival::New, now);
            assert_eq!(&first.answer, &second.answer);
            assert_eq!((&world.space, &second.events), (&after, &Vec::new()));
            for _ in 0..2 {
                let mut copy = after.clone();
                let first = copy.release(epoch, id, now);
                let once = copy.clone();
                assert_eq!(copy.release(epoch, id, now).answer, first.answer);
                assert_eq!(copy, once);
            }
        }
    }
}
