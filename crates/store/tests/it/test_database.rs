//! A migrated database for each test, a login that is only a member of `ade_app`, and tenants
//! with the sample people of the core.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, RequestOrigin, What, Where, Who, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::time::Timestamp;
use ade_store::pool::PoolSettings;
use ade_store::{Pool, PoolClass, StoreError, TenantLock, Tx, audit, migrate};
use ade_testkit::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::Mutex;
use uuid::Uuid;

pub const PEOPLE: u128 = 7;
/// A timeout for what happens at once unless something is wrong.
pub const SOON: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct TestDatabase {
    pub database: Database,
    pub pool: Pool,
    pub tenant: TenantId,
    pub other: TenantId,
    pub now: Timestamp,
    pub login: String,
    clock: Mutex<Timestamp>,
}

impl TestDatabase {
    pub async fn new() -> Self {
        let database = Database::fresh("store", async |url: String| migrate::run(&url).await).await;
        let login = format!("{}_app", database.name());
        let mut admin = database.connect().await;
        run(&mut admin, &format!("CREATE ROLE {login} LOGIN PASSWORD 'x' IN ROLE ade_app")).await;
        let (tenant, other) = (TenantId::from_u128(0xa), TenantId::from_u128(0xb));
        for tenant in [tenant, other] {
            seed(&mut admin, tenant).await;
        }
        let micros: i64 =
            sqlx::query_scalar("SELECT (extract(epoch FROM now()) * 1000000)::bigint")
                .fetch_one(&mut admin)
                .await
                .unwrap();
        let now = Timestamp::from_micros(micros);
        let pool = pool_of(&database, &login, 6);
        database.stop_clock(now.micros()).await;
        Self { database, pool, tenant, other, now, login, clock: Mutex::new(now) }
    }

    /// A rig whose lock waits do not time out.
    pub async fn patient() -> Self {
        let rig = Self::new().await;
        rig.database.be_patient().await;
        rig
    }

    /// Sets the database time for transactions that begin after this call. The time stands still.
    pub async fn set_clock(&self, now: Timestamp) {
        // Concurrent tests begin at the same moment, and the function is written by one at a time.
        let mut clock = self.clock.lock().await;
        if *clock != now {
            self.database.stop_clock(now.micros()).await;
            *clock = now;
        }
    }

    pub fn pool(&self, size: u32) -> Pool {
        pool_of(&self.database, &self.login, size)
    }

    /// Returns a pool of a login that may only act as `ade_worker`.
    pub async fn worker_pool(&self) -> Pool {
        let login = format!("{}_worker", self.database.name());
        let mut admin = self.database.connect().await;
        let sql = format!("CREATE ROLE {login} LOGIN PASSWORD 'x' IN ROLE ade_worker");
        run(&mut admin, &sql).await;
        pool_of(&self.database, &login, 8)
    }

    pub async fn begin(&self) -> Tx {
        self.begin_as(self.tenant).await
    }

    pub async fn begin_as(&self, tenant: TenantId) -> Tx {
        self.begin_through(&self.pool, tenant, TenantLock::None).await.unwrap()
    }

    pub async fn begin_through(
        &self,
        pool: &Pool,
        tenant: TenantId,
        gate: TenantLock,
    ) -> Result<Tx, StoreError> {
        Tx::begin(pool, tenant, Actor::user(UserId::from_u128(1)), gate).await
    }

    /// Begins a transaction with the exclusive gate, as a rule change does.
    pub async fn begin_closed(&self) -> Tx {
        self.begin_through(&self.pool, self.tenant, TenantLock::Exclusive).await.unwrap()
    }

    /// Commits with an audit entry, which is all that a commit requires.
    pub async fn keep(&self, mut tx: Tx) {
        audit::append(&mut tx, &[self.leaf("test.write")]).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub fn leaf(&self, action: &str) -> AuditEntry {
        let what = What {
            object: "database:prod-db-01".to_owned(),
            action: action.to_owned(),
            from: Some("DRAFT".to_owned()),
            to: None,
            revision: Some(3),
            digest: None,
        };
        let origin = RequestOrigin {
            salt: Uuid::from_u128(9),
            address: Some("2001:db8::7".parse().unwrap()),
            user_agent: Some("curl/8".to_owned()),
        };
        let place = Where::request(origin, "store");
        let who = Who::User { user: UserId::from_u128(1), credential: None };
        AuditEntry::new(self.tenant, EntryKind::Change, who, what, self.now, place, Why::default())
    }
}

pub fn pool_of(database: &Database, login: &str, size: u32) -> Pool {
    let port = database.server().port();
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{}?sslmode=disable", database.name());
    let settings = PoolSettings {
        api_max: size,
        // A busy machine may take seconds to open a connection.
        acquire_timeout: Duration::from_secs(30),
        // A patient database lets a statement wait for a minute.
        answer_timeout: Duration::from_secs(90),
        ..PoolSettings::new(url)
    };
    Pool::new(&settings, PoolClass::Api).unwrap()
}

pub async fn run(connection: &mut PgConnection, sql: &str) {
    try_run(connection, sql).await.unwrap();
}

pub async fn try_run(connection: &mut PgConnection, sql: &str) -> Result<u64, sqlx::Error> {
    let result = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
    Ok(result.rows_affected())
}

/// Connects as the login of the application, outside of any transaction.
pub async fn connect_app(rig: &TestDatabase) -> PgConnection {
    let port = rig.database.server().port();
    let (login, name) = (&rig.login, rig.database.name());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    PgConnection::connect(&url).await.unwrap()
}

/// Returns the name of the constraint that refused.
pub fn broken_rule<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> String {
    match outcome {
        Err(StoreError::Constraint { constraint, .. }) => constraint,
        other => panic!("{other:?}"),
    }
}

async fn seed(admin: &mut PgConnection, tenant: TenantId) {
    let tenant = tenant.uuid();
    run(admin, &format!("INSERT INTO tenant (tenant_id, name) VALUES ('{tenant}', 't')")).await;
    for number in 1..=PEOPLE {
        let id = UserId::from_u128(number).uuid();
        run(
            admin,
            &format!(
                "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
                 VALUES ('{tenant}', '{id}', 'idp', '{number}', 'person {number}')"
            ),
        )
        .await;
    }
    let (agent, owner) = (UserId::from_u128(1).uuid(), UserId::from_u128(1).uuid());
    run(
        admin,
        &format!(
            "INSERT INTO agent (tenant_id, id, name, owner_id)
             VALUES ('{tenant}', '{agent}', 'infra-bot', '{owner}')"
        ),
    )
    .await;
}
