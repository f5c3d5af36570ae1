//! One route of the table: its method and path, who may call it, and how long a response may take.

use ade_core::access::Scope;

/// Routes of monitoring systems, which are never rate limited.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

const FREEZES: &str = "/v1/freezes";

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAuth {
    /// Anyone, without a credential: probes, the description of the API.
    Public,
    /// Callers whose token has this scope.
    Scope(Scope),
}

/// How long a response may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteTimeout {
    Default,
    /// The response may wait for a change, if requested with `wait`.
    LongPoll,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// The template, for example `/v1/tasks/{id}`.
    pub path: &'static str,
    pub door: RouteAuth,
    pub pace: RouteTimeout,
}

impl Route {
    /// Returns whether the route has its own capacity, because it must work while all other
    /// capacity is used up: monitoring, and stopping everything.
    pub fn is_reserved(&self) -> bool {
        self.is_probe() || (self.path.starts_with(FREEZES) && self.method != "GET")
    }

    pub fn is_probe(&self) -> bool {
        PROBES.contains(&self.path)
    }
}
