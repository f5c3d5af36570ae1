//! Error messages of every route in the words of JSON: bodies and queries with values of the wrong
//! type are generated from the OpenAPI document.

use serde_json::{Value, json};

use crate::world::{Answer, World};

/// Words that only a reader of the source understands.
const INTERNAL: [&str; 9] =
    ["struct ", "enum ", "variant", "::", " u8", " u16", " u32", " u64", " i64"];
/// One value of each JSON type.
const VALUES: [&str; 6] = ["true", "7", "-1.5", "\"?\"", "[[]]", "{\"?\":{}}"];

fn document() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Follows a reference; of several forms it takes the first object.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return resolved(document, &document["components"]["schemas"][name]);
    }
    let forms = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|list| schema[list].as_array());
    let forms = forms.flatten().map(|form| resolved(document, form));
    forms.into_iter().find(|form| form["properties"].is_object()).unwrap_or(schema)
}

/// Returns bodies that each have one field with a value of the wrong type, to this depth.
fn wrong_bodies(document: &Value, schema: &Value, depth: usize) -> Vec<Value> {
    let schema = resolved(document, schema);
    let mut bodies = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        bodies.extend(
            VALUES.map(|value| json!({ name: serde_json::from_str::<Value>(value).unwrap() })),
        );
        if depth == 0 {
            continue;
        }
        let items = resolved(document, field)["items"].clone();
        let (inner, is_list) = if items.is_object() { (&items, true) } else { (field, false) };
        for body in wrong_bodies(document, inner, depth - 1) {
            bodies.push(json!({ name: if is_list { json!([body]) } else { body } }));
        }
    }
    bodies
}

/// Fills the parameters of a path with ids that have the right form.
fn path_to(document: &Value, template: &str, operation: &Value) -> String {
    let mut path = template.to_owned();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
        let schema = resolved(document, &parameter["schema"]);
        path = path.replace(&name, schema["examples"][0].as_str().unwrap_or("1"));
    }
    path
}

#[track_caller]
fn assert_plain(answer: &Answer, call: &str) {
    let text = answer.body["detail"].as_str().unwrap_or_default();
    let found = INTERNAL.iter().find(|word| text.contains(**word));
    assert_eq!(found, None, "{call}: {text}");
}

#[tokio::test]
async fn body_errors_contain_no_type_names() {
    let world = World::new().await;
    let document = document();
    let mut refused = 0;
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let (method, path) = (method.to_uppercase(), path_to(&document, template, operation));
            for body in wrong_bodies(&document, schema, 1) {
                let call = format!("{method} {path} {body}");
                let headers = [("if-match", "\"1\"")];
                let token = &world.admin.token;
                let answer = world.send(&method, token, &path, Some(body), &headers).await;
                assert_plain(&answer, &call);
                refused += usize::from(answer.body["code"] == "invalid_body");
            }
        }
    }
    assert!(refused > 500, "{refused} bodies were refused");
}

#[tokio::test]
async fn query_errors_contain_no_type_names() {
    let world = World::new().await;
    let document = document();
    let mut refused = 0;
    for (template, item) in document["paths"].as_object().unwrap() {
        let operation = &item["get"];
        if operation["responses"]["200"]["content"]["text/event-stream"].is_object() {
            continue;
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let path = path_to(&document, template, operation);
            let path = format!("{path}?{}=%3F", parameter["name"].as_str().unwrap());
            let answer = world.get(&world.admin.token, &path).await;
            assert_plain(&answer, &path);
            refused += usize::from(answer.body["code"] == "invalid_query");
        }
    }
    assert!(refused > 20, "{refused} queries were refused");
}
