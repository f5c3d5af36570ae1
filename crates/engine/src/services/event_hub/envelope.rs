//! The common envelope of an event for streams, sockets and webhooks.

use ade_core::ids::{EventId, TenantId};
use ade_core::time::Timestamp;
use ade_store::events::Numbered;
use serde::Serialize;

#[derive(Serialize)]
struct Head<'a> {
    id: EventId,
    seq: u64,
    r#type: &'a str,
    tenant_id: TenantId,
    object: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    at: Timestamp,
}

/// Serializes the envelope as JSON. The payload is already JSON and is included without being
/// parsed.
pub fn written(event: &Numbered) -> String {
    let Numbered { id, tenant, seq, kind, object, version, actor, at, data } = event;
    let head = Head {
        id: *id,
        seq: *seq,
        r#type: kind,
        tenant_id: *tenant,
        object,
        version: *version,
        actor: actor.as_deref(),
        at: *at,
    };
    let mut text = serde_json::to_string(&head).unwrap_or_default();
    text.pop();
    text.push_str(",\"data\":");
    text.push_str(data);
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn envelope_contains_type_object_actor_and_time() {
        let event = Numbered {
            id: EventId::from_u128(1),
            tenant: TenantId::from_u128(2),
            seq: 7,
            kind: "task.created".to_owned(),
            object: "task_\"x".to_owned(),
            version: Some(1),
            actor: None,
            at: Timestamp::from_micros(0),
            data: r#"{"title":"Grow"}"#.to_owned(),
        };
        let read: Value = serde_json::from_str(&written(&event)).unwrap();
        assert_eq!(
            read,
            json!({
                "id": event.id.to_string(), "seq": 7, "type": "task.created",
                "tenant_id": event.tenant.to_string(), "object": "task_\"x", "version": 1,
                "at": event.at.to_string(), "data": { "title": "Grow" }
            })
        );
    }
}
