//! The builder of the route table, and the only way to add a route: it takes a door with every
//! route, so that one without a class cannot be built. What it lists is what the OpenAPI document,
//! the metrics and the tests of refusal go by.

use ade_core::access::Class;
use ade_engine::limiter::Limiter;
use axum::Router;
use axum::handler::Handler as _;
use axum::middleware::from_fn_with_state;
use thiserror::Error;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::door::{self, Doorway};
use super::state::Shared;
use super::{describe, guard, links, system};

/// Asked by what keeps the server alive, which is never turned away.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

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

impl Route {
    pub fn is_probe(&self) -> bool {
        PROBES.contains(&self.path)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    #[error("`{line}` in the table is `{handler}` at its handler: make them the same")]
    Differs { line: &'static str, handler: String },
    #[error("`rates.endpoints.{name}` is no endpoint: take an `operationId` of `/openapi.json`")]
    UnknownRate { name: String },
    #[error("`rates.endpoints.{name}`: what hands in counts together; set `rates.submit`")]
    SharedRate { name: String },
}

#[expect(missing_debug_implementations, reason = "the OpenAPI document has none")]
pub struct Table {
    pub router: Router<Shared>,
    pub document: OpenApi,
    pub routes: Vec<Route>,
}

impl Table {
    /// A rate for what is no endpoint would limit nobody.
    pub fn check_rates(&self, shared: &Shared) -> Result<(), RouteError> {
        let known = describe::names(&self.document.paths);
        for name in shared.app().limiter.endpoints() {
            if !known.contains(name) {
                return Err(RouteError::UnknownRate { name: name.to_owned() });
            }
            if !Limiter::is_by_itself(name) {
                return Err(RouteError::SharedRate { name: name.to_owned() });
            }
        }
        Ok(())
    }
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
        let shared = self.shared.clone();
        match door {
            Door::Class(class) => {
                let endpoint = describe::name_of(&paths).into();
                let doorway = Doorway { shared, class, endpoint };
                handlers = handlers.route_layer(from_fn_with_state(doorway, door::enter));
            }
            Door::Open if route.is_probe() => {}
            Door::Open => handlers = handlers.route_layer(from_fn_with_state(shared, door::pass)),
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
        let counted = from_fn_with_state(self.shared, door::pass);
        let router = router
            .fallback(super::pages::page)
            .method_not_allowed_fallback(system::not_with_this_method.layer(counted));
        Ok(Table { router, document, routes: self.listed })
    }
}
