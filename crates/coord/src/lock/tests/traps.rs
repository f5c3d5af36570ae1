//! Regression tests for known mistakes in lock implementations: the smallest case that shows each
//! mistake, on the real scripts. The rig compares every step with the model, and each case has its
//! own assertions. The cases also run on every mutant.

use std::time::Duration;

use ade_core::ids::{LeaseId, ProcessId, TaskId};
use ade_core::limits::{LEASE_TTL_MAX, LOCK_HOLD_MAX, LOCK_QUEUE_DEPTH_MAX, LOCKS_PER_AGENT_MAX};
use ade_core::lock::{
    Arrival, Epoch, FencingToken, LeaseClass, LeasePhase, LeaseStatus, LiveHold, LockEvent,
    LockRefusal, LockSet, Mode, Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::super::scripts::{Scripts, Sources};
use super::rig::{Bench, LockCall, ModelHarness, ModelReplies};

type Outcome = Result<(), String>;

fn resource(name: &str) -> ResourceRef {
    ResourceRef::new("db", name).unwrap()
}

fn lease(number: u128) -> LeaseId {
    LeaseId::from_u128(number)
}

/// Parses `"a x b s d 3"`: a exclusive, b shared, d counting to three.
fn set(wanted: &str) -> LockSet {
    let words: Vec<&str> = wanted.split(' ').collect();
    let pairs = words.chunks(2).map(|pair| {
        let mode = match pair[1] {
            "x" => Mode::Exclusive,
            "s" => Mode::Shared,
            count => Mode::Counting { capacity: count.parse().unwrap() },
        };
        (resource(pair[0]), mode)
    });
    LockSet::new(pairs).unwrap()
}

/// A fenced request with 30 s of lease, 20 s of wait and no boost.
fn draft(number: u128, owner: u128, wanted: &str) -> RequestDraft {
    RequestDraft {
        lease: lease(number),
        owner: Owner::Task(TaskId::from_u128(owner)),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(0),
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
        set: set(wanted),
        ttl: Duration::from_secs(30),
        wait: Duration::from_secs(20),
        boost: 0,
    }
}

pub fn ask(number: u128, owner: u128, wanted: &str) -> Request {
    Request::new(draft(number, owner, wanted)).unwrap()
}

fn build(draft: RequestDraft) -> Request {
    Request::new(draft).unwrap()
}

fn born(number: u128, owner: u128, wanted: &str, birth: i64, boost: u32) -> Request {
    let birth = Timestamp::from_micros(birth);
    build(RequestDraft { birth, boost, ..draft(number, owner, wanted) })
}

/// The request of a separate process of the agent; the agent's limit still applies.
fn of_agent(number: u128, agent: &str, wanted: &str) -> RequestDraft {
    let owner = Owner::Agent(ProcessId::from_u128(number));
    let node = format!("{agent}@node-{number}");
    RequestDraft { owner, node, ..draft(number, number, wanted) }
}

/// This many resources that no other request uses, as [`set`] reads them.
fn many(number: u128, count: usize, mode: &str) -> String {
    let named = (0..count).map(|at| format!("{number}-{at} {mode}"));
    named.collect::<Vec<_>>().join(" ")
}

async fn open(bench: &Bench) -> Result<ModelHarness, String> {
    let mut rig = bench.space();
    rig.call(&LockCall::Rebuild(Vec::new(), None)).await?;
    Ok(rig)
}

async fn acquire(rig: &mut ModelHarness, request: Request) -> Result<ModelReplies, String> {
    rig.call(&LockCall::Acquire(request, Arrival::New)).await
}

async fn acquire_all(
    rig: &mut ModelHarness,
    requests: impl IntoIterator<Item = Request>,
) -> Outcome {
    for request in requests {
        acquire(rig, request).await?;
    }
    Ok(())
}

fn state(rig: &ModelHarness, number: u128) -> Option<LeasePhase> {
    rig.model.lease(lease(number)).map(|lease| lease.state)
}

fn must(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(format!("not so: {what}")) }
}

macro_rules! traps {
    ($($name:ident)+) => {
        $(#[tokio::test]
        async fn $name() {
            let bench = Bench::open().await;
            cases::$name(&bench).await.unwrap_or_else(|message| panic!("{message}"));
        })+

        /// Runs all cases up to the first failure.
        pub async fn all(bench: &Bench) -> Outcome {
            $(cases::$name(bench)
                .await
                .map_err(|message| format!("{}: {message}", stringify!($name)))?;)+
            Ok(())
        }
    };
}

traps! {
    follower_of_a_dead_waiter_is_promoted_on_its_other_queue
    equal_places_from_boosts_are_still_ordered
    boosted_newcomer_that_may_go_is_not_queued
    cycle_closed_by_a_newcomer_that_holds_nothing
    second_cycle_is_broken_after_the_first_victim
    owner_that_waits_is_granted_nothing_else
    owner_does_not_wait_for_itself
    times_and_tokens_lose_no_digit
    cached_epoch_is_refused_by_every_command
    long_queue_is_read_in_pages_and_bounded
    deadlock_behind_a_long_queue_of_writers_is_found
    unconfirmed_grant_can_be_released_by_its_id
    deadlock_event_names_a_shortest_cycle
    adoption_of_a_hold_of_another_owner_is_refused
    owner_queued_behind_its_own_hold_loses_the_wait
    counting_capacity_is_the_lowest_requested_ahead
    tables_longer_than_a_page_are_read_completely
    exhausted_counter_promotes_no_waiter
    waiters_that_claim_one_place_are_ordered_by_id
    adoption_keeps_registered_holds_side_by_side
    owner_with_two_exclusive_leases_can_release_one
    agent_limit_counts_held_and_awaited_resources
    advisory_lease_expires_at_its_maximum_age
}

#[test]
fn scripts_never_wait_for_replicas_or_format_numbers() {
    let scripts = Scripts::new(&Sources::default());
    for script in [&scripts.acquire, &scripts.renew, &scripts.release, &scripts.adopt] {
        for word in ["'WAIT'", "tostring", "KEYS[6]"] {
            assert!(!script.text().contains(word), "{} has {word}", script.name());
        }
    }
}

mod cases {
    use super::*;

    pub async fn follower_of_a_dead_waiter_is_promoted_on_its_other_queue(
        bench: &Bench,
    ) -> Outcome {
        let mut rig = open(bench).await?;
        acquire(&mut rig, ask(1, 1, "a x")).await?;
        let wait = Duration::from_millis(10);
        acquire(&mut rig, build(RequestDraft { wait, ..draft(2, 2, "a x b x") })).await?;
        acquire(&mut rig, ask(3, 3, "b x")).await?;
        // Enough due records ahead that the sweep of the release does not reach the dead waiter.
        for number in 100..104 {
            let ttl = Duration::from_millis(1);
            let short = draft(number, number, &format!("x{number} x"));
            acquire(&mut rig, build(RequestDraft { ttl, ..short })).await?;
        }
        rig.pass(10_000);
        rig.call(&LockCall::Release(lease(1))).await?;
        must(state(&rig, 2) == Some(LeasePhase::TimedOut), "the dead one is dropped")?;
        must(state(&rig, 3) == Some(LeasePhase::Granted), "its follower goes on")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn equal_places_from_boosts_are_still_ordered(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire(&mut rig, ask(1, 1, "a x")).await?;
        for (number, boost) in [(2, 1), (3, 2), (4, 3)] {
            acquire(&mut rig, born(number, number, "a x", 0, boost)).await?;
        }
        let line: Vec<LeaseId> = rig.model.queue(&resource("a")).map(|(id, _)| id).collect();
        must(line == [lease(2), lease(3), lease(4)], "in the order of arrival")?;
        for number in 1..4 {
            rig.call(&LockCall::Release(lease(number))).await?;
            must(state(&rig, number + 1) == Some(LeasePhase::Granted), "one after the other")?;
        }
        rig.clear().await;
        Ok(())
    }

    pub async fn boosted_newcomer_that_may_go_is_not_queued(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a s"), ask(2, 2, "a x")]).await?;
        let wait = Duration::ZERO;
        let plain = build(RequestDraft { wait, ..draft(3, 3, "a s") });
        let said = acquire(&mut rig, plain).await?;
        must(said.refusal == Some(LockRefusal::Busy { resource: resource("a") }), "busy")?;
        acquire(&mut rig, born(4, 4, "a s", 0, 1)).await?;
        must(state(&rig, 4) == Some(LeasePhase::Granted), "granted at its boosted place")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn cycle_closed_by_a_newcomer_that_holds_nothing(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "b x"), ask(2, 2, "a s"), ask(3, 1, "a x")]).await?;
        let said = acquire(&mut rig, born(4, 3, "a x b x", 5, 1)).await?;
        must(
            said.standings == [LeaseStatus::Over { state: LeasePhase::Victim }],
            "the newcomer loses",
        )?;
        let cycle = vec![lease(4), lease(3)];
        let deadlock = LockEvent::Deadlock { victim: lease(4), cycle };
        must(said.events.contains(&deadlock), "and the event names it")?;
        must(state(&rig, 3) == Some(LeasePhase::Waiting), "the older one waits on")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn second_cycle_is_broken_after_the_first_victim(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 2, "b x"), ask(3, 3, "c x")]).await?;
        acquire(&mut rig, born(12, 2, "a s", 20, 0)).await?;
        acquire(&mut rig, born(13, 3, "a s", 30, 0)).await?;
        let said = acquire(&mut rig, born(11, 1, "b x c x", 10, 0)).await?;
        let victims: Vec<LeaseId> = said
            .events
            .iter()
            .filter_map(|event| match event {
                LockEvent::Deadlock { victim, .. } => Some(*victim),
                _ => None,
            })
            .collect();
        must(victims == [lease(13), lease(12)], "both, the youngest first")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn owner_that_waits_is_granted_nothing_else(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 2, "a x")]).await?;
        let said = acquire(&mut rig, ask(3, 2, "free x")).await?;
        let refusal = LockRefusal::AlreadyWaiting { lease: lease(2) };
        must(said.refusal == Some(refusal) && state(&rig, 3).is_none(), "one wait at a time")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn owner_does_not_wait_for_itself(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire(&mut rig, ask(1, 1, "a s slots 1")).await?;
        for (number, name, wanted) in [(2, "a", "a x"), (3, "slots", "slots 1")] {
            let said = acquire(&mut rig, ask(number, 1, wanted)).await?;
            let resource = resource(name);
            must(said.refusal == Some(LockRefusal::SelfConflict { resource }), name)?;
        }
        rig.clear().await;
        Ok(())
    }

    pub async fn times_and_tokens_lose_no_digit(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        rig.now = Timestamp::from_micros(4_102_444_799_123_457);
        acquire(&mut rig, ask(1, 1, "a x")).await?;
        // Just below the last number that a double represents exactly.
        rig.epoch = Epoch::new((1 << 20) - 1).unwrap();
        let hold = LiveHold {
            request: ask(7, 7, "z x"),
            token: FencingToken::new(rig.epoch, (1 << 33) - 4).unwrap(),
            deadline: Timestamp::from_micros(4_102_444_809_123_459),
        };
        rig.call(&LockCall::Rebuild(vec![hold.clone()], None)).await?;
        rig.call(&LockCall::Adopt(hold)).await?;
        acquire(&mut rig, ask(2, 2, "a x")).await?;
        rig.call(&LockCall::Refence(
            lease(2),
            FencingToken::new(rig.epoch, (1 << 33) - 3).unwrap(),
        ))
        .await?;
        let token = rig.model.lease(lease(2)).unwrap().token.map(FencingToken::number);
        must(token == Some((1 << 53) - 2), "the one after the floor")?;
        acquire(&mut rig, ask(3, 3, "b x")).await?;
        let said = acquire(&mut rig, ask(4, 4, "c x")).await?;
        let refusal = LockRefusal::Rebuild { stored: Some(rig.epoch) };
        must(said.refusal == Some(refusal), "no number is left")?;
        rig.pass(29_999_999);
        rig.call(&LockCall::Renew(vec![lease(2)])).await?;
        rig.pass(30_000_000);
        let said = rig.call(&LockCall::Renew(vec![lease(2)])).await?;
        must(
            said.standings == [LeaseStatus::Over { state: LeasePhase::Expired }],
            "at its deadline",
        )?;
        rig.clear().await;
        Ok(())
    }

    pub async fn cached_epoch_is_refused_by_every_command(bench: &Bench) -> Outcome {
        let mut rig = bench.space();
        let (two, three) = (Epoch::new(2).unwrap(), Epoch::new(3).unwrap());
        let token = FencingToken::new(Epoch::FIRST, 1).unwrap();
        let deadline = rig.now.plus(Duration::from_secs(9));
        let hold = LiveHold { request: ask(2, 2, "b x"), token, deadline };
        let calls = [
            LockCall::Acquire(ask(1, 1, "a x"), Arrival::New),
            LockCall::Renew(vec![lease(1)]),
            LockCall::Release(lease(1)),
            LockCall::Cancel(lease(1)),
            LockCall::Break(lease(1)),
            LockCall::Refence(lease(1), token),
            LockCall::Register(lease(1)),
            LockCall::Adopt(hold),
            LockCall::Sweep(9),
        ];
        for call in &calls {
            let said = rig.call(call).await?;
            must(said.refusal == Some(LockRefusal::Rebuild { stored: None }), "empty")?;
        }
        rig.epoch = two;
        rig.call(&LockCall::Rebuild(Vec::new(), None)).await?;
        for (epoch, refusal) in [
            (Epoch::FIRST, LockRefusal::StaleEpoch { stored: two }),
            (three, LockRefusal::Rebuild { stored: Some(two) }),
        ] {
            rig.epoch = epoch;
            for call in &calls {
                let said = rig.call(call).await?;
                must(said.refusal.as_ref() == Some(&refusal), "refused")?;
            }
        }
        rig.epoch = two;
        let said = rig.call(&LockCall::Rebuild(Vec::new(), None)).await?;
        must(said.refusal == Some(LockRefusal::StaleEpoch { stored: two }), "one winner")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn long_queue_is_read_in_pages_and_bounded(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        // In a separate queue: the writer in the middle waits for b.
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 2, "b x")]).await?;
        let half = u128::try_from(LOCK_QUEUE_DEPTH_MAX / 2).unwrap();
        let quiet = |number: u128| {
            let number = 1_000 + number;
            LockCall::Acquire(ask(number, number, "a s"), Arrival::New)
        };
        for number in 0..half {
            rig.call_quietly(&quiet(number)).await?;
        }
        rig.call_quietly(&LockCall::Acquire(ask(3, 3, "a x b x"), Arrival::New)).await?;
        for number in half + 1..2 * half {
            rig.call_quietly(&quiet(number)).await?;
        }
        let one_more = LockCall::Acquire(ask(5, 5, "a s"), Arrival::New);
        let said = rig.call_compared(&one_more).await?;
        must(said.refusal == Some(LockRefusal::QueueFull { resource: resource("a") }), "full")?;
        let said = rig.call_compared(&LockCall::Release(lease(1))).await?;
        let promoted =
            said.events.iter().filter(|e| matches!(e, LockEvent::Promoted { .. })).count();
        must(promoted == LOCK_QUEUE_DEPTH_MAX / 2, "readers up to the writer")?;
        must(rig.model.queue(&resource("a")).next().map(|(id, _)| id) == Some(lease(3)), "first")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn deadlock_behind_a_long_queue_of_writers_is_found(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 2, "b x")]).await?;
        for number in 100..180_u128 {
            let call = LockCall::Acquire(ask(number, number, "a x"), Arrival::New);
            rig.call_quietly(&call).await?;
        }
        acquire(&mut rig, born(12, 2, "a x", 9, 0)).await?;
        let said = acquire(&mut rig, born(11, 1, "b x", 5, 0)).await?;
        let cycle = vec![lease(12), lease(11)];
        let deadlock = LockEvent::Deadlock { victim: lease(12), cycle };
        must(said.events.contains(&deadlock), "found through the whole line")?;
        must(state(&rig, 11) == Some(LeasePhase::Waiting), "and no other lease is affected")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn unconfirmed_grant_can_be_released_by_its_id(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(1, 1, "a x")]).await?;
        for _ in 0..2 {
            let said = rig.call(&LockCall::Release(lease(1))).await?;
            must(
                said.standings == [LeaseStatus::Over { state: LeasePhase::Released }],
                "released",
            )?;
        }
        let said = acquire(&mut rig, ask(1, 1, "a x")).await?;
        must(
            said.standings == [LeaseStatus::Over { state: LeasePhase::Released }],
            "a late duplicate",
        )?;
        acquire(&mut rig, ask(2, 2, "a x")).await?;
        must(state(&rig, 2) == Some(LeasePhase::Granted), "free for the next")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn deadlock_event_names_a_shortest_cycle(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        for (number, name) in [(1, "a x"), (2, "b x"), (3, "c x"), (4, "d x")] {
            acquire(&mut rig, ask(number, number, name)).await?;
        }
        // 2 → 3 → 4, and 4 → 1 closes; 1 → 2 and 1 → 3: the way over 3 is shorter.
        acquire(&mut rig, born(12, 2, "c x", 2, 0)).await?;
        acquire(&mut rig, born(13, 3, "d x", 3, 0)).await?;
        acquire(&mut rig, born(14, 4, "a x", 9, 0)).await?;
        let said = acquire(&mut rig, born(11, 1, "b x c x", 1, 0)).await?;
        let cycle = vec![lease(14), lease(11), lease(13)];
        let deadlock = LockEvent::Deadlock { victim: lease(14), cycle };
        must(said.events.contains(&deadlock), "the shortest way round")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn adoption_of_a_hold_of_another_owner_is_refused(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        let advisory = RequestDraft { class: LeaseClass::Advisory, ..draft(1, 1, "a s") };
        acquire(&mut rig, build(advisory)).await?;
        acquire_all(&mut rig, [ask(2, 2, "a s"), ask(3, 3, "a s")]).await?;
        rig.call(&LockCall::Register(lease(3))).await?;
        let token = FencingToken::new(rig.epoch, 9).unwrap();
        let deadline = rig.now.plus(Duration::from_secs(30));
        let hold = LiveHold { request: ask(4, 4, "b x"), token, deadline };
        rig.call(&LockCall::Adopt(hold)).await?;
        must(state(&rig, 3) == Some(LeasePhase::Granted), "not in the way, not touched")?;
        let hold = LiveHold { request: ask(3, 3, "a s"), token, deadline };
        rig.call(&LockCall::Adopt(hold)).await?;
        let token = FencingToken::new(rig.epoch, 10).unwrap();
        rig.call(&LockCall::Release(lease(3))).await?;
        let hold = LiveHold { request: ask(5, 5, "a x"), token, deadline };
        rig.call(&LockCall::Adopt(hold)).await?;
        must(state(&rig, 1) == Some(LeasePhase::Broken), "an advisory holder loses it")?;
        must(state(&rig, 2) == Some(LeasePhase::Waiting), "an unregistered one goes back in line")?;
        must(state(&rig, 5) == Some(LeasePhase::Granted), "PostgreSQL is right")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn owner_queued_behind_its_own_hold_loses_the_wait(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire(&mut rig, ask(2, 1, "a x")).await?;
        let token = FencingToken::new(rig.epoch, 9).unwrap();
        let deadline = rig.now.plus(Duration::from_secs(30));
        let hold = LiveHold { request: ask(1, 1, "a x"), token, deadline };
        let said = rig.call(&LockCall::Adopt(hold)).await?;
        let cycle = vec![lease(2)];
        let deadlock = LockEvent::Deadlock { victim: lease(2), cycle };
        must(said.events.contains(&deadlock), "it would wait for itself")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn counting_capacity_is_the_lowest_requested_ahead(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "slots 4"), ask(2, 2, "b x")]).await?;
        // This request waits for b and allows only one holder of slots.
        acquire(&mut rig, ask(3, 3, "b x slots 1")).await?;
        acquire(&mut rig, ask(4, 4, "slots 4")).await?;
        must(
            state(&rig, 4) == Some(LeasePhase::Waiting),
            "it does not overtake the waiter with capacity 1",
        )?;
        rig.clear().await;
        Ok(())
    }

    pub async fn tables_longer_than_a_page_are_read_completely(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        let many = 40_u128;
        for number in 100..100 + many {
            let call = LockCall::Acquire(ask(number, number, "a s"), Arrival::New);
            rig.call_quietly(&call).await?;
        }
        acquire_all(&mut rig, [ask(1, 1, "z x"), ask(2, 2, "b x"), ask(3, 3, "d x")]).await?;
        // All holders of a are read; none belongs to the owner.
        acquire(&mut rig, ask(4, 1, "a x")).await?;
        must(state(&rig, 4) == Some(LeasePhase::Waiting), "behind all the readers")?;
        for number in 200..200 + many {
            let call = LockCall::Acquire(ask(number, number, "b x c s"), Arrival::New);
            rig.call_quietly(&call).await?;
        }
        acquire(&mut rig, ask(5, 5, "c s")).await?;
        must(
            state(&rig, 5) == Some(LeasePhase::Granted),
            "the earlier shared waiters do not block it",
        )?;
        for number in 300..300 + many {
            let call = LockCall::Acquire(ask(number, number, "d s"), Arrival::New);
            rig.call_quietly(&call).await?;
        }
        // Owner 3 waits for a reader in the queue of d, far ahead of the writer that closes the
        // cycle.
        acquire(&mut rig, ask(6, 6, "f x")).await?;
        acquire(&mut rig, born(7, 6, "d x", 9, 0)).await?;
        let said = acquire(&mut rig, born(8, 3, "f x", 5, 0)).await?;
        let cycle = vec![lease(7), lease(8)];
        let deadlock = LockEvent::Deadlock { victim: lease(7), cycle };
        must(said.events.contains(&deadlock), "found behind a line of readers")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn exhausted_counter_promotes_no_waiter(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 2, "a x")]).await?;
        let floor = FencingToken::new(rig.epoch, (1 << 33) - 2).unwrap();
        rig.call(&LockCall::Refence(lease(1), floor)).await?;
        let said = rig.call(&LockCall::Refence(lease(1), floor)).await?;
        let refusal = LockRefusal::Rebuild { stored: Some(rig.epoch) };
        must(said.refusal == Some(refusal), "that was the last one")?;
        rig.call_compared(&LockCall::Release(lease(1))).await?;
        must(state(&rig, 2) == Some(LeasePhase::Waiting), "without a token there is no grant")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn waiters_that_claim_one_place_are_ordered_by_id(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 9, "a x"), ask(2, 8, "a x")]).await?;
        let place = rig.model.lease(lease(2)).unwrap().order.unwrap();
        rig.epoch = rig.epoch.next().unwrap();
        rig.call(&LockCall::Rebuild(Vec::new(), None)).await?;
        acquire_all(&mut rig, [ask(11, 9, "a x"), ask(12, 2, "b x")]).await?;
        let claim = |request| LockCall::Acquire(request, Arrival::Waited(place));
        rig.call(&claim(ask(20, 1, "a x b x"))).await?;
        let said = rig.call(&claim(born(21, 2, "a x", 5, 0))).await?;
        let cycle = vec![lease(21), lease(20)];
        let deadlock = LockEvent::Deadlock { victim: lease(21), cycle };
        must(said.events.contains(&deadlock), "the higher id waits for the lower")?;
        rig.clear().await;
        Ok(())
    }

    /// PostgreSQL would not have registered both if they conflicted there.
    pub async fn adoption_keeps_registered_holds_side_by_side(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire(&mut rig, ask(1, 1, "a x")).await?;
        rig.call(&LockCall::Register(lease(1))).await?;
        let token = FencingToken::new(rig.epoch, 9).unwrap();
        let deadline = rig.now.plus(Duration::from_secs(30));
        let hold = LiveHold { request: ask(2, 2, "a x"), token, deadline };
        rig.call_compared(&LockCall::Adopt(hold)).await?;
        must(state(&rig, 1) == Some(LeasePhase::Granted), "registered, so not displaced")?;
        must(state(&rig, 2) == Some(LeasePhase::Granted), "registered, so taken over")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn owner_with_two_exclusive_leases_can_release_one(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        acquire_all(&mut rig, [ask(1, 1, "a x"), ask(2, 1, "b x")]).await?;
        rig.call(&LockCall::Release(lease(1))).await?;
        must(state(&rig, 2) == Some(LeasePhase::Granted), "the other stays")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn agent_limit_counts_held_and_awaited_resources(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        let most = LOCKS_PER_AGENT_MAX / 4;
        let greedy =
            |number, count, mode| build(of_agent(number, "greedy", &many(number, count, mode)));
        acquire_all(&mut rig, (1..=3).map(|number| greedy(number, most, "x"))).await?;
        acquire(&mut rig, build(of_agent(4, "fair", "theirs x"))).await?;
        acquire(&mut rig, build(of_agent(5, "greedy", "theirs x"))).await?;
        must(state(&rig, 5) == Some(LeasePhase::Waiting), "in line")?;
        let taken = 3 * most + 1;
        for mode in ["x", "s"] {
            let said = acquire(&mut rig, greedy(6, most, mode)).await?;
            must(said.refusal == Some(LockRefusal::TooMany { taken }), "a wait is counted")?;
        }
        acquire(&mut rig, greedy(6, most - 1, "s")).await?;
        must(state(&rig, 6) == Some(LeasePhase::Granted), "up to the bound")?;
        let others = [build(of_agent(8, "fair", &many(8, most, "x"))), ask(9, 9, "task x")];
        acquire_all(&mut rig, others).await?;
        must(state(&rig, 8) == Some(LeasePhase::Granted), "another agent has its own count")?;
        must(state(&rig, 9) == Some(LeasePhase::Granted), "a task has none")?;
        rig.call(&LockCall::Release(lease(4))).await?;
        must(state(&rig, 5) == Some(LeasePhase::Granted), "what it waits for it may have")?;
        let said = acquire(&mut rig, greedy(10, 1, "x")).await?;
        let taken = LOCKS_PER_AGENT_MAX;
        must(said.refusal == Some(LockRefusal::TooMany { taken }), "not one more")?;
        rig.call(&LockCall::Release(lease(1))).await?;
        acquire(&mut rig, greedy(10, most, "x")).await?;
        must(state(&rig, 10) == Some(LeasePhase::Granted), "as much as it gave back")?;
        // Expired leases are released as well.
        rig.pass(30_000_000);
        rig.call(&LockCall::Sweep(LOCKS_PER_AGENT_MAX)).await?;
        must(rig.model.taken_by("greedy") == 0, "nothing is left")?;
        acquire(&mut rig, greedy(11, most, "x")).await?;
        must(state(&rig, 11) == Some(LeasePhase::Granted), "and it starts again")?;
        rig.clear().await;
        Ok(())
    }

    pub async fn advisory_lease_expires_at_its_maximum_age(bench: &Bench) -> Outcome {
        let mut rig = open(bench).await?;
        let ttl = LEASE_TTL_MAX;
        let advisory = |number, wanted| {
            let draft = draft(number, number, wanted);
            build(RequestDraft { class: LeaseClass::Advisory, ttl, ..draft })
        };
        // By the fast path and by the slow path.
        acquire_all(&mut rig, [advisory(1, "a x"), advisory(2, "b s")]).await?;
        acquire(&mut rig, build(RequestDraft { ttl, ..draft(3, 3, "c x") })).await?;
        rig.call(&LockCall::Register(lease(3))).await?;
        let end = rig.now.plus(LOCK_HOLD_MAX);
        let all = vec![lease(1), lease(2), lease(3)];
        let step = ttl.saturating_sub(Duration::from_secs(1));
        while rig.now.plus(ttl) <= end {
            rig.call_quietly(&LockCall::Renew(all.clone())).await?;
            rig.pass(u64::try_from(step.as_micros()).unwrap());
        }
        let said = rig.call(&LockCall::Renew(all)).await?;
        let is_spent = |at: usize| matches!(said.standings[at], LeaseStatus::Spent { .. });
        must(is_spent(0) && is_spent(1), "no heartbeat gives them more")?;
        must(!is_spent(2), "PostgreSQL judges a fenced one")?;
        let until = rig.model.lease(lease(1)).unwrap().deadline;
        must(until > rig.now && until <= end, "it holds until its time is over")?;
        acquire(&mut rig, advisory(4, "a x")).await?;
        must(state(&rig, 4) == Some(LeasePhase::Waiting), "others stand in line")?;
        rig.now = until;
        let said = rig.call(&LockCall::Renew(vec![lease(1)])).await?;
        must(said.standings == [LeaseStatus::Over { state: LeasePhase::Expired }], "it runs out")?;
        must(state(&rig, 4) == Some(LeasePhase::Granted), "the next has it")?;
        let said = rig.call(&LockCall::Renew(vec![lease(4)])).await?;
        let deadline = rig.now.plus(ttl);
        let is_kept = |standing: &LeaseStatus| {
            matches!(standing, LeaseStatus::Granted { deadline: d, .. }
            if *d == deadline)
        };
        must(said.standings.first().is_some_and(is_kept), "counted from its own grant")?;
        rig.clear().await;
        Ok(())
    }
}
