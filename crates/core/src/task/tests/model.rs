//! Every interleaving of a small lifecycle: two reviewers, one agent, an author who amends and
//! cancels, an operator who freezes, a holder that crashes, and timers that fire when due.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::actor::Actor;
use crate::approval::Answer;
use crate::change::Digest;
use crate::freeze::{Freeze, FreezeExtent};
use crate::ids::FreezeId;
use crate::policy::Document;
use crate::samples::*;
use crate::task::*;
use crate::time::Timestamp;

#[expect(clippy::struct_excessive_bools, reason = "independent observations of one run")]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    task: Task,
    is_frozen: bool,
    holder_is_dead: bool,
    now: Timestamp,
    /// Whether a permit was given, or an attempt begun, without an agreement, checked
    /// independently.
    started_without_agreement: bool,
    /// Whether a permit was given, or an attempt begun, while frozen.
    started_while_frozen: bool,
    approved_by_timer: bool,
    amendments: u8,
}

/// The checker compares only what matters; approvals follow from votes and people.
impl Hash for Life {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let task = &self.task;
        (task.state, task.revision, task.round, task.content.digest, task.attempts).hash(hasher);
        for vote in &task.votes {
            (vote.voter, vote.answer, vote.digest, vote.revision, vote.round).hash(hasher);
            (vote.effectual, vote.withdrawn, vote.at).hash(hasher);
        }
        let execution = task.execution.as_ref();
        execution.map(|run| (run.begun_at, run.abort_requested)).hash(hasher);
        (self.is_frozen, self.holder_is_dead, self.now, self.amendments).hash(hasher);
        task.basis.is_some().hash(hasher);
        (self.started_without_agreement, self.started_while_frozen).hash(hasher);
        self.approved_by_timer.hash(hasher);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Order(Actor, Box<Command>),
    Freeze,
    Thaw,
    Crash,
    /// Past every deadline of the policy.
    TimePasses,
}

#[derive(Debug, Clone)]
struct Lifecycle {
    world: World,
    /// Plants the fault that the properties must find.
    skips_basis: bool,
}

const BASIS: &str = "no APPLYING without a valid basis on the current digest";
const AMENDMENTS_MAX: u8 = 1;
/// Enough for both reviewers to approve and for one of them to change their mind.
const VOTES_MAX: usize = 3;
const ROUNDS_MAX: u32 = 1;

impl Lifecycle {
    fn new(skips_basis: bool) -> Self {
        let document =
            Document { respond_within: Some(hours(1)), approval_valid_for: hours(1), ..two_dbas() };
        Self { world: World::new([document]), skips_basis }
    }

    fn world(&self, life: &Life) -> World {
        let mut world = self.world.clone();
        if life.is_frozen {
            world.freezes = vec![Freeze {
                id: FreezeId::from_u128(1),
                scope: FreezeExtent::Tenant,
                reason: "stop".to_owned(),
                set_by: ADMIN,
                ends_at: None,
            }];
        }
        world.hold_is_over = life.holder_is_dead;
        world.hold_is_fenced = life.holder_is_dead;
        world.lock_delay_is_over = life.holder_is_dead;
        world
    }

    /// Returns whether two different humans approved exactly this effect, counted independently of
    /// the rules.
    fn has_agreement(task: &Task, now: Timestamp) -> bool {
        let digest: Digest = task.content.digest;
        let yes: BTreeSet<_> = [ALICE, BOB]
            .into_iter()
            .filter(|voter| {
                let last = task.votes.iter().rfind(|vote| {
                    vote.voter == *voter && vote.effectual && vote.round == task.round
                });
                last.is_some_and(|vote| {
                    vote.digest == digest
                        && now < vote.at.plus(hours(1))
                        && !vote.withdrawn
                        && vote.answer == Answer::Approve
                })
            })
            .collect();
        yes.len() == 2
    }

    fn orders(life: &Life, world: &World) -> Vec<(Actor, Command)> {
        let task = &life.task;
        let mut orders = vec![
            (user(AUTHOR), Command::Submit { content: task.content.clone(), pins: world.pins() }),
            (user(AUTHOR), Command::Cancel { reason: None }),
            (worker(), Command::OpenReview),
            (worker(), Command::Expire),
            (worker(), Command::ReopenReview(Reopen::BasisLost)),
            (worker(), Command::RequeueApply),
            (worker(), Command::LoseApply),
        ];
        if task.votes.len() < VOTES_MAX {
            for voter in [ALICE, BOB] {
                orders.push((user(voter), yes(task)));
                orders.push((user(voter), Command::WithdrawVote));
            }
            orders.push((user(BOB), no(task)));
        }
        if task.round < ROUNDS_MAX {
            orders.push((user(ALICE), vote(task, Answer::RequestChanges)));
        }
        if life.amendments < AMENDMENTS_MAX {
            for seed in ["first", "second"] {
                let mut content = content(seed);
                content.subject.tags.insert(format!("amended {}", life.amendments));
                orders.push((user(AUTHOR), Command::Amend { content }));
            }
        }
        if !life.holder_is_dead {
            orders.push((agent(), world.start()));
            orders.push((agent(), world.begin()));
            let gates = world.gates();
            orders.push((agent(), Command::WithdrawPermit { hold: HOLD, gates }));
            orders.push((
                agent(),
                Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded },
            ));
            orders.push((agent(), Command::FailApply { hold: HOLD, remains: Remains::Changed }));
        }
        orders
    }
}

impl Model for Lifecycle {
    type State = Life;
    type Action = Step;

    fn init_states(&self) -> Vec<Life> {
        vec![Life {
            task: draft(),
            is_frozen: false,
            holder_is_dead: false,
            now: at(0),
            started_without_agreement: false,
            started_while_frozen: false,
            approved_by_timer: false,
            amendments: 0,
        }]
    }

    fn actions(&self, life: &Life, steps: &mut Vec<Step>) {
        let world = self.world(life);
        for (actor, command) in Self::orders(life, &world) {
            if find_move(command.kind(), life.task.state)
                .is_some_and(|row| row.weight == Weight::Act)
            {
                steps.push(Step::Order(actor, Box::new(command)));
            }
        }
        // Only the permit and the beginning check a freeze: toggling it elsewhere multiplies
        // states, not cases.
        let has_begun = life.task.execution.as_ref().is_some_and(|run| run.begun_at.is_some());
        if matches!(life.task.state, State::Approved | State::Applying) && !has_begun {
            steps.push(if life.is_frozen { Step::Thaw } else { Step::Freeze });
        }
        if life.task.state == State::Applying && !life.holder_is_dead {
            steps.push(Step::Crash);
        }
        if life.now == at(0) {
            steps.push(Step::TimePasses);
        }
    }

    fn next_state(&self, life: &Life, step: Step) -> Option<Life> {
        let mut next = life.clone();
        let world = self.world(life);
        match step {
            Step::Freeze => next.is_frozen = true,
            Step::Thaw => next.is_frozen = false,
            Step::Crash => next.holder_is_dead = true,
            Step::TimePasses => next.now = at(3 * 3600),
            Step::Order(actor, command) => {
                let is_start = command.kind() == CommandKind::StartApply;
                let decision = if is_start && self.skips_basis {
                    start_unchecked(&life.task, life.now)
                } else {
                    decide(&life.task, &command, &world.facts(&actor), life.now).ok()?
                };
                next.task = life.task.after(&decision, life.now)?;
                if next.task.attempts > 1 {
                    return None;
                }
                next.amendments += u8::from(command.kind() == CommandKind::Amend);
                let has_agreement = Self::has_agreement(&life.task, life.now);
                let is_entry = is_start || command.kind() == CommandKind::BeginApply;
                next.started_without_agreement |= is_entry && !has_agreement;
                next.started_while_frozen |= is_entry && life.is_frozen;
                let became_approved =
                    life.task.state != State::Approved && next.task.state == State::Approved;
                let is_by_timer = matches!(
                    *command,
                    Command::Expire | Command::ReopenReview(_) | Command::Escalate(_)
                );
                next.approved_by_timer |= became_approved && is_by_timer;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(BASIS, |_, life: &Life| !life.started_without_agreement),
            Property::always("nothing starts or begins while frozen", |_, life: &Life| {
                !life.started_while_frozen
            }),
            Property::always("no path to APPROVED has a timer as actor", |_, life: &Life| {
                !life.approved_by_timer
            }),
            Property::sometimes("COMPLETED", |_, life: &Life| life.task.state == State::Completed),
            Property::sometimes("UNKNOWN after a crash", |_, life: &Life| {
                life.task.state == State::Unknown
            }),
            Property::sometimes("applied after an amendment", |_, life: &Life| {
                life.task.state == State::Completed && life.amendments > 0
            }),
        ]
    }
}

/// The decision of a permit that does not check the basis.
fn start_unchecked(task: &Task, now: Timestamp) -> Decision {
    let execution = Execution {
        id: ATTEMPT,
        holder: agent(),
        hold: HOLD,
        started_at: now,
        begun_at: None,
        abort_requested: false,
    };
    Decision {
        from: Some(task.state),
        to: To::State(State::Applying),
        writes: vec![Write::StartExecution(execution)],
        events: Vec::new(),
    }
}

#[test]
fn lifecycle_invariants_hold_in_every_interleaving() {
    let checker = Lifecycle::new(false).checker().threads(2).spawn_bfs().join();
    println!("lifecycle model: {} unique states", checker.unique_state_count());
    checker.assert_properties();
    assert!(checker.unique_state_count() > 1_000, "the model explored too few states");
}

#[test]
fn lifecycle_model_finds_a_permit_that_skips_its_basis() {
    let checker = Lifecycle::new(true)
        .checker()
        .finish_when(HasDiscoveries::AllOf([BASIS].into()))
        .spawn_bfs()
        .join();
    let found = checker.discovery(BASIS);
    assert!(found.is_some(), "the properties miss the planted fault");
}
