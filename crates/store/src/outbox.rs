//! Events, written in the transaction they tell of. Their order is that of commits (`xid`, then
//! `seq`); the dense number a subscriber sees is given later, by the relay.

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
    pub(crate) fn part(self, s: &mut Statement) -> Result<(), Error> {
        if self.count() == 0 {
            return Ok(());
        }
        let given = self.bind(s)?;
        s.part("told", &format!("{APPEND}{given} JOIN guard USING (id) ORDER BY given.place"));
        Ok(())
    }
}

const APPEND: &str = "
    INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
    SELECT $1, $2, given.kind, given.object, given.version, given.payload::json FROM ";

const HINT: &str = "
    INSERT INTO outbox (tenant_id, at, kind, object, version, payload)
    VALUES ($1, $2, $3, $4, $5, $6::json)";

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
    let given = rows.bind(&mut s)?;
    let sql = AssertSqlSafe(format!("{APPEND}{given} ORDER BY given.place"));
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
        .bind(event.payload.to_string());
    tx.write_beside(query).await?;
    Ok(())
}
