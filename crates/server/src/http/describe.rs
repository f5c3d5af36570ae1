//! The parts of the OpenAPI document that do not come from handlers: the scope of every operation,
//! authentication, and the errors of the layers around a handler. They are derived from the
//! operation, so that a handler only describes its own responses.

use std::collections::{BTreeMap, BTreeSet};

use ade_api::code::Code;
use ade_api::events::Event;
use ade_api::problem::{self, NextAction, Problem};
use ade_api::schema::{AuditKind, TaskRef, Wait};
use ade_core::limits::{HEAD_MAX_BYTES, HEADERS_MAX};
use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, OpenApi, Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};
use utoipa::{Modify, OpenApi as _};

use super::catalogue;
use super::route::{Route, RouteAuth};

const SCHEME: &str = "token";
const HEAD_TOO_LARGE: &str = "HeadTooLarge";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Community ADE",
        description = "The control plane between AI agents and production: propose a change, get \
                       exactly its effect approved, apply it once. Agents need only a part of it: \
                       `/openapi/agent.json`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/")),
    components(schemas(Problem, Code, NextAction, Event, AuditKind, TaskRef, Wait)),
    modifiers(&SignIn)
)]
struct Base;

struct SignIn;

impl Modify for SignIn {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("ade_…")
            .description(Some("An API token of a user or an agent."))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
        components.responses.insert(HEAD_TOO_LARGE.into(), RefOr::T(head_too_large()));
    }
}

/// Returns the document without paths.
pub fn base() -> OpenApi {
    let mut document = Base::openapi();
    let codes: Vec<_> = Code::ALL
        .iter()
        .map(|code| {
            json!({
                "code": code.as_str(),
                "status": code.status(),
                "title": code.title(),
                "retriable": code.is_retriable(),
                "next_action": code.next_action(),
            })
        })
        .collect();
    document.extensions = Some(Extensions::builder().add("x-error-codes", codes).build());
    document.tags = Some(catalogue::tags());
    document
}

/// Returns the methods and paths that a handler describes, for example `GET /v1/status`.
pub fn line_of(paths: &Paths) -> String {
    let mut lines = Vec::new();
    for (path, item) in &paths.paths {
        lines.extend(operations(item).into_iter().map(|(method, _)| format!("{method} {path}")));
    }
    lines.join(", ")
}

/// Returns the names of the operations, as clients see them.
pub fn names(paths: &Paths) -> BTreeSet<String> {
    let all = paths.paths.values().flat_map(operations);
    all.filter_map(|(_, operation)| operation.operation_id.clone()).collect()
}

/// Returns the name of the operation of a single route.
pub fn name_of(paths: &Paths) -> String {
    names(paths).into_iter().next().unwrap_or_default()
}

fn operations(item: &PathItem) -> Vec<(&'static str, &Operation)> {
    let all = [
        ("GET", &item.get),
        ("PUT", &item.put),
        ("POST", &item.post),
        ("DELETE", &item.delete),
        ("PATCH", &item.patch),
        ("HEAD", &item.head),
        ("OPTIONS", &item.options),
        ("TRACE", &item.trace),
    ];
    all.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?))).collect()
}

/// Adds the scope and errors of the route to its operations, and the shared error responses to the
/// document.
pub fn complete(document: &mut OpenApi, paths: &mut Paths, route: Route) {
    let shared = &mut document.components.get_or_insert_default().responses;
    for item in paths.paths.values_mut() {
        let all = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in all.into_iter().flatten() {
            complete_operation(operation, route, shared);
        }
    }
}

fn complete_operation(
    operation: &mut Operation,
    route: Route,
    shared: &mut BTreeMap<String, RefOr<Response>>,
) {
    // A handler is named after its verb, which several nouns may share.
    let noun = operation.tags.iter().flatten().next().cloned();
    if let (Some(noun), Some(verb)) = (noun, operation.operation_id.take()) {
        operation.operation_id = Some(format!("{noun}_{verb}"));
    }
    catalogue::add_example(operation);
    let class = match route.door {
        RouteAuth::Public => "open",
        RouteAuth::Scope(class) => {
            let needed = SecurityRequirement::new(SCHEME, Vec::<String>::new());
            operation.security = Some(vec![needed]);
            class.as_str()
        }
    };
    let class = Extensions::builder().add("x-class", class).build();
    operation.extensions.get_or_insert_default().merge(class);
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes_of(operation, route) {
        by_status.entry(code.status()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_string()).or_insert_with(|| {
            let name = shared_name(&codes);
            let reference = Ref::from_response_name(&name);
            shared.entry(name).or_insert_with(|| RefOr::T(response(&codes)));
            RefOr::Ref(reference)
        });
    }
    let refused = RefOr::Ref(Ref::from_response_name(HEAD_TOO_LARGE));
    operation.responses.responses.insert("431".into(), refused);
}

/// Describes the response to a head that is too large. It has no problem document, because the
/// connection sends it before there is a request.
fn head_too_large() -> Response {
    let description = format!(
        "The request line and headers together are longer than {HEAD_MAX_BYTES} bytes, or there \
         are more than {HEADERS_MAX} headers. The request was not read, and the response is \
         empty."
    );
    ResponseBuilder::new().description(description).build()
}

/// Returns the errors that the layers and extractors of this operation may return.
fn codes_of(operation: &Operation, route: Route) -> Vec<Code> {
    let mut codes = vec![Code::Internal, Code::Overloaded, Code::TimedOut];
    if !route.is_probe() {
        codes.push(Code::RateLimited);
    }
    if matches!(route.door, RouteAuth::Scope(_)) {
        codes.extend([Code::Unauthenticated, Code::InsufficientScope, Code::NotAllowed]);
        codes.extend([Code::Busy, Code::DatabaseUnavailable]);
    }
    if operation.request_body.is_some() {
        codes.extend([Code::MalformedBody, Code::RequestTimeout, Code::BodyTooLarge]);
        codes.extend([Code::UnsupportedMediaType, Code::InvalidBody]);
    }
    for parameter in operation.parameters.iter().flatten() {
        let RefOr::T(parameter) = parameter else {
            continue;
        };
        match parameter.parameter_in {
            ParameterIn::Path => codes.push(Code::NotFound),
            ParameterIn::Query | ParameterIn::QueryString => codes.push(Code::InvalidQuery),
            ParameterIn::Header | ParameterIn::Cookie => codes.push(Code::MalformedRequest),
        }
        match parameter.name.as_str() {
            "If-Match" if parameter.required == Required::True => {
                codes.extend([Code::VersionMismatch, Code::PreconditionRequired]);
            }
            "If-Match" => codes.push(Code::VersionMismatch),
            // These codes apply to changes, which are the calls with an idempotency key.
            "Idempotency-Key" => codes.extend([
                Code::WrongState,
                Code::Conflict,
                Code::InvalidBody,
                Code::PreviewUnavailable,
                Code::IdempotencyKeyReused,
                Code::IdempotencyInFlight,
                Code::OutcomeUnknown,
                Code::AuditUnavailable,
            ]),
            // The list belongs to a person or object that may not exist.
            "user" | "object" => codes.push(Code::NotFound),
            "page_token" => codes.push(Code::InvalidPageToken),
            _ => {}
        }
    }
    codes.sort();
    codes.dedup();
    codes
}

/// Allows duplicates in sets, because the server accepts them and counts each item once.
pub fn relax_sets(document: &mut OpenApi) {
    let schemas = document.components.iter_mut().flat_map(|all| all.schemas.values_mut());
    for schema in schemas {
        let RefOr::T(Schema::Object(object)) = schema else { continue };
        for property in object.properties.values_mut() {
            if let RefOr::T(Schema::Array(array)) = property {
                array.unique_items = false;
            }
        }
    }
}

/// Returns the name of the shared response with these codes, such as
/// `InsufficientScopeOrNotAllowed`.
fn shared_name(codes: &[Code]) -> String {
    let capitalized = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_uppercase() + rest
    };
    let names = codes.iter().map(|code| code.as_str().split('_').map(capitalized).collect());
    names.collect::<Vec<String>>().join("Or")
}

/// Describes a response with one of these codes.
fn response(codes: &[Code]) -> Response {
    let titles: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
    let schema = Ref::from_schema_name("Problem");
    ResponseBuilder::new()
        .description(titles.join("; "))
        .content(problem::MEDIA_TYPE, ContentBuilder::new().schema(Some(schema)).build())
        .build()
}
