//! The owner of the tables creates a tenant with a first admin, who can sign in once.

use std::time::Duration;

use ade_core::actor::{Actor, Role};
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::TOKEN_BOOTSTRAP_TTL;
use ade_core::network::Networks;
use ade_store::pool::PoolSettings;
use ade_store::tokens::{self, NewToken, Principal};
use ade_store::users::{NewUser, UserProfile};
use ade_store::{
    Pool, PoolClass, StoreError, TenantLock, Tx, audit, tenant_config, tenants, users,
};

use crate::test_database::{TestDatabase, run};

const TENANT: TenantId = TenantId::from_u128(0xc);
const ADMIN: UserId = UserId::from_u128(0xad);

fn admin() -> NewUser {
    let profile =
        UserProfile { name: "First admin".to_owned(), email: None, manager: None, is_active: true };
    let (issuer, subject) = ("bootstrap".to_owned(), "admin".to_owned());
    NewUser { id: ADMIN, issuer, subject, profile, has_verified_email: false }
}

fn way_in(rig: &TestDatabase, key_id: &str) -> NewToken {
    NewToken {
        networks: Networks::default(),
        key_id: key_id.to_owned(),
        principal: Principal::User(ADMIN),
        hash: [1; 32],
        scopes: vec!["administer".to_owned()],
        label: "bootstrap".to_owned(),
        expires_at: rig.now.plus(TOKEN_BOOTSTRAP_TTL),
        is_single_use: true,
        issued_by: None,
    }
}

/// Returns a pool of a login that owns the tables and is not a superuser, so that row security
/// applies.
async fn owner(rig: &TestDatabase) -> Pool {
    let mut admin = rig.database.connect().await;
    let owner = format!("{}_owner", rig.database.name());
    let make = format!(
        "CREATE ROLE {owner} LOGIN PASSWORD 'x';
         DO $$ DECLARE t regclass; BEGIN
             FOR t IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'p')
                         AND relnamespace = 'public'::regnamespace
             LOOP EXECUTE format('ALTER TABLE %s OWNER TO {owner}', t); END LOOP;
         END $$;
         ALTER FUNCTION bump_rulebook() OWNER TO {owner};
         ALTER FUNCTION resolve_token(text, interval) OWNER TO {owner};
         ALTER FUNCTION consume_token(text) OWNER TO {owner};
         ALTER POLICY owner_resolves ON token TO {owner};
         ALTER POLICY owner_consumes ON token TO {owner};
         GRANT CREATE ON SCHEMA public TO {owner}"
    );
    run(&mut admin, &make).await;
    let (port, name) = (rig.database.server().port(), rig.database.name());
    let url = format!("postgres://{owner}:x@127.0.0.1:{port}/{name}?sslmode=disable");
    Pool::new(&PoolSettings::new(url), PoolClass::Reserved).unwrap()
}

async fn begin(pool: &Pool) -> Tx {
    Tx::begin(pool, TENANT, Actor::system("migrate"), TenantLock::Exclusive).await.unwrap()
}

async fn keep(rig: &TestDatabase, mut tx: Tx) {
    let what = What {
        object: TENANT.to_string(),
        action: "tenant.create".to_owned(),
        from: None,
        to: None,
        revision: None,
        digest: None,
    };
    let place = Where::service("migrate");
    let who = Who::System { worker: "migrate".to_owned() };
    let leaf =
        AuditEntry::new(TENANT, EntryKind::Change, who, what, rig.now, place, Why::default());
    audit::append(&mut tx, &[leaf]).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn tenant_first_admin_token_works_once() {
    let rig = TestDatabase::new().await;
    let owner = owner(&rig).await;
    let mut tx = begin(&owner).await;
    assert_eq!(tenants::name(&mut tx).await.unwrap(), None);
    tenants::create(&mut tx, "acme", &admin()).await.unwrap();
    tenants::admit(&mut tx, &way_in(&rig, "lost")).await.unwrap();
    keep(&rig, tx).await;
    // The printed token got lost: the next one revokes it.
    let mut tx = begin(&owner).await;
    assert_eq!(tenants::name(&mut tx).await.unwrap().as_deref(), Some("acme"));
    tenants::admit(&mut tx, &way_in(&rig, "second")).await.unwrap();
    tenants::admit(&mut tx, &way_in(&rig, "found")).await.unwrap();
    keep(&rig, tx).await;
    for (key, is_live) in [("lost", false), ("second", false), ("found", true)] {
        let resolved = tokens::resolve(&rig.pool, key).await.unwrap().unwrap();
        assert_eq!((resolved.tenant, resolved.is_live), (TENANT, is_live), "{key}");
        assert_eq!(tokens::consume(&rig.pool, key).await.unwrap(), is_live, "{key}");
        assert!(!tokens::consume(&rig.pool, key).await.unwrap(), "{key} again");
    }
    assert!(!tokens::resolve(&rig.pool, "found").await.unwrap().unwrap().is_live);
    let mut tx = rig.begin_as(TENANT).await;
    let person = users::get(&mut tx, ADMIN).await.unwrap().unwrap();
    let roles: Vec<&str> = person.roles.iter().map(Role::as_str).collect();
    assert_eq!(roles, ["admin", "author"]);
    assert!(tenant_config::version(&mut tx).await.unwrap() > 0);
}

#[tokio::test]
async fn tenant_admission_needs_a_single_use_token_of_a_person() {
    let rig = TestDatabase::new().await;
    let owner = owner(&rig).await;
    let mut tx = begin(&owner).await;
    tenants::create(&mut tx, "acme", &admin()).await.unwrap();
    let twice = NewToken { is_single_use: false, ..way_in(&rig, "a") };
    let refused = tenants::admit(&mut tx, &twice).await;
    assert!(matches!(refused, Err(StoreError::Unstorable { .. })), "{refused:?}");
    let bot = Principal::Agent(ade_core::ids::AgentId::from_u128(1));
    let refused = tenants::admit(&mut tx, &NewToken { principal: bot, ..way_in(&rig, "b") }).await;
    assert!(matches!(refused, Err(StoreError::Unstorable { .. })), "{refused:?}");
    tx.roll_back().await;
    let mut app =
        Tx::begin(&rig.pool, TENANT, Actor::system("api"), TenantLock::Exclusive).await.unwrap();
    let refused = tenants::create(&mut app, "acme", &admin()).await;
    assert!(
        matches!(refused, Err(StoreError::Forbidden { .. })),
        "not by the application: {refused:?}"
    );
    assert!(TOKEN_BOOTSTRAP_TTL <= Duration::from_mins(15));
}
