//! Where the servers' programs are, and as whom they run: PostgreSQL refuses to run as root.
//! Only what is installed is used; nothing is downloaded, no running service is touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// Names the directory of another PostgreSQL's programs: for trying several versions.
pub const POSTGRES_BIN_VARIABLE: &str = "ADE_TESTKIT_POSTGRES_BIN";
/// Names another `redis-server`, or Valkey's.
pub const REDIS_SERVER_VARIABLE: &str = "ADE_TESTKIT_REDIS_SERVER";
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

/// Newest first.
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

/// User and group for PostgreSQL if we are root, `None` if it may run as we do.
pub(crate) fn unprivileged() -> Result<Option<(u32, u32)>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    match accounts.lines().find_map(nobody) {
        Some(found) => Ok(Some(found)),
        None => {
            Err(Failure::new("find an unprivileged user for PostgreSQL", "there is no `nobody`"))
        }
    }
}

fn nobody(account: &str) -> Option<(u32, u32)> {
    let mut fields = account.strip_prefix("nobody:")?.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// As root the usual reason for a failing initdb is a directory closed to `nobody`.
pub(crate) fn reach_hint(dir: &Path) -> String {
    if !rustix::process::geteuid().is_root() {
        return String::new();
    }
    format!(
        "\nPostgreSQL runs as `nobody` because we are root: every directory above {} must let \
         others pass (chmod o+x)",
        dir.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_read_from_its_own_line_only() {
        let line = "nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin";
        assert_eq!(nobody(line), Some((65_534, 65_533)));
        assert_eq!(nobody("nobodyelse:x:1:1::/:/bin/sh"), None);
        assert_eq!(nobody("root:x:0:0:root:/root:/bin/bash"), None);
    }
}
