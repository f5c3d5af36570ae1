//! What the OpenAPI document says beyond the handlers: the class of every operation, how to sign
//! in, and every error that the layers around a handler can give. Derived from the operation
//! itself, so that a handler only describes what is its own.

use std::collections::{BTreeMap, BTreeSet};

use ade_api::code::Code;
use ade_api::events::Event;
use ade_api::problem::{self, NextAction, Problem};
use ade_core::limits::{HEAD_MAX_BYTES, HEADERS_MAX};
use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder, Schema};
use utoipa::{Modify, OpenApi as _};

use super::routes::{Door, Route};

const SCHEME: &str = "token";
const HEAD_TOO_LARGE: &str = "HeadTooLarge";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Community ADE",
        description = "The control plane between agents and production: propose a change, have \
                       exactly its effect approved, apply it once.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/")),
    components(schemas(Problem, Code, NextAction, Event)),
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

/// Without paths.
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
    document
}

/// `GET /v1/status`: method and path as the handler describes them; all of them if several.
pub fn line_of(paths: &Paths) -> String {
    let mut lines = Vec::new();
    for (path, item) in &paths.paths {
        lines.extend(operations(item).into_iter().map(|(method, _)| format!("{method} {path}")));
    }
    lines.join(", ")
}

/// What the operations are called, as clients see them.
pub fn names(paths: &Paths) -> BTreeSet<String> {
    let all = paths.paths.values().flat_map(operations);
    all.filter_map(|(_, operation)| operation.operation_id.clone()).collect()
}

/// The same of a route of its own.
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

pub fn complete(paths: &mut Paths, route: Route) {
    for item in paths.paths.values_mut() {
        let all = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        for operation in all.into_iter().flatten() {
            complete_operation(operation, route);
        }
    }
}

fn complete_operation(operation: &mut Operation, route: Route) {
    // A handler is called like its verb; several nouns have the same one.
    let noun = operation.tags.iter().flatten().next().cloned();
    if let (Some(noun), Some(verb)) = (noun, operation.operation_id.take()) {
        operation.operation_id = Some(format!("{noun}_{verb}"));
    }
    let class = match route.door {
        Door::Open => "open",
        Door::Class(class) => {
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
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(response(&codes)));
    }
    let refused = RefOr::Ref(Ref::from_response_name(HEAD_TOO_LARGE));
    operation.responses.responses.insert("431".into(), refused);
}

/// Answered where the connection is read, before there is a request that could have a problem.
fn head_too_large() -> Response {
    let told = format!(
        "Address and headers together are longer than {HEAD_MAX_BYTES} bytes, or there are more \
         than {HEADERS_MAX} headers. Nothing of the request was read, and the answer is empty."
    );
    ResponseBuilder::new().description(told).build()
}

/// What the layers and extractors of this operation may answer.
fn codes_of(operation: &Operation, route: Route) -> Vec<Code> {
    let mut codes = vec![Code::Internal, Code::Overloaded, Code::TimedOut];
    if !route.is_probe() {
        codes.push(Code::RateLimited);
    }
    if matches!(route.door, Door::Class(_)) {
        codes.extend([Code::Unauthenticated, Code::ClassClosed, Code::NotAllowed]);
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
            "If-Match" => codes.extend([Code::VersionMismatch, Code::PreconditionRequired]),
            // Only calls that change something can be repeated, and only they can be refused.
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
            // A list of what belongs to somebody, who may be a stranger.
            "user" | "object" => codes.push(Code::NotFound),
            "page_token" => codes.push(Code::InvalidPageToken),
            _ => {}
        }
    }
    codes.sort();
    codes.dedup();
    codes
}

/// What is named twice in a set counts once, and is not refused: the document must not forbid it.
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

/// An answer that carries one of these codes; handlers use it for their own refusals.
pub fn response(codes: &[Code]) -> Response {
    let told: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
    let schema = Ref::from_schema_name("Problem");
    ResponseBuilder::new()
        .description(told.join("; "))
        .content(problem::MEDIA_TYPE, ContentBuilder::new().schema(Some(schema)).build())
        .build()
}
