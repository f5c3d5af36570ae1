//! The lock queue and PostgreSQL after Redis has lost its data: what happens to leases, and how the
//! two are reconciled.

use std::time::Duration;

use ade_coord::Cluster as Connection;
use ade_coord::lock::Locks;
use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{LeaseId, ProcessId, TaskId, TenantId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, FencingToken, LeaseClass, LeasePhase, LeaseStatus, LockRefusal, LockSet, Mode, Owner,
    Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_engine::admin::bootstrap;
use ade_engine::services::locks::{LockQueueError, RedisLockQueue, RetryStep};
use ade_engine::services::secrets::Pepper;
use ade_engine::{Pool, PoolClass, PoolSettings};
use ade_store::locks::sessions;
use ade_store::{TenantLock, Tx, audit, locks};
use ade_testkit::{Cluster, Database};

const SOON: Duration = Duration::from_mins(1);

struct World {
    database: Database,
    pool: Pool,
    tenant: TenantId,
}

impl World {
    async fn new() -> Self {
        let database =
            Database::fresh("server", async |url: String| bootstrap::migrate(&url).await);
        let database = database.await;
        let url = database.login("app", "ade_app").await;
        // The database lets a statement wait for a minute here.
        let answer_timeout = Duration::from_secs(90);
        let acquire_timeout = Duration::from_secs(30);
        let settings = PoolSettings { acquire_timeout, answer_timeout, ..PoolSettings::new(url) };
        let pool = Pool::new(&settings, PoolClass::Api).unwrap();
        let pepper = Pepper::new(vec![7; 32]).unwrap();
        let way_in = bootstrap::bootstrap(&database.url(), &pepper, "acme").await.unwrap();
        let world = Self { database, pool, tenant: way_in.tenant };
        let mut tx = world.begin().await;
        let hour = Duration::from_hours(1);
        sessions::open(&mut tx, session(), None, "node-1", hour).await.unwrap();
        world.keep(tx).await;
        world
    }

    /// Returns a queue like that of another process, which shares only the servers.
    fn desk(&self, cluster: &Cluster) -> RedisLockQueue {
        let connection = Connection::open(&cluster.urls().into()).unwrap();
        RedisLockQueue::new(Locks::new(connection), self.pool.clone(), "test")
    }

    async fn begin(&self) -> Tx {
        let actor = Actor::system("test");
        Tx::begin(&self.pool, self.tenant, actor, TenantLock::None).await.unwrap()
    }

    async fn keep(&self, mut tx: Tx) {
        let what = What {
            object: "db:a".to_owned(),
            action: "lock.register".to_owned(),
            from: None,
            to: None,
            revision: None,
            digest: None,
        };
        let place = Where::service("test");
        let who = Who::System { worker: "test".to_owned() };
        let now = tx.now();
        let leaf =
            AuditEntry::new(self.tenant, EntryKind::Change, who, what, now, place, Why::default());
        audit::append(&mut tx, &[leaf]).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn register(
        &self,
        request: &Request,
        token: FencingToken,
    ) -> Result<(), RegisterRefusal> {
        let mut tx = self.begin().await;
        let outcome = locks::register(&mut tx, request, session(), token).await.unwrap();
        match &outcome {
            Ok(()) => self.keep(tx).await,
            Err(_) => tx.roll_back().await,
        }
        outcome
    }
}

fn session() -> ProcessId {
    ProcessId::from_u128(1)
}

fn draft(number: u128, name: &str) -> RequestDraft {
    let resource = ResourceRef::new("db", name).unwrap();
    RequestDraft {
        lease: LeaseId::from_u128(number),
        owner: Owner::Task(TaskId::from_u128(number)),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(1),
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
        set: LockSet::new([(resource, Mode::Exclusive)]).unwrap(),
        ttl: Duration::from_mins(5),
        wait: Duration::from_secs(50),
        boost: 0,
    }
}

fn ask(number: u128, name: &str) -> Request {
    Request::new(draft(number, name)).unwrap()
}

fn advisory(number: u128, name: &str) -> Request {
    Request::new(RequestDraft { class: LeaseClass::Advisory, ..draft(number, name) }).unwrap()
}

async fn acquire(desk: &RedisLockQueue, world: &World, request: &Request) -> LeaseStatus {
    desk.acquire(world.tenant, request, Arrival::New).await.unwrap().answer
}

async fn granted(desk: &RedisLockQueue, world: &World, request: &Request) -> FencingToken {
    match acquire(desk, world, request).await {
        LeaseStatus::Granted { token, .. } => token,
        other => panic!("not granted: {other:?}"),
    }
}

#[tokio::test]
async fn lock_queue_is_shared_by_two_processes_from_first_call() {
    let world = World::new().await;
    world.database.be_patient().await;
    let cluster = Cluster::shared().await;
    let (one, other) = (world.desk(&cluster), world.desk(&cluster));
    // Both find a namespace that was never used, at the same time.
    let (first, second) = (ask(1, "a"), ask(2, "a"));
    let (here, there) =
        tokio::join!(acquire(&one, &world, &first), acquire(&other, &world, &second));
    let is_granted = |standing: &LeaseStatus| matches!(standing, LeaseStatus::Granted { .. });
    assert_eq!([&here, &there].iter().filter(|s| is_granted(s)).count(), 1, "{here:?} {there:?}");
    let (holder, waiter) = if is_granted(&here) { (1, 2) } else { (2, 1) };
    let id = LeaseId::from_u128;
    one.release(world.tenant, id(holder)).await.unwrap();
    let renewed = other.renew(world.tenant, &[id(waiter)]).await.unwrap().answer;
    assert!(is_granted(&renewed[0]), "{renewed:?}");
}

#[tokio::test]
async fn lock_namespace_never_used_grants_advisory_locks() {
    let world = World::new().await;
    let desk = world.desk(&Cluster::shared().await);
    granted(&desk, &world, &advisory(1, "a")).await;
}

#[tokio::test]
async fn lock_registered_hold_survives_the_loss_of_redis() {
    let world = World::new().await;
    let cluster = Cluster::owned_with(5_000).await;
    let desk = world.desk(&cluster);
    let (kept, lost) = (ask(1, "kept"), ask(2, "lost"));
    let token = granted(&desk, &world, &kept).await;
    assert_eq!(world.register(&kept, token).await, Ok(()));
    desk.registered(world.tenant, kept.lease()).await.unwrap();
    let old = granted(&desk, &world, &lost).await;

    for node in cluster.nodes() {
        cluster.kill(node);
    }
    for node in cluster.nodes() {
        cluster.restart_empty(node).await;
    }
    cluster.wait_until_ok(SOON).await;
    let desk = world.desk(&cluster);
    let standing = acquire(&desk, &world, &ask(3, "kept")).await;
    assert!(matches!(standing, LeaseStatus::Waiting { position: 1, .. }), "{standing:?}");
    let held = desk.renew(world.tenant, &[kept.lease(), lost.lease()]).await.unwrap().answer;
    assert!(
        matches!(held[0], LeaseStatus::Granted { token: same, .. } if same == token),
        "{held:?}"
    );
    assert_eq!(held[1], LeaseStatus::Unknown, "an unregistered hold is lost");
    let newer = granted(&desk, &world, &ask(4, "lost")).await;
    assert!(newer > old && newer.epoch() > token.epoch(), "{newer} after {old}");
    let refused = desk.acquire(world.tenant, &advisory(5, "b"), Arrival::New).await;
    assert!(
        matches!(refused, Err(LockQueueError::Refused(LockRefusal::Unsure { .. }))),
        "an advisory lease of the lost epoch may still be in use: {refused:?}"
    );
    let bumps = "SELECT count(*) FROM audit_entry WHERE action = 'lock.rebuild'";
    assert_eq!(world.database.number(bumps).await, 1, "reported once");
}

#[tokio::test]
async fn lock_token_too_low_is_reissued_for_the_same_grant() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let desk = world.desk(&cluster);
    let request = ask(1, "a");
    let token = granted(&desk, &world, &request).await;
    world
        .database
        .run("INSERT INTO lock_fence SELECT tenant_id, 'db:a', 8589934692 FROM tenant")
        .await;
    let refusal = world.register(&request, token).await.unwrap_err();
    let next = desk.reconcile(world.tenant, request.lease(), &refusal).await.unwrap();
    let RetryStep::Again(token) = next else { panic!("{next:?} after {refusal}") };
    assert_eq!(world.register(&request, token).await, Ok(()));
}

#[tokio::test]
async fn lock_holder_missing_in_queue_is_imported_from_postgres() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let desk = world.desk(&cluster);
    // This hold is registered in PostgreSQL but unknown to Redis.
    let forgotten = ask(9, "a");
    let request = ask(1, "a");
    let token = granted(&desk, &world, &request).await;
    assert_eq!(world.register(&forgotten, token).await, Ok(()));
    let higher = FencingToken::new(token.epoch(), token.counter() + 1).unwrap();
    let refusal = world.register(&request, higher).await.unwrap_err();
    assert!(matches!(&refusal, RegisterRefusal::Held { by, .. } if *by == [forgotten.lease()]));
    let next = desk.reconcile(world.tenant, request.lease(), &refusal).await.unwrap();
    assert!(
        matches!(next, RetryStep::Stands(LeaseStatus::Waiting { position: 1, .. })),
        "{next:?}"
    );
    let said = desk.release(world.tenant, forgotten.lease()).await.unwrap();
    assert_eq!(said.answer, LeaseStatus::Over { state: LeasePhase::Released });
    let renewed = desk.renew(world.tenant, &[request.lease()]).await.unwrap().answer;
    assert!(matches!(renewed[0], LeaseStatus::Granted { .. }), "{renewed:?}");
}

#[tokio::test]
async fn lock_epochs_lost_by_postgres_continue_after_redis() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let desk = world.desk(&cluster);
    let token = granted(&desk, &world, &ask(1, "a")).await;
    world.database.run("UPDATE lock_epoch SET epoch = 7").await;
    let moved = granted(&world.desk(&cluster), &world, &ask(2, "b")).await;
    assert_eq!(moved.epoch().number(), 7);
    // The database was restored from an earlier backup.
    world.database.run("UPDATE lock_epoch SET epoch = 1").await;
    let next = granted(&world.desk(&cluster), &world, &ask(3, "c")).await;
    assert!(next > moved && moved > token && next.epoch().number() == 8, "{next}");
}

/// The second caller must not mistake a queue that is being built for one that lost its data.
#[tokio::test]
async fn lock_namespace_first_used_concurrently_grants_all() {
    let world = World::new().await;
    world.database.be_patient().await;
    let cluster = Cluster::shared().await;
    let desks: Vec<RedisLockQueue> = (0..8).map(|_| world.desk(&cluster)).collect();
    let mut asking = tokio::task::JoinSet::new();
    for (number, desk) in (1..).zip(desks) {
        let tenant = world.tenant;
        asking.spawn(async move {
            let request = advisory(number, &number.to_string());
            desk.acquire(tenant, &request, Arrival::New).await.unwrap().answer
        });
    }
    while let Some(standing) = asking.join_next().await {
        let standing = standing.unwrap();
        assert!(matches!(standing, LeaseStatus::Granted { .. }), "{standing:?}");
    }
}

/// Only advisory leases were ever held: PostgreSQL has none of them, but knows that the queue was
/// used.
#[tokio::test]
async fn lock_queue_used_and_then_empty_is_unsure() {
    let world = World::new().await;
    let cluster = Cluster::owned_with(5_000).await;
    let desk = world.desk(&cluster);
    granted(&desk, &world, &advisory(1, "a")).await;
    for node in cluster.nodes() {
        cluster.kill(node);
    }
    for node in cluster.nodes() {
        cluster.restart_empty(node).await;
    }
    cluster.wait_until_ok(SOON).await;
    let refused = world.desk(&cluster).acquire(world.tenant, &advisory(2, "a"), Arrival::New).await;
    assert!(
        matches!(refused, Err(LockQueueError::Refused(LockRefusal::Unsure { .. }))),
        "{refused:?}"
    );
}
