//! Leaves of the audit, written in the transaction they tell of. The canonical bytes and their
//! hash are the evidence; the columns beside them only serve to find it. Sealing is not here.

use ade_core::audit::{Kind, Leaf, Who, leaf_hash};
use ade_core::ids::{AgentSessionId, SessionId, TenantId};
use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

/// The format of the core's leaf, which its bytes carry too.
const FORMAT: i16 = 1;

/// Names one leaf; what a caller gets as the receipt of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafId(pub Uuid);

/// One array per column, as `unnest` takes them.
#[derive(Debug, Default)]
struct Columns {
    at: Vec<Moment>,
    kind: Vec<&'static str>,
    user: Vec<Option<Uuid>>,
    session: Vec<Option<Uuid>>,
    agent: Vec<Option<Uuid>>,
    on_behalf_of: Vec<Option<Uuid>>,
    agent_session: Vec<Option<Uuid>>,
    worker: Vec<Option<String>>,
    object: Vec<String>,
    action: Vec<String>,
    from: Vec<Option<String>>,
    to: Vec<Option<String>>,
    revision: Vec<Option<i32>>,
    digest: Vec<Option<Vec<u8>>>,
    address: Vec<Option<String>>,
    user_agent: Vec<Option<String>>,
    service: Vec<String>,
    reason: Vec<Option<String>>,
    ticket: Vec<Option<String>>,
    canonical: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
}

impl Columns {
    fn push(&mut self, leaf: &Leaf) -> Result<(), Error> {
        let canonical = leaf.to_bytes()?;
        self.hash.push(leaf_hash(&canonical).bytes().to_vec());
        self.canonical.push(canonical);
        self.at.push(Moment(leaf.when));
        self.kind.push(match leaf.kind {
            Kind::Change => "change",
            Kind::Refusal => "refusal",
            Kind::Disclosure => "disclosure",
        });
        self.push_who(&leaf.who);
        let what = &leaf.what;
        self.object.push(what.object.clone());
        self.action.push(what.action.clone());
        self.from.push(what.from.clone());
        self.to.push(what.to.clone());
        let revision = what.revision.map(i32::try_from).transpose();
        self.revision.push(revision.map_err(|error| Error::Unstorable {
            value: format!("revision {:?}", what.revision),
            why: error.to_string(),
        })?);
        self.digest.push(what.digest.map(|digest| digest.bytes().to_vec()));
        self.address.push(leaf.place.address.map(|address| address.to_string()));
        self.user_agent.push(leaf.place.user_agent.clone());
        self.service.push(leaf.place.service.clone());
        self.reason.push(leaf.why.reason.clone());
        self.ticket.push(leaf.why.ticket.clone());
        Ok(())
    }

    fn push_who(&mut self, who: &Who) {
        let (mut user, mut session, mut agent) = (None, None, None);
        let (mut on_behalf_of, mut agent_session, mut worker) = (None, None, None);
        match who {
            Who::User { user: id, session: login } => {
                user = Some(id.uuid());
                session = login.map(SessionId::uuid);
            }
            Who::Agent { agent: id, on_behalf_of: person, session } => {
                agent = Some(id.uuid());
                on_behalf_of = Some(person.uuid());
                agent_session = session.map(AgentSessionId::uuid);
            }
            Who::System { worker: name } => worker = Some(name.clone()),
        }
        self.user.push(user);
        self.session.push(session);
        self.agent.push(agent);
        self.on_behalf_of.push(on_behalf_of);
        self.agent_session.push(agent_session);
        self.worker.push(worker);
    }
}

const APPEND: &str = "
    INSERT INTO audit_leaf (tenant_id, format, at, kind, user_id, session_id, agent_id,
        on_behalf_of, agent_session_id, worker, object, action, from_state, to_state, revision,
        digest, address, user_agent, service, reason, ticket, canonical, hash)
    SELECT $1, $2, at, kind, user_id, session_id, agent_id, on_behalf_of, agent_session_id,
           worker, object, action, from_state, to_state, revision, digest, address::inet,
           user_agent, service, reason, ticket, canonical, hash
      FROM unnest($3::timestamptz[], $4::text[], $5::uuid[], $6::uuid[], $7::uuid[],
                  $8::uuid[], $9::uuid[], $10::text[], $11::text[], $12::text[], $13::text[],
                  $14::text[], $15::int4[], $16::bytea[], $17::text[], $18::text[],
                  $19::text[], $20::text[], $21::text[], $22::bytea[], $23::bytea[])
           WITH ORDINALITY AS leaf (at, kind, user_id, session_id, agent_id, on_behalf_of,
                  agent_session_id, worker, object, action, from_state, to_state, revision,
                  digest, address, user_agent, service, reason, ticket, canonical, hash, place)
     ORDER BY place
    RETURNING id";

/// Their ids, in the order given.
pub async fn append(tx: &mut Tx, leaves: &[Leaf]) -> Result<Vec<LeafId>, Error> {
    let mut columns = Columns::default();
    for leaf in leaves {
        columns.push(leaf)?;
    }
    let query = sqlx::query_as::<_, (Uuid,)>(APPEND)
        .bind(tx.tenant().uuid())
        .bind(FORMAT)
        .bind(columns.at)
        .bind(columns.kind)
        .bind(columns.user)
        .bind(columns.session)
        .bind(columns.agent)
        .bind(columns.on_behalf_of)
        .bind(columns.agent_session)
        .bind(columns.worker)
        .bind(columns.object)
        .bind(columns.action)
        .bind(columns.from)
        .bind(columns.to)
        .bind(columns.revision)
        .bind(columns.digest)
        .bind(columns.address)
        .bind(columns.user_agent)
        .bind(columns.service)
        .bind(columns.reason)
        .bind(columns.ticket)
        .bind(columns.canonical)
        .bind(columns.hash);
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
