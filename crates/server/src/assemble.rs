//! Builds the engine of this process from its settings. Connections are opened on first use.

use std::sync::Arc;

use ade_core::policy::Pattern;
use ade_engine::services::event_hub::Live;
use ade_engine::services::executors::{
    CommandExecutor, Executor, ExecutorEntry, Executors, Http, HttpEndpoint, PreviewSlots,
    PreviewTarget, Program, ProgramLimits, Signer, SqlPreview,
};
use ade_engine::services::export::Sink;
use ade_engine::services::identity::Providers;
use ade_engine::services::locks::{self, LockService, Rate};
use ade_engine::services::log_store::Blobs;
use ade_engine::services::notify::{Mailer, Notify, Slack};
use ade_engine::services::outbound::{AddressPolicy, SystemLookup};
use ade_engine::services::rate_limiter::Limiter;
use ade_engine::services::receipts::Receipts;
use ade_engine::services::secrets::Pepper;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::services::webhook_client::Webhooks;
use ade_engine::{App, Nodes, Parts, Pool, PoolClass, PoolSettings, Pools};
use anyhow::{Context as _, Result};

use crate::config::{self, Address, Config, LockBackend};

pub fn app(config: &Config, service: &str) -> Result<Arc<App>> {
    let urls = [config.database.url()?, config.database.worker_url()?];
    let pepper = pepper(config)?;
    let limiter =
        Limiter::open(&config.redis.nodes()?, config.rates.settings()?).context("`redis.urls`")?;
    let outside = (live(config)?, limiter);
    build(config, service, &urls, pepper, outside, |pool| keeper(config, pool, service))
}

/// Builds an engine without connections, for commands that only describe the server.
pub fn unconnected(config: &Config) -> Result<Arc<App>> {
    let nowhere = [(); 2].map(|()| Address::new("postgres://127.0.0.1:1/none"));
    let limiter = Limiter::open(&Nodes::default(), config.rates.settings()?)?;
    let outside = (Live::default(), limiter);
    build(config, "describe", &nowhere, Pepper::new(vec![0; 32])?, outside, |_| Ok(None))
}

/// Opens the source of live events: Redis if it is configured, otherwise polling.
fn live(config: &Config) -> Result<Live> {
    let nodes = config.redis.nodes()?;
    if nodes.is_empty() {
        return Ok(Live::default());
    }
    Live::over_redis(&nodes).context("`redis.urls`")
}

/// Opens the lock service; `None` if the backend is Redis and no URL is configured.
fn keeper(config: &Config, pool: &Pool, service: &str) -> Result<Option<LockService>> {
    let locks = &config.locks;
    let rate = Rate { per_minute: locks.acquires_per_minute, burst: locks.acquires_burst };
    let settings = locks::LockSettings { lock_delay: locks.delay(), rate };
    match locks.backend {
        LockBackend::Postgres => Ok(Some(LockService::postgres(pool.clone(), settings))),
        LockBackend::Redis => {
            let nodes = config.redis.nodes()?;
            if nodes.is_empty() {
                return Ok(None);
            }
            let keeper = LockService::redis(&nodes, pool.clone(), service, settings);
            Ok(Some(keeper.context("`redis.urls`")?))
        }
    }
}

pub fn pepper(config: &Config) -> Result<Pepper> {
    let pepper = Pepper::new(config.auth.pepper()?.reveal().to_vec())?;
    match config.auth.pepper_previous()? {
        Some(previous) => Ok(pepper.after(previous.reveal().to_vec())?),
        None => Ok(pepper),
    }
}

/// Returns the signer of receipts; `None` if no key is configured, so that no permit is granted.
pub fn receipts(config: &Config) -> Result<Option<Receipts>> {
    let mut keys = config.receipts.keys()?.into_iter();
    let Some(signing) = keys.next() else { return Ok(None) };
    let others: Vec<Vec<u8>> = keys.collect();
    let receipts = Receipts::new(&config.receipts.issuer, &signing, &others);
    Ok(Some(receipts.context("`receipts.key_files`")?))
}

fn blobs(config: &Config) -> Result<Option<Blobs>> {
    let url = config.blobs.url.as_str();
    let open = || Blobs::open(url).context("`blobs.url`");
    (!url.is_empty()).then(open).transpose()
}

/// Builds the executors by task type. Authors declare the effects of all other types.
fn executors(config: &Config, pool: &Pool) -> Result<Executors> {
    let targets = config.preview.targets()?.into_iter();
    let targets = targets.map(|(name, target)| {
        let url = target.url.reveal().to_owned();
        (name, PreviewTarget::new(url, target.kind, target.tenants.into()))
    });
    let sql: Arc<dyn Executor> = Arc::new(SqlPreview::new(targets.collect(), pool.clone()));
    // Each target names its tenants.
    let entries = entries_of(&config.preview.sql_types, &TenantBinding::Every, &sql);
    let mut entries = entries.context("`preview.sql_types`")?;
    for (name, program) in &config.executors.command {
        let executor: Arc<dyn Executor> = Arc::new(command(config, program));
        let setting = format!("`executors.command.{name}.types`");
        let tenants = program.tenants.clone().into();
        entries.extend(entries_of(&program.types, &tenants, &executor).context(setting)?);
    }
    for (name, endpoint) in &config.executors.http {
        let executor: Arc<dyn Executor> =
            Arc::new(http(config, endpoint).with_context(|| format!("`executors.http.{name}`"))?);
        let setting = format!("`executors.http.{name}.types`");
        let tenants = endpoint.tenants.clone().into();
        entries.extend(entries_of(&endpoint.types, &tenants, &executor).context(setting)?);
    }
    let previews =
        PreviewSlots::new(config.preview.at_once_per_target, config.preview.at_once_per_tenant);
    Ok(Executors::new(entries, config.executors.at_once, previews))
}

fn entries_of(
    types: &[String],
    tenants: &TenantBinding,
    executor: &Arc<dyn Executor>,
) -> Result<Vec<ExecutorEntry>> {
    let entry = |text: &String| {
        let (tenants, executor) = (tenants.clone(), Arc::clone(executor));
        Ok(ExecutorEntry { types: Pattern::new(text)?, tenants, executor })
    };
    types.iter().map(entry).collect()
}

fn command(config: &Config, program: &config::ProgramConfig) -> CommandExecutor {
    let bounds = config.executors.bounds(program);
    CommandExecutor::new(Program {
        path: program.program.clone(),
        arguments: program.arguments.clone(),
        directory: program.directory.clone(),
        environment: program.environment.clone(),
        limits: ProgramLimits {
            time: bounds.time,
            log_bytes: bounds.log_bytes,
            memory_bytes: bounds.memory_bytes,
            cpu: bounds.cpu,
        },
    })
}

fn http(config: &Config, endpoint: &config::EndpointConfig) -> Result<Http> {
    let executors = &config.executors;
    let reach = if endpoint.allow_loopback { AddressPolicy::Loopback } else { AddressPolicy::Open };
    let target = HttpEndpoint::new(&endpoint.url, reach, executors.time(endpoint))?;
    let key = config.receipts.keys()?.into_iter().next();
    let key =
        key.context("`receipts.key_files` is not set: its first key signs requests to endpoints")?;
    let signer = Signer::from_pkcs8(&key).context("`receipts.key_files`")?;
    let (issuer, audience) = (config.receipts.issuer.clone(), endpoint.audience.clone());
    Ok(Http::new(target, Arc::new(signer), issuer, audience))
}

fn webhooks(config: &Config) -> Result<Webhooks> {
    let settings = &config.webhooks;
    let reach = if settings.allow_loopback { AddressPolicy::Loopback } else { AddressPolicy::Open };
    Webhooks::new(reach, settings.ports.clone(), SystemLookup).context("`webhooks`")
}

fn sink(config: &Config) -> Result<Option<Sink>> {
    let sink = config.export.sink.as_str();
    let tenants = || config.export.tenants.clone().into();
    let open = || Sink::open(sink, tenants()).context("`export.sink`");
    (!sink.is_empty()).then(open).transpose()
}

fn notify(config: &Config) -> Result<Notify> {
    let mail = config.mail.url()?.map(|url| Mailer::new(url.reveal(), &config.mail.from));
    let slack = config
        .slack
        .secrets()?
        .map(|(token, signing)| Slack::new(&config.slack.api, token.reveal(), signing.reveal()));
    Ok(Notify {
        mail: mail.transpose().context("`mail`")?,
        slack: slack.transpose().context("`slack`")?,
        page: config.notify.page.trim_end_matches('/').to_owned(),
    })
}

fn build(
    config: &Config,
    service: &str,
    [url, worker_url]: &[Address; 2],
    pepper: Pepper,
    (live, limiter): (Live, Limiter),
    keeper: impl FnOnce(&Pool) -> Result<Option<LockService>>,
) -> Result<Arc<App>> {
    let database = &config.database;
    let settings = |url: &Address| PoolSettings {
        api_max: database.api_connections,
        worker_max: database.worker_connections,
        statement_cache: database.statement_cache,
        ..PoolSettings::new(url.reveal())
    };
    let pools = Pools {
        api: Pool::new(&settings(url), PoolClass::Api)?,
        worker: Pool::new(&settings(worker_url), PoolClass::Worker)?,
        reserved: Pool::new(&settings(url), PoolClass::Reserved)?,
    };
    let replica = database.replica_url()?.map(|url| {
        let settings = PoolSettings { replica_max: database.replica_connections, ..settings(&url) };
        Pool::new(&settings, PoolClass::Replica)
    });
    let executors = executors(config, &pools.api)?;
    let parts = Parts {
        locks: keeper(&pools.api)?,
        pools,
        replica: replica.transpose()?,
        pepper,
        limiter,
        receipts: receipts(config)?,
        blobs: blobs(config)?,
        executors,
        webhooks: webhooks(config)?,
        sink: sink(config)?,
        notify: notify(config)?,
        providers: Providers::new(config.auth.providers()?, &config.notify.page),
        passkeys: config.auth.passkeys(&config.notify.page)?,
        risk: config.defaults.risk(),
        timeouts: config.defaults.timeouts()?,
        authority_age: config.auth.authority_age()?,
        flags: config.defaults.flags(),
        live,
        service: service.to_owned(),
    };
    App::new(parts).context("the access rules are invalid")
}
