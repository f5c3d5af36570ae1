//! Nothing of one tenant reaches another one. Two tenants call every surface that they share, each
//! with its own thing, with a thing of the other tenant and with an unknown one. The results are
//! compared with the committed table.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::tenant_calls::{Outcome, Scene, Tenant, Things};

const COMMITTED: &str = "docs/reference/tenant-isolation.md";
const UPDATE: &str = "ADE_UPDATE_ISOLATION";

/// The surfaces in the order of the document.
const SURFACES: [&str; 10] = [
    "preview", "executor", "provider", "sign-in", "receipt", "export", "inbound", "events",
    "streams", "metrics",
];

/// A call that names a thing. The calls are made in this order; the last one reads what the others
/// have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Evaluate,
    Create,
    PreviewByProgram,
    MapGroup,
    SignInWith,
    SignInTo,
    SwitchTo,
    Claim,
    ReadExecution,
    Export,
    Send,
    SendWithin,
    ReadSource,
    ReadDeliveries,
    ReadAudit,
    Notify,
    Stream,
    Socket,
    Poll,
    Apply,
    Scrape,
}

/// Each call with its surface, and how the document describes it.
const CALLS: &[(Call, &str, &str)] = &[
    (Call::Evaluate, "preview", "evaluate SQL on a target"),
    (Call::Create, "preview", "propose SQL on a target"),
    (Call::PreviewByProgram, "executor", "evaluate a task that a program previews"),
    (Call::MapGroup, "provider", "map a group of a provider to a role"),
    (Call::SignInWith, "provider", "sign in to the own tenant with a provider"),
    (Call::SignInTo, "sign-in", "join a tenant with the own provider"),
    (Call::SwitchTo, "sign-in", "switch the session to a tenant"),
    (Call::Claim, "receipt", "claim a task, with the receipt"),
    (Call::ReadExecution, "receipt", "read an execution"),
    (Call::Export, "export", "events in the sink of a tenant"),
    (Call::Send, "inbound", "send an event to a source of a tenant"),
    (Call::SendWithin, "inbound", "send an event to a source, as one of the own tenant"),
    (Call::ReadSource, "inbound", "read a source"),
    (Call::ReadDeliveries, "events", "list the deliveries of a webhook"),
    (Call::ReadAudit, "events", "read the audit log of a task"),
    (Call::Notify, "events", "own events at the webhook of a tenant"),
    (Call::Stream, "streams", "SSE: events of a task"),
    (Call::Socket, "streams", "WebSocket: events of a task"),
    (Call::Poll, "streams", "long poll: a task"),
    (Call::Apply, "executor", "approve a task of a type that a program applies"),
    (Call::Scrape, "metrics", "names and ids in the metrics"),
];

/// Calls that get the same answer for every thing; another call shows what the own one is good for.
const ALIKE: [Call; 2] = [Call::MapGroup, Call::Scrape];

async fn make(scene: &Scene, call: Call, actor: &Tenant, thing: &Things) -> Outcome {
    let own = &actor.things.tenant;
    match call {
        Call::Evaluate => scene.preview(actor, thing, "/v1/tasks/evaluate").await,
        Call::Create => scene.preview(actor, thing, "/v1/tasks").await,
        Call::PreviewByProgram => scene.preview_by_program(actor, thing).await,
        Call::MapGroup => scene.map(actor, thing).await,
        Call::SignInWith => scene.sign_in_with(actor, thing).await,
        Call::SignInTo => scene.sign_in_to(actor, thing).await,
        Call::SwitchTo => scene.switch_to(actor, thing).await,
        Call::Claim => scene.claim(actor, thing).await,
        Call::ReadExecution => scene.read_execution(actor, thing).await,
        Call::Export => scene.export(actor, thing).await,
        Call::Send => scene.send(actor, thing, &thing.tenant).await,
        Call::SendWithin => scene.send(actor, thing, own).await,
        Call::ReadSource => scene.read_source(actor, thing).await,
        Call::ReadDeliveries => scene.read_deliveries(actor, thing).await,
        Call::ReadAudit => scene.read_audit(actor, thing).await,
        Call::Notify => scene.notify(actor, thing).await,
        Call::Stream => scene.stream(actor, thing).await,
        Call::Socket => scene.socket(actor, thing).await,
        Call::Poll => scene.poll(actor, thing).await,
        Call::Apply => scene.apply(actor, thing).await,
        Call::Scrape => scene.scrape(thing).await,
    }
}

/// The log of this process. Every test runs in a process of its own.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what has been logged since the last call.
fn logged() -> String {
    let lines = std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner));
    String::from_utf8(lines).unwrap()
}

fn record_log() {
    let level = "info,ade_server=trace,ade_engine=trace,ade_store=trace,ade_coord=trace";
    let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(level));
    lines
        .with_ansi(false)
        .with_writer(|| Log)
        .finish()
        .try_init()
        .expect("no other test logs here");
}

/// Replaces what the caller has named, so that answers about two things can be compared.
fn without_names(text: &str, thing: &Things) -> String {
    thing.words().iter().fold(text.to_owned(), |text, word| text.replace(word, "THING"))
}

/// Calls one surface with all three things, the own one last, and returns the cells in the order of
/// the table.
async fn row(scene: &Scene, call: Call, actor: &Tenant, other: &Tenant) -> [String; 3] {
    let unknown = Things::unknown(&actor.things);
    scene.stir(actor).await;
    logged();
    let mut outcomes = Vec::new();
    for (whose, thing) in
        [("unknown", &unknown), ("foreign", &other.things), ("own", &actor.things)]
    {
        let Outcome { cell, text } = make(scene, call, actor, thing).await;
        let shown = format!("{call:?} of {}, {whose} thing", actor.things.name);
        let log = logged();
        assert!(log.contains("request completed"), "{shown} is not in the log");
        let [text, log] = [&text, &log].map(|text| without_names(text, thing));
        for marker in other.markers() {
            assert!(!text.contains(&marker), "{shown} reveals {marker}: {text}");
            assert!(!log.contains(&marker), "{shown} logs {marker}: {log}");
        }
        outcomes.push((cell, text));
    }
    let [unknown, foreign, own] = outcomes.try_into().unwrap_or_else(|_| unreachable!());
    let name = &actor.things.name;
    assert_eq!(foreign, unknown, "{call:?} of {name}: foreign and unknown things differ");
    assert_eq!(own.0 == foreign.0, ALIKE.contains(&call), "{call:?} of {name}: {}", own.0);
    [own.0, foreign.0, unknown.0]
}

const HEAD: &str = "# Isolation of tenants

> Written by the test `tenants_reach_nothing_of_each_other`, with `ADE_UPDATE_ISOLATION=1`; edit the
> test, not this file.

Two tenants share an installation. Each of them calls every surface with a thing of its own, with
one of the other tenant and with one that does not exist. The table shows what the caller gets. The
test also requires that

- the answers for the thing of the other tenant and for the unknown one are the same, byte for byte,
  apart from the id of the request and the name in the request itself,
- no name or id of the other tenant is in an answer, an event, an exported record, a metric or a log
  line of the call.

Which tenant each shared thing serves is in the settings ([ADR
0062](../adr/0062-shared-things-name-their-tenants.md)). The sign-in page lists all identity
providers, so the unknown one is a provider that serves no tenant. A mapping of its groups has no
effect: the row below it shows that no person signs in with it.

| surface | call | tenant | its own | the other's | unknown |
|---|---|---|---|---|---|
";

fn document(rows: &[(&str, &str, &str, [String; 3])]) -> String {
    let mut text = HEAD.to_owned();
    for surface in SURFACES {
        let of_surface: Vec<_> = rows.iter().filter(|row| row.0 == surface).collect();
        assert!(!of_surface.is_empty(), "{surface} has no row");
        for (_, call, tenant, [own, foreign, unknown]) in of_surface {
            let _ =
                writeln!(text, "| {surface} | {call} | {tenant} | {own} | {foreign} | {unknown} |");
        }
    }
    text
}

#[tokio::test]
async fn tenants_reach_nothing_of_each_other() {
    record_log();
    let scene = Scene::new().await;
    let [first, second] = &scene.tenants;
    let mut rows = Vec::new();
    for (call, surface, described) in CALLS {
        for (name, actor, other) in [("first", first, second), ("second", second, first)] {
            rows.push((*surface, *described, name, row(&scene, *call, actor, other).await));
        }
    }
    let made = document(&rows);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(COMMITTED);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{COMMITTED} is stale: run this test with {UPDATE}=1\n{made}");
}
