//! The rows of one permit as one prepared statement: the same function registers the holds, and
//! state, attempt, audit entry, events and deadlines are written with it. Nothing is read, decided,
//! signed or returned.

use ade_core::ids::AgentId;
use anyhow::{Result, ensure};
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{AGENT_TASKS, BenchAgent};
use crate::bare::{connect, newest_events};
use crate::installation::Installation;
use crate::seed::Seed;

const PERMIT: &str = "
    WITH named AS (
        SELECT r.resource FROM task_resource r
         WHERE r.tenant_id = $1 AND r.task_id = $2 AND r.revision = 1),
    held AS (
        SELECT registered.* FROM named, apply_register(
            $3, $3, true, $4, NULL, ARRAY[$5, named.resource], ARRAY['counting', 'exclusive'],
            ARRAY[$6, NULL]::int[], 'task:' || $2, $7, now(), interval '30 s',
            interval '10 s') AS registered),
    guard AS (
        UPDATE task t SET state = 'APPLYING', since = now(), version = version + 1,
               attempts = 1, updated_at = now()
          FROM held
         WHERE t.tenant_id = $1 AND t.id = $2 AND t.state = 'APPROVED' AND held.refusal IS NULL
        RETURNING t.id, t.version, held.given_token),
    attempt AS (
        INSERT INTO execution (tenant_id, task_id, revision, holder, lease_id, token, started_at,
            attempt)
        SELECT $1, id, 1, $8::json, $3, given_token, now(), 1 FROM guard),
    leaf AS (
        INSERT INTO audit_entry (tenant_id, format, id, at, kind, agent_id, on_behalf_of, object,
            action, from_state, to_state, revision, digest, address, service, canonical, hash)
        SELECT $1, 1, uuid_v7(), now(), 'change', $4, $15, $9, 'task.start_apply', 'APPROVED',
               'APPLYING', 1, $10, '127.0.0.1'::inet, 'api', $11, $12
          FROM guard),
    outbox_events AS (
        INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
        SELECT $1, now(), kind, $9, guard.version, payload::json
          FROM unnest($13::text[], $14::text[]) AS event (kind, payload), guard),
    due AS (
        INSERT INTO scheduled_job (tenant_id, kind, object, at)
        SELECT $1, kind, id, now() + interval '40 s'
          FROM guard, unnest(ARRAY['rescue_apply', 'time_apply']) AS kind
        ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at),
    settled AS (
        DELETE FROM scheduled_job d USING guard
         WHERE d.tenant_id = $1 AND d.object = guard.id
           AND d.kind IN ('claim', 'expire', 'warn_expiry'))
    SELECT count(*) FROM guard";

/// The rows that one permit over HTTP wrote, to be written again.
#[derive(Debug, Clone)]
pub struct PermitSample {
    tenant: Uuid,
    holder: String,
    object: String,
    digest: Vec<u8>,
    canonical: Vec<u8>,
    hash: Vec<u8>,
    kinds: Vec<String>,
    payloads: Vec<String>,
    /// The person for whom the agents act.
    owner: Uuid,
}

impl PermitSample {
    /// Reads the rows of a task that is being applied.
    pub async fn of(owner: &mut PgConnection, seed: &Seed, task: Uuid) -> Result<Self> {
        let tenant = seed.tenant.uuid();
        let object = ade_core::ids::TaskId::from_uuid(task).to_string();
        let row = sqlx::query(
            "SELECT e.holder::text AS holder, l.digest, l.canonical, l.hash, l.on_behalf_of
               FROM execution e
               JOIN audit_entry l ON l.tenant_id = e.tenant_id AND l.object = $3
                AND l.action = 'task.start_apply'
              WHERE e.tenant_id = $1 AND e.task_id = $2",
        );
        let row = row.bind(tenant).bind(task).bind(&object).fetch_one(&mut *owner).await?;
        let (kinds, payloads) = newest_events(owner, tenant, &object).await?;
        Ok(Self {
            tenant,
            holder: row.try_get("holder")?,
            object,
            digest: row.try_get("digest")?,
            canonical: row.try_get("canonical")?,
            hash: row.try_get("hash")?,
            kinds,
            payloads,
            owner: row.try_get("on_behalf_of")?,
        })
    }
}

#[derive(Debug)]
pub struct BarePermit {
    connection: PgConnection,
    sample: PermitSample,
}

impl BarePermit {
    pub async fn connect(at: &Installation, sample: &PermitSample) -> Result<Self> {
        Ok(Self { connection: connect(at, sample.tenant).await?, sample: sample.clone() })
    }

    pub async fn permit(&mut self, task: Uuid, agent: &BenchAgent) -> Result<()> {
        let sample = &self.sample;
        let id: AgentId = agent.id.parse()?;
        let written: i64 = sqlx::query_scalar(PERMIT)
            .bind(sample.tenant)
            .bind(task)
            .bind(Uuid::now_v7())
            .bind(id.uuid())
            .bind(format!("_agent:{id}"))
            .bind(i32::try_from(AGENT_TASKS)?)
            .bind(format!("{id}@api"))
            .bind(&sample.holder)
            .bind(&sample.object)
            .bind(&sample.digest)
            .bind(&sample.canonical)
            .bind(&sample.hash)
            .bind(&sample.kinds)
            .bind(&sample.payloads)
            .bind(sample.owner)
            .fetch_one(&mut self.connection)
            .await?;
        ensure!(written == 1, "the task was not as it should be");
        Ok(())
    }
}

/// Counts the rows in each table that a permit touches; both sides must have written the same
/// number.
pub async fn rows(owner: &mut PgConnection) -> Result<[i64; 5]> {
    let query = sqlx::query_as::<_, (i64, i64, i64, i64, i64)>(
        "SELECT (SELECT count(*) FROM execution), (SELECT count(*) FROM lock_hold),
                (SELECT count(*) FROM agent_session), (SELECT count(*) FROM audit_entry),
                (SELECT count(*) FROM outbox)",
    );
    let (attempts, holds, sessions, entries, events) = query.fetch_one(owner).await?;
    Ok([attempts, holds, sessions, entries, events])
}
