//! Leaves of the audit, written in the transaction they tell of. The canonical bytes and their
//! hash are the evidence; the columns beside them only serve to find it. Sealing is not here.

use ade_core::audit::{Kind, Leaf, Who, leaf_hash};
use ade_core::ids::{AgentId, AgentSessionId, SessionId, TenantId, UserId};
use ade_core::time::Timestamp;
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, AssertSqlSafe};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::statement::{Statement, columns, encoded};
use crate::tx::Tx;

/// Names one leaf; what a caller gets as the receipt of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafId(pub Uuid);

columns! { Leaves of Row {
    id: Option<Uuid> => "uuid",
    leaf_id: Option<Uuid> => "uuid",
    at: Moment => "timestamptz",
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
    /// Of the task `id`, in the statement that moves it; named `leaf_id` if the caller must know
    /// it before it is written.
    pub(crate) fn add(
        &mut self,
        id: Uuid,
        leaf_id: Option<LeafId>,
        leaf: &Leaf,
    ) -> Result<(), Error> {
        let leaf_id = leaf_id.map(|id| id.0);
        self.push(Row { id: Some(id), leaf_id, ..row(leaf)? });
        Ok(())
    }

    /// $1 is the tenant.
    pub(crate) fn part(self, s: &mut Statement) -> Result<(), Error> {
        let given = self.bind(s)?;
        let rows = format!("{given} JOIN guard USING (id) ORDER BY given.place");
        s.part("leaf", &format!("{APPEND}{rows} RETURNING id"));
        Ok(())
    }
}

fn row(leaf: &Leaf) -> Result<Row, Error> {
    let canonical = leaf.to_bytes()?;
    let what = &leaf.what;
    let revision = what.revision.map(i32::try_from).transpose();
    let mut row = Row {
        id: None,
        leaf_id: None,
        at: Moment(leaf.when),
        kind: match leaf.kind {
            Kind::Change => "change",
            Kind::Refusal => "refusal",
            Kind::Disclosure => "disclosure",
        },
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
        revision: revision.map_err(|error| Error::Unstorable {
            value: format!("revision {:?}", what.revision),
            why: error.to_string(),
        })?,
        digest: what.digest.map(|digest| digest.bytes().to_vec()),
        address: leaf.place.address.map(|address| address.to_string()),
        user_agent: leaf.place.user_agent.clone(),
        service: leaf.place.service.clone(),
        reason: leaf.why.reason.clone(),
        ticket: leaf.why.ticket.clone(),
        hash: leaf_hash(&canonical).bytes().to_vec(),
        canonical,
    };
    match &leaf.who {
        Who::User { user, session } => {
            row.user_id = Some(user.uuid());
            row.session_id = session.map(SessionId::uuid);
        }
        Who::Agent { agent, on_behalf_of, session } => {
            row.agent_id = Some(agent.uuid());
            row.on_behalf_of = Some(on_behalf_of.uuid());
            row.agent_session_id = session.map(AgentSessionId::uuid);
        }
        Who::System { worker } => row.worker = Some(worker.clone()),
    }
    Ok(row)
}

/// `1` is the format of the core's leaf, which its bytes carry too.
const APPEND: &str = "
    INSERT INTO audit_leaf (tenant_id, format, id, at, kind, user_id, session_id, agent_id,
        on_behalf_of, agent_session_id, worker, object, action, from_state, to_state, revision,
        digest, address, user_agent, service, reason, ticket, canonical, hash)
    SELECT $1, 1, coalesce(given.leaf_id, uuid_v7()), given.at, given.kind, given.user_id,
           given.session_id, given.agent_id,
           given.on_behalf_of, given.agent_session_id, given.worker, given.object,
           given.action, given.from_state, given.to_state, given.revision, given.digest,
           given.address::inet, given.user_agent, given.service, given.reason, given.ticket,
           given.canonical, given.hash
      FROM ";

/// Their ids, in the order given.
pub async fn append(tx: &mut Tx, leaves: &[Leaf]) -> Result<Vec<LeafId>, Error> {
    let mut rows = Leaves::default();
    for leaf in leaves {
        rows.push(row(leaf)?);
    }
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    let given = rows.bind(&mut s)?;
    let sql = format!("{APPEND}{given} ORDER BY given.place RETURNING id");
    let query = sqlx::query_as_with::<_, (Uuid,), _>(AssertSqlSafe(sql), s.arguments);
    let written = tx.write_rows(query).await?;
    tx.count_leaves(written.len());
    Ok(written.into_iter().map(|(id,)| LeafId(id)).collect())
}

/// One leaf as it was written. Its bytes must still be what their hash says.
pub async fn read(tx: &mut Tx, at: Timestamp, id: LeafId) -> Result<Option<Leaf>, Error> {
    let query = sqlx::query_as::<_, (Uuid, Vec<u8>, Vec<u8>)>(
        "SELECT tenant_id, canonical, hash FROM audit_leaf
          WHERE tenant_id = $1 AND at = $2 AND id = $3",
    )
    .bind(tx.tenant().uuid())
    .bind(Moment(at))
    .bind(id.0);
    let row = tx.read(query).await?.into_iter().next();
    row.map(|(tenant, canonical, hash)| leaf(tenant, id, &canonical, &hash)).transpose()
}

/// Only what is set must hold, and all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub object: Option<String>,
    pub actor: Option<FoundBy>,
    /// From this moment on.
    pub from: Option<Timestamp>,
    /// Before this one.
    pub to: Option<Timestamp>,
}

/// Who acted. An agent's leaves are its own, not those of whom it acts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    User(UserId),
    Agent(AgentId),
}

/// Newest first, those before `after` in time.
pub async fn list(
    tx: &mut Tx,
    filter: &Filter,
    after: Option<(Timestamp, LeafId)>,
    limit: u32,
) -> Result<Vec<(LeafId, Leaf)>, Error> {
    let mut arguments = PgArguments::default();
    encoded(arguments.add(tx.tenant().uuid()))?;
    // Constant pieces and numbers of parameters, nothing else.
    let mut sql =
        String::from("SELECT tenant_id, id, canonical, hash FROM audit_leaf WHERE tenant_id = $1");
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
    if let Some(from) = filter.from {
        encoded(arguments.add(Moment(from)))?;
        add(" AND at >= ?", &arguments);
    }
    if let Some(to) = filter.to {
        encoded(arguments.add(Moment(to)))?;
        add(" AND at < ?", &arguments);
    }
    if let Some((at, id)) = after {
        encoded(arguments.add(Moment(at)))?;
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
        let id = LeafId(id);
        Ok((id, leaf(tenant, id, &canonical, &hash)?))
    });
    rows.collect()
}

fn leaf(tenant: Uuid, id: LeafId, canonical: &[u8], hash: &[u8]) -> Result<Leaf, Error> {
    let wrong = |column, why: String| {
        let row = format!("{}", id.0);
        Error::from(RowError { table: "audit_leaf", column, row, why })
    };
    if leaf_hash(canonical).bytes() != hash {
        return Err(wrong("hash", "not the hash of the bytes beside it".to_owned()));
    }
    let leaf = Leaf::parse(canonical).map_err(|error| wrong("canonical", error.to_string()))?;
    if leaf.tenant != TenantId::from_uuid(tenant) {
        return Err(wrong("tenant_id", format!("the bytes speak of {}", leaf.tenant)));
    }
    Ok(leaf)
}
