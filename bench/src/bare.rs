//! The baseline of the comparison: the rows of one approval as one prepared statement, in one round
//! trip and one commit, into the same tables with all their indexes, constraints and row security.
//! All values are known in advance: nothing is read, decided or returned.

use anyhow::{Context as _, Result, bail};
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use crate::installation::{Installation, run};
use crate::seed::{Ballot, Seed};

const APPROVE: &str = "
    WITH guard AS (
        UPDATE task SET state = 'APPROVED', since = now(), version = version + 1,
               basis = $4::json, updated_at = now()
         WHERE tenant_id = $1 AND id = $2 AND state = 'REVIEWING' AND version = $3
        RETURNING id),
    voted AS (
        INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round, places,
            at, effectual)
        SELECT $1, id, $5, 'approve', 1, $6, $7, $8, now(), true FROM guard),
    asked AS (
        UPDATE approval a
           SET status = CASE WHEN reviewer_id = $5 THEN 'APPROVED' ELSE 'SUPERSEDED' END
          FROM guard WHERE a.tenant_id = $1 AND a.task_id = guard.id),
    leaf AS (
        INSERT INTO audit_entry (tenant_id, format, id, at, kind, user_id, object, action,
            from_state, to_state, revision, digest, address, service, canonical, hash)
        SELECT $1, 1, uuid_v7(), now(), 'change', $5, $9, 'task.approve', 'REVIEWING', 'APPROVED',
               1, $6, '127.0.0.1'::inet, 'api', $10, $11
          FROM guard),
    outbox_events AS (
        INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
        SELECT $1, now(), kind, $9, $3 + 1, payload::json
          FROM unnest($12::text[], $13::text[]) AS event (kind, payload), guard),
    due AS (
        INSERT INTO scheduled_job (tenant_id, kind, object, at)
        SELECT $1, 'expire', id, now() + interval '3 days' FROM guard
        ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at)
    SELECT count(*) FROM guard";

/// The rows that one approval over HTTP wrote, to be written again.
#[derive(Debug, Clone)]
pub struct ApprovalSample {
    tenant: Uuid,
    version: i64,
    basis: String,
    digest: Vec<u8>,
    round: i32,
    places: Vec<Uuid>,
    object: String,
    canonical: Vec<u8>,
    hash: Vec<u8>,
    kinds: Vec<String>,
    payloads: Vec<String>,
}

impl ApprovalSample {
    /// Reads the rows of a task that was approved.
    pub async fn of(owner: &mut PgConnection, seed: &Seed, task: Uuid) -> Result<Self> {
        let tenant = seed.tenant.uuid();
        let object = ade_core::ids::TaskId::from_uuid(task).to_string();
        let row = sqlx::query(
            "SELECT t.version - 1 AS version, t.basis::text AS basis, v.digest, v.round, v.places,
                    l.canonical, l.hash
               FROM task t
               JOIN vote v ON (v.tenant_id, v.task_id) = (t.tenant_id, t.id)
               JOIN audit_entry l ON l.tenant_id = t.tenant_id AND l.object = $3
              WHERE t.tenant_id = $1 AND t.id = $2 AND t.state = 'APPROVED'",
        );
        let row = row.bind(tenant).bind(task).bind(&object).fetch_one(&mut *owner).await?;
        let (kinds, payloads) = newest_events(owner, tenant, &object).await?;
        Ok(Self {
            tenant,
            version: row.try_get("version")?,
            basis: row.try_get("basis")?,
            digest: row.try_get("digest")?,
            round: row.try_get("round")?,
            places: row.try_get("places")?,
            object,
            canonical: row.try_get("canonical")?,
            hash: row.try_get("hash")?,
            kinds,
            payloads,
        })
    }
}

/// Returns the kinds and payloads of the events that the last transaction wrote for one object.
pub async fn newest_events(
    owner: &mut PgConnection,
    tenant: Uuid,
    object: &str,
) -> Result<(Vec<String>, Vec<String>)> {
    let events = sqlx::query_as::<_, (String, String)>(
        "SELECT kind, payload::text FROM outbox
          WHERE tenant_id = $1 AND object = $2
            AND xid = (SELECT xid FROM outbox WHERE tenant_id = $1 AND object = $2
                        ORDER BY seq DESC LIMIT 1)",
    );
    let events = events.bind(tenant).bind(object).fetch_all(owner).await?;
    Ok(events.into_iter().unzip())
}

/// Connects as the server does: in one tenant, under its row security.
pub async fn connect(at: &Installation, tenant: Uuid) -> Result<PgConnection> {
    let mut connection = PgConnection::connect(&at.app_url).await?;
    let settings = format!("SET ade.tenant = '{tenant}'; SET plan_cache_mode = force_generic_plan");
    run(&mut connection, &settings).await?;
    Ok(connection)
}

#[derive(Debug)]
pub struct BareApproval {
    connection: PgConnection,
    sample: ApprovalSample,
}

impl BareApproval {
    pub async fn connect(at: &Installation, sample: &ApprovalSample) -> Result<Self> {
        Ok(Self { connection: connect(at, sample.tenant).await?, sample: sample.clone() })
    }

    pub async fn approve(&mut self, seed: &Seed, ballot: &Ballot) -> Result<()> {
        let voter = seed.reviewers.get(ballot.reviewer).context("no such reviewer")?;
        let sample = &self.sample;
        let written: i64 = sqlx::query_scalar(APPROVE)
            .bind(sample.tenant)
            .bind(ballot.task)
            .bind(sample.version)
            .bind(&sample.basis)
            .bind(voter.id.uuid())
            .bind(&sample.digest)
            .bind(sample.round)
            .bind(&sample.places)
            .bind(&sample.object)
            .bind(&sample.canonical)
            .bind(&sample.hash)
            .bind(&sample.kinds)
            .bind(&sample.payloads)
            .fetch_one(&mut self.connection)
            .await?;
        if written != 1 {
            bail!("the task was not as it should be");
        }
        Ok(())
    }
}

/// Counts the rows in each table that an approval touches; both sides must have written the same
/// number.
pub async fn rows(owner: &mut PgConnection) -> Result<[i64; 5]> {
    let query = sqlx::query_as::<_, (i64, i64, i64, i64, i64)>(
        "SELECT (SELECT count(*) FROM vote), (SELECT count(*) FROM audit_entry),
                (SELECT count(*) FROM outbox),
                (SELECT count(*) FROM approval WHERE status <> 'PENDING'),
                (SELECT count(*) FROM task WHERE state = 'APPROVED')",
    );
    let (votes, entries, events, answered, approved) = query.fetch_one(owner).await?;
    Ok([votes, entries, events, answered, approved])
}
