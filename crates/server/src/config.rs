//! The settings: defaults compiled in, then the file, then the environment. Every setting has a
//! default in `config.default.toml` and nowhere else; an unknown one is refused. Secrets come
//! from files of their own or from the environment, and are never printed.

mod auth;
mod database;
mod defaults;
mod executors;
mod locks;
mod nodes;
mod notify;
mod outward;
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

use ade_core::limits::PEPPER_MIN_BYTES;
use ade_core::passkey::NoParty;
use ade_core::times::TimesError;
use ade_engine::identity::ProviderError;
use config::{Environment, File, FileFormat};
use serde::Deserialize;
use thiserror::Error;

use crate::tls::TlsError;

pub use auth::{Auth, Pepper};
pub use database::{Database, Preview};
pub use defaults::Defaults;
pub use executors::{Endpoint, Executors, Program};
pub use locks::{LockBackend, Locks};
pub use nodes::Redis;
pub use notify::{Mail, Notify, Slack};
pub use outward::{Blobs, Export};
pub use rates::Rates;
pub use receipts::Receipts;
pub use server::Server;
pub use webhooks::Webhooks;

const DEFAULTS: &str = include_str!("../config.default.toml");
const PREFIX: &str = "ADE";
const SEPARATOR: &str = "__";
/// Lists in the environment are written with commas.
const LISTS: &[&str] = &[
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
    pub server: Server,
    pub database: Database,
    pub auth: Auth,
    pub rates: Rates,
    pub defaults: Defaults,
    pub redis: Redis,
    pub locks: Locks,
    pub receipts: Receipts,
    pub blobs: Blobs,
    pub preview: Preview,
    pub executors: Executors,
    pub webhooks: Webhooks,
    pub export: Export,
    pub notify: Notify,
    pub mail: Mail,
    pub slack: Slack,
    pub log: Log,
    pub workers: Workers,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
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

/// The address of a database or a node: it may hold a password, so it is never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the settings cannot be used: {0}")]
    Unusable(#[from] config::ConfigError),
    #[error("`{setting}` holds a password: move it to `{setting}_file` or to the environment")]
    SecretInFile { setting: String },
    #[error("`{setting}` and `{setting}_file` are both set: keep one")]
    Twice { setting: String },
    #[error("`{setting}` is not set: it says {what}")]
    Missing { setting: &'static str, what: &'static str },
    #[error("`{setting}` names {path}, which cannot be read: {source}")]
    File { setting: String, path: String, source: std::io::Error },
    #[error("`{setting}` must be an absolute path")]
    Relative { setting: String },
    #[error(
        "`rates.{name}`: let at least 1 through in a minute and at once, and a burst be back \
         within a day"
    )]
    Rate { name: String },
    #[error("`defaults`: {0}")]
    Times(#[from] TimesError),
    #[error("`{setting}` is {value}: it must be at least 1")]
    Zero { setting: &'static str, value: u64 },
    #[error("`{setting}` has {bytes} bytes: at least {PEPPER_MIN_BYTES} are needed")]
    ShortPepper { setting: &'static str, bytes: usize },
    #[error("`auth.providers.{name}`: {source}")]
    Provider { name: String, source: ProviderError },
    #[error("`auth.step_up` is `required`, and `notify.page` is no page for it: {source}")]
    Passkeys { source: NoParty },
    #[error(
        "`server.listen` is {listen}, which others can reach, and there is no TLS: put a proxy in \
         front and listen on loopback, or set `server.allow_plain_http = true`"
    )]
    PlainHttp { listen: SocketAddr },
    #[error("`server.certificate_file` and `server.key_file`: {0}")]
    Tls(#[from] TlsError),
    #[error(
        "`{setting}` leads over the network without TLS that checks who answers: {how}, or set \
         `{allow} = true`"
    )]
    PlainWire { setting: String, how: &'static str, allow: String },
    #[error("`{setting}` is no address: {why}")]
    Address { setting: String, why: String },
    #[error("`{setting}` is not set, and its other half is: a certificate goes with its key")]
    Half { setting: &'static str },
}

impl Config {
    /// With the environment of this process.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let variables = std::env::vars_os();
        let texts = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::read(file, variables.filter_map(texts).collect())
    }

    /// `variables` stands in for the environment.
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
        let mut environment = Environment::with_prefix(PREFIX)
            .prefix_separator(SEPARATOR)
            .separator(SEPARATOR)
            .list_separator(",")
            .try_parsing(true)
            .source(Some(variables.into_iter().collect()));
        for list in LISTS {
            environment = environment.with_list_parse_key(list);
        }
        let config: Self = builder.add_source(environment).build()?.try_deserialize()?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Server { listen, allow_plain_http, .. } = self.server;
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
        self.defaults.times()?;
        self.executors.check()
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

    /// For the connection; not for a log.
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

fn unreadable(setting: &str, path: &Path, source: std::io::Error) -> ConfigError {
    ConfigError::File { setting: setting.to_owned(), path: path.display().to_string(), source }
}

/// A settings file is copied, committed and shown; a password in it is as good as published.
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

/// `scheme://user:password@host`, or `?password=`.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':')) || url.contains("password=")
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
