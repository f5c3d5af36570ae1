//! Event counts by kind and hour. They are updated together with the cursor of the consumer group
//! that reads the events, so that each event counts once.

use std::collections::BTreeMap;

use ade_core::time::Timestamp;
use sqlx::{query, query_as};

use crate::error::StoreError;
use crate::events::Numbered;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

pub async fn count(tx: &mut Tx, events: &[Numbered]) -> Result<(), StoreError> {
    let moments: Vec<PgTimestamp> = events.iter().map(|event| PgTimestamp(event.at)).collect();
    let kinds: Vec<String> = events.iter().map(|event| event.kind.clone()).collect();
    let query = query!(
        "INSERT INTO event_rate AS kept (tenant_id, hour, kind, count)
         SELECT $1, date_trunc('hour', given.at, 'UTC'), given.kind, count(*)
           FROM unnest($2::timestamptz[], $3::text[]) AS given (at, kind)
          GROUP BY 2, 3
         ON CONFLICT ON CONSTRAINT event_rate_pkey
            DO UPDATE SET count = kept.count + excluded.count",
        tx.tenant().uuid(),
        &moments as &[PgTimestamp],
        &kinds,
    );
    tx.write_beside(query).await?;
    Ok(())
}

struct KindCount {
    kind: String,
    count: i64,
}

/// Returns the counts by kind, for the hours from the one of `since` on.
pub async fn since(tx: &mut Tx, since: Timestamp) -> Result<BTreeMap<String, i64>, StoreError> {
    let query = query_as!(
        KindCount,
        r#"SELECT kind, sum(count)::bigint AS "count!" FROM event_rate
            WHERE tenant_id = $1 AND hour >= date_trunc('hour', $2::timestamptz, 'UTC')
            GROUP BY kind"#,
        tx.tenant().uuid(),
        PgTimestamp(since) as _,
    );
    Ok(tx.fetch(query).await?.into_iter().map(|row| (row.kind, row.count)).collect())
}
