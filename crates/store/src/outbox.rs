//! Events, written in the transaction they tell of. The dense number that a subscriber sees is
//! given after its commit, by the relay ([`events`](crate::events)).

use ade_core::actor::Actor;
use ade_core::event::EventKind;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::statement::{Statement, columns};
use crate::tx::Tx;

/// Thin on purpose: whoever wants the whole reads the object at this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// By its id, for example `task_…`.
    pub object: String,
    pub version: Option<i64>,
    pub payload: Value,
}

columns! { Events of Row {
    id: Option<Uuid> => "uuid",
    kind: &'static str => "text",
    object: String => "text",
    version: Option<i64> => "int8",
    payload: String => "text",
}}

impl Events {
    /// Of the task `id`, in the statement that moves it.
    pub(crate) fn add(&mut self, id: Uuid, event: &Event) {
        self.push(Row { id: Some(id), ..row(event) });
    }

    /// $1 is the tenant and $2 the moment of the transaction.
    pub(crate) fn part(self, s: &mut Statement, actor: &Actor) -> Result<(), Error> {
        if self.count() == 0 {
            return Ok(());
        }
        let append = append_by(s, actor)?;
        let given = self.bind(s)?;
        s.part("told", &format!("{append}{given} JOIN guard USING (id) ORDER BY given.place"));
        Ok(())
    }
}

fn append_by(s: &mut Statement, actor: &Actor) -> Result<String, Error> {
    let actor = s.cell(actor.label(), "text")?;
    Ok(format!(
        "INSERT INTO outbox (tenant_id, at, actor, kind, object, version, payload)
         SELECT $1, $2, {actor}, given.kind, given.object, given.version, given.payload::json
           FROM "
    ))
}

const HINT: &str = "
    INSERT INTO outbox (tenant_id, at, actor, kind, object, version, payload)
    VALUES ($1, $2, $7, $3, $4, $5, $6::json)";

fn row(event: &Event) -> Row {
    Row {
        id: None,
        kind: event.kind.as_str(),
        object: event.object.clone(),
        version: event.version,
        payload: event.payload.to_string(),
    }
}

pub async fn append(tx: &mut Tx, events: &[Event]) -> Result<(), Error> {
    if events.is_empty() {
        return Ok(());
    }
    let mut rows = Events::default();
    for event in events {
        rows.push(row(event));
    }
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    s.bind(Moment(tx.now()))?;
    let append = append_by(&mut s, tx.actor())?;
    let given = rows.bind(&mut s)?;
    let sql = AssertSqlSafe(format!("{append}{given} ORDER BY given.place"));
    tx.write(sqlx::query_with(sql, s.arguments)).await?;
    Ok(())
}

/// Something that moved nothing in the record, and so has no leaf.
pub async fn hint(tx: &mut Tx, event: &Event) -> Result<(), Error> {
    let query = sqlx::query(HINT)
        .bind(tx.tenant().uuid())
        .bind(Moment(tx.now()))
        .bind(event.kind.as_str())
        .bind(&event.object)
        .bind(event.version)
        .bind(event.payload.to_string())
        .bind(tx.actor().label());
    tx.write_beside(query).await?;
    Ok(())
}
