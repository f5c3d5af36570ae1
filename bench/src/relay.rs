//! Events from their commit to a socket at a steady rate, the cost of an idle socket, and whether
//! the sockets of one tenant slow down another. Uses one server with its relay, a PostgreSQL server
//! and a Redis Cluster of this run.

use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_engine::admin::bootstrap;
use anyhow::{Context as _, Result, ensure};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use sqlx::{PgConnection, query};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::client::Client;
use crate::figure::{Goal, Rows, millis, print_plain, print_ratio, quantile};
use crate::installation::{DATABASE, Installation, Server};

const EVENTS_PER_SECOND: u32 = 1_000;
const WRITERS: u32 = 8;
/// The number of streams that one person may open.
const SOCKETS_PER_PERSON: usize = 30;
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub struct RelayArgs {
    /// Fewer sockets and shorter rounds: about two minutes in all
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
}

struct Plan {
    rounds: usize,
    seconds: u32,
    sockets: usize,
}

/// A tenant and a person with every right in it.
struct Side {
    tenant: TenantId,
    admin: String,
}

type Socket = WebSocketStream<TcpStream>;

pub async fn run(args: &RelayArgs) -> Result<()> {
    let plan = if args.quick {
        Plan { rounds: 3, seconds: 5, sockets: 500 }
    } else {
        Plan { rounds: 5, seconds: 20, sockets: 2_000 }
    };
    let at = Installation::start().await?;
    let redis = ade_testkit::Cluster::owned().await;
    let more = [
        ("ADE__REDIS__URLS", redis.urls().join(",")),
        ("ADE__WORKERS__RUN", "relay".to_owned()),
        ("ADE__LOG__LEVEL", "warn,ade_server=info".to_owned()),
    ];
    let server = Server::start_with(&at, at.postgres.port(), true, &more).await?;
    let mut client = Client::connect(&server.address).await?;
    let ours = side(&at, &mut client, "ours").await?;
    let theirs = side(&at, &mut client, "theirs").await?;
    let (mut middle, mut late, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=plan.rounds {
        let measured = steady(&at, &server, &ours, &mut client, &plan).await?;
        // The first round of each warms up.
        if round > 0 {
            middle.push(quantile(&measured.lags, 0.5));
            late.push(quantile(&measured.lags, 0.99));
            alone.push(measured.cpu);
        }
    }
    print_plain("relay.commit_to_socket_p50_ms", "ms", &middle, Goal::None);
    print_plain("relay.commit_to_socket_p99_ms", "ms", &late, Goal::AtMost(25.0));
    // A new process is used, because one that has done other work would reuse its memory.
    let fresh = Server::start_with(&at, at.postgres.port(), false, &more).await?;
    let before = fresh.memory_bytes();
    let idle = open(&fresh, &mut client, &theirs, plan.sockets).await?;
    tokio::time::sleep(SETTLE).await;
    let bytes = (fresh.memory_bytes() - before) / f64::from(u32::try_from(idle.len())?);
    drop((idle, fresh));
    let sockets = open(&server, &mut client, &theirs, plan.sockets).await?;
    tokio::time::sleep(SETTLE).await;
    // With fewer sockets, the memory that a new process has free hides their cost: use 2,000.
    print_plain("relay.memory_per_socket_kib", "KiB", &[bytes / 1024.0], Goal::None);
    let idle = [cpu_of(&server, tokio::time::sleep(SETTLE * 2)).await / (SETTLE * 2).as_secs_f64()];
    print_plain(
        "relay.idle_sockets_cpu_percent",
        "%",
        &idle.map(|cpu| cpu * 100.0),
        Goal::AtMost(5.0),
    );
    let (mut beside, mut beside_late) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let measured = steady(&at, &server, &ours, &mut client, &plan).await?;
        beside.push(measured.cpu);
        beside_late.push(quantile(&measured.lags, 0.99));
    }
    print_ratio("relay.cpu_beside_others_sockets", "s/s", &beside, &alone, Goal::AtMost(1.3));
    print_ratio("relay.p99_beside_others_sockets", "ms", &beside_late, &late, Goal::None);
    eprintln!("{} sockets of another tenant were open", sockets.len());
    Ok(())
}

async fn side(at: &Installation, client: &mut Client, name: &str) -> Result<Side> {
    let owner = at.postgres.url(DATABASE);
    let way_in = bootstrap::bootstrap(&owner, &Installation::pepper()?, name).await?;
    let asked = json!({ "scopes": ["read", "administer"] });
    let first = way_in.token.reveal();
    let made = client.ask("POST", "/v1/tokens", &first, Some(&asked), "").await?;
    Ok(Side { tenant: way_in.tenant, admin: text(&made, "token")? })
}

fn text(value: &Value, name: &str) -> Result<String> {
    let found = value.get(name).and_then(Value::as_str);
    Ok(found.with_context(|| format!("no `{name}` in {value}"))?.to_owned())
}

struct Measured {
    /// The delay of each event in milliseconds.
    lags: Vec<f64>,
    /// The CPU seconds of the server per second.
    cpu: f64,
}

/// Writes events at a steady rate, and measures how late one socket receives each.
async fn steady(
    at: &Installation,
    server: &Server,
    side: &Side,
    client: &mut Client,
    plan: &Plan,
) -> Result<Measured> {
    let mut socket = connect(server, client, &side.admin).await?;
    let count = EVENTS_PER_SECOND * plan.seconds;
    let begin = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let owner = at.owner().await?;
        writers.spawn(write(owner, side.tenant, writer, count / WRITERS));
    }
    let listening = async {
        let mut heard = vec![None; usize::try_from(count)?];
        let mut left = heard.len();
        while left > 0 {
            let next = tokio::time::timeout(Duration::from_secs(30), socket.next()).await?;
            let Message::Text(text) = next.context("it ended")?? else { continue };
            let now = Instant::now();
            let event: Value = serde_json::from_str(&text)?;
            let number = event.pointer("/data/n").and_then(Value::as_u64);
            let Some(number) = number else { continue };
            if let Some(slot) = heard.get_mut(usize::try_from(number)?) {
                *slot = Some(now);
                left -= 1;
            }
        }
        anyhow::Ok(heard)
    };
    let before = server.cpu_seconds();
    let heard = listening.await?;
    let cpu = (server.cpu_seconds() - before) / begin.elapsed().as_secs_f64();
    let mut lags = Vec::new();
    while let Some(written) = writers.join_next().await {
        for (number, committed) in written?? {
            let heard = heard.get(number).copied().flatten().context("one was not heard")?;
            lags.push(millis(heard.saturating_duration_since(committed)));
        }
    }
    ensure!(lags.len() == heard.len(), "{} of {}", lags.len(), heard.len());
    Ok(Measured { lags, cpu })
}

/// Writes its share of the events, each in its own transaction, and returns the time of each
/// commit.
async fn write(
    mut owner: PgConnection,
    tenant: TenantId,
    writer: u32,
    count: u32,
) -> Result<Vec<(usize, Instant)>> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) * WRITERS / EVENTS_PER_SECOND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut done = Vec::new();
    for number in 0..count {
        ticks.tick().await;
        let number = number * WRITERS + writer;
        query(
            "INSERT INTO outbox (tenant_id, at, actor, kind, object, version, payload)
             VALUES ($1, moment(), 'bench', 'task.amended', $2, 1, $3::json)",
        )
        .bind(tenant.uuid())
        .bind(format!("task_{writer}"))
        .bind(json!({ "n": number }).to_string())
        .execute(&mut owner)
        .await?;
        done.push((usize::try_from(number)?, Instant::now()));
    }
    Ok(done)
}

async fn connect(server: &Server, client: &mut Client, token: &str) -> Result<Socket> {
    let made = client.ask("POST", "/v1/ws/tickets", token, None, "").await?;
    let url = format!("ws://{}/v1/ws?ticket={}", server.address, text(&made, "ticket")?);
    let stream = TcpStream::connect(&server.address).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) =
        tokio_tungstenite::client_async(url.into_client_request()?, stream).await?;
    let ready = socket.next().await.context("it ended")??;
    ensure!(ready.to_text()?.contains("ready"), "{ready}");
    Ok(socket)
}

/// Opens this many sockets of one tenant, by as many people as needed. They stay open until the
/// result is dropped.
async fn open(
    server: &Server,
    client: &mut Client,
    side: &Side,
    count: usize,
) -> Result<JoinSet<()>> {
    let mut sockets = JoinSet::new();
    let mut token = String::new();
    for number in 0..count {
        if number % SOCKETS_PER_PERSON == 0 {
            let name = format!("Listener {number} at {}", server.address);
            let asked = json!({ "name": name, "roles": [] });
            let made = client.ask("POST", "/v1/users", &side.admin, Some(&asked), "").await?;
            let asked = json!({ "user_id": text(&made, "id")?, "scopes": ["read"] });
            let made = client.ask("POST", "/v1/tokens", &side.admin, Some(&asked), "").await?;
            token = text(&made, "token")?;
        }
        let mut socket = connect(server, client, &token).await?;
        // The task answers pings.
        sockets.spawn(async move { while let Some(Ok(_)) = socket.next().await {} });
    }
    Ok(sockets)
}

async fn cpu_of(server: &Server, wait: impl Future<Output = ()>) -> f64 {
    let before = server.cpu_seconds();
    wait.await;
    server.cpu_seconds() - before
}
