//! Events, written in the transaction that they describe. The dense number that a subscriber sees
//! is assigned after the commit, by the relay ([`events`](crate::events)).

use ade_core::actor::Actor;
use ade_core::event::EventKind;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::error::StoreError;
use crate::statement::{Statement, columns};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// An event. It is deliberately minimal: for all data, read the object at this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEvent {
    pub kind: EventKind,
    /// The id of the object, for example `task_…`.
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
    /// Adds an event of the task `id` to the statement that changes it.
    pub(crate) fn add(&mut self, id: Uuid, event: &OutboxEvent) {
        self.push(Row { id: Some(id), ..row(event) });
    }

    /// Adds the part to the statement; $1 is the tenant and $2 the time of the transaction.
    pub(crate) fn part(self, s: &mut Statement, actor: &Actor) -> Result<(), StoreError> {
        if self.count() == 0 {
            return Ok(());
        }
        let append = append_by(s, actor)?;
        let given = self.bind(s)?;
        s.part("appended", &format!("{append}{given} JOIN guard USING (id) ORDER BY given.place"));
        Ok(())
    }
}

fn append_by(s: &mut Statement, actor: &Actor) -> Result<String, StoreError> {
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

fn row(event: &OutboxEvent) -> Row {
    Row {
        id: None,
        kind: event.kind.as_str(),
        object: event.object.clone(),
        version: event.version,
        payload: event.payload.to_string(),
    }
}

pub async fn append(tx: &mut Tx, events: &[OutboxEvent]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut rows = Events::default();
    for event in events {
        rows.push(row(event));
    }
    let mut s = Statement::default();
    s.bind(tx.tenant().uuid())?;
    s.bind(PgTimestamp(tx.now()))?;
    let append = append_by(&mut s, tx.actor())?;
    let given = rows.bind(&mut s)?;
    let sql = AssertSqlSafe(format!("{append}{given} ORDER BY given.place"));
    tx.write(sqlx::query_with(sql, s.arguments)).await?;
    Ok(())
}

/// Writes an event that changed no audited state, and so has no audit entry.
pub async fn hint(tx: &mut Tx, event: &OutboxEvent) -> Result<(), StoreError> {
    let query = sqlx::query(HINT)
        .bind(tx.tenant().uuid())
        .bind(PgTimestamp(tx.now()))
        .bind(event.kind.as_str())
        .bind(&event.object)
        .bind(event.version)
        .bind(event.payload.to_string())
        .bind(tx.actor().label());
    tx.write_beside(query).await?;
    Ok(())
}
