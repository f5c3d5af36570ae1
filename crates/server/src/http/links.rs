//! The links of the OpenAPI document, from a response to the calls that use its id. They are
//! derived from the paths, so that a new route of a collection is linked automatically.

use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

/// Collections, the status of the response that creates or lists a member, and the path of its id.
const MAKERS: &[(&str, &str, &str)] = &[
    ("/v1/tasks", "201", "$response.body#/id"),
    ("/v1/users", "201", "$response.body#/id"),
    ("/v1/agents", "201", "$response.body#/id"),
    ("/v1/tokens", "201", "$response.body#/key_id"),
    ("/v1/approvals", "200", "$response.body#/items/0/id"),
    ("/v1/policies", "201", "$response.body#/policy"),
    ("/v1/policy-drafts", "200", "$response.body#/items/0/id"),
    ("/v1/pending-changes", "200", "$response.body#/items/0/id"),
    ("/v1/delegations", "201", "$response.body#/id"),
    ("/v1/freezes", "201", "$response.body#/id"),
    ("/v1/webhooks", "201", "$response.body#/id"),
    ("/v1/on-call", "201", "$response.body#/id"),
    ("/v1/inbound-sources", "201", "$response.body#/id"),
    ("/v1/passkeys", "201", "$response.body#/id"),
    ("/v1/step-up", "201", "$response.body#/id"),
    ("/v1/after-reviews", "200", "$response.body#/items/0/id"),
];

/// A call that can follow: its operation, the name of the id in its path, and whether it needs the
/// version that was read.
struct Next {
    operation: String,
    id: String,
    asks_version: bool,
}

pub fn add(document: &mut OpenApi) {
    for (collection, status, place) in MAKERS {
        let following = following(document, collection);
        let Some(maker) = document.paths.paths.get_mut(*collection) else { continue };
        let maker = if *status == "201" { &mut maker.post } else { &mut maker.get };
        let answers = maker.as_mut().map(|operation| &mut operation.responses.responses);
        let answer = answers.and_then(|answers| answers.get_mut(*status));
        let Some(RefOr::T(answer)) = answer else { continue };
        for next in following {
            let mut link =
                LinkBuilder::new().operation_id(next.operation.clone()).parameter(next.id, *place);
            if next.asks_version {
                link = link.parameter("If-Match", "$response.header.etag");
            }
            answer.links.insert(next.operation, RefOr::T(link.build()));
        }
    }
}

/// Returns all operations on a member: those of `{collection}/{id}` and of paths below it without
/// another id.
fn following(document: &OpenApi, collection: &str) -> Vec<Next> {
    let mut found = Vec::new();
    for (path, item) in &document.paths.paths {
        let member = path.strip_prefix(collection).and_then(|rest| rest.strip_prefix("/{"));
        let Some((id, below)) = member.and_then(|rest| rest.split_once('}')) else { continue };
        if below.contains('{') {
            continue;
        }
        let operations = operations(item).filter_map(|operation| {
            let operation_id = operation.operation_id.clone()?;
            let asks_version = operation.parameters.iter().flatten().any(is_version);
            Some(Next { operation: operation_id, id: id.to_owned(), asks_version })
        });
        found.extend(operations);
    }
    found
}

fn is_version(parameter: &RefOr<Parameter>) -> bool {
    matches!(parameter, RefOr::T(parameter) if parameter.name == "If-Match")
}

fn operations(item: &PathItem) -> impl Iterator<Item = &Operation> {
    [&item.get, &item.put, &item.post, &item.patch, &item.delete].into_iter().flatten()
}
