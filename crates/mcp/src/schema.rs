//! JSON Schemas of arguments and results, from the same type descriptions as the OpenAPI document.
//! Referenced types are included, because a tool has no surrounding document.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::output::{ALERTS, NEXT_ACTION, NextStep, RefusedCall};

const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";
/// Limits and examples help only the writer of a value. A model reads all schemas before its first
/// call, so those of results have none.
const LIMITS: [&str; 8] =
    ["example", "examples", "format", "maxItems", "maxLength", "maximum", "minimum", "pattern"];

pub fn of<T: ToSchema>() -> Map<String, Value> {
    let mut parts: Vec<(String, RefOr<Schema>)> = Vec::new();
    T::schemas(&mut parts);
    // Arguments and results are objects; the tests check each of them.
    let Value::Object(mut whole) = written(&T::schema()) else {
        return Map::new();
    };
    // The tool describes its own result and arguments.
    whole.remove("description");
    let definitions: Map<String, Value> =
        parts.iter().map(|(name, part)| (name.clone(), written(part))).collect();
    if !definitions.is_empty() {
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    whole
}

/// Returns the schema of a result. Some hosts also check the results of refused calls against it,
/// so only the next action is required.
pub fn result<T: ToSchema>() -> Map<String, Value> {
    let mut whole = of::<T>();
    let mut common = of::<RefusedCall>();
    let more = json!({ "properties": {
        ALERTS: { "type": "array", "items": { "type": "object" } },
        NEXT_ACTION: of::<NextStep>(),
    }});
    merge(&mut common, more.as_object().cloned().unwrap_or_default());
    // These are the same for every tool; the instructions describe them once.
    common.values_mut().for_each(|schema| remove(schema, &["description"]));
    merge(&mut whole, common);
    whole.insert("required".to_owned(), json!([NEXT_ACTION]));
    whole.values_mut().for_each(|schema| remove(schema, &LIMITS));
    whole
}

/// Returns the schema of a result that has the members of both types.
pub fn result_of_both<T: ToSchema, U: ToSchema>() -> Map<String, Value> {
    let mut whole = result::<T>();
    let mut more = of::<U>();
    more.values_mut().for_each(|schema| remove(schema, &LIMITS));
    merge(&mut whole, more);
    whole
}

/// Adds the members and the definitions of another schema.
fn merge(whole: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        if let Value::Object(members) = value {
            let known = whole.entry(name).or_insert_with(|| json!({}));
            if let Some(known) = known.as_object_mut() {
                known.extend(members);
            }
        }
    }
}

/// Removes keywords that describe values, at every level.
fn remove(schema: &mut Value, keywords: &[&str]) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| !keywords.contains(&name.as_str()) || value.is_object());
            members.values_mut().for_each(|member| remove(member, keywords));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, keywords)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn written(schema: &RefOr<Schema>) -> Value {
    let mut value = serde_json::to_value(schema).unwrap_or_else(|_| json!({}));
    point_beside(&mut value);
    value
}

fn point_beside(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(to) if name == "$ref" => {
                        *to = to.replacen(COMPONENTS, DEFINITIONS, 1);
                    }
                    other => point_beside(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(point_beside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
