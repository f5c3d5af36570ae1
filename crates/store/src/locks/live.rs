//! What a rebuilt queue must know: the leases that can still commit, each whole. One that was
//! fenced in part is lost, so the rest of its set is free.

use std::time::Duration;

use ade_core::ids::LeaseId;
use ade_core::lock::{Class, LiveHold, LockSet, Mode, Request, RequestDraft, Token};
use ade_core::resource::ResourceRef;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

struct LiveRow {
    lease_id: Uuid,
    resource: String,
    mode: String,
    capacity: Option<i32>,
    token: i64,
    owner: String,
    node: String,
    born_at: Moment,
    ttl_ms: i64,
    lock_delay_ms: i64,
    deadline: Moment,
}

/// In the order of their ids.
pub async fn live(tx: &mut Tx) -> Result<Vec<LiveHold>, Error> {
    let query = query_as!(
        LiveRow,
        r#"SELECT h.lease_id, h.resource, h.mode, h.capacity, h.token, h.owner, h.node,
                  h.born_at AS "born_at: Moment", h.deadline AS "deadline: Moment",
                  (extract(epoch FROM h.ttl) * 1000)::bigint AS "ttl_ms!",
                  (extract(epoch FROM h.lock_delay) * 1000)::bigint AS "lock_delay_ms!"
             FROM lock_hold h
            WHERE h.tenant_id = $1 AND h.fenced_by IS NULL AND h.released_at IS NULL
              AND NOT EXISTS (
                  SELECT FROM lock_hold other
                   WHERE other.tenant_id = $1 AND other.lease_id = h.lease_id
                     AND (other.fenced_by IS NOT NULL OR other.released_at IS NOT NULL))
            ORDER BY h.lease_id, h.resource"#,
        tx.tenant().uuid(),
    );
    let rows = tx.fetch(query).await?;
    let leases = rows.chunk_by(|one, other| one.lease_id == other.lease_id);
    leases.map(|rows| Ok(hold(rows)?)).collect()
}

fn hold(rows: &[LiveRow]) -> Result<LiveHold, RowError> {
    let lease = LeaseId::from_uuid(rows.first().map(|row| row.lease_id).unwrap_or_default());
    let wrong =
        |column, why: String| RowError { table: "lock_hold", column, row: lease.to_string(), why };
    let Some(first) = rows.first() else {
        return Err(wrong("lease_id", "no row".to_owned()));
    };
    let mut wanted = Vec::new();
    for row in rows {
        let resource: Result<ResourceRef, _> = row.resource.parse();
        let resource = resource.map_err(|error| wrong("resource", error.to_string()))?;
        let capacity = row.capacity.and_then(|capacity| u32::try_from(capacity).ok());
        let mode = match (row.mode.as_str(), capacity) {
            ("exclusive", None) => Mode::Exclusive,
            ("shared", None) => Mode::Shared,
            ("counting", Some(capacity)) => Mode::Counting { capacity },
            _ => return Err(wrong("mode", row.mode.clone())),
        };
        wanted.push((resource, mode));
    }
    let millis = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    let request = Request::new(RequestDraft {
        lease,
        owner: first.owner.parse().map_err(|_| wrong("owner", first.owner.clone()))?,
        node: first.node.clone(),
        birth: first.born_at.0,
        class: Class::Fenced { lock_delay: millis(first.lock_delay_ms) },
        set: LockSet::new(wanted).map_err(|error| wrong("resource", error.to_string()))?,
        ttl: millis(first.ttl_ms),
        // It holds: it waits no more, and nobody may send it back into a line.
        wait: Duration::ZERO,
        boost: 0,
    });
    let token = u64::try_from(first.token).ok().and_then(Token::from_number);
    Ok(LiveHold {
        request: request.map_err(|error| wrong("ttl", error.to_string()))?,
        token: token.ok_or_else(|| wrong("token", first.token.to_string()))?,
        deadline: first.deadline.0,
    })
}
