//! Whether agents are there: what others were told of them is brought in line with how they
//! stand, and the next moment at which silence would say more is noted for the watcher.

use ade_core::agent::says_more_in;
use ade_core::ids::AgentId;
use ade_store::due::{self, Due};
use ade_store::{Tx, agents, outbox};
use serde_json::json;

use crate::error::Error;

/// When an agent's silence would say something new.
pub(crate) const WATCH: &str = "watch_agent";

/// How many of them others heard news of. No part of the record, and so without a leaf.
pub(crate) async fn settle(tx: &mut Tx, ids: &[AgentId]) -> Result<u64, Error> {
    let mut told = 0;
    let (mut later, mut never) = (Vec::new(), Vec::new());
    for one in agents::presence(tx, ids).await? {
        if one.status != one.told && agents::tell(tx, one.id, one.status).await? {
            let event = outbox::Event {
                kind: one.status.event(),
                object: one.id.to_string(),
                version: None,
                payload: json!({ "status": one.status, "before": one.told }),
            };
            outbox::hint(tx, &event).await?;
            told += 1;
        }
        match says_more_in(one.silence) {
            Some(wait) => {
                let at = tx.now().plus(wait);
                later.push(Due { kind: WATCH, object: one.id.uuid(), at });
            }
            None => never.push(one.id.uuid()),
        }
    }
    if !later.is_empty() {
        due::set(tx, &later).await?;
    }
    for object in never {
        due::clear(tx, WATCH, object).await?;
    }
    Ok(told)
}
