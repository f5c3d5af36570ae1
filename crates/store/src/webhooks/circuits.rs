//! How endpoints do: failures in a row, and until when one is left alone. Not a part of the record,
//! so no leaf tells of it.

use std::collections::BTreeMap;

use ade_core::ids::WebhookId;
use ade_core::time::Timestamp;
use ade_core::webhook::Circuit;
use sqlx::query;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

/// One that has never failed is closed.
pub async fn circuit(tx: &mut Tx, endpoint: WebhookId) -> Result<Circuit, Error> {
    Ok(known(tx, Some(endpoint)).await?.remove(&endpoint).unwrap_or_default())
}

/// Of all endpoints of the tenant that have one.
pub async fn circuits(tx: &mut Tx) -> Result<BTreeMap<WebhookId, Circuit>, Error> {
    known(tx, None).await
}

async fn known(
    tx: &mut Tx,
    only: Option<WebhookId>,
) -> Result<BTreeMap<WebhookId, Circuit>, Error> {
    let query = query!(
        r#"SELECT endpoint_id, failures, open_until AS "open_until: Moment" FROM webhook_circuit
            WHERE tenant_id = $1 AND ($2::uuid IS NULL OR endpoint_id = $2)"#,
        tx.tenant().uuid(),
        only.map(WebhookId::uuid),
    );
    let known = tx.fetch(query).await?.into_iter().map(|row| {
        let circuit = Circuit {
            failures: row.failures.unsigned_abs(),
            open_until: row.open_until.map(|moment| moment.0),
        };
        (WebhookId::from_uuid(row.endpoint_id), circuit)
    });
    Ok(known.collect())
}

/// With what went wrong last; a circuit without failures means that the last delivery arrived.
pub async fn set_circuit(
    tx: &mut Tx,
    endpoint: WebhookId,
    circuit: Circuit,
    problem: Option<&str>,
) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO webhook_circuit AS c (tenant_id, endpoint_id, failures, open_until,
                                           failing_since, problem, delivered_at)
         VALUES ($1, $2, $3, $4, CASE WHEN $3 > 0 THEN $6::timestamptz END, $5,
                 CASE WHEN $3 = 0 THEN $6::timestamptz END)
         ON CONFLICT ON CONSTRAINT webhook_circuit_pkey DO UPDATE
            SET failures = excluded.failures, open_until = excluded.open_until,
                failing_since = CASE WHEN excluded.failures > 0
                                     THEN coalesce(c.failing_since, excluded.failing_since) END,
                problem = excluded.problem,
                delivered_at = coalesce(excluded.delivered_at, c.delivered_at)",
        tx.tenant().uuid(),
        endpoint.uuid(),
        i32::try_from(circuit.failures).unwrap_or(i32::MAX),
        circuit.open_until.map(Moment) as _,
        problem,
        Moment(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// An endpoint that does not take what it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub endpoint: WebhookId,
    pub failures: u32,
    pub since: Option<Timestamp>,
    pub open_until: Option<Timestamp>,
    pub problem: Option<String>,
}

/// Those of the tenant that have failed at least so often in a row, the longest first.
pub async fn failing(tx: &mut Tx, failures: u32, limit: u32) -> Result<Vec<Failing>, Error> {
    let query = query!(
        r#"SELECT c.endpoint_id, c.failures, c.failing_since AS "failing_since: Moment",
                  c.open_until AS "open_until: Moment", c.problem
             FROM webhook_circuit c
             JOIN webhook_endpoint e ON (e.tenant_id, e.id) = (c.tenant_id, c.endpoint_id)
            WHERE c.tenant_id = $1 AND c.failures >= $2 AND e.deleted_at IS NULL
              AND e.state = 'active'
            ORDER BY c.failing_since, c.endpoint_id LIMIT $3"#,
        tx.tenant().uuid(),
        i32::try_from(failures).unwrap_or(i32::MAX),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| Failing {
        endpoint: WebhookId::from_uuid(row.endpoint_id),
        failures: row.failures.unsigned_abs(),
        since: row.failing_since.map(|moment| moment.0),
        open_until: row.open_until.map(|moment| moment.0),
        problem: row.problem,
    });
    Ok(rows.collect())
}
