//! The builder of the route table, and the only way to add a route: it takes a door with every
//! route, so that one without a class cannot be built. What it lists is what the OpenAPI document,
//! the metrics and the tests of refusal go by.

use ade_core::access::Class;
use axum::Router;
use axum::middleware::from_fn_with_state;
use thiserror::Error;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::state::Shared;
use super::{describe, door, guard, links};

/// Who may knock at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Anybody, without a credential: probes, the description of the API.
    Open,
    /// Callers whose credential opens this class.
    Class(Class),
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Quick,
    /// May hold its answer back until something changes, if asked with `wait`.
    Waiting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// As a template, for example `/v1/tasks/{id}`.
    pub path: &'static str,
    pub door: Door,
    pub pace: Pace,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    #[error("`{line}` in the table is `{handler}` at its handler: make them the same")]
    Differs { line: &'static str, handler: String },
}

#[expect(missing_debug_implementations, reason = "the OpenAPI document has none")]
pub struct Table {
    pub router: Router<Shared>,
    pub document: OpenApi,
    pub routes: Vec<Route>,
}

#[expect(missing_debug_implementations, reason = "the OpenAPI document has none")]
pub struct Routes {
    shared: Shared,
    router: OpenApiRouter<Shared>,
    listed: Vec<Route>,
    error: Option<RouteError>,
}

impl Routes {
    pub fn new(shared: Shared) -> Self {
        let router = OpenApiRouter::with_openapi(describe::base());
        Self { shared, router, listed: Vec::new(), error: None }
    }

    /// `line` repeats method and path of the handler's description, so that the table can be
    /// read; where they differ, nothing is built.
    #[must_use]
    pub fn route(self, door: Door, line: &'static str, made: UtoipaMethodRouter<Shared>) -> Self {
        self.add(door, Pace::Quick, line, made)
    }

    #[must_use]
    pub fn waiting(self, door: Door, line: &'static str, made: UtoipaMethodRouter<Shared>) -> Self {
        self.add(door, Pace::Waiting, line, made)
    }

    fn add(
        mut self,
        door: Door,
        pace: Pace,
        line: &'static str,
        (schemas, mut paths, mut handlers): UtoipaMethodRouter<Shared>,
    ) -> Self {
        let handler = describe::line_of(&paths);
        let Some((method, path)) = line.split_once(' ').filter(|_| handler == line) else {
            self.error.get_or_insert(RouteError::Differs { line, handler });
            return self;
        };
        let route = Route { method, path, door, pace };
        describe::complete(&mut paths, route);
        if let Door::Class(class) = door {
            let shared = (self.shared.clone(), class);
            handlers = handlers.route_layer(from_fn_with_state(shared, door::enter));
        }
        let guarded = (self.shared.clone(), pace);
        handlers = handlers.route_layer(from_fn_with_state(guarded, guard::watch));
        self.router = self.router.routes((schemas, paths, handlers));
        self.listed.push(route);
        self
    }

    pub fn finish(self) -> Result<Table, RouteError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let (router, mut document) = self.router.split_for_parts();
        links::add(&mut document);
        describe::relax_sets(&mut document);
        let router = router
            .fallback(super::pages::page)
            .method_not_allowed_fallback(super::system::not_with_this_method);
        Ok(Table { router, document, routes: self.listed })
    }
}
