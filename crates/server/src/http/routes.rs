//! The builder of the route table. Every route is added with its access rule, so that none can lack
//! one. The OpenAPI document, the metrics and the access tests use this table.

use ade_engine::services::rate_limiter::Limiter;
use axum::Router;
use axum::handler::Handler as _;
use axum::middleware::from_fn_with_state;
use thiserror::Error;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::auth_layer::{self, RouteScope};
pub use super::route::{Route, RouteAuth, RouteTimeout};
use super::state::Shared;
use super::{describe, limits_layer, links, system};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    #[error("the route table has `{line}`, its handler has `{handler}`: make them the same")]
    Differs { line: &'static str, handler: String },
    #[error(
        "`rates.endpoints.{name}` is not an endpoint: use an `operationId` from `/openapi.json`"
    )]
    UnknownRate { name: String },
    #[error("`rates.endpoints.{name}`: submissions are counted together; set `rates.submit`")]
    SharedRate { name: String },
}

#[expect(missing_debug_implementations, reason = "the OpenAPI document has none")]
pub struct Table {
    pub router: Router<Shared>,
    pub document: OpenApi,
    pub routes: Vec<Route>,
}

impl Table {
    /// Refuses rate limits without an effect: those of unknown endpoints, and those of submissions,
    /// which are counted together.
    pub fn check_rates(&self, shared: &Shared) -> Result<(), RouteError> {
        let known = describe::names(&self.document.paths);
        for name in shared.app().limiter.endpoints() {
            if !known.contains(name) {
                return Err(RouteError::UnknownRate { name: name.to_owned() });
            }
            if !Limiter::has_own_limit(name) {
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

    /// Adds a route. `line` repeats the method and path of the handler's description to make the
    /// table readable; if they differ, the table is not built.
    #[must_use]
    pub fn route(
        self,
        door: RouteAuth,
        line: &'static str,
        made: UtoipaMethodRouter<Shared>,
    ) -> Self {
        self.add(door, RouteTimeout::Default, line, made)
    }

    #[must_use]
    pub fn waiting(
        self,
        door: RouteAuth,
        line: &'static str,
        made: UtoipaMethodRouter<Shared>,
    ) -> Self {
        self.add(door, RouteTimeout::LongPoll, line, made)
    }

    fn add(
        mut self,
        door: RouteAuth,
        pace: RouteTimeout,
        line: &'static str,
        (schemas, mut paths, mut handlers): UtoipaMethodRouter<Shared>,
    ) -> Self {
        let handler = describe::line_of(&paths);
        let Some((method, path)) = line.split_once(' ').filter(|_| handler == line) else {
            self.error.get_or_insert(RouteError::Differs { line, handler });
            return self;
        };
        let route = Route { method, path, door, pace };
        describe::complete(self.router.get_openapi_mut(), &mut paths, route);
        let shared = self.shared.clone();
        match door {
            RouteAuth::Scope(class) => {
                let endpoint = describe::name_of(&paths).into();
                let doorway = RouteScope { shared, class, endpoint };
                handlers =
                    handlers.route_layer(from_fn_with_state(doorway, auth_layer::require_auth));
            }
            RouteAuth::Public if route.is_probe() => {}
            RouteAuth::Public => {
                handlers =
                    handlers.route_layer(from_fn_with_state(shared, auth_layer::allow_anonymous));
            }
        }
        let guarded = (self.shared.clone(), route);
        handlers = handlers.route_layer(from_fn_with_state(guarded, limits_layer::limits_layer));
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
        let counted = from_fn_with_state(self.shared, auth_layer::allow_anonymous);
        let router = router
            .fallback(super::pages::page)
            .method_not_allowed_fallback(system::not_with_this_method.layer(counted));
        Ok(Table { router, document, routes: self.listed })
    }
}
