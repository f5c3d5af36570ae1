//! What the OpenAPI document says beyond single operations: the meaning of each tag, an example of
//! each request body, and the part of the document that an agent needs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use utoipa::openapi::path::Operation;
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{OpenApi, RefOr};

/// The tags in the order in which a reader needs them.
const TAGS: [(&str, &str); 33] = [
    ("tasks", "Propose changes, follow their reviews, and decide on them."),
    ("executions", "Claim approved tasks, apply them under their locks, and report the outcome."),
    ("locks", "Lock resources, see who holds them, and break locks."),
    ("leases", "Keep locks alive and release them."),
    ("events", "Follow what happens, over server-sent events or a WebSocket."),
    ("me", "The caller."),
    ("approvals", "The inbox of a reviewer: votes that are pending, withdrawn or delegated."),
    ("overrides", "Apply a change without its approvals in an emergency."),
    ("after_reviews", "Reviews that are due after an override."),
    ("delegations", "Let another person vote in place of the owner."),
    ("policies", "Rules that say which tasks need whose approval."),
    ("pending_changes", "Changes that make approvals easier and wait for a second admin."),
    ("settings", "Risk settings, timeouts and feature flags of the tenant."),
    ("freezes", "Stop all permits, or those of an environment or resource."),
    ("resources", "The registry of resources and their criticality."),
    ("agents", "Agents, their directives and their configuration."),
    ("users", "People and their roles."),
    ("group_roles", "Roles that groups of an identity provider grant."),
    ("invitations", "Links with which people join a tenant."),
    ("tokens", "Credentials of people and agents."),
    ("sessions", "Sign-ins of people in browsers."),
    ("passkeys", "Passkeys of people."),
    ("step_up", "Confirmations of a single action with a passkey."),
    ("device", "Sign-in from a terminal."),
    ("on_call", "Who is on duty for a role."),
    ("notifications", "Messages to people, and their preferences."),
    ("webhooks", "Events that are sent to other systems."),
    ("inbound", "Events of other systems that become drafts of tasks."),
    ("event_consumers", "Consumers of all events, and events that they could not process."),
    ("stats", "Statistics of reviewers, tasks and the tenant."),
    ("audit", "The audit log."),
    ("system", "Probes, metrics, status and the description of the API."),
    ("docs", "The API reference as pages."),
];

/// The operations that an agent needs to propose, wait, apply and report.
const FOR_AGENTS: [&str; 21] = [
    "me_get",
    "tasks_create",
    "tasks_list",
    "tasks_get",
    "tasks_amend",
    "tasks_submit",
    "tasks_cancel",
    "tasks_explain",
    "tasks_add_comment",
    "tasks_list_comments",
    "executions_claim_task",
    "executions_begin",
    "executions_heartbeat",
    "executions_append_log",
    "executions_finish",
    "executions_get",
    "locks_acquire",
    "leases_heartbeat",
    "leases_release",
    "events_stream",
    "agents_heartbeat",
];

/// One example body for each operation that has one, by operation id. Tests send all of them.
static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../assets/request-examples.json")).unwrap_or_default()
});

pub fn tags() -> Vec<Tag> {
    let tag = |(name, description)| TagBuilder::new().name(name).description(Some(description));
    TAGS.into_iter().map(tag).map(TagBuilder::build).collect()
}

/// Adds the example of the request body, if the operation has a JSON body.
pub fn add_example(operation: &mut Operation) {
    let example = operation.operation_id.as_deref().and_then(|id| EXAMPLES.get(id));
    let Some(RefOr::T(body)) = operation.request_body.as_mut() else { return };
    let content = body.content.get_mut("application/json");
    if let (Some(example), Some(RefOr::T(content))) = (example, content) {
        content.example = Some(example.clone());
    }
}

/// Returns the document with only the operations for agents and the components that these use.
pub fn for_agents(document: &OpenApi) -> Value {
    let mut whole = serde_json::to_value(document).unwrap_or_default();
    if let Some(paths) = whole.get_mut("paths").and_then(Value::as_object_mut) {
        for item in paths.values_mut().filter_map(Value::as_object_mut) {
            item.retain(|_, operation| is_for_agents(operation));
            for operation in item.values_mut() {
                remove_links(operation);
            }
        }
        paths.retain(|_, item| item.as_object().is_some_and(|item| !item.is_empty()));
    }
    let used = reachable(&whole);
    for kind in ["schemas", "responses"] {
        let parts = whole.pointer_mut(&format!("/components/{kind}"));
        if let Some(parts) = parts.and_then(Value::as_object_mut) {
            parts.retain(|name, _| used.contains(&format!("#/components/{kind}/{name}")));
        }
    }
    let tags: BTreeSet<String> = used_tags(&whole);
    if let Some(listed) = whole.get_mut("tags").and_then(Value::as_array_mut) {
        listed.retain(|tag| tag["name"].as_str().is_some_and(|name| tags.contains(name)));
    }
    if let Some(title) = whole.pointer_mut("/info/title") {
        *title = json!("Community ADE for agents");
    }
    whole
}

fn is_for_agents(operation: &Value) -> bool {
    operation["operationId"].as_str().is_some_and(|id| FOR_AGENTS.contains(&id))
}

/// Removes links to operations that are not part of this document.
fn remove_links(operation: &mut Value) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for response in responses.into_iter().flat_map(|all| all.values_mut()) {
        if let Some(links) = response.get_mut("links").and_then(Value::as_object_mut) {
            links.retain(|_, link| is_for_agents(link));
        }
    }
}

/// Returns the references that the operations reach, directly or through other components.
fn reachable(whole: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    collect(&whole["paths"], &mut open);
    while let Some(reference) = open.pop() {
        if found.insert(reference.clone())
            && let Some(part) = whole.pointer(reference.trim_start_matches('#'))
        {
            collect(part, &mut open);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(reference) if name == "$ref" => found.push(reference.clone()),
                    _ => collect(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn used_tags(whole: &Value) -> BTreeSet<String> {
    let items = whole["paths"].as_object().into_iter().flat_map(Map::values);
    let operations = items.filter_map(Value::as_object).flat_map(Map::values);
    let names = operations.filter_map(|operation| operation["tags"].as_array()).flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}
