//! Who may commit: holds are registered before anything is done under them, and asserted first in
//! every protected transaction. The rule is `ade_lock_model::fence`; here it is implemented with
//! rows and row locks, by PostgreSQL's clock. A refused caller rolls back.

pub mod deadlocks;
pub mod epochs;
pub mod line;
mod live;
pub mod many;
pub mod rate;
pub mod sessions;

use ade_core::ids::{LeaseId, ProcessId};
use ade_core::limits::LOCKS_PER_AGENT_MAX;
use ade_core::lock::fence::{NotHeld, RegisterRefusal};
use ade_core::lock::{Epoch, FencingToken, LockSet, Mode, Request};
use sqlx::query_as;
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;
pub use live::{HoldDetails, beside, live, names, of};

const REGISTER: &str = "
    SELECT refusal, refused_on, number, held_by
      FROM lock_register($1, $2, $3, $4, $5, $6, $7, $8, $9,
                         make_interval(secs => $10), make_interval(secs => $11), $12)";
const TAKEN: &str = "SELECT lock_taken($1)";
/// Asserts holds. FOR SHARE makes a fencing transaction wait for this commit, and makes this one
/// see a fence that was committed before.
const ASSERT: &str = "
    SELECT count(*) FROM (
        SELECT FROM lock_hold
         WHERE tenant_id = $1 AND lease_id = $2 AND token = $3
           AND fenced_by IS NULL AND released_at IS NULL
         ORDER BY resource FOR SHARE) AS own";
const OWN: &str = "
    SELECT fenced_by IS NULL AND released_at IS NULL FROM lock_hold
     WHERE tenant_id = $1 AND lease_id = $2 ORDER BY resource FOR NO KEY UPDATE";
const EXTEND: &str = "
    UPDATE lock_hold SET deadline = clock_timestamp() + ttl
     WHERE tenant_id = $1 AND lease_id = $2";
const RELEASE: &str = "
    UPDATE lock_hold SET released_at = clock_timestamp()
     WHERE tenant_id = $1 AND lease_id = $2 AND fenced_by IS NULL AND released_at IS NULL";

const FLOOR: &str = "
    SELECT max(seen.max_token) FROM unnest($2::text[]) AS wanted (resource)
     CROSS JOIN LATERAL (
        SELECT f.max_token FROM lock_fence f
         WHERE f.tenant_id = $1 AND f.resource = wanted.resource LIMIT 1) AS seen";
const EVER: &str = "SELECT EXISTS (SELECT FROM lock_fence WHERE tenant_id = $1)";

type Answer = (Option<String>, Option<String>, Option<i64>, Option<Vec<Uuid>>);

/// Registers holds in the transaction of the permit, before any effect: all resources or none. A
/// repeated registration returns the first result.
pub async fn register(
    tx: &mut Tx,
    request: &Request,
    session: ProcessId,
    token: FencingToken,
) -> Result<Result<(), RegisterRefusal>, StoreError> {
    let set = request.set();
    let resources: Vec<String> = set.resources().map(ToString::to_string).collect();
    let modes: Vec<&str> = set.iter().map(|(_, mode)| mode_text(mode)).collect();
    let capacities: Vec<Option<i32>> = set.iter().map(|(_, mode)| capacity(mode)).collect();
    let query = query_as(REGISTER)
        .bind(request.lease().uuid())
        .bind(session.uuid())
        .bind(stored(token)?)
        .bind(resources)
        .bind(modes)
        .bind(capacities)
        .bind(request.owner().to_string())
        .bind(request.node())
        .bind(PgTimestamp(request.birth()))
        .bind(request.ttl().as_secs_f64())
        .bind(request.class().lock_delay().as_secs_f64())
        .bind(request.agent().map(|_| i64::try_from(LOCKS_PER_AGENT_MAX).unwrap_or(i64::MAX)));
    let rows: Vec<Answer> = tx.write_rows(query).await?;
    let lease = request.lease();
    let Some((refusal, on, number, held_by)) = rows.into_iter().next() else {
        return Err(wrong(lease, "refusal", "no row").into());
    };
    match refusal {
        None => Ok(Ok(())),
        Some(refusal) => Ok(Err(Refused { refusal, on, number, held_by }.read(lease)?)),
    }
}

/// A refusal as the database reports it.
#[derive(Debug)]
pub(crate) struct Refused {
    pub refusal: String,
    pub on: Option<String>,
    pub number: Option<i64>,
    pub held_by: Option<Vec<Uuid>>,
}

impl Refused {
    pub fn read(self, lease: LeaseId) -> Result<RegisterRefusal, RowError> {
        let number = self.number.and_then(|number| u64::try_from(number).ok());
        let number = number.unwrap_or_default();
        let on = || {
            let name = self.on.as_deref().unwrap_or_default();
            name.parse().map_err(|_| wrong(lease, "refused_on", name))
        };
        let token =
            || FencingToken::from_number(number).ok_or_else(|| wrong(lease, "number", "no token"));
        let held_by = self.held_by.unwrap_or_default().into_iter().map(LeaseId::from_uuid);
        Ok(match self.refusal.as_str() {
            "session_dead" => RegisterRefusal::SessionDead,
            "stale_epoch" => RegisterRefusal::StaleEpoch {
                // Without a row it is the first epoch, which has not begun.
                current: Epoch::new(number).unwrap_or(Epoch::FIRST),
            },
            "token_low" => RegisterRefusal::TokenLow { resource: on()?, floor: token()? },
            "held" => RegisterRefusal::Held { resource: on()?, by: held_by.collect() },
            "too_many" => {
                RegisterRefusal::TooMany { taken: usize::try_from(number).unwrap_or(usize::MAX) }
            }
            "lease_spent" => RegisterRefusal::LeaseSpent,
            other => return Err(wrong(lease, "refusal", other)),
        })
    }
}

fn wrong(lease: LeaseId, column: &'static str, why: &str) -> RowError {
    let row = lease.to_string();
    RowError { table: "lock_register", column, row, why: why.to_owned() }
}

/// The first statement of every protected transaction. An expired deadline does not matter: as long
/// as the hold is not fenced, no one else works on its resource.
pub async fn assert_holds(
    tx: &mut Tx,
    lease: LeaseId,
    token: FencingToken,
    expected: usize,
) -> Result<Result<(), NotHeld>, StoreError> {
    let query = query_as(ASSERT).bind(tx.tenant().uuid()).bind(lease.uuid()).bind(stored(token)?);
    let rows: Vec<(i64,)> = tx.read(query).await?;
    let open = rows.first().and_then(|(count,)| usize::try_from(*count).ok()).unwrap_or_default();
    Ok(if open == expected && expected > 0 { Ok(()) } else { Err(NotHeld { open, expected }) })
}

/// Extends a lease by a heartbeat of its execution. A lease that was fenced in part is not
/// extended: it can no longer commit and must not keep the rest of its set from others.
pub async fn extend(tx: &mut Tx, lease: LeaseId) -> Result<Result<(), NotHeld>, StoreError> {
    let query = query_as(OWN).bind(tx.tenant().uuid()).bind(lease.uuid());
    let rows: Vec<(bool,)> = tx.read(query).await?;
    let expected = rows.len();
    let open = rows.iter().filter(|(is_open,)| *is_open).count();
    if open != expected || open == 0 {
        return Ok(Err(NotHeld { open, expected }));
    }
    // A deadline is not audited; it only defines until when others are kept out.
    let query = sqlx::query(EXTEND).bind(tx.tenant().uuid()).bind(lease.uuid());
    tx.write_beside(query).await?;
    Ok(Ok(()))
}

/// Releases a lease and returns how many resources it held; zero if it was released or fenced
/// before.
pub async fn release(tx: &mut Tx, lease: LeaseId) -> Result<u64, StoreError> {
    let query = sqlx::query(RELEASE).bind(tx.tenant().uuid()).bind(lease.uuid());
    tx.write(query).await
}

/// Returns how many resources an agent keeps from others by its own leases.
pub async fn taken(tx: &mut Tx, agent: &str) -> Result<usize, StoreError> {
    let rows: Vec<(i64,)> = tx.read(query_as(TAKEN).bind(agent)).await?;
    Ok(rows.first().and_then(|(taken,)| usize::try_from(*taken).ok()).unwrap_or_default())
}

/// Returns a token of this epoch above all tokens that these resources have seen, for a hold that
/// no queue granted.
pub async fn next_token(
    tx: &mut Tx,
    epoch: Epoch,
    set: &LockSet,
) -> Result<FencingToken, StoreError> {
    let resources: Vec<String> = set.resources().map(ToString::to_string).collect();
    let query = query_as(FLOOR).bind(tx.tenant().uuid()).bind(resources);
    let rows: Vec<(Option<i64>,)> = tx.read(query).await?;
    let floor = rows.into_iter().find_map(|(floor,)| floor).unwrap_or_default();
    let floor = u64::try_from(floor).ok().and_then(FencingToken::from_number);
    let counter = floor.filter(|floor| floor.epoch() >= epoch).map_or(0, FencingToken::counter);
    let epoch = floor.map_or(epoch, |floor| floor.epoch().max(epoch));
    FencingToken::new(epoch, counter + 1).ok_or_else(|| StoreError::Unstorable {
        value: format!("token {} of epoch {epoch}", counter + 1),
        why: "the epoch has no numbers left".to_owned(),
    })
}

/// Returns whether anything was ever registered in this space.
pub async fn has_registered(tx: &mut Tx) -> Result<bool, StoreError> {
    let rows: Vec<(bool,)> = tx.read(query_as(EVER).bind(tx.tenant().uuid())).await?;
    Ok(rows.first().is_some_and(|(ever,)| *ever))
}

pub(crate) fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Counting { .. } => "counting",
    }
}

pub(crate) fn capacity(mode: Mode) -> Option<i32> {
    match mode {
        Mode::Exclusive | Mode::Shared => None,
        Mode::Counting { capacity } => i32::try_from(capacity).ok(),
    }
}

pub(crate) fn stored(token: FencingToken) -> Result<i64, StoreError> {
    i64::try_from(token.number()).map_err(|error| StoreError::Unstorable {
        value: format!("token {token}"),
        why: error.to_string(),
    })
}
