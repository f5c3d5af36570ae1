//! The settings: embedded defaults, overridden by the file and then by the environment. Every
//! setting has its default in `config.default.toml`; unknown settings are refused. Secrets come
//! from separate files or from the environment, and are never printed.

mod auth;
mod database;
mod defaults;
mod executors;
mod locks;
mod nodes;
mod notify;
mod outward;
mod preview;
mod rates;
mod receipts;
mod server;
mod webhooks;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

use ade_core::limits::{
    AUTHORITY_AGE_MAX, AUTHORITY_AGE_MIN, DECIDE_WITHIN_MIN, PEPPER_MIN_BYTES, SESSION_TTL,
};
use ade_core::passkey::NoParty;
use ade_core::timeouts::TimeoutsError;
use ade_engine::services::identity::ProviderError;
use config::{Environment, File, FileFormat};
use serde::Deserialize;
use thiserror::Error;

use crate::tls::TlsError;

pub use auth::{Auth, Pepper};
pub use database::Database;
pub use defaults::Defaults;
pub use executors::{EndpointConfig, Executors, ProgramConfig};
pub use locks::{LockBackend, LocksConfig};
pub use nodes::Redis;
pub use notify::{Mail, Notify, Slack};
pub use outward::{Blobs, Export};
pub use preview::{Preview, PreviewTarget};
pub use rates::Rates;
pub use receipts::Receipts;
pub use server::ServerConfig;
pub use webhooks::WebhooksConfig;

const DEFAULTS: &str = include_str!("../config.default.toml");
const PREFIX: &str = "ADE";
const SEPARATOR: &str = "__";
/// Settings that are lists, separated by commas in the environment.
const LISTS: &[&str] = &[
    "preview.enable_live",
    "preview.sql_types",
    "receipts.key_files",
    "redis.urls",
    "server.hosts",
    "server.origins",
    "server.proxies",
    "webhooks.ports",
    "workers.run",
];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub database: Database,
    pub auth: Auth,
    pub rates: Rates,
    pub defaults: Defaults,
    pub redis: Redis,
    pub locks: LocksConfig,
    pub receipts: Receipts,
    pub blobs: Blobs,
    pub preview: Preview,
    pub executors: Executors,
    pub webhooks: WebhooksConfig,
    pub export: Export,
    pub notify: Notify,
    pub mail: Mail,
    pub slack: Slack,
    pub log: LogConfig,
    pub workers: Workers,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    pub format: LogFormat,
    pub level: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    pub run: Vec<String>,
    period_s: u64,
    lease_s: u64,
}

/// The address of a database or a Redis node. It may contain a password, so it is never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the configuration is invalid: {0}")]
    Unusable(#[from] config::ConfigError),
    #[error("`{setting}` contains a password: move it to `{setting}_file` or to the environment")]
    SecretInFile { setting: String },
    #[error("`{setting}` and `{setting}_file` are both set: keep one")]
    Twice { setting: String },
    #[error("`{setting}` is not set: {what}")]
    Missing { setting: &'static str, what: &'static str },
    #[error("`{setting}` names {path}, which cannot be read: {source}")]
    File { setting: String, path: String, source: std::io::Error },
    #[error("`{setting}` must be an absolute path")]
    Relative { setting: String },
    #[error(
        "`rates.{name}`: `per_minute` and `burst` must be at least 1, and the burst must refill \
         within a day"
    )]
    Rate { name: String },
    #[error("`defaults`: {0}")]
    Timeouts(#[from] TimeoutsError),
    #[error("`{setting}` is {value}: it must be at least 1")]
    Zero { setting: &'static str, value: u64 },
    #[error(
        "`auth.decide_within_s` must be {} to {}, not {seconds}",
        DECIDE_WITHIN_MIN.as_secs(), SESSION_TTL.as_secs()
    )]
    DecideWithin { seconds: u64 },
    #[error(
        "`auth.authority_age_s` must be {} to {}, not {seconds}",
        AUTHORITY_AGE_MIN.as_secs(), AUTHORITY_AGE_MAX.as_secs()
    )]
    AuthorityAge { seconds: u64 },
    #[error("`{setting}` has {bytes} bytes: at least {PEPPER_MIN_BYTES} are required")]
    ShortPepper { setting: &'static str, bytes: usize },
    #[error("`auth.providers.{name}`: {source}")]
    Provider { name: String, source: ProviderError },
    #[error(
        "`auth.step_up` is `required`, but `notify.page` cannot be used for passkeys: {source}"
    )]
    Passkeys { source: NoParty },
    #[error(
        "`server.listen` is {listen}, which other machines can reach, without TLS: put a proxy in \
         front and listen on loopback, or set `server.allow_plain_http = true`"
    )]
    PlainHttp { listen: SocketAddr },
    #[error("`server.certificate_file` and `server.key_file`: {0}")]
    Tls(#[from] TlsError),
    #[error(
        "`{setting}` connects over the network without verified TLS: {how}, or set `{allow} = \
         true`"
    )]
    PlainWire { setting: String, how: &'static str, allow: String },
    #[error("`{setting}` is not a valid URL: {why}")]
    Address { setting: String, why: String },
    #[error("`{setting}` is missing: a certificate and its key must be set together")]
    Half { setting: &'static str },
    #[error(
        "`preview.targets.{name}.kind` is not set to `copy` or `live`. Previews execute agents' \
         SQL on this database before anyone has approved it. Write `kind = \"copy\"` if the \
         database is a copy made for previews, or `kind = \"live\"` if applications use it"
    )]
    TargetKind { name: String },
    #[error(
        "`preview.targets.{name}` is a live database and is not enabled. A preview executes \
         agents' SQL on it before anyone has approved it, and the rollback does not undo \
         everything: sequences stay advanced, locks block other sessions, some messages are \
         delivered. Preview on a copy (`kind = \"copy\"`), or accept the risk by adding \
         \"{name}\" to `preview.enable_live`"
    )]
    LiveTarget { name: String },
    #[error(
        "`preview.enable_live` names `{name}`, and no target of that name has `kind = \"live\"`: \
         correct the name or remove it"
    )]
    NotLive { name: String },
}

impl Config {
    /// Loads the settings with the environment of this process.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let variables = std::env::vars_os();
        let texts = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::read(file, variables.filter_map(texts).collect())
    }

    /// Loads the settings with `variables` as the environment.
    pub fn read(
        file: Option<&Path>,
        variables: BTreeMap<String, String>,
    ) -> Result<Self, ConfigError> {
        let mut builder =
            config::Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        if let Some(file) = file {
            let source = File::from(file).format(FileFormat::Toml);
            refuse_passwords(&config::Config::builder().add_source(source.clone()).build()?)?;
            builder = builder.add_source(source);
        }
        let tenant_lists: Vec<String> =
            variables.keys().filter_map(|name| tenant_list(name)).collect();
        let mut environment = Environment::with_prefix(PREFIX)
            .prefix_separator(SEPARATOR)
            .separator(SEPARATOR)
            .list_separator(",")
            .try_parsing(true)
            .source(Some(variables.into_iter().collect()));
        for list in LISTS {
            environment = environment.with_list_parse_key(list);
        }
        for list in tenant_lists {
            environment = environment.with_list_parse_key(&list);
        }
        let mut config: Self = builder.add_source(environment).build()?.try_deserialize()?;
        if config.notify.page.is_empty() {
            config.notify.page = config.server.url();
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let ServerConfig { listen, allow_plain_http, .. } = self.server;
        let is_closed = allow_plain_http || self.server.files().is_some();
        if !listen.ip().is_loopback() && !is_closed {
            return Err(ConfigError::PlainHttp { listen });
        }
        let count = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        for (setting, value) in [
            ("server.connections_max", count(self.server.connections_max)),
            ("server.requests_max", count(self.server.requests_max)),
            ("server.waits_max", count(self.server.waits_max)),
            ("server.listeners_max", count(self.server.listeners_max)),
            ("preview.at_once_per_target", count(self.preview.at_once_per_target)),
            ("preview.at_once_per_tenant", count(self.preview.at_once_per_tenant)),
            ("server.head_timeout_s", self.server.head_timeout_s),
            ("server.body_timeout_s", self.server.body_timeout_s),
            ("server.answer_timeout_s", self.server.answer_timeout_s),
            ("database.api_connections", self.database.api_connections.into()),
            ("database.worker_connections", self.database.worker_connections.into()),
            ("database.replica_connections", self.database.replica_connections.into()),
            ("locks.acquires_per_minute", self.locks.acquires_per_minute.into()),
            ("locks.acquires_burst", self.locks.acquires_burst.into()),
            ("workers.period_s", self.workers.period_s),
            ("workers.lease_s", self.workers.lease_s),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero { setting, value });
            }
        }
        self.defaults.timeouts()?;
        self.executors.check()
    }

    /// Returns the tables that name no tenants. With several tenants, each has to.
    pub fn without_tenants(&self) -> Vec<String> {
        let targets = self.preview.without_tenants().map(|name| format!("preview.targets.{name}"));
        let executors = self.executors.without_tenants();
        let providers = self.auth.without_tenants().map(|name| format!("auth.providers.{name}"));
        let sink = self.export.is_without_tenants().then(|| "export".to_owned());
        targets.chain(executors).chain(providers).chain(sink).collect()
    }
}

impl Workers {
    pub fn period(&self) -> Duration {
        Duration::from_secs(self.period_s)
    }

    pub fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_s)
    }
}

impl Address {
    pub fn new(url: &str) -> Self {
        Self(url.to_owned())
    }

    /// Returns the address. It must not be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(not set)" } else { "(address)" })
    }
}

fn address(setting: &str, url: &Address, file: &Path) -> Result<Option<Address>, ConfigError> {
    match (url.0.is_empty(), file.as_os_str().is_empty()) {
        (true, true) => Ok(None),
        (false, true) => Ok(Some(url.clone())),
        (false, false) => Err(ConfigError::Twice { setting: setting.to_owned() }),
        (true, false) => {
            let setting = format!("{setting}_file");
            let text =
                fs::read_to_string(file).map_err(|source| unreadable(&setting, file, source))?;
            Ok(Some(Address(text.trim().to_owned())))
        }
    }
}

/// Returns the list setting of this variable, if it sets the tenants of something that tenants
/// share.
fn tenant_list(variable: &str) -> Option<String> {
    let table = variable.strip_prefix("ADE__")?.strip_suffix("__TENANTS")?;
    Some(format!("{}.tenants", table.replace(SEPARATOR, ".").to_lowercase()))
}

fn unreadable(setting: &str, path: &Path, source: std::io::Error) -> ConfigError {
    ConfigError::File { setting: setting.to_owned(), path: path.display().to_string(), source }
}

/// Refuses passwords in the settings file, because the file may be copied or committed.
fn refuse_passwords(file: &config::Config) -> Result<(), ConfigError> {
    let names = ["url", "worker_url", "replica_url", "owner_url"].iter();
    let mut urls: Vec<String> = names.map(|name| format!("database.{name}")).collect();
    let targets = file.get_table("preview.targets").unwrap_or_default();
    urls.extend(targets.keys().map(|name| format!("preview.targets.{name}.url")));
    urls.push("mail.url".to_owned());
    let nodes = file.get_array("redis.urls").unwrap_or_default();
    let mut nodes = nodes.into_iter().filter_map(|node| node.into_string().ok());
    if nodes.any(|url| has_password(&url)) {
        return Err(ConfigError::SecretInFile { setting: "redis.urls".to_owned() });
    }
    let holder = urls
        .into_iter()
        .find(|setting| file.get_string(setting).is_ok_and(|url| has_password(&url)));
    holder.map_or(Ok(()), |setting| Err(ConfigError::SecretInFile { setting }))
}

/// Returns whether a URL has the form `scheme://user:password@host` or a `password` parameter.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':')) || url.contains("password=")
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
