//! What a worker has to look at, and when: all it learns of a tenant before it opens that tenant's
//! transaction. A row is a hint with a time; what to do is decided from the object itself.

use std::collections::BTreeSet;

use ade_core::ids::{TenantId, UserId};
use ade_core::limits::DUE_WINDOW_ROWS;
use ade_core::time::Timestamp;
use sqlx::query;
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::statement::{Statement, columns};
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The worker's word for it, for example `expire`.
    pub kind: &'static str,
    pub object: Uuid,
    pub at: Timestamp,
}

/// One row per kind and object: a later word replaces the earlier.
pub async fn set(tx: &mut Tx, dues: &[Due]) -> Result<(), Error> {
    let kinds: Vec<String> = dues.iter().map(|due| due.kind.to_owned()).collect();
    let objects: Vec<Uuid> = dues.iter().map(|due| due.object).collect();
    let moments: Vec<Moment> = dues.iter().map(|due| Moment(due.at)).collect();
    let query = query!(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT $1, kind, object, at
           FROM unnest($2::text[], $3::uuid[], $4::timestamptz[]) AS due (kind, object, at)
         ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        &kinds,
        &objects,
        &moments as &[Moment],
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Whether the row was as it was seen, and now waits until `at`: of several who saw it one has it.
pub async fn postpone(tx: &mut Tx, due: &Due, at: Timestamp) -> Result<bool, Error> {
    let query = query!(
        "UPDATE due SET at = $5
          WHERE tenant_id = $1 AND kind = $2 AND object = $3 AND at = $4",
        tx.tenant().uuid(),
        due.kind,
        due.object,
        Moment(due.at) as _,
        Moment(at) as _,
    );
    Ok(tx.write_beside(query).await? > 0)
}

pub async fn clear(tx: &mut Tx, kind: &'static str, object: Uuid) -> Result<u64, Error> {
    let query = query!(
        "DELETE FROM due WHERE tenant_id = $1 AND kind = $2 AND object = $3",
        tx.tenant().uuid(),
        kind,
        object,
    );
    tx.write_beside(query).await
}

/// What has come due of all tenants, by a login that may act as `ade_worker`. Each tenant's first
/// comes before anybody's second, among the oldest rows: a tenant with a flood of them takes its
/// turn like the others until its flood alone fills the window.
pub async fn next(
    pool: &Pool,
    kind: &'static str,
    limit: u32,
) -> Result<Vec<(TenantId, Due)>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        r#"SELECT tenant_id, object, at AS "at: Moment"
             FROM (SELECT tenant_id, object, at,
                          row_number() OVER (PARTITION BY tenant_id ORDER BY at, object) AS nth
                     FROM (SELECT tenant_id, object, at FROM due
                            WHERE kind = $1 AND at <= (SELECT moment())
                            ORDER BY at LIMIT $3) AS oldest)
                  AS ranked
            ORDER BY nth, at, tenant_id LIMIT $2"#,
        kind,
        i64::from(limit),
        i64::from(limit.max(DUE_WINDOW_ROWS)),
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows
        .map(|row| {
            let due = Due { kind, object: row.object, at: row.at.0 };
            (TenantId::from_uuid(row.tenant_id), due)
        })
        .collect())
}

/// Which of these have any of this kind now.
pub async fn tenants_among(
    pool: &Pool,
    kind: &'static str,
    tenants: &BTreeSet<TenantId>,
) -> Result<BTreeSet<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let asked: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    // One look into the index for each, however much is due.
    let query = query!(
        r#"SELECT asked.id AS "id!" FROM unnest($2::uuid[]) AS asked (id)
            WHERE EXISTS (SELECT FROM due d WHERE d.tenant_id = asked.id AND d.kind = $1
                             AND d.at <= (SELECT moment()))"#,
        kind,
        &asked,
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows.map(|row| TenantId::from_uuid(row.id)).collect())
}

/// Who has any of this kind, page by page.
pub async fn tenants(
    pool: &Pool,
    kind: &'static str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, Error> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "SELECT DISTINCT tenant_id FROM due
          WHERE kind = $1 AND ($2::uuid IS NULL OR tenant_id > $2) ORDER BY tenant_id LIMIT $3",
        kind,
        after.map(TenantId::uuid),
        i64::from(limit),
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows.map(|row| TenantId::from_uuid(row.tenant_id)).collect())
}

columns! { Sets of Set {
    id: Uuid => "uuid",
    kind: &'static str => "text",
    object: Uuid => "uuid",
    at: Moment => "timestamptz",
}}
columns! { Clears of Clear {
    id: Uuid => "uuid",
    kind: &'static str => "text",
}}

/// What tasks leave to do and what they settle, in the statement that moves them.
#[derive(Debug, Default)]
pub(crate) struct Dues {
    sets: Sets,
    clears: Clears,
}

impl Dues {
    /// One row is either set or cleared: one statement cannot do both to it.
    pub fn add(&mut self, id: Uuid, dues: &[Due], done: &[&'static str]) {
        for due in dues {
            let Due { kind, object, at } = *due;
            self.sets.push(Set { id, kind, object, at: Moment(at) });
        }
        let is_set = |kind: &str| dues.iter().any(|due| due.kind == kind && due.object == id);
        for kind in done.iter().filter(|kind| !is_set(kind)) {
            self.clears.push(Clear { id, kind });
        }
    }

    pub fn parts(self, s: &mut Statement) -> Result<(), Error> {
        if self.sets.count() > 0 {
            let given = self.sets.bind(s)?;
            s.part(
                "due_later",
                &format!(
                    "INSERT INTO due (tenant_id, kind, object, at)
                     SELECT $1, given.kind, given.object, given.at
                       FROM {given} JOIN guard USING (id)
                     ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = excluded.at"
                ),
            );
        }
        if self.clears.count() > 0 {
            let given = self.clears.bind(s)?;
            s.part(
                "due_no_more",
                &format!(
                    "DELETE FROM due d USING {given} JOIN guard USING (id)
                      WHERE d.tenant_id = $1 AND d.kind = given.kind AND d.object = given.id"
                ),
            );
        }
        Ok(())
    }
}

/// Every task on which this reviewer has not answered, now: they are here no more.
pub async fn set_for_reviewer(
    tx: &mut Tx,
    kind: &'static str,
    reviewer: UserId,
) -> Result<u64, Error> {
    let query = query!(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT DISTINCT a.tenant_id, $2, a.task_id, $3::timestamptz FROM approval a
          WHERE a.tenant_id = $1 AND a.reviewer_id = $4 AND a.status = 'PENDING'
         ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        kind,
        Moment(tx.now()) as _,
        reviewer.uuid(),
    );
    tx.write_beside(query).await
}

/// Every approved task of the tenant, now: the rules have changed.
pub async fn set_for_approved(tx: &mut Tx, kind: &'static str) -> Result<u64, Error> {
    let query = query!(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT tenant_id, $2, id, $3 FROM task WHERE tenant_id = $1 AND state = 'APPROVED'
         ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        kind,
        Moment(tx.now()) as _,
    );
    tx.write_beside(query).await
}

/// Every approved task of these types, now, unless it is known already.
pub async fn set_for_types(
    tx: &mut Tx,
    kind: &'static str,
    types: &[String],
) -> Result<u64, Error> {
    let query = query!(
        "INSERT INTO due (tenant_id, kind, object, at)
         SELECT tenant_id, $2, id, $3 FROM task
          WHERE tenant_id = $1 AND state = 'APPROVED' AND task_type = ANY ($4)
         ON CONFLICT ON CONSTRAINT due_pkey DO NOTHING",
        tx.tenant().uuid(),
        kind,
        Moment(tx.now()) as _,
        types,
    );
    tx.write_beside(query).await
}
