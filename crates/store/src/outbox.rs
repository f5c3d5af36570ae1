//! Events, written in the transaction they tell of. Their order is that of commits (`xid`, then
//! `seq`); the dense number a subscriber sees is given later, by the relay.

use ade_core::event::EventKind;
use serde_json::Value;
use sqlx::types::Json;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

/// Thin on purpose: whoever wants the whole reads the object at this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// By its id, for example `task_…`.
    pub object: String,
    pub version: Option<i64>,
    pub payload: Value,
}

pub async fn append(tx: &mut Tx, events: &[Event]) -> Result<(), Error> {
    if events.is_empty() {
        return Ok(());
    }
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let objects: Vec<&str> = events.iter().map(|event| event.object.as_str()).collect();
    let versions: Vec<Option<i64>> = events.iter().map(|event| event.version).collect();
    let payloads: Vec<Json<&Value>> = events.iter().map(|event| Json(&event.payload)).collect();
    let query = sqlx::query(
        "INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
         SELECT $1, $2, kind, object, version, payload::json
           FROM unnest($3::text[], $4::text[], $5::int8[], $6::jsonb[])
                WITH ORDINALITY AS event (kind, object, version, payload, place)
          ORDER BY place",
    )
    .bind(tx.tenant().uuid())
    .bind(Moment(tx.now()))
    .bind(kinds)
    .bind(objects)
    .bind(versions)
    .bind(payloads);
    tx.write(query).await?;
    Ok(())
}
