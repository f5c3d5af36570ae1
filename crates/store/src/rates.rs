//! How often each kind of event happened, hour by hour. Folded together with the cursor of the
//! group that reads them, so that each counts once.

use std::collections::BTreeMap;

use ade_core::time::Timestamp;
use sqlx::{query, query_as};

use crate::error::Error;
use crate::events::Numbered;
use crate::moment::Moment;
use crate::tx::Tx;

pub async fn count(tx: &mut Tx, events: &[Numbered]) -> Result<(), Error> {
    let moments: Vec<Moment> = events.iter().map(|event| Moment(event.at)).collect();
    let kinds: Vec<String> = events.iter().map(|event| event.kind.clone()).collect();
    let query = query!(
        "INSERT INTO event_rate AS kept (tenant_id, hour, kind, count)
         SELECT $1, date_trunc('hour', given.at, 'UTC'), given.kind, count(*)
           FROM unnest($2::timestamptz[], $3::text[]) AS given (at, kind)
          GROUP BY 2, 3
         ON CONFLICT ON CONSTRAINT event_rate_pkey
            DO UPDATE SET count = kept.count + excluded.count",
        tx.tenant().uuid(),
        &moments as &[Moment],
        &kinds,
    );
    tx.write_beside(query).await?;
    Ok(())
}

struct KindCount {
    kind: String,
    count: i64,
}

/// By kind, in the hours that began at or after the one of `since`.
pub async fn since(tx: &mut Tx, since: Timestamp) -> Result<BTreeMap<String, i64>, Error> {
    let query = query_as!(
        KindCount,
        r#"SELECT kind, sum(count)::bigint AS "count!" FROM event_rate
            WHERE tenant_id = $1 AND hour >= date_trunc('hour', $2::timestamptz, 'UTC')
            GROUP BY kind"#,
        tx.tenant().uuid(),
        Moment(since) as _,
    );
    Ok(tx.fetch(query).await?.into_iter().map(|row| (row.kind, row.count)).collect())
}
