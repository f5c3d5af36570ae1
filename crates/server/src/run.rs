//! What each subcommand does, from settings to exit code. The runtime is made here; the first
//! signal to stop lets requests end, the second does not.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use ade_engine::App;
use ade_engine::ops::status;
use ade_engine::setup;
use ade_engine::work::{Driver, Plan};
use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::assemble;
use crate::config::Config;
use crate::http;
use crate::http::state::Shared;
use crate::serve::{Ended, serve};
use crate::telemetry;

pub fn api(config: &Config) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    runtime()?.block_on(async {
        let app = ready_app(config, "api").await?;
        listen(config, app).await
    })
}

/// The engine of this process, once the record is fit to be used.
async fn ready_app(config: &Config, service: &str) -> Result<Arc<App>> {
    let app = assemble::app(config, service)?;
    setup::check(&app).await?;
    Ok(app)
}

async fn listen(config: &Config, app: Arc<App>) -> Result<ExitCode> {
    let watching = Driver::watch(&app);
    let shared = Shared::new(app, config.server.clone(), telemetry::metrics()?);
    let router = http::build(shared.clone())?.router;
    let tls = config.server.tls()?;
    let address = config.server.listen;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    let mut signals = Signals::new()?;
    let (stop, stopped) = oneshot::channel::<()>();
    // One stream for both: two could take two quick signals for one.
    let twice = async move {
        signals.next().await;
        tracing::info!("stopping: requests in progress may end");
        let _ = stop.send(());
        signals.next().await;
    };
    let stopped = async move {
        let _ = stopped.await;
    };
    let ended = tokio::select! {
        ended = serve(listener, router, shared, tls, stopped) => ended,
        () = twice => {
            tracing::warn!("stopped at once by a second signal");
            Ended::Cut
        }
    };
    watching.stop().await;
    tracing::info!(?ended, "stopped");
    Ok(if ended == Ended::Drained { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the first admin asks for with the token that works once.
const LASTING: &str = r#"{"scopes":["read","propose","execute","decide","operate","administer"]}"#;

pub fn migrate(config: &Config, bootstrap: Option<&str>) -> Result<ExitCode> {
    let url = config.database.owner_url()?;
    runtime()?.block_on(async {
        setup::migrate(url.reveal()).await?;
        println!("The tables are up to date.");
        let Some(name) = bootstrap else { return Ok(ExitCode::SUCCESS) };
        let pepper = assemble::pepper(config)?;
        let way_in = setup::bootstrap(url.reveal(), &pepper, name).await?;
        println!("tenant   {} ({name})", way_in.tenant);
        println!("admin    {}", way_in.admin);
        println!("token    {}", way_in.token.reveal());
        println!();
        println!(
            "The token works once, within {} minutes. Make a lasting one with it:",
            way_in.valid_for.as_secs() / 60
        );
        println!("  curl -H 'Authorization: Bearer <token>' \\");
        println!("    -H 'Content-Type: application/json' -d '{LASTING}' \\");
        println!("    http://{}/v1/tokens", config.server.listen);
        Ok(ExitCode::SUCCESS)
    })
}

pub fn worker(config: &Config) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    runtime()?.block_on(async {
        let app = ready_app(config, "worker").await?;
        let driver = Driver::start(&app, &plan(config));
        tracing::info!("working");
        Signals::new()?.next().await;
        tracing::info!("stopping: activations in progress may end");
        driver.stop().await;
        Ok(ExitCode::SUCCESS)
    })
}

pub fn all(config: &Config) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    runtime()?.block_on(async {
        let app = ready_app(config, "all").await?;
        let driver = Driver::start(&app, &plan(config));
        let ended = listen(config, app).await;
        driver.stop().await;
        ended
    })
}

fn plan(config: &Config) -> Plan {
    Plan {
        run: config.workers.run.clone(),
        period: config.workers.period(),
        lease: config.workers.lease(),
    }
}

/// Tells everything that is wrong, not only the first.
pub fn doctor(config: &Config) -> Result<ExitCode> {
    let checks = [
        ("database", config.database.url().map(drop)),
        ("workers' database", config.database.worker_url().map(drop)),
        ("pepper", config.auth.pepper().map(drop)),
        ("pepper before", config.auth.pepper_previous().map(drop)),
        ("preview targets", config.preview.targets().map(drop)),
        ("redis", config.redis.nodes().map(drop)),
    ];
    let replica = config.database.replica_url();
    let mut is_well = match &replica {
        Ok(None) => told("replica (none is set)", Ok::<(), String>(())),
        _ => told("replica", replica.as_ref().map(drop)),
    };
    for (name, checked) in checks {
        is_well &= told(name, checked);
    }
    if is_well {
        is_well = runtime()?.block_on(async {
            let app = assemble::app(config, "doctor")?;
            let mut is_fit = told("record", setup::check(&app).await);
            let standing = status::standing(&app).await;
            // Workers and locks have lines of their own.
            let is_other = |one: &(&str, String)| !["worker", "locks"].contains(&one.0);
            for (part, detail) in standing.degradations.into_iter().filter(is_other) {
                if part == status::CHECKSUMS {
                    println!("note  {part}: {detail}");
                } else {
                    is_fit &= told(part, Err(detail));
                }
            }
            for (name, checked) in setup::lock_checks(&app).await {
                is_fit &= told(&name, checked);
            }
            for worker in standing.workers {
                told(&format!("worker {}", worker.name), worker.failure.map_or(Ok(()), Err));
            }
            anyhow::Ok(is_fit)
        })?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told<E: std::fmt::Display>(name: &str, checked: Result<(), E>) -> bool {
    match checked {
        Ok(()) => println!("ok    {name}"),
        Err(error) => {
            println!("wrong {name}: {}", error.to_string().replace('\n', "\n      "));
            return false;
        }
    }
    true
}

pub fn openapi(config: &Config) -> Result<ExitCode> {
    let runtime = runtime()?;
    // A pool belongs to a runtime, even one that never connects.
    let _within = runtime.enter();
    let app = assemble::unconnected(config)?;
    let shared = Shared::new(app, config.server.clone(), telemetry::metrics()?);
    let text = http::build(shared)?.document.to_pretty_json()?;
    match writeln!(std::io::stdout(), "{text}") {
        // Whoever reads it had enough: `ade-server openapi | head`.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// An error with its causes, each of them once: some name theirs in their own words.
pub fn told_once(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn runtime() -> Result<Runtime> {
    Runtime::new().context("cannot start the runtime")
}

/// SIGTERM from the system, SIGINT from a terminal.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
