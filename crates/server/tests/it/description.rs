//! The OpenAPI document is complete, consistent, and the same as the committed one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ade_server::http::routes::RouteAuth;
use ade_server::http::{self, Http};
use serde_json::Value;

use crate::test_server::{TestServer, shared};

const COMMITTED: &str = "docs/reference/openapi.json";

fn built() -> Http {
    http::build(shared(&[])).unwrap()
}

fn document() -> Value {
    serde_json::to_value(&built().document).unwrap()
}

pub fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                match inner {
                    Value::String(target) if name == "$ref" => found.push(target),
                    _ => references(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn openapi_references_all_resolve() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for target in found {
        let pointer = target.strip_prefix('#').expect("inside the document");
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
}

#[tokio::test]
async fn openapi_describes_each_route_once_with_class_and_errors() {
    let (document, routes) = (document(), built().routes);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut ids = BTreeSet::new();
    let mut described = 0;
    for item in document["paths"].as_object().unwrap().values() {
        described += item.as_object().unwrap().len();
    }
    assert_eq!(described, routes.len());
    for route in &routes {
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        let name = format!("{} {}", route.method, route.path);
        let id = operation["operationId"].as_str().expect(&name);
        assert!(ids.insert(id.to_owned()), "{name}: `{id}` is taken");
        assert!(operation["summary"].is_string(), "{name}");
        let responses = operation["responses"].as_object().unwrap();
        let mut expected = vec!["500", "503"];
        match route.door {
            RouteAuth::Public => assert_eq!(operation["x-class"], "open", "{name}"),
            RouteAuth::Scope(class) => {
                assert_eq!(operation["x-class"], class.as_str(), "{name}");
                assert!(operation["security"][0]["token"].is_array(), "{name}");
                expected.extend(["401", "403"]);
            }
        }
        for status in expected {
            assert!(responses.contains_key(status), "{name} lacks {status}");
        }
    }
}

/// `ADE_UPDATE_OPENAPI=1` writes the document again.
#[tokio::test]
async fn openapi_file_matches_the_handlers() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let generated = built().document.to_pretty_json().unwrap() + "\n";
    let path = root.join(COMMITTED);
    if std::env::var_os("ADE_UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{COMMITTED} is stale: run this test with ADE_UPDATE_OPENAPI=1"
    );
}

#[tokio::test]
async fn openapi_document_and_page_load_nothing_external() {
    let rig = TestServer::start().await;
    let served: Value = rig.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    assert_eq!(served, document());
    for (path, media) in [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/docs.js", "text/javascript; charset=utf-8"),
        ("/docs/docs.css", "text/css; charset=utf-8"),
    ] {
        let response = rig.get(path).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], media);
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(!policy.contains("unsafe"), "{policy}");
        let text = response.text().await.unwrap();
        for foreign in ["http://", "https://", "//cdn", "innerHTML", "eval(", "style=", "onclick"] {
            assert!(!text.contains(foreign), "{path} contains {foreign}");
        }
    }
}

/// A response with an id links to every operation on the object with that id.
#[tokio::test]
async fn openapi_response_with_an_id_links_to_its_operations() {
    let document = document();
    let links = &document["paths"]["/v1/tasks"]["post"]["responses"]["201"]["links"];
    let submit = &links["tasks_submit"];
    assert_eq!(submit["parameters"]["id"], "$response.body#/id", "{links}");
    assert_eq!(submit["parameters"]["If-Match"], "$response.header.etag", "{links}");
    assert!(links["tasks_get"]["parameters"]["If-Match"].is_null(), "{links}");
    let inbox = &document["paths"]["/v1/approvals"]["get"]["responses"]["200"]["links"];
    assert_eq!(inbox["approvals_withdraw"]["parameters"]["id"], "$response.body#/items/0/id");
    let mut linked = 0;
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for answer in operation["responses"].as_object().unwrap().values() {
                linked += answer["links"].as_object().map_or(0, serde_json::Map::len);
            }
        }
    }
    assert_eq!(linked, 73, "one for each route with an id alone in its path");
}
