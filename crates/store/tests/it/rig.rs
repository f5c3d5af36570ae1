//! A migrated database for each test, a login that is only a member of `ade_app`, and tenants
//! with the sample people of the core.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::time::Timestamp;
use ade_store::pool::Settings;
use ade_store::{Class, Error, Gate, Pool, Tx, audit, migrate};
use ade_testkit::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::Mutex;

pub const PEOPLE: u128 = 7;
/// For what happens at once, unless something is wrong.
pub const SOON: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Rig {
    pub database: Database,
    pub pool: Pool,
    pub tenant: TenantId,
    pub other: TenantId,
    pub now: Timestamp,
    pub login: String,
    clock: Mutex<Timestamp>,
}

impl Rig {
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
        let pool = pool_of(&database, &login, 4);
        database.stop_clock(now.micros()).await;
        Self { database, pool, tenant, other, now, login, clock: Mutex::new(now) }
    }

    /// Where nobody is told to come back, however long they stand in line.
    pub async fn patient() -> Self {
        let rig = Self::new().await;
        rig.database.be_patient().await;
        rig
    }

    /// What the database says the time is, for whoever begins after this. It stands still.
    pub async fn set_clock(&self, now: Timestamp) {
        // Those who race begin at the same moment, and the function is written by one at a time.
        let mut clock = self.clock.lock().await;
        if *clock != now {
            self.database.stop_clock(now.micros()).await;
            *clock = now;
        }
    }

    pub fn pool(&self, size: u32) -> Pool {
        pool_of(&self.database, &self.login, size)
    }

    /// As a login that may only act as `ade_worker`.
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
        self.begin_through(&self.pool, tenant, Gate::Unasked).await.unwrap()
    }

    pub async fn begin_through(
        &self,
        pool: &Pool,
        tenant: TenantId,
        gate: Gate,
    ) -> Result<Tx, Error> {
        Tx::begin(pool, tenant, Actor::user(UserId::from_u128(1)), gate).await
    }

    /// Under the closed gate, as whoever changes a rule.
    pub async fn begin_closed(&self) -> Tx {
        self.begin_through(&self.pool, self.tenant, Gate::Exclusive).await.unwrap()
    }

    /// Commits with a leaf, which is all that the record asks for.
    pub async fn keep(&self, mut tx: Tx) {
        audit::append(&mut tx, &[self.leaf("test.write")]).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub fn leaf(&self, action: &str) -> Leaf {
        let what = What {
            object: "database:prod-db-01".to_owned(),
            action: action.to_owned(),
            from: Some("DRAFT".to_owned()),
            to: None,
            revision: Some(3),
            digest: None,
        };
        let place = Where {
            address: Some("2001:db8::7".parse().unwrap()),
            user_agent: Some("curl/8".to_owned()),
            service: "store".to_owned(),
        };
        let who = Who::User { user: UserId::from_u128(1), session: None };
        Leaf::new(self.tenant, Kind::Change, who, what, self.now, place, Why::default())
    }
}

pub fn pool_of(database: &Database, login: &str, size: u32) -> Pool {
    let port = database.server().port();
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{}?sslmode=disable", database.name());
    let settings = Settings { api_max: size, ..Settings::new(url) };
    Pool::new(&settings, Class::Api).unwrap()
}

pub async fn run(connection: &mut PgConnection, sql: &str) {
    try_run(connection, sql).await.unwrap();
}

pub async fn try_run(connection: &mut PgConnection, sql: &str) -> Result<u64, sqlx::Error> {
    let result = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
    Ok(result.rows_affected())
}

/// As the application's login, outside of any transaction.
pub async fn connect_app(rig: &Rig) -> PgConnection {
    let port = rig.database.server().port();
    let (login, name) = (&rig.login, rig.database.name());
    let url = format!("postgres://{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    PgConnection::connect(&url).await.unwrap()
}

/// The name of the rule that refused.
pub fn broken_rule<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    match outcome {
        Err(Error::Constraint { constraint, .. }) => constraint,
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
