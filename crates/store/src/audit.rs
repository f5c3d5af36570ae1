//! Audit entries, written in the transaction that they describe. The canonical bytes and their hash
//! are the evidence; the other columns only serve to find it. Sealing is not part of this module.

use ade_core::audit::{AuditEntry, EntryKind, RequestOrigin, Who, leaf_hash};
use ade_core::ids::{AgentId, UserId};
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
    agent_id: Option<Uuid> => "uuid",
    on_behalf_of: Option<Uuid> => "uuid",
    worker: Option<String> => "text",
    object: String => "text",
    action: String => "text",
    from_state: Option<String> => "text",
    to_state: Option<String> => "text",
    revision: Option<i32> => "int4",
    digest: Option<Vec<u8>> => "bytea",
    origin_salt: Option<Uuid> => "uuid",
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
        agent_id: None,
        on_behalf_of: None,
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
        origin_salt: entry.place.origin().map(|origin| origin.salt),
        address: entry.place.address().map(|address| address.to_string()),
        user_agent: entry.place.user_agent().map(str::to_owned),
        service: entry.place.service_name().to_owned(),
        reason: entry.why.reason.clone(),
        ticket: entry.why.ticket.clone(),
        hash: leaf_hash(&canonical).bytes().to_vec(),
        canonical,
    };
    match &entry.who {
        Who::User { user, .. } => row.user_id = Some(user.uuid()),
        Who::Agent { agent, on_behalf_of, .. } => {
            row.agent_id = Some(agent.uuid());
            row.on_behalf_of = Some(on_behalf_of.uuid());
        }
        Who::System { worker } => row.worker = Some(worker.clone()),
    }
    Ok(row)
}

/// Inserts entries. `2` is the format of the entry, which its bytes contain too.
const APPEND: &str = "
    INSERT INTO audit_entry (tenant_id, format, id, at, kind, user_id, agent_id, on_behalf_of,
        worker, object, action, from_state, to_state, revision, digest, origin_salt, address,
        user_agent, service, reason, ticket, canonical, hash)
    SELECT $1, 2, coalesce(given.leaf_id, uuid_v7()), given.at, given.kind, given.user_id,
           given.agent_id, given.on_behalf_of, given.worker, given.object, given.action,
           given.from_state, given.to_state, given.revision, given.digest, given.origin_salt,
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
    let sql = format!("{SELECT} WHERE tenant_id = $1 AND at = $2 AND id = $3");
    let query = sqlx::query_as::<_, StoredRow>(AssertSqlSafe(sql))
        .bind(tx.tenant().uuid())
        .bind(PgTimestamp(at))
        .bind(id.0);
    let row = tx.read(query).await?.into_iter().next();
    row.map(|row| row.entry()).transpose()
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
    let mut sql = format!("{SELECT} WHERE tenant_id = $1");
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
    let query = sqlx::query_as_with::<_, StoredRow, _>(AssertSqlSafe(sql), arguments);
    let rows = tx.read(query).await?;
    rows.into_iter().map(|row| Ok((AuditEntryId(row.id), row.entry()?))).collect()
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

/// Reads entries with the columns by which they are found, which the bytes must confirm.
const SELECT: &str = "
    SELECT tenant_id, id, at, kind, user_id, agent_id, object, action, canonical, hash,
           origin_salt, host(address) AS address, user_agent
      FROM audit_entry";

#[derive(Debug, FromRow)]
struct StoredRow {
    tenant_id: Uuid,
    id: Uuid,
    at: PgTimestamp,
    kind: String,
    user_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    object: String,
    action: String,
    canonical: Vec<u8>,
    hash: Vec<u8>,
    origin_salt: Option<Uuid>,
    address: Option<String>,
    user_agent: Option<String>,
}

impl StoredRow {
    /// Returns the entry if its bytes match their hash, and the other columns match the bytes.
    fn entry(&self) -> Result<AuditEntry, StoreError> {
        if leaf_hash(&self.canonical).bytes() != self.hash.as_slice() {
            return Err(self.wrong("hash", &"does not match the hash of the stored bytes"));
        }
        let parsed = AuditEntry::parse(&self.canonical);
        let mut entry = parsed.map_err(|error| self.wrong("canonical", &error))?;
        self.require_columns(&entry)?;
        let origin = self.origin()?;
        entry.reveal(origin).map_err(|error| self.wrong("origin_salt", &error))?;
        Ok(entry)
    }

    /// Requires that the columns of the filters agree with the bytes: a changed column would hide
    /// the entry from a filtered list, although its hash is right.
    fn require_columns(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let (user, agent) = match &entry.who {
            Who::User { user, .. } => (Some(user.uuid()), None),
            Who::Agent { agent, .. } => (None, Some(agent.uuid())),
            Who::System { .. } => (None, None),
        };
        let checks = [
            ("tenant_id", self.tenant_id == entry.tenant.uuid()),
            ("at", self.at.0 == entry.when),
            ("kind", self.kind == entry.kind.as_str()),
            ("user_id", self.user_id == user),
            ("agent_id", self.agent_id == agent),
            ("object", self.object == entry.what.object),
            ("action", self.action == entry.what.action),
        ];
        match checks.into_iter().find(|(_, is_right)| !is_right) {
            Some((column, _)) => Err(self.wrong(column, &"differs from the stored bytes")),
            None => Ok(()),
        }
    }

    fn origin(&self) -> Result<Option<RequestOrigin>, StoreError> {
        let Some(salt) = self.origin_salt else { return Ok(None) };
        let address = self.address.as_deref().map(str::parse).transpose();
        let address = address.map_err(|error| self.wrong("address", &error))?;
        Ok(Some(RequestOrigin { salt, address, user_agent: self.user_agent.clone() }))
    }

    fn wrong(&self, column: &'static str, why: &dyn ToString) -> StoreError {
        let (row, why) = (self.id.to_string(), why.to_string());
        StoreError::from(RowError { table: "audit_entry", column, row, why })
    }
}
