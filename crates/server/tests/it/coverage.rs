//! Which routes have which tests. A case names the routes and outcomes it is for, and fails if
//! it did not see each of them; so the list of cases cannot claim what nothing shows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ade_server::http;
use ade_server::http::routes::Door;

use crate::rig::shared;
use crate::world::{Exchange, World};
use crate::{
    agent_configs, agent_orders, agents, approvals, batches, break_glass, claiming, deadlines,
    delegations, device, evidence, executions, explaining, groups, inbound, live, lock_bounds,
    locks, logs, mcp, messages, passkeys, policies, proposals, registry, risk, signing_in, stats,
    system, tasks, times, tokens, users, webhooks,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It did what was asked.
    Happy,
    /// Whoever asked may not, or may not know.
    Denied,
    /// Asked by the right one at the wrong time, for the wrong version, or once more.
    Conflict,
}

#[derive(Debug)]
pub struct Case {
    pub route: &'static str,
    pub kind: Kind,
}

/// Each `name` is a function of the world; made into a test that also checks its claims.
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

/// The same, and each is run once more on Redis.
macro_rules! on_both {
    ($($name:ident: $($kind:ident $route:literal),+;)+) => {
        $crate::coverage::cases! { $($name: $($kind $route),+;)+ }

        mod on_redis {
            use $crate::world::{Line, World};

            $(#[tokio::test]
            async fn $name() {
                let line = Line::redis(Line::SETTINGS).await;
                super::$name(&World::locking(line).await).await;
            })+
        }
    };
}
pub(crate) use on_both;

impl Kind {
    fn is_shown_by(self, exchange: &Exchange) -> bool {
        match self {
            // A socket is opened with 101.
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

/// Whether `path` is one of the template's.
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
    assert!(is_shown, "no {kind:?} of {route} was seen, but {of_route:?}");
}

/// What only says what would be cannot come too late or twice, nor can who finds a token; each
/// ticket is another, and so is each terminal that asks, and each question to a passkey; whoever
/// has no session or no terminal any more is told only that. What a tool writes is written by the
/// routes that it calls.
const WRITE_NOTHING: [&str; 12] = [
    "DELETE /v1/sessions/{id}",
    "POST /auth/device",
    "POST /auth/device/token",
    "POST /auth/logout",
    "POST /leak",
    "POST /mcp",
    "POST /v1/policies/simulate",
    "POST /v1/session/tenant",
    "POST /v1/simulate",
    "POST /v1/slack/interactions",
    "POST /v1/step-up",
    "POST /v1/ws/tickets",
];

fn wanted() -> BTreeSet<(String, Kind)> {
    let mut wanted = BTreeSet::new();
    for route in http::build(shared(&[])).unwrap().routes {
        let line = format!("{} {}", route.method, route.path);
        wanted.insert((line.clone(), Kind::Happy));
        if route.door != Door::Open {
            wanted.insert((line.clone(), Kind::Denied));
        }
        if route.method != "GET" && !WRITE_NOTHING.contains(&&*line) {
            wanted.insert((line, Kind::Conflict));
        }
    }
    wanted
}

/// The committed list is what is missing now, and nothing may be missing.
#[tokio::test]
async fn every_route_has_its_cases() {
    let all = [
        agent_configs::CASES,
        agent_orders::CASES,
        agents::CASES,
        approvals::CASES,
        batches::CASES,
        break_glass::CASES,
        claiming::CASES,
        deadlines::CASES,
        delegations::CASES,
        device::CASES,
        evidence::CASES,
        executions::CASES,
        explaining::CASES,
        groups::CASES,
        inbound::CASES,
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
        times::CASES,
        signing_in::CASES,
        stats::CASES,
        system::CASES,
        tasks::CASES,
        tokens::CASES,
        users::CASES,
        webhooks::CASES,
    ];
    let cases = all.into_iter().flatten().map(|case| (case.route.to_owned(), case.kind));
    let covered: BTreeSet<(String, Kind)> = cases.collect();
    let wanted = wanted();
    let of_nothing = |(_, kind): &&(String, Kind)| *kind == Kind::Happy;
    let strange: Vec<_> = covered.difference(&wanted).filter(of_nothing).collect();
    assert!(strange.is_empty(), "cases of routes that are not there: {strange:?}");
    let missing = wanted.difference(&covered);
    let missing: Vec<String> = missing.map(|(route, kind)| format!("{route} {kind:?}\n")).collect();
    let missing = missing.concat();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/uncovered_routes.txt");
    let committed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(missing, committed, "{} is stale", path.display());
    assert_eq!(missing, "", "each of these needs a case");
}

#[test]
fn a_template_takes_its_own_paths_only() {
    assert!(fits("/v1/tasks/{id}", "/v1/tasks/task_1?wait=1s"));
    for other in ["/v1/tasks", "/v1/tasks/task_1/risk", "/v1/users/task_1"] {
        assert!(!fits("/v1/tasks/{id}", other), "{other}");
    }
}
