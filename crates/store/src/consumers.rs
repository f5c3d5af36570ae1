//! Consumer groups of events: their positions, the events at which they are stuck, the dead events,
//! and the records of exports. One process at a time reads for a group in a tenant.

use ade_core::consumer::Consumer;
use ade_core::ids::{DeadEventId, EventId};
use ade_core::limits::GROUP_PROBLEM_MAX_CHARS;
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::events::Numbered;
use crate::scheduled_jobs::{self, ScheduledJob};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The job kind in `due`: a dead event that is to be retried.
pub const REDRIVE: &str = "redrive_event";

/// A group in trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The number of the event at which it is stuck.
    pub seq: u64,
    /// Events up to this number are processed one by one.
    pub singly_until: u64,
    pub tries: u32,
    pub problem: String,
    pub since: Timestamp,
    pub next_at: Timestamp,
}

/// Takes the lock of the group. The second caller waits for the first: two concurrent readers would
/// process the same events.
pub async fn queue_up(tx: &mut Tx, group: Consumer) -> Result<(), StoreError> {
    let query = query(
        "SELECT pg_advisory_xact_lock(hashtextextended('group ' || $1 || ' ' || $2::text, 0))",
    );
    tx.write_beside(query.bind(group.as_str()).bind(tx.tenant().uuid())).await?;
    Ok(())
}

pub async fn trouble(tx: &mut Tx, group: Consumer) -> Result<Option<Trouble>, StoreError> {
    let query = query!(
        r#"SELECT tenant_seq, singly_until, tries, problem, since AS "since: PgTimestamp",
                  next_at AS "next_at: PgTimestamp"
             FROM consumer_trouble WHERE tenant_id = $1 AND consumer = $2"#,
        tx.tenant().uuid(),
        group.as_str(),
    );
    let rows = tx.fetch(query).await?.into_iter();
    let mut found = rows.map(|row| Trouble {
        seq: row.tenant_seq.unsigned_abs(),
        singly_until: row.singly_until.unsigned_abs(),
        tries: row.tries.unsigned_abs(),
        problem: row.problem,
        since: row.since.0,
        next_at: row.next_at.0,
    });
    Ok(found.next())
}

/// Stores the trouble. `since` is the time of the first failure at this event.
pub async fn set_trouble(
    tx: &mut Tx,
    group: Consumer,
    trouble: &Trouble,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO consumer_trouble AS t (tenant_id, consumer, tenant_seq, singly_until, tries,
                                            problem, since, next_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT ON CONSTRAINT consumer_trouble_pkey DO UPDATE
            SET tenant_seq = excluded.tenant_seq, singly_until = excluded.singly_until,
                tries = excluded.tries, problem = excluded.problem, next_at = excluded.next_at,
                since = CASE WHEN t.tenant_seq = excluded.tenant_seq THEN t.since
                             ELSE excluded.since END",
        tx.tenant().uuid(),
        group.as_str(),
        stored(trouble.seq),
        stored(trouble.singly_until),
        i32::try_from(trouble.tries).unwrap_or(i32::MAX),
        bounded(&trouble.problem),
        PgTimestamp(trouble.since) as _,
        PgTimestamp(trouble.next_at) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

pub async fn clear_trouble(tx: &mut Tx, group: Consumer) -> Result<(), StoreError> {
    let query = query!(
        "DELETE FROM consumer_trouble WHERE tenant_id = $1 AND consumer = $2",
        tx.tenant().uuid(),
        group.as_str(),
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// The state of one group in the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerStatus {
    pub group: Consumer,
    /// The number of the last event it has processed.
    pub seq: u64,
    pub moved_at: Option<Timestamp>,
    pub trouble: Option<Trouble>,
    pub dead: u64,
}

pub async fn standing(tx: &mut Tx, group: Consumer) -> Result<ConsumerStatus, StoreError> {
    let query = query!(
        r#"SELECT (SELECT count(*) FROM dead_event
                    WHERE tenant_id = $1 AND consumer = $2 AND state = 'dead') AS "dead!",
                  (SELECT tenant_seq FROM consumer_cursor
                    WHERE tenant_id = $1 AND consumer = $2) AS seq,
                  (SELECT moved_at FROM consumer_cursor
                    WHERE tenant_id = $1 AND consumer = $2) AS "moved_at: PgTimestamp""#,
        tx.tenant().uuid(),
        group.as_str(),
    );
    let row = tx.fetch_one(query).await?;
    let trouble = trouble(tx, group).await?;
    Ok(ConsumerStatus {
        group,
        seq: row.seq.unwrap_or_default().unsigned_abs(),
        moved_at: row.moved_at.map(|moment| moment.0),
        trouble,
        dead: row.dead.unsigned_abs(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadState {
    Dead,
    /// An operator has requested a retry.
    Redriving,
    /// The retry succeeded.
    Taken,
}

impl DeadState {
    pub const ALL: [Self; 3] = [Self::Dead, Self::Redriving, Self::Taken];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Redriving => "redriving",
            Self::Taken => "taken",
        }
    }
}

/// An event that a group could not process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadEvent {
    pub id: DeadEventId,
    pub group: Consumer,
    pub event: Numbered,
    pub state: DeadState,
    pub tries: u32,
    pub problem: String,
    pub died_at: Timestamp,
    pub changed_at: Timestamp,
}

struct DeadRow {
    id: Uuid,
    consumer: String,
    tenant_seq: i64,
    event_id: Uuid,
    kind: String,
    object: String,
    version: Option<i64>,
    actor: Option<String>,
    at: PgTimestamp,
    payload: String,
    state: String,
    tries: i32,
    problem: String,
    died_at: PgTimestamp,
    changed_at: PgTimestamp,
}

fn dead_event(tx: &Tx, row: DeadRow) -> Result<DeadEvent, RowError> {
    let id = DeadEventId::from_uuid(row.id);
    let wrong =
        |column, why: String| RowError { table: "dead_event", column, row: id.to_string(), why };
    let group = row.consumer.parse::<Consumer>();
    let state = DeadState::ALL.into_iter().find(|state| state.as_str() == row.state);
    Ok(DeadEvent {
        id,
        group: group.map_err(|error| wrong("consumer", error.to_string()))?,
        state: state.ok_or_else(|| wrong("state", format!("`{}`", row.state)))?,
        event: Numbered {
            id: EventId::from_uuid(row.event_id),
            tenant: tx.tenant(),
            seq: row.tenant_seq.unsigned_abs(),
            kind: row.kind,
            object: row.object,
            version: row.version,
            actor: row.actor,
            at: row.at.0,
            data: row.payload,
        },
        tries: row.tries.unsigned_abs(),
        problem: row.problem,
        died_at: row.died_at.0,
        changed_at: row.changed_at.0,
    })
}

/// Parks an event as dead. An event that is already parked stays unchanged.
pub async fn bury(
    tx: &mut Tx,
    group: Consumer,
    event: &Numbered,
    tries: u32,
    problem: &str,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO dead_event (tenant_id, id, consumer, tenant_seq, event_id, kind, object,
                                 version, actor, at, payload, state, tries, problem, died_at,
                                 changed_at)
         VALUES ($1, uuid_v7(), $2, $3, $4, $5, $6, $7, $8, $9, $10, 'dead', $11, $12, $13, $13)
         ON CONFLICT ON CONSTRAINT dead_event_dies_once DO NOTHING",
        tx.tenant().uuid(),
        group.as_str(),
        stored(event.seq),
        event.id.uuid(),
        event.kind,
        event.object,
        event.version,
        event.actor,
        PgTimestamp(event.at) as _,
        event.data,
        i32::try_from(tries).unwrap_or(i32::MAX),
        bounded(problem),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Returns dead events, newest first, of one group if it is given.
pub async fn list_dead(
    tx: &mut Tx,
    group: Option<Consumer>,
    state: Option<DeadState>,
    before: Option<DeadEventId>,
    limit: u32,
) -> Result<Vec<DeadEvent>, StoreError> {
    let query = query_as!(
        DeadRow,
        r#"SELECT id, consumer, tenant_seq, event_id, kind, object, version, actor,
                  at AS "at: PgTimestamp", payload, state, tries, problem,
                  died_at AS "died_at: PgTimestamp", changed_at AS "changed_at: PgTimestamp"
             FROM dead_event
            WHERE tenant_id = $1 AND ($2::text IS NULL OR consumer = $2)
              AND ($3::text IS NULL OR state = $3) AND ($4::uuid IS NULL OR id < $4)
            ORDER BY id DESC LIMIT $5"#,
        tx.tenant().uuid(),
        group.map(Consumer::as_str),
        state.map(DeadState::as_str),
        before.map(DeadEventId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(|row| dead_event(tx, row)).collect::<Result<Vec<_>, _>>()?)
}

pub async fn find_dead(tx: &mut Tx, id: DeadEventId) -> Result<Option<DeadEvent>, StoreError> {
    let query = query_as!(
        DeadRow,
        r#"SELECT id, consumer, tenant_seq, event_id, kind, object, version, actor,
                  at AS "at: PgTimestamp", payload, state, tries, problem,
                  died_at AS "died_at: PgTimestamp", changed_at AS "changed_at: PgTimestamp"
             FROM dead_event WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let rows = tx.fetch(query).await?.into_iter();
    let mut found = rows.map(|row| dead_event(tx, row)).collect::<Result<Vec<_>, _>>()?;
    Ok(found.pop())
}

/// Schedules dead events for a retry, by their ids or the oldest of a group. Returns how many.
pub async fn redrive(
    tx: &mut Tx,
    ids: Option<&[DeadEventId]>,
    group: Option<Consumer>,
    limit: u32,
) -> Result<u64, StoreError> {
    let ids: Option<Vec<Uuid>> = ids.map(|ids| ids.iter().map(|id| id.uuid()).collect());
    let query = query!(
        "UPDATE dead_event d SET state = 'redriving', changed_at = $5
           FROM (SELECT id FROM dead_event
                  WHERE tenant_id = $1 AND state = 'dead'
                    AND ($2::uuid[] IS NULL OR id = ANY ($2))
                    AND ($3::text IS NULL OR consumer = $3)
                  ORDER BY tenant_seq LIMIT $4) AS chosen
          WHERE d.tenant_id = $1 AND d.id = chosen.id
         RETURNING d.id",
        tx.tenant().uuid(),
        ids.as_deref(),
        group.map(Consumer::as_str),
        i64::from(limit),
        PgTimestamp(tx.now()) as _,
    );
    let chosen = tx.fetch(query).await?.into_iter();
    let now = tx.now();
    let dues: Vec<ScheduledJob> =
        chosen.map(|row| ScheduledJob { kind: REDRIVE, object: row.id, at: now }).collect();
    if !dues.is_empty() {
        scheduled_jobs::set(tx, &dues).await?;
    }
    Ok(u64::try_from(dues.len()).unwrap_or(u64::MAX))
}

/// Records the result of another attempt. Returns whether it counted: another process may have
/// recorded one already.
pub async fn settle(
    tx: &mut Tx,
    id: DeadEventId,
    state: DeadState,
    problem: Option<&str>,
) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE dead_event
            SET state = $3, tries = tries + 1, changed_at = $5, problem = coalesce($4, problem)
          WHERE tenant_id = $1 AND id = $2 AND state = 'redriving'",
        tx.tenant().uuid(),
        id.uuid(),
        state.as_str(),
        problem.map(bounded),
        PgTimestamp(tx.now()) as _,
    );
    let is_stored = tx.write_beside(query).await? == 1;
    scheduled_jobs::clear(tx, REDRIVE, id.uuid()).await?;
    Ok(is_stored)
}

/// An export that left the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub sink: String,
    pub sha256: [u8; 32],
}

/// Records an export. A batch that was sent but not recorded is sent and recorded again.
pub async fn note_export(
    tx: &mut Tx,
    group: Consumer,
    first: u64,
    last: u64,
    exported: &Exported,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO export_batch (tenant_id, consumer, first_seq, last_seq, sink, sha256, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT ON CONSTRAINT export_batch_pkey DO NOTHING",
        tx.tenant().uuid(),
        group.as_str(),
        stored(first),
        stored(last),
        exported.sink,
        exported.sha256.as_slice(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

fn stored(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

fn bounded(problem: &str) -> String {
    problem.chars().take(GROUP_PROBLEM_MAX_CHARS).collect()
}
