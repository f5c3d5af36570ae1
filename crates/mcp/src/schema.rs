//! JSON Schemas of arguments, from the same description of types as the OpenAPI document. What
//! a type refers to stands beside it, since a tool has no document around it.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";

pub fn of<T: ToSchema>() -> Map<String, Value> {
    let mut parts: Vec<(String, RefOr<Schema>)> = Vec::new();
    T::schemas(&mut parts);
    // A type of arguments is an object; the tests look at each.
    let Value::Object(mut whole) = written(&T::schema()) else {
        return Map::new();
    };
    let definitions: Map<String, Value> =
        parts.iter().map(|(name, part)| (name.clone(), written(part))).collect();
    if !definitions.is_empty() {
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    whole
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
