//! From settings to the engine of this process. Connections are made when they are first needed.

use std::sync::Arc;

use ade_core::policy::Pattern;
use ade_core::risk;
use ade_engine::execute::{Executor, Executors, SqlPreview, Target};
use ade_engine::locks::{self, Keeper, Rate};
use ade_engine::secret::Pepper;
use ade_engine::{App, Class, Parts, Pool, PoolSettings, Pools};
use anyhow::{Context as _, Result};

use crate::config::{Address, Config, LockBackend};

pub fn app(config: &Config, service: &str) -> Result<Arc<App>> {
    let (url, pepper) = (config.database.url()?, pepper(config)?);
    build(config, service, &url, pepper, |pool| keeper(config, pool, service))
}

/// For what only describes the server: it has the routes and reaches nothing.
pub fn unconnected(config: &Config) -> Result<Arc<App>> {
    let nowhere = Address::new("postgres://127.0.0.1:1/none");
    build(config, "describe", &nowhere, Pepper::new(vec![0; 32])?, |_| Ok(None))
}

/// The queue of locks; none if it is to be in a Redis that nobody has named.
fn keeper(config: &Config, pool: &Pool, service: &str) -> Result<Option<Keeper>> {
    let locks = &config.locks;
    let rate = Rate { per_minute: locks.acquires_per_minute, burst: locks.acquires_burst };
    let settings = locks::Settings { lock_delay: locks.delay(), rate };
    match locks.backend {
        LockBackend::Postgres => Ok(Some(Keeper::postgres(pool.clone(), settings))),
        LockBackend::Redis => {
            let urls = config.redis.urls()?;
            let urls: Vec<String> = urls.iter().map(|url| url.reveal().to_owned()).collect();
            if urls.is_empty() {
                return Ok(None);
            }
            let keeper = Keeper::redis(&urls, pool.clone(), service, settings);
            Ok(Some(keeper.context("`redis.urls`")?))
        }
    }
}

pub fn pepper(config: &Config) -> Result<Pepper> {
    Ok(Pepper::new(config.auth.pepper()?.reveal().to_vec())?)
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
    Ok(Executors::new(by_type.collect::<Result<_>>()?))
}

fn build(
    config: &Config,
    service: &str,
    url: &Address,
    pepper: Pepper,
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
        executors: executors(config)?,
        risk: risk::Settings::default(),
        service: service.to_owned(),
    };
    App::new(parts).context("the rules cannot be read")
}
