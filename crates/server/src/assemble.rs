//! From settings to the engine of this process. Connections are made when they are first needed.

use std::sync::Arc;

use ade_core::policy::Pattern;
use ade_engine::blobs::Blobs;
use ade_engine::execute::{
    Command, Endpoint, Executor, Executors, Http, Program, ProgramLimits, Signer, SqlPreview,
    Target,
};
use ade_engine::export::Sink;
use ade_engine::identity::Providers;
use ade_engine::limiter::Limiter;
use ade_engine::live::Live;
use ade_engine::locks::{self, Keeper, Rate};
use ade_engine::notify::{Mailer, Notify, Slack};
use ade_engine::outbound::{Reach, SystemLookup};
use ade_engine::receipts::Receipts;
use ade_engine::secret::Pepper;
use ade_engine::webhooks::Webhooks;
use ade_engine::{App, Class, Nodes, Parts, Pool, PoolSettings, Pools};
use anyhow::{Context as _, Result};

use crate::config::{self, Address, Config, LockBackend};

pub fn app(config: &Config, service: &str) -> Result<Arc<App>> {
    let (url, pepper) = (config.database.url()?, pepper(config)?);
    let limiter =
        Limiter::open(&config.redis.nodes()?, config.rates.settings()?).context("`redis.urls`")?;
    let outside = (live(config)?, limiter);
    build(config, service, &url, pepper, outside, |pool| keeper(config, pool, service))
}

/// For what only describes the server: it has the routes and reaches nothing.
pub fn unconnected(config: &Config) -> Result<Arc<App>> {
    let nowhere = Address::new("postgres://127.0.0.1:1/none");
    let limiter = Limiter::open(&Nodes::default(), config.rates.settings()?)?;
    let outside = (Live::default(), limiter);
    build(config, "describe", &nowhere, Pepper::new(vec![0; 32])?, outside, |_| Ok(None))
}

/// Quick where there is a Redis, else at the pace of polls.
fn live(config: &Config) -> Result<Live> {
    let nodes = config.redis.nodes()?;
    if nodes.is_empty() {
        return Ok(Live::default());
    }
    Live::over_redis(&nodes).context("`redis.urls`")
}

/// The queue of locks; none if it is to be in a Redis that nobody has named.
fn keeper(config: &Config, pool: &Pool, service: &str) -> Result<Option<Keeper>> {
    let locks = &config.locks;
    let rate = Rate { per_minute: locks.acquires_per_minute, burst: locks.acquires_burst };
    let settings = locks::Settings { lock_delay: locks.delay(), rate };
    match locks.backend {
        LockBackend::Postgres => Ok(Some(Keeper::postgres(pool.clone(), settings))),
        LockBackend::Redis => {
            let nodes = config.redis.nodes()?;
            if nodes.is_empty() {
                return Ok(None);
            }
            let keeper = Keeper::redis(&nodes, pool.clone(), service, settings);
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

/// None if no key is configured: then no permit is given.
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

/// Types that are previewed on a database; all others are stated by their authors.
fn executors(config: &Config) -> Result<Executors> {
    let targets = config.preview.targets()?.into_iter();
    let targets = targets.map(|(name, url)| (name, Target(url.reveal().to_owned()))).collect();
    let sql: Arc<dyn Executor> = Arc::new(SqlPreview::new(targets));
    let by_type = config.preview.sql_types.iter().map(|pattern| {
        let pattern = Pattern::new(pattern).context("`preview.sql_types`")?;
        Ok((pattern, Arc::clone(&sql)))
    });
    let mut by_type = by_type.collect::<Result<Vec<_>>>()?;
    for (name, program) in &config.executors.command {
        let executor: Arc<dyn Executor> = Arc::new(command(config, program));
        let setting = format!("`executors.command.{name}.types`");
        by_type.extend(claims(&program.types, &executor).context(setting)?);
    }
    for (name, endpoint) in &config.executors.http {
        let executor: Arc<dyn Executor> =
            Arc::new(http(config, endpoint).with_context(|| format!("`executors.http.{name}`"))?);
        let setting = format!("`executors.http.{name}.types`");
        by_type.extend(claims(&endpoint.types, &executor).context(setting)?);
    }
    Ok(Executors::new(by_type, config.executors.at_once))
}

fn claims(
    types: &[String],
    executor: &Arc<dyn Executor>,
) -> Result<Vec<(Pattern, Arc<dyn Executor>)>> {
    types.iter().map(|text| Ok((Pattern::new(text)?, Arc::clone(executor)))).collect()
}

fn command(config: &Config, program: &config::Program) -> Command {
    let bounds = config.executors.bounds(program);
    Command::new(Program {
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

fn http(config: &Config, endpoint: &config::Endpoint) -> Result<Http> {
    let executors = &config.executors;
    let reach = if endpoint.allow_loopback { Reach::Loopback } else { Reach::Open };
    let target = Endpoint::new(&endpoint.url, reach, executors.time(endpoint))?;
    let key = config.receipts.keys()?.into_iter().next();
    let key = key.context("`receipts.key_files` is not set: it signs requests to endpoints")?;
    let signer = Signer::from_pkcs8(&key).context("`receipts.key_files`")?;
    let (issuer, audience) = (config.receipts.issuer.clone(), endpoint.audience.clone());
    Ok(Http::new(target, Arc::new(signer), issuer, audience))
}

fn webhooks(config: &Config) -> Result<Webhooks> {
    let settings = &config.webhooks;
    let reach = if settings.allow_loopback { Reach::Loopback } else { Reach::Open };
    Webhooks::new(reach, settings.ports.clone(), SystemLookup).context("`webhooks`")
}

fn sink(config: &Config) -> Result<Option<Sink>> {
    let sink = config.export.sink.as_str();
    let open = || Sink::open(sink).context("`export.sink`");
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
    url: &Address,
    pepper: Pepper,
    (live, limiter): (Live, Limiter),
    keeper: impl FnOnce(&Pool) -> Result<Option<Keeper>>,
) -> Result<Arc<App>> {
    let database = &config.database;
    let settings = |url: &Address| PoolSettings {
        api_max: database.api_connections,
        worker_max: database.worker_connections,
        statement_cache: database.statement_cache,
        ..PoolSettings::new(url.reveal())
    };
    let worker_url = database.worker_url().unwrap_or_else(|_| url.clone());
    let pools = Pools {
        api: Pool::new(&settings(url), Class::Api)?,
        worker: Pool::new(&settings(&worker_url), Class::Worker)?,
        reserved: Pool::new(&settings(url), Class::Reserved)?,
    };
    let replica = database.replica_url()?.map(|url| {
        let settings = PoolSettings { api_max: database.replica_connections, ..settings(&url) };
        Pool::new(&settings, Class::Api)
    });
    let parts = Parts {
        locks: keeper(&pools.api)?,
        pools,
        replica: replica.transpose()?,
        pepper,
        limiter,
        receipts: receipts(config)?,
        blobs: blobs(config)?,
        executors: executors(config)?,
        webhooks: webhooks(config)?,
        sink: sink(config)?,
        notify: notify(config)?,
        providers: Providers::new(config.auth.providers()?, &config.notify.page),
        passkeys: config.auth.passkeys(&config.notify.page)?,
        risk: config.defaults.risk(),
        times: config.defaults.times()?,
        flags: config.defaults.flags(),
        live,
        service: service.to_owned(),
    };
    App::new(parts).context("the rules cannot be read")
}
