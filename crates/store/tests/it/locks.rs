//! Registered locks on a real PostgreSQL: the same results as the model of the core over random
//! histories, and the serialization of concurrent registrations, which the model cannot show.

use std::time::Duration;

use ade_core::ids::{AgentId, LeaseId, ProcessId, TaskId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Epoch, FencingToken, LeaseClass, LockSet, Mode, Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_lock_model::fence::{Fences, Registration};
use ade_store::Tx;
use ade_store::locks::{self, epochs, sessions};

use crate::test_database::{SOON, TestDatabase, broken_rule, run};

const MINUTE: Duration = Duration::from_mins(1);

pub fn resource(name: &str) -> ResourceRef {
    ResourceRef::new("db", name).unwrap()
}

pub fn lease(number: u128) -> LeaseId {
    LeaseId::from_u128(number)
}

pub fn session(number: u128) -> ProcessId {
    ProcessId::from_u128(number)
}

pub fn token(counter: u64) -> FencingToken {
    FencingToken::new(Epoch::FIRST, counter).unwrap()
}

pub fn draft(number: u128, wanted: &[(&str, Mode)]) -> RequestDraft {
    let set = wanted.iter().map(|(name, mode)| (resource(name), *mode));
    RequestDraft {
        lease: lease(number),
        owner: Owner::Task(TaskId::from_u128(number)),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(1_800_000_000_123_457),
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
        set: LockSet::new(set).unwrap(),
        ttl: MINUTE,
        wait: Duration::ZERO,
        boost: 0,
    }
}

pub fn ask(number: u128, wanted: &[(&str, Mode)]) -> Request {
    Request::new(draft(number, wanted)).unwrap()
}

/// Begins epoch one and opens sessions that live for an hour.
pub async fn open(rig: &TestDatabase, count: u128) {
    let mut tx = rig.begin().await;
    let current = epochs::current(&mut tx).await.unwrap();
    assert_eq!((current.epoch, current.is_new), (Epoch::FIRST, true));
    for number in 1..=count {
        let agent = Some(AgentId::from_u128(1));
        let hour = Duration::from_hours(1);
        sessions::open(&mut tx, session(number), agent, "node-1", hour).await.unwrap();
    }
    rig.keep(tx).await;
}

/// Registers in a transaction of its own, which is committed unless it was refused.
pub async fn register(
    rig: &TestDatabase,
    request: &Request,
    by: ProcessId,
    token: FencingToken,
) -> Result<(), RegisterRefusal> {
    let mut tx = rig.begin().await;
    let outcome = locks::register(&mut tx, request, by, token).await.unwrap();
    match outcome {
        Ok(()) => rig.keep(tx).await,
        Err(_) => tx.roll_back().await,
    }
    outcome
}

async fn holds(rig: &TestDatabase, number: u128, token: FencingToken, count: usize) -> bool {
    let mut tx = rig.begin().await;
    locks::assert_holds(&mut tx, lease(number), token, count).await.unwrap().is_ok()
}

#[tokio::test]
async fn hold_is_registered_asserted_extended_and_released() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    let wanted = [("a", Mode::Exclusive), ("b", Mode::Shared)];
    let request = ask(1, &wanted);
    for _ in 0..2 {
        assert_eq!(register(&rig, &request, session(1), token(5)).await, Ok(()), "again");
    }
    assert!(holds(&rig, 1, token(5), 2).await);
    assert!(!holds(&rig, 1, token(5), 1).await, "all resources or none");
    assert!(!holds(&rig, 1, token(4), 2).await, "under its own token");
    assert!(!holds(&rig, 2, token(5), 0).await, "nothing is not held");
    let low = RegisterRefusal::TokenLow { resource: resource("a"), floor: token(5) };
    assert_eq!(register(&rig, &ask(2, &wanted), session(1), token(5)).await, Err(low));
    let held = RegisterRefusal::Held { resource: resource("a"), by: vec![lease(1)] };
    assert_eq!(register(&rig, &ask(2, &wanted), session(1), token(6)).await, Err(held));
    let shared = ask(3, &[("b", Mode::Shared)]);
    assert_eq!(register(&rig, &shared, session(1), token(6)).await, Ok(()));

    let mut tx = rig.begin().await;
    assert_eq!(locks::extend(&mut tx, lease(1)).await.unwrap(), Ok(()));
    assert_eq!(locks::release(&mut tx, lease(1)).await.unwrap(), 2);
    assert_eq!(locks::release(&mut tx, lease(1)).await.unwrap(), 0, "once");
    assert!(locks::extend(&mut tx, lease(1)).await.unwrap().is_err());
    rig.keep(tx).await;
    let spent = Err(RegisterRefusal::LeaseSpent);
    assert_eq!(register(&rig, &request, session(1), token(5)).await, spent, "never comes back");
    assert_eq!(
        register(&rig, &ask(4, &[("a", Mode::Exclusive)]), session(1), token(7)).await,
        Ok(())
    );
}

#[tokio::test]
async fn registration_in_a_dead_session_or_old_epoch_is_refused() {
    let rig = TestDatabase::new().await;
    open(&rig, 2).await;
    let request = ask(1, &[("a", Mode::Exclusive)]);
    let dead = Err(RegisterRefusal::SessionDead);
    assert_eq!(register(&rig, &request, session(9), token(1)).await, dead, "never opened");
    let mut tx = rig.begin().await;
    assert!(sessions::keep(&mut tx, session(1), MINUTE).await.unwrap());
    assert!(sessions::close(&mut tx, session(1)).await.unwrap());
    assert!(!sessions::close(&mut tx, session(1)).await.unwrap(), "once");
    assert!(!sessions::keep(&mut tx, session(1), MINUTE).await.unwrap(), "not revived");
    rig.keep(tx).await;
    assert_eq!(register(&rig, &request, session(1), token(1)).await, dead.clone(), "closed");
    let mut tx = rig.begin().await;
    sessions::open(&mut tx, session(3), None, "node-1", Duration::ZERO).await.unwrap();
    rig.keep(tx).await;
    assert_eq!(register(&rig, &request, session(3), token(1)).await, dead, "run out");

    let mut tx = rig.begin().await;
    let two = Epoch::new(2).unwrap();
    assert_eq!(epochs::bump(&mut tx, Epoch::FIRST, "test").await.unwrap(), Some(two));
    assert_eq!(epochs::bump(&mut tx, Epoch::FIRST, "test").await.unwrap(), None, "one winner");
    let current = epochs::current(&mut tx).await.unwrap();
    assert_eq!((current.epoch, current.is_new), (two, true), "no grant was reported");
    epochs::note_use(&mut tx).await.unwrap();
    let current = epochs::current(&mut tx).await.unwrap();
    assert_eq!((current.epoch, current.is_new), (two, false));
    epochs::pass(&mut tx, Epoch::FIRST, "test").await.unwrap();
    assert_eq!(epochs::current(&mut tx).await.unwrap(), current, "an older epoch changes nothing");
    rig.keep(tx).await;
    let stale = Err(RegisterRefusal::StaleEpoch { current: two });
    assert_eq!(register(&rig, &request, session(2), token(1)).await, stale);
    let newer = FencingToken::new(two, 1).unwrap();
    assert_eq!(register(&rig, &request, session(2), newer).await, Ok(()));
}

#[tokio::test]
async fn epoch_bump_waits_for_registrations_in_flight() {
    let rig = TestDatabase::patient().await;
    open(&rig, 1).await;
    let mut tx = rig.begin().await;
    let request = ask(1, &[("a", Mode::Exclusive)]);
    locks::register(&mut tx, &request, session(1), token(1)).await.unwrap().unwrap();
    let mut watcher = rig.database.session().await;
    let rig = std::sync::Arc::new(rig);
    let bumper = tokio::spawn({
        let rig = rig.clone();
        async move {
            let mut tx = rig.begin().await;
            let bumped = epochs::bump(&mut tx, Epoch::FIRST, "test").await.unwrap();
            rig.keep(tx).await;
            bumped
        }
    });
    watcher.wait_for_waiting(1, SOON).await;
    rig.keep(tx).await;
    assert_eq!(bumper.await.unwrap(), Epoch::new(2));
    let mut tx = rig.begin().await;
    assert_eq!(locks::live(&mut tx).await.unwrap().len(), 1, "the rebuild sees it");
}

#[tokio::test]
async fn registration_sent_twice_concurrently_counts_once() {
    let rig = TestDatabase::patient().await;
    open(&rig, 1).await;
    let request = ask(1, &[("a", Mode::Exclusive), ("b", Mode::Exclusive)]);
    let mut first = rig.begin().await;
    locks::register(&mut first, &request, session(1), token(1)).await.unwrap().unwrap();
    let mut watcher = rig.database.session().await;
    let rig = std::sync::Arc::new(rig);
    let second = tokio::spawn({
        let (rig, request) = (rig.clone(), request.clone());
        async move { register(&rig, &request, session(1), token(1)).await }
    });
    watcher.wait_for_waiting(1, SOON).await;
    rig.keep(first).await;
    assert_eq!(second.await.unwrap(), Ok(()), "it finds its own rows, not a conflict");
    assert!(holds(&rig, 1, token(1), 2).await);
}

#[tokio::test]
async fn fencing_waits_for_a_transaction_that_asserted() {
    let rig = TestDatabase::patient().await;
    open(&rig, 2).await;
    let wanted = [("a", Mode::Exclusive)];
    register(&rig, &ask(1, &wanted), session(1), token(1)).await.unwrap();
    pass(&rig, 2).await;
    let mut protected = rig.begin().await;
    locks::assert_holds(&mut protected, lease(1), token(1), 1).await.unwrap().unwrap();
    let mut watcher = rig.database.session().await;
    let rig = std::sync::Arc::new(rig);
    let fencer = tokio::spawn({
        let rig = rig.clone();
        async move { register(&rig, &ask(2, &wanted), session(2), token(2)).await }
    });
    watcher.wait_for_waiting(1, SOON).await;
    rig.keep(protected).await;
    assert_eq!(fencer.await.unwrap(), Ok(()));
    assert!(!holds(&rig, 1, token(1), 1).await, "after that it is fenced");
    let mut tx = rig.begin().await;
    assert!(locks::extend(&mut tx, lease(1)).await.unwrap().is_err());
}

#[tokio::test]
async fn heartbeat_in_flight_keeps_the_hold() {
    let rig = TestDatabase::patient().await;
    open(&rig, 2).await;
    let wanted = [("a", Mode::Exclusive)];
    register(&rig, &ask(1, &wanted), session(1), token(1)).await.unwrap();
    pass(&rig, 2).await;
    let mut heartbeat = rig.begin().await;
    locks::extend(&mut heartbeat, lease(1)).await.unwrap().unwrap();
    let mut watcher = rig.database.session().await;
    let rig = std::sync::Arc::new(rig);
    let fencer = tokio::spawn({
        let rig = rig.clone();
        async move { register(&rig, &ask(2, &wanted), session(2), token(2)).await }
    });
    watcher.wait_for_waiting(1, SOON).await;
    heartbeat.commit().await.unwrap();
    let held = RegisterRefusal::Held { resource: resource("a"), by: vec![lease(1)] };
    assert_eq!(fencer.await.unwrap(), Err(held), "it sees the new deadline");
    assert!(holds(&rig, 1, token(1), 1).await);
}

#[tokio::test]
async fn hold_row_that_contradicts_itself_is_refused() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    register(&rig, &ask(1, &[("a", Mode::Exclusive)]), session(1), token(1)).await.unwrap();
    for (change, rule) in [
        ("capacity = 3", "lock_hold_counting_has_a_capacity"),
        ("mode = 'counting'", "lock_hold_counting_has_a_capacity"),
        ("mode = 'none'", "lock_hold_mode_is_known"),
        ("token = 7", "lock_hold_token_has_an_epoch"),
        ("fenced_by = lease_id, fenced_at = now()", "lock_hold_is_fenced_by_another"),
        ("fenced_by = session_id", "lock_hold_fence_has_a_time"),
        ("fenced_by = session_id, fenced_at = now(), released_at = now()", "lock_hold_ends_once"),
    ] {
        let mut tx = rig.begin().await;
        let sql = format!("UPDATE lock_hold SET {change}");
        let refused = tx.write(sqlx::query(sqlx::AssertSqlSafe(sql))).await;
        assert_eq!(broken_rule(refused), rule, "{change}");
    }
}

/// Moves every deadline nearer. It uses minutes, so that the duration of the test does not matter.
pub async fn pass(rig: &TestDatabase, minutes: i64) {
    let mut admin = rig.database.connect().await;
    let tenant = rig.tenant.uuid();
    run(
        &mut admin,
        &format!(
            "UPDATE lock_hold SET deadline = deadline - interval '{minutes} minutes'
              WHERE tenant_id = '{tenant}'"
        ),
    )
    .await;
}

/// Model and PostgreSQL side by side; the clock of the model counts the minutes that were passed.
struct Twin {
    rig: TestDatabase,
    model: Fences,
    now: Timestamp,
    dice: u64,
    epoch: Epoch,
    asked: Vec<(Request, FencingToken)>,
    met: std::collections::BTreeSet<String>,
}

impl Twin {
    fn below(&mut self, end: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.dice >> 33) % end
    }

    fn request(&mut self, number: u128) -> Request {
        let mut wanted = Vec::new();
        for name in ["a", "b", "c"] {
            let mode = match self.below(6) {
                0 => Mode::Exclusive,
                1 => Mode::Shared,
                2 => Mode::Counting { capacity: u32::try_from(self.below(3) + 1).unwrap() },
                _ => continue,
            };
            wanted.push((name, mode));
        }
        if wanted.is_empty() {
            wanted.push(("a", Mode::Exclusive));
        }
        let lock_delay = MINUTE * u32::try_from(self.below(3)).unwrap();
        let class = LeaseClass::Fenced { lock_delay };
        // Half minutes, so that no deadline falls on a minute that is passed.
        let ttl = Duration::from_secs(30 + 60 * self.below(4));
        Request::new(RequestDraft { class, ttl, ..draft(number, &wanted) }).unwrap()
    }

    async fn step(&mut self, number: u128) {
        match self.below(10) {
            0..5 => {
                let request = self.request(number);
                let counter = u64::try_from(number / 2).unwrap() + self.below(3);
                let token = FencingToken::new(self.epoch, counter.max(1)).unwrap();
                self.register(request, token).await;
            }
            5 => {
                let again = self.some();
                if let Some((request, token)) = again {
                    self.register(request, token).await;
                }
            }
            6 => {
                let minutes = i64::try_from(self.below(3) + 1).unwrap();
                self.now = self.now.plus(MINUTE * u32::try_from(minutes).unwrap());
                pass(&self.rig, minutes).await;
            }
            7 => {
                if let Some((request, _)) = self.some() {
                    let mut tx = self.rig.begin().await;
                    let found = locks::extend(&mut tx, request.lease()).await.unwrap();
                    tx.commit().await.unwrap();
                    let deadline = self.now.plus(request.ttl());
                    assert_eq!(found, self.model.extend(request.lease(), deadline));
                }
            }
            8 => {
                if let Some((request, _)) = self.some() {
                    let mut tx = self.rig.begin().await;
                    locks::release(&mut tx, request.lease()).await.unwrap();
                    self.rig.keep(tx).await;
                    self.model.release(request.lease());
                }
            }
            _ => {
                let mut tx = self.rig.begin().await;
                let next = epochs::bump(&mut tx, self.epoch, "test").await.unwrap().unwrap();
                self.rig.keep(tx).await;
                if self.below(4) > 0 {
                    self.epoch = next;
                }
                self.model.bump_epoch(next);
                let mut tx = self.rig.begin().await;
                self.epoch = epochs::current(&mut tx).await.unwrap().epoch;
            }
        }
    }

    fn some(&mut self) -> Option<(Request, FencingToken)> {
        let count = u64::try_from(self.asked.len()).unwrap().min(8);
        if count == 0 {
            return None;
        }
        let back = usize::try_from(self.below(count)).unwrap() + 1;
        self.asked.get(self.asked.len() - back).cloned()
    }

    async fn register(&mut self, request: Request, token: FencingToken) {
        let registration = Registration {
            lease: request.lease(),
            session: session(1),
            agent: request.agent().map(str::to_owned),
            token,
            set: request.set().clone(),
            deadline: self.now.plus(request.ttl()),
            lock_delay: request.class().lock_delay(),
        };
        let expected = self.model.register(&registration, self.now);
        let found = register(&self.rig, &request, session(1), token).await;
        assert_eq!(found, expected, "{request:?} {token}");
        let word = match &found {
            Ok(()) => "Ok".to_owned(),
            Err(refusal) => format!("{refusal:?}").split(' ').next().unwrap().to_owned(),
        };
        self.met.insert(word);
        self.asked.push((request, token));
    }

    /// Everything that can still commit is equal and asserts equally.
    async fn compare(&mut self) {
        let mut tx = self.rig.begin().await;
        let found = locks::live(&mut tx).await.unwrap();
        let expected = self.model.live_leases();
        let names: Vec<LeaseId> = found.iter().map(|hold| hold.request.lease()).collect();
        assert_eq!(names, expected.keys().copied().collect::<Vec<_>>());
        for hold in &found {
            let asked = self.asked.iter().rev().find(|(r, _)| r.lease() == hold.request.lease());
            let (request, _) = asked.unwrap();
            assert!(hold.request.asks_the_same_as(request), "{hold:?}");
            assert_eq!(hold.request.class(), request.class());
            assert_eq!(
                (hold.request.ttl(), hold.request.birth()),
                (request.ttl(), request.birth())
            );
        }
        for (request, token) in self.asked.iter().rev().take(6) {
            let (lease, count) = (request.lease(), request.set().len());
            let found = locks::assert_holds(&mut tx, lease, *token, count).await.unwrap();
            assert_eq!(found, self.model.assert_holds(lease, *token, count));
        }
    }
}

#[tokio::test]
async fn postgres_and_the_model_agree_on_random_histories() {
    let mut met = std::collections::BTreeSet::new();
    for seed in 0..4 {
        let rig = TestDatabase::new().await;
        open(&rig, 1).await;
        let mut model = Fences::new(Epoch::FIRST);
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        model.keep_session(session(1), now.plus(Duration::from_hours(10_000)));
        let (epoch, asked) = (Epoch::FIRST, Vec::new());
        let dice = seed;
        let mut twin = Twin { rig, model, now, dice, epoch, asked, met: std::mem::take(&mut met) };
        for number in 1..=120 {
            twin.step(number).await;
            twin.compare().await;
        }
        met = twin.met;
    }
    for word in ["Ok", "TokenLow", "Held", "LeaseSpent", "StaleEpoch"] {
        assert!(met.contains(word), "never met: {word}, only {met:?}");
    }
}

#[tokio::test]
async fn hold_is_invisible_to_other_tenants() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    register(&rig, &ask(1, &[("a", Mode::Exclusive)]), session(1), token(1)).await.unwrap();
    let mut other: Tx = rig.begin_as(rig.other).await;
    assert_eq!(locks::live(&mut other).await.unwrap(), Vec::new());
    let found = locks::assert_holds(&mut other, lease(1), token(1), 1).await.unwrap();
    assert!(found.is_err());
    let request = ask(2, &[("a", Mode::Exclusive)]);
    let refused = locks::register(&mut other, &request, session(1), token(2)).await;
    assert_eq!(refused.unwrap(), Err(RegisterRefusal::SessionDead));
}
