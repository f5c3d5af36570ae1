//! The naming rules of the API, checked on its OpenAPI document and on the event types: one way to
//! write an id, a duration, a resource and an enum value, and no name that was retired.

use std::collections::BTreeSet;

use ade_core::event::EventKind;
use serde_json::Value;

/// Enums that are states, whose values are in capitals.
const STATES: [&str; 5] = ["State", "SubState", "ApprovalStatus", "ExecutionState", "LeaseState"];
/// Names of lists and of relations, which the schema of the items describes.
const NAMED_BY_RELATION: [&str; 4] = ["resubmission_of", "path", "chain", "for_user_ids"];
/// Durations whose name another standard defines, and names that only look like durations.
const NAMED_BY_STANDARD: [(&str, &str); 6] = [
    ("CreationOptions", "timeout"),
    ("RequestOptions", "timeout"),
    ("DeviceLogin", "interval"),
    ("Claimed", "retry_after_ms"),
    ("NewPreferences", "quiet_hours"),
    ("Preferences", "quiet_hours"),
];
/// Names that were replaced, as fields, parameters, routes or codes.
const RETIRED: [&str; 41] = [
    "class_closed",
    "needs",
    "effectual",
    "left",
    "held_token",
    "session_until",
    "orders",
    "says",
    "own",
    "opens_with",
    "is_open",
    "resubmits",
    "places",
    "resume",
    "repeat_key",
    "abort_asked",
    "locks_unsure",
    "session_over",
    "delegate_to",
    "heartbeat_every_ms",
    "ttl",
    "ttl_ms",
    "lag_ms",
    "uptime_s",
    "avg_response_time",
    "overlap_hours",
    "digest_minutes",
    "/v1/times",
    "/leak",
    "/v1/simulate",
    "/v1/policies/simulate",
    "/v1/groups",
    "/v1/dead-events",
    "events_events",
    "leases_leases",
    "locks_break_lock",
    "users_whoami",
    "executions_lines",
    "system_page",
    "task.apply_begun",
    "default_ttl",
];

/// The verbs with which operation ids begin, after the noun.
const VERBS: &[&str] = &[
    "accept",
    "acquire",
    "add",
    "amend",
    "append",
    "approve",
    "begin",
    "break",
    "cancel",
    "change",
    "claim",
    "close",
    "compare",
    "confirm",
    "create",
    "decide",
    "delete",
    "deny",
    "drain",
    "end",
    "evaluate",
    "explain",
    "extend",
    "finish",
    "follow",
    "get",
    "hand",
    "heartbeat",
    "import",
    "lift",
    "list",
    "object",
    "open",
    "pause",
    "ping",
    "publish",
    "put",
    "read",
    "reconcile",
    "redeliver",
    "redrive",
    "reject",
    "release",
    "remove",
    "replay",
    "report",
    "request",
    "reset",
    "resolve",
    "resubmit",
    "resume",
    "retry",
    "revoke",
    "roll",
    "rotate",
    "set",
    "stream",
    "submit",
    "switch",
    "withdraw",
];
/// Operations of other protocols, which generated clients do not call.
const NAMED_BY_PROTOCOL: [&str; 2] = ["inbound_receive", "notifications_interactions"];

fn document() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// One name in the document: the schema or operation that it is part of, and what it describes.
struct Named<'a> {
    place: String,
    name: &'a str,
    schema: &'a Value,
}

fn named(document: &Value) -> Vec<Named<'_>> {
    let mut all = Vec::new();
    for (place, schema) in document["components"]["schemas"].as_object().unwrap() {
        fields(place, schema, &mut all);
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] == "query" {
                    let name = parameter["name"].as_str().unwrap();
                    all.push(Named { place: path.clone(), name, schema: &parameter["schema"] });
                }
            }
        }
    }
    all
}

fn fields<'a>(place: &str, schema: &'a Value, all: &mut Vec<Named<'a>>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        all.push(Named { place: place.to_owned(), name, schema });
    }
    for list in ["allOf", "oneOf", "anyOf"] {
        for part in schema[list].as_array().into_iter().flatten() {
            fields(place, part, all);
        }
    }
}

/// Returns the schemas that a value refers to, directly, as an option or as items of a list.
fn referred(schema: &Value) -> BTreeSet<&str> {
    let own = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let lists = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|list| schema[list].as_array());
    let parts = lists.flatten().chain(schema.get("items"));
    own.into_iter().chain(parts.flat_map(referred)).collect()
}

fn is_exempt(list: &[(&str, &str)], named: &Named<'_>) -> bool {
    list.iter().any(|(place, name)| *place == named.place && *name == named.name)
}

#[test]
fn ids_are_named_as_ids() {
    let document = document();
    let wrong: Vec<String> = named(&document)
        .into_iter()
        .filter(|named| referred(named.schema).iter().any(|name| name.ends_with("Id")))
        .filter(|named| {
            let is_id = named.name == "id"
                || ["_id", "_ids", "_by"].iter().any(|end| named.name.ends_with(end));
            !is_id && !NAMED_BY_RELATION.contains(&named.name)
        })
        .map(|named| format!("{}.{}", named.place, named.name))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn durations_are_named_in_seconds() {
    let document = document();
    let units = ["ms", "s", "minutes", "hours"];
    let nouns = ["ttl", "timeout", "interval", "lifetime", "uptime", "lag", "overlap", "period"];
    let wrong: Vec<String> = named(&document)
        .into_iter()
        .filter(|named| {
            let mut words = named.name.split('_');
            let is_duration = words.clone().next_back().is_some_and(|last| units.contains(&last))
                || words.any(|word| nouns.contains(&word));
            is_duration && !named.name.ends_with("_seconds")
        })
        .filter(|named| !is_exempt(&NAMED_BY_STANDARD, named))
        .map(|named| format!("{}.{}", named.place, named.name))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn resources_are_written_as_one_name() {
    let document = document();
    for named in named(&document) {
        if named.name == "resource" {
            let text = named.schema["type"] == "string" || named.schema["type"][0] == "string";
            let is_name = referred(named.schema).contains("ResourceName") || text;
            assert!(is_name, "{}.{}", named.place, named.name);
        }
    }
}

#[test]
fn states_are_in_capitals_and_other_enums_in_snake_case() {
    let document = document();
    let mut seen = BTreeSet::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for value in schema["enum"].as_array().into_iter().flatten() {
            let value = value.as_str().unwrap();
            let is_state = STATES.contains(&name.as_str());
            let fits = |byte: u8| match byte {
                b'A'..=b'Z' => is_state,
                b'a'..=b'z' => !is_state,
                b'0'..=b'9' | b'_' => true,
                _ => false,
            };
            assert!(value.bytes().all(fits), "{name}: {value}");
            seen.insert(name.as_str());
        }
    }
    assert!(STATES.iter().all(|state| seen.contains(state)), "{seen:?}");
}

/// An operation id becomes a method of a generated client, such as `tasks.list_comments`.
#[test]
fn operation_ids_of_the_api_name_a_verb() {
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            let noun = operation["tags"][0].as_str().unwrap();
            let verb = id.strip_prefix(noun).and_then(|rest| rest.strip_prefix('_'));
            let verb = verb.unwrap_or_else(|| panic!("{id} does not begin with {noun}"));
            let first = verb.split('_').next().unwrap();
            let is_page = !path.starts_with("/v1/") || NAMED_BY_PROTOCOL.contains(&id);
            assert!(is_page || VERBS.contains(&first), "{id}: `{first}` is not a known verb");
        }
    }
}

#[test]
fn retired_names_are_gone() {
    let document = document();
    let mut names: BTreeSet<String> =
        named(&document).into_iter().map(|named| named.name.to_owned()).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        names.insert(path.clone());
        for operation in item.as_object().unwrap().values() {
            names.extend(operation["operationId"].as_str().map(str::to_owned));
        }
    }
    let codes = document["components"]["schemas"]["Code"]["enum"].as_array().unwrap();
    names.extend(codes.iter().map(|code| code.as_str().unwrap().to_owned()));
    names.extend(EventKind::ALL.iter().map(|kind| kind.as_str().to_owned()));
    let left: Vec<_> = RETIRED.iter().filter(|name| names.contains(**name)).collect();
    assert_eq!(left, Vec::<&&str>::new());
    assert!(names.contains("task.started") && names.contains("/v1/event-consumers"));
}
