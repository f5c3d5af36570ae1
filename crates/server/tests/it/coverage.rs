//! Test coverage of the routes. A case lists the routes and outcomes that it covers and fails if
//! one of them did not occur, so the list cannot claim more than the tests show.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ade_server::http;
use ade_server::http::routes::RouteAuth;

use crate::test_server::shared;
use crate::world::{Exchange, World};
use crate::{
    agent_configs, agent_directives, agents, approvals, authority, batches, break_glass, claiming,
    deadlines, delegations, device, event_consumers, evidence, executions, explaining,
    failure_table, inbound, invitations, live, lock_bounds, locks, logs, mcp, messages, passkeys,
    policies, proposals, registry, risk, rule_changes, signing_in, stats, system, task_numbers,
    tasks, timeouts, tokens, users, webhooks,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The call succeeds.
    Happy,
    /// The caller lacks the permission, or may not know that the object exists.
    Denied,
    /// The caller has the permission, but the state or version is wrong, or the call is a
    /// repetition.
    Conflict,
}

#[derive(Debug)]
pub struct Case {
    pub route: &'static str,
    pub kind: Kind,
}

/// Makes a test of each function `name` that also checks the routes and outcomes it claims.
macro_rules! cases {
    ($($name:ident: $($kind:ident $route:literal),+;)+) => {
        pub const CASES: &[$crate::coverage::Case] = &[$($($crate::coverage::Case {
            route: $route,
            kind: $crate::coverage::Kind::$kind,
        },)+)+];

        mod case {
            $(#[tokio::test]
            async fn $name() {
                let world = $crate::world::World::new().await;
                super::$name(&world).await;
                $($crate::coverage::assert_shown(
                    &world,
                    $route,
                    $crate::coverage::Kind::$kind,
                );)+
            })+
        }
    };
}
pub(crate) use cases;

/// Works like `cases`, and runs each function a second time with the lock queue in Redis.
macro_rules! on_both {
    ($($name:ident: $($kind:ident $route:literal),+;)+) => {
        $crate::coverage::cases! { $($name: $($kind $route),+;)+ }

        mod on_redis {
            use $crate::world::{LockBackend, World};

            $(#[tokio::test]
            async fn $name() {
                let line = LockBackend::redis(LockBackend::SETTINGS).await;
                super::$name(&World::locking(line).await).await;
            })+
        }
    };
}
pub(crate) use on_both;

impl Kind {
    fn is_shown_by(self, exchange: &Exchange) -> bool {
        match self {
            // Opening a socket returns 101.
            Self::Happy => {
                (exchange.status == 101 || (200..300).contains(&exchange.status))
                    && !exchange.is_repeated
            }
            Self::Denied => [401, 403, 404].contains(&exchange.status),
            Self::Conflict => {
                [409, 412, 428].contains(&exchange.status)
                    || exchange.is_repeated
                    || exchange.code.as_deref() == Some("idempotency_key_reused")
            }
        }
    }
}

/// Whether `path` matches the template.
fn fits(template: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (mut parts, mut wanted) = (path.split('/'), template.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(want)) if part == want || want.starts_with('{') => {}
            _ => return false,
        }
    }
}

#[track_caller]
pub fn assert_shown(world: &World, route: &str, kind: Kind) {
    let (method, template) = route.split_once(' ').unwrap();
    let seen = world.exchanges();
    let is_it = |one: &&Exchange| one.method == method && fits(template, &one.path);
    let of_route: Vec<&Exchange> = seen.iter().filter(is_it).collect();
    let is_shown = of_route.iter().any(|exchange| kind.is_shown_by(exchange));
    assert!(is_shown, "no {kind:?} of {route} occurred, only {of_route:?}");
}

/// Routes that cannot fail with a conflict. Evaluations and leak reports write nothing that could
/// conflict. Each ticket, each login of a terminal and each step-up challenge is new. An expired
/// session or device code is only reported as expired, and an invitation that was accepted before
/// gets the same response as one that never existed. A tool writes through the routes it calls.
const WRITE_NOTHING: [&str; 13] = [
    "DELETE /v1/sessions/{id}",
    "POST /auth/device",
    "POST /auth/device/token",
    "POST /auth/logout",
    "POST /v1/tokens/report-leak",
    "POST /mcp",
    "POST /v1/invitations/accept",
    "POST /v1/policies/replay",
    "POST /v1/session/tenant",
    "POST /v1/tasks/evaluate",
    "POST /v1/slack/interactions",
    "POST /v1/step-up",
    "POST /v1/ws/tickets",
];

fn wanted() -> BTreeSet<(String, Kind)> {
    let mut wanted = BTreeSet::new();
    for route in http::build(shared(&[])).unwrap().routes {
        let line = format!("{} {}", route.method, route.path);
        wanted.insert((line.clone(), Kind::Happy));
        if route.door != RouteAuth::Public {
            wanted.insert((line.clone(), Kind::Denied));
        }
        if route.method != "GET" && !WRITE_NOTHING.contains(&&*line) {
            wanted.insert((line, Kind::Conflict));
        }
    }
    wanted
}

/// The committed list of missing cases is up to date and empty.
#[tokio::test]
async fn coverage_has_the_required_cases_for_each_route() {
    let all = [
        agent_configs::CASES,
        agent_directives::CASES,
        agents::CASES,
        approvals::CASES,
        authority::CASES,
        batches::CASES,
        break_glass::CASES,
        claiming::CASES,
        deadlines::CASES,
        delegations::CASES,
        device::CASES,
        evidence::CASES,
        executions::CASES,
        explaining::CASES,
        event_consumers::CASES,
        failure_table::CASES,
        inbound::CASES,
        invitations::CASES,
        live::CASES,
        mcp::CASES,
        messages::CASES,
        messages::SLACK_CASES,
        lock_bounds::CASES,
        locks::CASES,
        logs::CASES,
        passkeys::CASES,
        policies::CASES,
        proposals::CASES,
        registry::CASES,
        risk::CASES,
        rule_changes::CASES,
        timeouts::CASES,
        signing_in::CASES,
        stats::CASES,
        system::CASES,
        task_numbers::CASES,
        tasks::CASES,
        tokens::CASES,
        users::CASES,
        webhooks::CASES,
    ];
    let cases = all.into_iter().flatten().map(|case| (case.route.to_owned(), case.kind));
    let covered: BTreeSet<(String, Kind)> = cases.collect();
    let wanted = wanted();
    let is_happy = |(_, kind): &&(String, Kind)| *kind == Kind::Happy;
    let unknown: Vec<_> = covered.difference(&wanted).filter(is_happy).collect();
    assert!(unknown.is_empty(), "cases for routes that do not exist: {unknown:?}");
    let missing = wanted.difference(&covered);
    let missing: Vec<String> = missing.map(|(route, kind)| format!("{route} {kind:?}\n")).collect();
    let missing = missing.concat();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/uncovered_routes.txt");
    let committed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(missing, committed, "{} is stale", path.display());
    assert_eq!(missing, "", "each of these needs a case");
}

#[test]
fn route_template_matches_only_its_own_paths() {
    assert!(fits("/v1/tasks/{id}", "/v1/tasks/task_1?wait=1s"));
    for other in ["/v1/tasks", "/v1/tasks/task_1/risk", "/v1/users/task_1"] {
        assert!(!fits("/v1/tasks/{id}", other), "{other}");
    }
}
