//! Audit entries, written in the transaction that they describe. The canonical bytes and their hash
//! are the evidence; the other columns only serve to find it. Sealing is not part of this module.

use ade_core::audit::{AuditEntry, EntryKind, Who, leaf_hash};
use ade_core::ids::{AgentId, ProcessId, SessionId, TenantId, UserId};
use ade_core::time::Timestamp;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::statement::{Statement, columns, encoded};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The id of an audit entry, which a caller gets as the receipt of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditEntryId(pub Uuid);

columns! { Leaves of Row {
    id: Option<Uuid> => "uuid",
    leaf_id: Option<Uuid> => "uuid",
    at: PgTimestamp => "timestamptz",
    kind: &'static str => "text",
    user_id: Option<Uuid> => "uuid",
    session_id: Option<Uuid> => "uuid",
    agent_id: Option<Uuid> => "uuid",
    on_behalf_of: Option<Uuid> => "uuid",
    agent_session_id: Option<Uuid> => "uuid",
    worker: Option<String> => "text",
    object: String => "text",
    action: String => "text",
    from_state: Option<String> => "text",
    to_state: Option<String> => "text",
    revision: Option<i32> => "int4",
    digest: Option<Vec<u8>> => "bytea",
    address: Option<String> => "text",
    user_agent: Option<String> => "text",
    service: String => "text",
    reason: Option<String> => "text",
    ticket: Option<String> => "text",
    canonical: Vec<u8> => "bytea",
    hash: Vec<u8> => "bytea",
}}

impl Leaves {
    /// Adds the entry of the task `id` to the statement that changes it. `leaf_id` is given if the
    /// caller must know the id before the entry is written.
    pub(crate) fn add(
        &mut self,
        id: Uuid,
        leaf_id: Option<AuditEntryId>,
        entry: &AuditEntry,
    ) -> Result<(), StoreError> {
        let leaf_id = leaf_id.map(|id| id.0);
        self.push(Row { id: Some(id), leaf_id, ..row(entry)? });
        Ok(())
    }

    /// Adds the part to the statement; $1 is the tenant.
    pub(crate) fn part(self, s: &mut Statement) -> Result<(), StoreError> {
        let given = self.bind(s)?;
        let rows = format!("{given} JOIN guard USING (id) ORDER BY given.place");
        s.part("leaf", &format!("{APPEND}{rows} RETURNING id"));
        Ok(())
    }
}

fn row(entry: &AuditEntry) -> Result<Row, StoreError> {
    let canonical = entry.to_bytes()?;
    let what = &entry.what;
    let revision = what.revision.map(i32::try_from).transpose();
    let mut row = Row {
        id: None,
        leaf_id: None,
        at: PgTimestamp(entry.when),
        kind: entry.kind.as_str(),
        user_id: None,
        session_id: None,
        agent_id: None,
        on_behalf_of: None,
        agent_session_id: None,
        worker: None,
        object: what.object.clone(),
        action: what.action.clone(),
        from_state: what.from.clone(),
        to_state: what.to.clone(),
        revision: revision.map_err(|error| StoreError::Unstorable {
            value: format!("revision {:?}", what.revision),
            why: error.to_string(),
        })?,
        digest: what.digest.map(|digest| digest.bytes().to_vec()),
        address: entry.place.address.map(|address| address.to_string()),
        user_agent: entry.place.user_agent.clone(),
        service: entry.place.service.clone(),
        reason: entry.why.reason.clone(),
        ticket: entry.why.ticket.clone(),
        hash: leaf_hash(&canonical).bytes().to_vec(),
        canonical,
    };
    match &entry.who {
        Who::User { user, session } => {
            row.user_id = Some(user.uuid());
            row.session_id = session.map(SessionId::uuid);
        }
        Who::Agent { agent, on_behalf_of, session } => {
            row.agent_id = Some(agent.uuid());
            row.on_behalf_of = Some(on_behalf_of.uuid());
            row.agent_session_id = session.map(ProcessId::uuid);
        }
        Who::System { worker } => row.worker = Some(worker.clone()),
    }
    Ok(row)
}

/// Inserts entries. `1` is the format of the entry, which its bytes contain too.
const APPEND: &str = "
    INSERT INTO audit_entry (tenant_id, format, id, at, kind, user_id, session_id, agent_id,
        on_behalf_of, agent_session_id, worker, object, action, from_state, to_state, revision,
        digest, address, user_agent, service, reason, ticket, canonical, hash)
    SELECT $1, 1, coalesce(given.leaf_id, uuid_v7()), given.at, given.kind, given.user_id,
           given.session_id, given.agent_id,
           given.on_behalf_of, given.agent_session_id, given.worker, given.object,
           given.action, given.from_state, given.to_state, given.revision, given.digest,
           given.address::inet, given.user_agent, given.service, given.reason, given.ticket,
           given.canonical, given.hash
      FROM ";

/// Appends entries and returns their ids in the given order.
pub async fn append(tx: &mut Tx, entries: &[AuditEntry]) -> Result<Vec<AuditEntryId>, StoreError> {
    let mut rows = Leaves::default();
    for entry in entries {
        rows.push(row(entry)?);
    }
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    let given = rows.bind(&mut s)?;
    let sql = format!("{APPEND}{given} ORDER BY given.place RETURNING id");
    let query = sqlx::query_as_with::<_, (Uuid,), _>(AssertSqlSafe(sql), s.arguments);
    let written = tx.write_rows(query).await?;
    tx.count_leaves(written.len());
    Ok(written.into_iter().map(|(id,)| AuditEntryId(id)).collect())
}

/// Reads one entry as it was written. Its bytes must still match their hash.
pub async fn read(
    tx: &mut Tx,
    at: Timestamp,
    id: AuditEntryId,
) -> Result<Option<AuditEntry>, StoreError> {
    let query = sqlx::query_as::<_, (Uuid, Vec<u8>, Vec<u8>)>(
        "SELECT tenant_id, canonical, hash FROM audit_entry
          WHERE tenant_id = $1 AND at = $2 AND id = $3",
    )
    .bind(tx.tenant().uuid())
    .bind(PgTimestamp(at))
    .bind(id.0);
    let row = tx.read(query).await?.into_iter().next();
    row.map(|(tenant, canonical, hash)| audit_entry(tenant, id, &canonical, &hash)).transpose()
}

/// A filter for audit entries. All given conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub object: Option<String>,
    pub actor: Option<FoundBy>,
    pub kind: Option<EntryKind>,
    /// The earliest time, inclusive.
    pub from: Option<Timestamp>,
    /// The latest time, exclusive.
    pub to: Option<Timestamp>,
}

/// The actor. Entries of an agent are its own, not those of the person it acts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    User(UserId),
    Agent(AgentId),
}

/// Returns entries, newest first, those before `after` in time.
pub async fn list(
    tx: &mut Tx,
    filter: &AuditFilter,
    after: Option<(Timestamp, AuditEntryId)>,
    limit: u32,
) -> Result<Vec<(AuditEntryId, AuditEntry)>, StoreError> {
    let mut arguments = PgArguments::default();
    encoded(arguments.add(tx.tenant().uuid()))?;
    // The text consists of constant pieces and parameter numbers only.
    let mut sql =
        String::from("SELECT tenant_id, id, canonical, hash FROM audit_entry WHERE tenant_id = $1");
    let mut add = |piece: &str, arguments: &PgArguments| {
        sql.push_str(&piece.replace('?', &format!("${}", arguments.len())));
    };
    if let Some(object) = &filter.object {
        encoded(arguments.add(object.clone()))?;
        add(" AND object = ?", &arguments);
    }
    match filter.actor {
        Some(FoundBy::User(user)) => {
            encoded(arguments.add(user.uuid()))?;
            add(" AND user_id = ?", &arguments);
        }
        Some(FoundBy::Agent(agent)) => {
            encoded(arguments.add(agent.uuid()))?;
            add(" AND agent_id = ?", &arguments);
        }
        None => {}
    }
    // The kind is written into the statement and not bound: the planner uses a partial index only
    // if it sees which kind is wanted.
    match filter.kind {
        Some(EntryKind::Change) => add(" AND kind = 'change'", &arguments),
        Some(EntryKind::Refusal) => add(" AND kind = 'refusal'", &arguments),
        Some(EntryKind::Disclosure) => add(" AND kind = 'disclosure'", &arguments),
        None => {}
    }
    if let Some(from) = filter.from {
        encoded(arguments.add(PgTimestamp(from)))?;
        add(" AND at >= ?", &arguments);
    }
    if let Some(to) = filter.to {
        encoded(arguments.add(PgTimestamp(to)))?;
        add(" AND at < ?", &arguments);
    }
    if let Some((at, id)) = after {
        encoded(arguments.add(PgTimestamp(at)))?;
        add(" AND (at, id) < (?, ", &arguments);
        encoded(arguments.add(id.0))?;
        add("?)", &arguments);
    }
    encoded(arguments.add(i64::from(limit)))?;
    add(" ORDER BY at DESC, id DESC LIMIT ?", &arguments);
    let query =
        sqlx::query_as_with::<_, (Uuid, Uuid, Vec<u8>, Vec<u8>), _>(AssertSqlSafe(sql), arguments);
    let rows = tx.read(query).await?;
    let rows = rows.into_iter().map(|(tenant, id, canonical, hash)| {
        let id = AuditEntryId(id);
        Ok((id, audit_entry(tenant, id, &canonical, &hash)?))
    });
    rows.collect()
}

/// Who last performed an action on an object, why and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestAction {
    pub object: String,
    /// The id of the person or agent, or the name of the worker.
    pub by: String,
    pub reason: Option<String>,
    pub at: Timestamp,
}

#[derive(Debug, FromRow)]
struct LatestRow {
    object: String,
    user_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    worker: Option<String>,
    reason: Option<String>,
    at: PgTimestamp,
}

const LATEST: &str = "
    SELECT DISTINCT ON (object) object, user_id, agent_id, worker, reason, at FROM audit_entry
     WHERE tenant_id = $1 AND object = ANY ($2) AND action = $3 AND kind = 'change'
       AND ($4::timestamptz IS NULL OR at >= $4)
     ORDER BY object, at DESC, id DESC";

/// Returns the latest entry of this action for each of these objects, not older than `since`.
pub async fn latest(
    tx: &mut Tx,
    objects: &[String],
    action: &str,
    since: Option<Timestamp>,
) -> Result<Vec<LatestAction>, StoreError> {
    let query = sqlx::query_as(LATEST)
        .bind(tx.tenant().uuid())
        .bind(objects)
        .bind(action)
        .bind(since.map(PgTimestamp));
    let rows: Vec<LatestRow> = tx.read(query).await?;
    let found = rows.into_iter().map(|row| {
        let user = row.user_id.map(|id| UserId::from_uuid(id).to_string());
        let agent = row.agent_id.map(|id| AgentId::from_uuid(id).to_string());
        LatestAction {
            object: row.object,
            by: agent.or(user).or(row.worker).unwrap_or_default(),
            reason: row.reason,
            at: row.at.0,
        }
    });
    Ok(found.collect())
}

fn audit_entry(
    tenant: Uuid,
    id: AuditEntryId,
    canonical: &[u8],
    hash: &[u8],
) -> Result<AuditEntry, StoreError> {
    let wrong = |column, why: String| {
        let row = format!("{}", id.0);
        StoreError::from(RowError { table: "audit_entry", column, row, why })
    };
    if leaf_hash(canonical).bytes() != hash {
        return Err(wrong("hash", "does not match the hash of the stored bytes".to_owned()));
    }
    let entry =
        AuditEntry::parse(canonical).map_err(|error| wrong("canonical", error.to_string()))?;
    if entry.tenant != TenantId::from_uuid(tenant) {
        return Err(wrong("tenant_id", format!("the stored bytes belong to {}", entry.tenant)));
    }
    Ok(entry)
}
