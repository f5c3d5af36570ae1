//! The subcommands, from settings to exit code. The runtime is created here. The first signal lets
//! requests in progress finish; the second stops at once.

use std::fmt;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use ade_engine::App;
use ade_engine::admin::bootstrap;
use ade_engine::admin::status;
use ade_engine::services::executors::{LoginProblem, TargetKind, login_problems};
use ade_engine::workers::{Driver, WorkerPlan};
use anyhow::{Context as _, Result, bail};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::assemble;
use crate::config::Config;
use crate::http;
use crate::http::state::Shared;
use crate::serve::{ShutdownOutcome, serve};
use crate::telemetry;

pub fn api(config: &Config) -> Result<ExitCode> {
    telemetry::log(&config.log)?;
    runtime()?.block_on(async {
        let app = ready_app(config, "api").await?;
        listen(config, app).await
    })
}

/// Returns the engine of this process after the database has passed its checks.
async fn ready_app(config: &Config, service: &str) -> Result<Arc<App>> {
    let app = assemble::app(config, service)?;
    bootstrap::check(&app).await?;
    let tables = shared_without_tenants(config, &app).await?;
    if !tables.is_empty() {
        bail!("{}", NameTenants(&tables));
    }
    for (name, target) in config.preview.targets()? {
        if target.kind == TargetKind::Live {
            tracing::warn!(preview_target = name, "previews on a live database are enabled");
        }
    }
    Ok(app)
}

/// Returns the tables of the settings that must name their tenants and do not: all shared things,
/// once there are several tenants.
async fn shared_without_tenants(config: &Config, app: &App) -> Result<Vec<String>> {
    let tables = config.without_tenants();
    let is_wrong = !tables.is_empty() && bootstrap::has_several_tenants(app).await?;
    Ok(if is_wrong { tables } else { Vec::new() })
}

/// Says which tables of the settings do not name their tenants, with the lines to add.
struct NameTenants<'a>(&'a [String]);

impl fmt::Display for NameTenants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "`tenants` is not set in every shared table of the settings, and the installation has \
             more than one tenant: add these lines, with the ids or names of the tenants that may \
             use each of them",
        )?;
        self.0.iter().try_for_each(|table| write!(f, "\n  [{table}]\n  tenants = [\"…\"]"))
    }
}

async fn listen(config: &Config, app: Arc<App>) -> Result<ExitCode> {
    let watching = Driver::watch(&app);
    let shared = Shared::new(app, config.server.clone(), telemetry::metrics()?);
    let router = http::build(shared.clone())?.router;
    let tls = config.server.tls()?;
    let address = config.server.listen;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!(address = %listener.local_addr()?, "HTTP server started");
    let mut signals = Signals::new()?;
    let (stop, stopped) = oneshot::channel::<()>();
    // One stream for both signals: with two, two quick signals could count as one.
    let twice = async move {
        signals.next().await;
        tracing::info!("shutdown started; waiting for requests in progress");
        let _ = stop.send(());
        signals.next().await;
    };
    let stopped = async move {
        let _ = stopped.await;
    };
    let ended = tokio::select! {
        ended = serve(listener, router, shared, tls, stopped) => ended,
        () = twice => {
            tracing::warn!("shutdown forced by a second signal");
            ShutdownOutcome::Cut
        }
    };
    watching.stop().await;
    tracing::info!(?ended, "HTTP server stopped");
    Ok(if ended == ShutdownOutcome::Drained { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The request for a lasting token that the first admin sends with the single-use token.
const LASTING: &str = r#"{"scopes":["read","propose","execute","decide","operate","administer"]}"#;

pub fn migrate(config: &Config, bootstrap: Option<&str>) -> Result<ExitCode> {
    let url = config.database.owner_url()?;
    runtime()?.block_on(async {
        bootstrap::migrate(url.reveal()).await?;
        println!("Migrations applied: the schema is up to date.");
        let Some(name) = bootstrap else { return Ok(ExitCode::SUCCESS) };
        let tables = config.without_tenants();
        if !tables.is_empty() && bootstrap::would_add_tenant(url.reveal(), name).await? {
            bail!(
                "the tenant `{name}` was not created: with it, the server could not start: {}",
                NameTenants(&tables)
            );
        }
        let pepper = assemble::pepper(config)?;
        let way_in = bootstrap::bootstrap(url.reveal(), &pepper, name).await?;
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
        tracing::info!("workers started");
        Signals::new()?.next().await;
        tracing::info!("shutdown started; waiting for activations in progress");
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

fn plan(config: &Config) -> WorkerPlan {
    WorkerPlan {
        run: config.workers.run.clone(),
        period: config.workers.period(),
        lease: config.workers.lease(),
    }
}

/// Runs all checks and reports every problem, not only the first.
pub fn doctor(config: &Config) -> Result<ExitCode> {
    let checks = [
        ("database", config.database.url().map(drop)),
        ("worker database", config.database.worker_url().map(drop)),
        ("pepper", config.auth.pepper().map(drop)),
        ("previous pepper", config.auth.pepper_previous().map(drop)),
        ("preview targets", config.preview.targets().map(drop)),
        ("redis", config.redis.nodes().map(drop)),
    ];
    let replica = config.database.replica_url();
    let mut is_well = match &replica {
        Ok(None) => report("replica (not configured)", Ok::<(), String>(())),
        _ => report("replica", replica.as_ref().map(drop)),
    };
    for (name, checked) in checks {
        is_well &= report(name, checked);
    }
    let (page, url) = (config.notify.page.trim_end_matches('/'), config.server.url());
    if page != url {
        println!("note  links point to {page} (`notify.page`); the server listens on {url}");
    }
    if is_well {
        is_well = runtime()?.block_on(async {
            let app = assemble::app(config, "doctor")?;
            let mut is_fit = report("database setup", bootstrap::check(&app).await);
            // Without the tables there are no tenants to count.
            if is_fit {
                let tables = shared_without_tenants(config, &app).await?;
                if !tables.is_empty() {
                    is_fit = report("tenants", Err(NameTenants(&tables)));
                }
            }
            is_fit &= preview_logins(config).await?;
            let status = status::standing(&app).await;
            // Workers and locks have lines of their own.
            let is_other = |one: &(&str, String)| !["worker", "locks"].contains(&one.0);
            for (part, detail) in status.degradations.into_iter().filter(is_other) {
                if part == status::CHECKSUMS {
                    println!("note  {part}: {detail}");
                } else {
                    is_fit &= report(part, Err(detail));
                }
            }
            for (name, checked) in bootstrap::lock_checks(&app).await {
                is_fit &= report(&name, checked);
            }
            for worker in status.workers {
                report(&format!("worker {}", worker.name), worker.failure.map_or(Ok(()), Err));
            }
            anyhow::Ok(is_fit)
        })?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks the login of each preview target, and prints the statements that make it suitable.
async fn preview_logins(config: &Config) -> Result<bool> {
    let mut is_fit = true;
    for (name, target) in config.preview.targets()? {
        let checked = match login_problems(target.url.reveal(), target.kind).await {
            Ok(problems) if problems.is_empty() => Ok(()),
            Ok(problems) => Err(Unsuitable(problems).to_string()),
            Err(error) => Err(error.to_string()),
        };
        is_fit &= report(&format!("login of preview target {name}"), checked);
    }
    Ok(is_fit)
}

/// Says what the login of a preview target must not be able to do, and how to revoke it.
struct Unsuitable(Vec<LoginProblem>);

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the login has rights that a preview must not have; run as a superuser:")?;
        self.0.iter().try_for_each(|one| write!(f, "\n  {}; -- {}", one.fix, one.problem))
    }
}

/// Prints the result of a check and returns whether it passed.
fn report<E: std::fmt::Display>(name: &str, checked: Result<(), E>) -> bool {
    match checked {
        Ok(()) => println!("ok    {name}"),
        Err(error) => {
            println!("fail  {name}: {}", error.to_string().replace('\n', "\n      "));
            return false;
        }
    }
    true
}

pub fn openapi(config: &Config) -> Result<ExitCode> {
    let runtime = runtime()?;
    // A pool needs a runtime even if it never connects.
    let _within = runtime.enter();
    let app = assemble::unconnected(config)?;
    let shared = Shared::new(app, config.server.clone(), telemetry::metrics()?);
    let text = http::build(shared)?.document.to_pretty_json()?;
    match writeln!(std::io::stdout(), "{text}") {
        // The reader may close the pipe early, as in `ade-server openapi | head`.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Formats an error with its causes. A cause that the text already contains is not repeated.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

pub(crate) fn runtime() -> Result<Runtime> {
    Runtime::new().context("cannot start the async runtime")
}

/// The signals that stop the server: SIGTERM from the system, SIGINT from a terminal.
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
