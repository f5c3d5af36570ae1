//! The programs and endpoints that preview and apply changes for the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::ConfigError;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executors {
    pub at_once: usize,
    timeout_s: u64,
    log_max_bytes: usize,
    memory_max_bytes: u64,
    cpu_max_s: u64,
    pub command: BTreeMap<String, ProgramConfig>,
    pub http: BTreeMap<String, EndpointConfig>,
}

/// A program. Omitted limits default to those of `[executors]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramConfig {
    pub types: Vec<String>,
    pub program: PathBuf,
    #[serde(default)]
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    #[serde(default)]
    pub environment: Vec<String>,
    pub tenants: Option<Vec<String>>,
    timeout_s: Option<u64>,
    log_max_bytes: Option<usize>,
    memory_max_bytes: Option<u64>,
    cpu_max_s: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    pub types: Vec<String>,
    pub url: String,
    pub audience: Option<String>,
    pub tenants: Option<Vec<String>>,
    timeout_s: Option<u64>,
    #[serde(default)]
    pub allow_loopback: bool,
}

/// The limits of one program, from its table and the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub time: Duration,
    pub log_bytes: usize,
    pub memory_bytes: u64,
    pub cpu: Duration,
}

impl Executors {
    pub fn bounds(&self, program: &ProgramConfig) -> Bounds {
        Bounds {
            time: Duration::from_secs(program.timeout_s.unwrap_or(self.timeout_s)),
            log_bytes: program.log_max_bytes.unwrap_or(self.log_max_bytes),
            memory_bytes: program.memory_max_bytes.unwrap_or(self.memory_max_bytes),
            cpu: Duration::from_secs(program.cpu_max_s.unwrap_or(self.cpu_max_s)),
        }
    }

    pub fn time(&self, endpoint: &EndpointConfig) -> Duration {
        Duration::from_secs(endpoint.timeout_s.unwrap_or(self.timeout_s))
    }

    pub(super) fn without_tenants(&self) -> impl Iterator<Item = String> {
        let programs = self.command.iter().filter(|(_, program)| program.tenants.is_none());
        let programs = programs.map(|(name, _)| format!("executors.command.{name}"));
        let endpoints = self.http.iter().filter(|(_, endpoint)| endpoint.tenants.is_none());
        programs.chain(endpoints.map(|(name, _)| format!("executors.http.{name}")))
    }

    /// Refuses relative paths, which would depend on the working directory of the server.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, program) in &self.command {
            let paths: [(&str, &Path); 2] =
                [("program", &program.program), ("directory", &program.directory)];
            if let Some((what, _)) = paths.into_iter().find(|(_, path)| !path.is_absolute()) {
                let setting = format!("executors.command.{name}.{what}");
                return Err(ConfigError::Relative { setting });
            }
        }
        Ok(())
    }
}
