//! Everything that happens before a server takes requests: migrations, the access of the first
//! admin, and the checks without which it does not start. Tables and tenants are created over the
//! owner's connection.

use std::time::Duration;

use ade_core::access::Scope;
use ade_core::actor::{Actor, Role};
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::TOKEN_BOOTSTRAP_TTL;
use ade_core::network::Networks;
use ade_core::token;
use ade_store::boot;
use ade_store::pool::PoolSettings;
use ade_store::tokens::{NewToken, Principal};
use ade_store::users::{self, NewUser, UserProfile};
use ade_store::{Pool, PoolClass, TenantLock, Tx, audit, migrate as tables, tenants};
use uuid::Uuid;

use crate::app::App;
use crate::command::check_name;
use crate::error::Error;
use crate::services::secrets::{self, Pepper};

pub use ade_store::boot::BootError as Unfit;

const WORKER: &str = "bootstrap";
/// The number of users that are searched for an admin if the tenant already exists: the first admin
/// gets the new token.
const USERS_LOOKED_AT: u32 = 200;

/// The access of the first admin. The token is valid once, for a short time.
#[derive(Debug)]
pub struct WayIn {
    pub tenant: TenantId,
    pub admin: UserId,
    pub token: token::Token,
    pub valid_for: Duration,
}

pub async fn migrate(owner_url: &str) -> Result<(), Error> {
    Ok(tables::run(owner_url).await?)
}

/// Checks everything that keeps this process from starting. The error says what to do.
pub async fn check(app: &App) -> Result<(), Unfit> {
    boot::check(&app.pools.api, &app.pools.worker, app.replica.as_ref()).await
}

/// Returns whether the installation has more than one tenant.
pub async fn has_several_tenants(app: &App) -> Result<bool, Error> {
    Ok(tenants::has_several(&app.pools.api).await?)
}

/// Returns whether [`bootstrap`] would create a tenant in addition to others.
pub async fn would_add_tenant(owner_url: &str, name: &str) -> Result<bool, Error> {
    let pool = Pool::new(&PoolSettings::new(owner_url), PoolClass::Reserved)?;
    let would_add = tenants::would_add(&pool, name).await;
    pool.close().await;
    Ok(would_add?)
}

/// Checks the settings that locks depend on. Returns each with its problem, if it has one.
pub async fn lock_checks(app: &App) -> Vec<(String, Result<(), String>)> {
    let Some(keeper) = &app.locks else {
        return vec![("locks (no backend configured, no lock is granted)".to_owned(), Ok(()))];
    };
    let mut checks = Vec::new();
    match keeper.queue.fitness().await {
        Ok(found) => checks.extend(found.into_iter().map(|found| {
            let name = format!("redis {} {}", found.node, found.setting);
            let why = format!("it is `{}`: {}", found.value, found.needed);
            (name, if found.is_fit { Ok(()) } else { Err(why) })
        })),
        Err(error) => checks.push(("redis".to_owned(), Err(error.to_string()))),
    }
    let durable = boot::durability(&app.pools.reserved).await;
    let durable = durable.map_err(|error| error.to_string()).and_then(|problem| match problem {
        None => Ok(()),
        Some(problem) => Err(problem),
    });
    checks.push(("synchronous replication".to_owned(), durable));
    checks
}

/// Creates the tenant if no tenant has this name, and a single-use token for its first admin.
pub async fn bootstrap(owner_url: &str, pepper: &Pepper, name: &str) -> Result<WayIn, Error> {
    check_name("tenant", name)?;
    let pool = Pool::new(&PoolSettings::new(owner_url), PoolClass::Reserved)?;
    let way_in = open(&pool, pepper, name).await;
    pool.close().await;
    way_in
}

async fn open(pool: &Pool, pepper: &Pepper, name: &str) -> Result<WayIn, Error> {
    let known = tenants::find(pool, name).await?;
    let tenant = known.unwrap_or_else(|| TenantId::from_uuid(Uuid::now_v7()));
    let actor = Actor::system(WORKER);
    let mut tx = Tx::begin(pool, tenant, actor, TenantLock::Exclusive).await?;
    let admin = if known.is_some() {
        first_admin(&mut tx).await?
    } else {
        let admin = admin();
        tenants::create(&mut tx, name, &admin).await?;
        admin.id
    };
    let token = secrets::issue(token::TokenKind::User)?;
    let kept = NewToken {
        networks: Networks::default(),
        key_id: token.key_id.to_string(),
        principal: Principal::User(admin),
        hash: pepper.hash(&token.secret),
        scopes: Scope::ALL.iter().map(|class| class.as_str().to_owned()).collect(),
        label: WORKER.to_owned(),
        expires_at: tx.now().plus(TOKEN_BOOTSTRAP_TTL),
        is_single_use: true,
        issued_by: None,
    };
    tenants::admit(&mut tx, &kept).await?;
    let what = What::new(admin.to_string(), "tenant.bootstrap");
    let place = Where::service("migrate");
    let who = Who::System { worker: WORKER.to_owned() };
    let entry =
        AuditEntry::new(tenant, EntryKind::Change, who, what, tx.now(), place, Why::default());
    audit::append(&mut tx, &[entry]).await?;
    tx.commit().await?;
    Ok(WayIn { tenant, admin, token, valid_for: TOKEN_BOOTSTRAP_TTL })
}

fn admin() -> NewUser {
    let id = UserId::from_uuid(Uuid::now_v7());
    let profile =
        UserProfile { name: "First admin".to_owned(), email: None, manager: None, is_active: true };
    let (issuer, subject) = ("local".to_owned(), id.to_string());
    NewUser { id, issuer, subject, profile, has_verified_email: false }
}

async fn first_admin(tx: &mut Tx) -> Result<UserId, Error> {
    let users = users::list(tx, None, USERS_LOOKED_AT).await?;
    let is_admin = |user: &&users::User| user.profile.is_active && user.roles.contains(Role::ADMIN);
    let found = users.iter().find(is_admin).map(|user| user.id);
    found.ok_or(Error::NotFound { what: "active admin" })
}
