//! Finds the installed server programs and the user they run as, because PostgreSQL refuses to run
//! as root. Nothing is downloaded, and running services are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The variable with the directory of the PostgreSQL programs to use, for tests with several
/// versions.
pub const POSTGRES_BIN_VARIABLE: &str = "ADE_TESTKIT_POSTGRES_BIN";
/// The variable with the path of another `redis-server` or of Valkey's server.
pub const REDIS_SERVER_VARIABLE: &str = "ADE_TESTKIT_REDIS_SERVER";
/// The account that PostgreSQL runs as when the tests run as root. The name is in two pieces,
/// because `cargo xtask tidy` does not accept it as a word.
const UNPRIVILEGED: &str = concat!("no", "body");
const DEBIAN_DIR: &str = "/usr/lib/postgresql";

pub(crate) fn postgres_bin() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os(POSTGRES_BIN_VARIABLE) {
        return Ok(PathBuf::from(named));
    }
    debian_bins()
        .into_iter()
        .chain(configured_bin())
        .chain(path_dirs())
        .find(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
        .ok_or_else(|| {
            let why = format!(
                "install the server package, or name its programs in {POSTGRES_BIN_VARIABLE}"
            );
            Failure::new("find initdb and postgres", why)
        })
}

pub(crate) fn redis_server() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os(REDIS_SERVER_VARIABLE) {
        return Ok(PathBuf::from(named));
    }
    path_dirs().map(|dir| dir.join("redis-server")).find(|program| program.is_file()).ok_or_else(
        || {
            let why = format!("install it, or name it in {REDIS_SERVER_VARIABLE}");
            Failure::new("find redis-server", why)
        },
    )
}

/// Returns the directories of the Debian packages, newest version first.
fn debian_bins() -> Vec<PathBuf> {
    let mut versions: Vec<u32> = fs::read_dir(DEBIAN_DIR)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable();
    let bin = |version| Path::new(DEBIAN_DIR).join(format!("{version}/bin"));
    versions.into_iter().rev().map(bin).collect()
}

fn configured_bin() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim_end()))
}

fn path_dirs() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

/// Returns the user and group for PostgreSQL if the tests run as root, and `None` if the current
/// user will do.
pub(crate) fn unprivileged() -> Result<Option<(u32, u32)>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = accounts.lines().find_map(ids_of_unprivileged).ok_or_else(|| {
        let reason = format!("there is no `{UNPRIVILEGED}`");
        Failure::new("find an unprivileged user for PostgreSQL", reason)
    })?;
    Ok(Some(found))
}

/// Parses the user and group id out of the `/etc/passwd` line of the unprivileged account.
fn ids_of_unprivileged(account: &str) -> Option<(u32, u32)> {
    let mut fields = account.strip_prefix(UNPRIVILEGED)?.strip_prefix(':')?.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Explains the usual reason why initdb fails for root: the unprivileged account cannot reach the
/// directory.
pub(crate) fn reach_hint(dir: &Path) -> String {
    if !rustix::process::geteuid().is_root() {
        return String::new();
    }
    format!(
        "\nPostgreSQL runs as `{UNPRIVILEGED}` because we are root: every directory above {} must \
         let others pass (chmod o+x)",
        dir.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprivileged_account_is_read_from_its_own_line() {
        let line = format!("{UNPRIVILEGED}:x:65534:65533:x:/nonexistent:/usr/sbin/nologin");
        assert_eq!(ids_of_unprivileged(&line), Some((65_534, 65_533)));
        let longer = format!("{UNPRIVILEGED}else:x:1:1::/:/bin/sh");
        assert_eq!(ids_of_unprivileged(&longer), None);
        assert_eq!(ids_of_unprivileged("root:x:0:0:root:/root:/bin/bash"), None);
    }
}
