//! The examples of request bodies in the OpenAPI document, and its part for agents.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::world::{Answer, Person, World, id};

/// Operations whose body has another description: a protocol of its own, or any event.
const WITHOUT_EXAMPLE: [&str; 2] = ["agents_mcp", "inbound_receive"];
/// Codes that say that a body is wrong, whatever the objects are.
const WRONG_BODY: [&str; 4] =
    ["invalid_body", "malformed_body", "malformed_request", "unsupported_media_type"];
/// The ids in the examples, which belong to no object.
const USER: &str = "usr_01k9xq3vb8f2n4s6t7w8y9z0ab";
const AGENT: &str = "agt_01k9xq3vb8f2n4s6t7w8y9z0ab";
const TASK: &str = "task_01k9xq3vb8f2n4s6t7w8y9z0ab";
/// A time in the examples, in place of one that is near.
const SOON: &str = "2030-01-31T12:00:00.000000Z";

/// Fields that only the server sets.
const SERVER_OWNED: [&str; 9] = [
    "tenant_id",
    "id",
    "state",
    "version",
    "author_id",
    "risk",
    "decision",
    "created_at",
    "issued_by",
];

struct Operation {
    id: String,
    method: String,
    path: String,
    class: String,
    /// The example of the id in the path.
    object: Option<String>,
    body: Option<Value>,
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let body = operation["requestBody"]["content"].get("application/json").cloned();
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            let object = parameters.find(|one| one["in"] == "path" && one["name"] == "id");
            let schema = object.and_then(|one| one["schema"]["$ref"].as_str());
            let schema = schema.and_then(|name| document.pointer(name.trim_start_matches('#')));
            let object = schema.and_then(|schema| schema["examples"][0].as_str());
            all.push(Operation {
                id: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                class: operation["x-class"].as_str().unwrap().to_owned(),
                object: object.map(str::to_owned),
                body,
            });
        }
    }
    all
}

/// Sends the example of each request body to its operation, on real objects.
struct Examples {
    world: World,
    author: Person,
    other: Person,
    bot: Person,
    draft: Value,
    soon: String,
}

impl Examples {
    async fn new() -> Self {
        let world = World::new().await;
        let author = world.person("Bob", &["author", "reviewer"]).await;
        let other = world.person("Eve", &["author"]).await;
        let bot = world.agent("bot", &author).await;
        let draft = world.draft(&author, "a draft").await;
        let soon = crate::matrix::soon(&world).await;
        Self { world, author, other, bot, draft, soon }
    }

    /// Returns the example of the body, with the ids of real objects.
    fn body(&self, operation: &Operation) -> Option<Value> {
        let body = operation.body.as_ref()?;
        let Some(example) = body.get("example") else {
            assert!(WITHOUT_EXAMPLE.contains(&&*operation.id), "{} has no example", operation.id);
            return None;
        };
        let text = example.to_string().replace(USER, &self.author.id).replace(AGENT, &self.bot.id);
        let text = text.replace(TASK, id(&self.draft)).replace(SOON, &self.soon);
        Some(serde_json::from_str(&text).unwrap())
    }

    async fn send(&self, operation: &Operation, body: Value) -> Answer {
        let path = match operation.path.as_str() {
            path if path.starts_with("/v1/tasks/") => path.replace("{id}", id(&self.draft)),
            path if path.starts_with("/v1/users/") => path.replace("{id}", &self.other.id),
            path if path.starts_with("/v1/agents/") => path.replace("{id}", &self.bot.id),
            path => path
                .replace("{type}", "service")
                .replace("{id}", operation.object.as_deref().unwrap_or("shop")),
        };
        let path = path.replace("{name}", "batch_approvals").replace("{user_code}", "BCDF-GHJK");
        let token = match operation.class.as_str() {
            "execute" => &self.bot.token,
            "open" => "",
            _ => &self.world.admin.token,
        };
        let version = [("if-match", "\"1\"")];
        self.world.send(&operation.method, token, &path, Some(body), &version).await
    }
}

#[tokio::test]
async fn example_of_every_request_body_is_accepted() {
    let examples = Examples::new().await;
    let document = examples.world.get("", "/openapi.json").await.expect(200);
    let (mut sent, mut wrong) = (0, Vec::new());
    for operation in operations(&document) {
        let Some(body) = examples.body(&operation) else { continue };
        let answer = examples.send(&operation, body).await;
        let code = answer.body["code"].as_str().unwrap_or_default();
        if WRONG_BODY.contains(&code) || answer.status == 500 {
            wrong.push(format!("{}: {}", operation.id, answer.body));
        }
        sent += 1;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(sent > 60, "{sent} examples");
}

/// An object in a body: where it is, as a JSON pointer and as an error names it, and the fields
/// that a client may set.
struct BodyObject {
    pointer: String,
    path: String,
    fields: BTreeSet<String>,
}

/// Finds all objects in a value whose fields are those of a schema. Objects that are free-form, as
/// the parameters of a task, are left out.
fn body_objects(document: &Value, schema: &Value, value: &Value) -> Vec<BodyObject> {
    let mut found = Vec::new();
    let mut open = vec![(schema, value, String::new(), String::new())];
    while let Some((schema, value, pointer, path)) = open.pop() {
        if let Some(name) = schema["$ref"].as_str() {
            let schema = document.pointer(name.trim_start_matches('#')).unwrap();
            open.push((schema, value, pointer, path));
            continue;
        }
        for list in ["oneOf", "anyOf", "allOf"] {
            for part in schema[list].as_array().into_iter().flatten() {
                open.push((part, value, pointer.clone(), path.clone()));
            }
        }
        if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
            for (place, item) in items.iter().enumerate() {
                open.push((schema, item, format!("{pointer}/{place}"), format!("{path}[{place}]")));
            }
        }
        let (Some(fields), Some(known)) = (value.as_object(), schema["properties"].as_object())
        else {
            continue;
        };
        // Another variant of a `oneOf`.
        if !fields.keys().all(|name| known.contains_key(name)) {
            continue;
        }
        for (name, field) in fields {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            open.push((&known[name], field, format!("{pointer}/{name}"), path));
        }
        if schema["additionalProperties"] == false {
            found.push(BodyObject { pointer, path, fields: known.keys().cloned().collect() });
        }
    }
    found
}

#[tokio::test]
async fn server_owned_field_in_any_request_body_is_refused() {
    let examples = Examples::new().await;
    let document = examples.world.get("", "/openapi.json").await.expect(200);
    let (mut sent, mut nested, mut accepted) = (0, 0, Vec::new());
    for operation in operations(&document) {
        let Some(body) = examples.body(&operation) else { continue };
        let schema = &operation.body.as_ref().unwrap()["schema"];
        let objects = body_objects(&document, schema, &body);
        assert!(
            objects.iter().any(|object| object.pointer.is_empty()),
            "{}: the fields of the body are not closed",
            operation.id
        );
        for object in objects {
            for name in SERVER_OWNED.into_iter().filter(|name| !object.fields.contains(*name)) {
                let mut body = body.clone();
                body.pointer_mut(&object.pointer).unwrap()[name] = Value::Null;
                let answer = examples.send(&operation, body).await;
                let dot = if object.path.is_empty() { "" } else { "." };
                let path = format!("{}{dot}{name}", object.path);
                if answer.body["code"] != "invalid_body" || answer.body["path"] != *path {
                    accepted.push(format!("{} {path}: {}", operation.id, answer.body));
                }
                sent += 1;
                nested += usize::from(!object.pointer.is_empty());
            }
        }
    }
    assert_eq!(accepted, Vec::<String>::new());
    assert!(sent > 500 && nested > 100, "{sent} requests, {nested} of them nested");
}

#[tokio::test]
async fn agent_document_is_small_and_complete() {
    let world = World::new().await;
    let whole = world.get("", "/openapi.json").await.expect(200);
    let part = world.get("", "/openapi/agent.json").await.expect(200);
    let names = |document: &Value| -> BTreeSet<String> {
        operations(document).into_iter().map(|operation| operation.id).collect()
    };
    let (all, some) = (names(&whole), names(&part));
    assert!(some.is_subset(&all), "{some:?}");
    assert_eq!(some.len(), 21, "{some:?}");
    for needed in ["tasks_create", "tasks_get", "executions_claim_task", "executions_finish"] {
        assert!(some.contains(needed), "{needed}");
    }
    let sizes = (part.to_string().len(), whole.to_string().len());
    assert!(sizes.0 * 3 < sizes.1, "{sizes:?}");
    let mut references = Vec::new();
    crate::description::references(&part, &mut references);
    assert!(references.len() > 100, "{}", references.len());
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("inside the document");
        assert!(part.pointer(pointer).is_some(), "{reference}");
    }
    for operation in operations(&part) {
        let class = operation.class.as_str();
        assert!(matches!(class, "read" | "propose" | "execute"), "{}", operation.id);
    }
}

#[tokio::test]
async fn tags_of_all_operations_are_described() {
    let world = World::new().await;
    let document = world.get("", "/openapi.json").await.expect(200);
    let tags = document["tags"].as_array().unwrap();
    let listed: BTreeSet<&str> = tags.iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let items = document["paths"].as_object().unwrap().values();
    let used: BTreeSet<&str> = items
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["tags"][0].as_str().unwrap())
        .collect();
    assert_eq!(listed, used);
    assert!(tags.iter().all(|tag| tag["description"].as_str().unwrap().ends_with('.')));
}
