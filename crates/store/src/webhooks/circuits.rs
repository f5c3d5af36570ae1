//! The health of endpoints: consecutive failures, and until when sending is paused. Not audited.

use std::collections::BTreeMap;

use ade_core::ids::WebhookId;
use ade_core::time::Timestamp;
use ade_core::webhook::Circuit;
use sqlx::query;

use crate::error::StoreError;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Returns the circuit of an endpoint; closed if it has never failed.
pub async fn circuit(tx: &mut Tx, endpoint: WebhookId) -> Result<Circuit, StoreError> {
    Ok(known(tx, Some(endpoint)).await?.remove(&endpoint).unwrap_or_default())
}

/// Returns the circuits of all endpoints of the tenant that have one.
pub async fn circuits(tx: &mut Tx) -> Result<BTreeMap<WebhookId, Circuit>, StoreError> {
    known(tx, None).await
}

async fn known(
    tx: &mut Tx,
    only: Option<WebhookId>,
) -> Result<BTreeMap<WebhookId, Circuit>, StoreError> {
    let query = query!(
        r#"SELECT endpoint_id, failures, open_until AS "open_until: PgTimestamp"
               FROM webhook_circuit
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

/// Stores the circuit with the last problem; a circuit without failures means that the last
/// delivery arrived.
pub async fn set_circuit(
    tx: &mut Tx,
    endpoint: WebhookId,
    circuit: Circuit,
    problem: Option<&str>,
) -> Result<(), StoreError> {
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
        circuit.open_until.map(PgTimestamp) as _,
        problem,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// An endpoint whose deliveries fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub endpoint: WebhookId,
    pub failures: u32,
    pub since: Option<Timestamp>,
    pub open_until: Option<Timestamp>,
    pub problem: Option<String>,
}

/// Returns the endpoints of the tenant with at least `failures` consecutive failures, the longest
/// failing first.
pub async fn failing(tx: &mut Tx, failures: u32, limit: u32) -> Result<Vec<Failing>, StoreError> {
    let query = query!(
        r#"SELECT c.endpoint_id, c.failures, c.failing_since AS "failing_since: PgTimestamp",
                  c.open_until AS "open_until: PgTimestamp", c.problem
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
