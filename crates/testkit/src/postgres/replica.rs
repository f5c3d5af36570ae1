//! A streaming replica of another server: copied by `pg_basebackup`, read-only, and broken and
//! dropped like any server that one test owns.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use super::{OWNED, OwnedPostgres, Postgres, SUPERUSER};
use crate::failure::{Failure, or_fail};
use crate::install;
use crate::ledger::make_dir;
use crate::run::Run;
use crate::signal::poll_until;

impl OwnedPostgres {
    /// Creates a replica and returns once it answers queries. Later writes arrive with a small
    /// delay.
    pub async fn replica(&self) -> Self {
        or_fail(self.start_replica().await)
    }

    async fn start_replica(&self) -> Result<Self, Failure> {
        let run = Run::own()?;
        let mut server = Postgres {
            ledger: run.ledger().clone(),
            label: format!("postgres-{}", OWNED.fetch_add(1, Ordering::Relaxed)),
            port: 0,
            password: self.server.password.clone(),
        };
        make_dir(&server.folder())?;
        self.copy_to(&server).await?;
        server.start_anywhere(&self.settings).await?;
        Ok(Self { server, settings: self.settings.clone() })
    }

    /// Copies the data; `--write-recovery-conf` makes the copy a replica with the same password.
    async fn copy_to(&self, copy: &Postgres) -> Result<(), Failure> {
        let what = format!("copy PostgreSQL to {}", copy.data_dir().display());
        make_dir(&copy.data_dir())?;
        // The server cannot start in a directory that other users can read.
        fs::set_permissions(copy.data_dir(), Permissions::from_mode(0o700))
            .map_err(|error| Failure::new(&what, error))?;
        let mut command = Command::new(install::postgres_bin()?.join("pg_basebackup"));
        if let Some((user, group)) = install::unprivileged()? {
            chown(copy.data_dir(), Some(user), Some(group))
                .map_err(|error| Failure::new(&what, error))?;
            command.uid(user).gid(group);
        }
        command
            .arg("--pgdata")
            .arg(copy.data_dir())
            .args(["--host", "127.0.0.1", "--port", &self.server.port.to_string()])
            .args(["--username", SUPERUSER, "--no-password", "--write-recovery-conf"])
            .args(["--checkpoint", "fast", "--wal-method", "stream", "--no-sync"])
            .env("PGPASSWORD", &self.server.password)
            .current_dir("/")
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .map_err(|error| Failure::new(&what, error))?
            .map_err(|error| Failure::new(&what, error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::new(what, String::from_utf8_lossy(&output.stderr).trim_end()))
    }

    /// Promotes this replica to a primary, and returns once it accepts writes.
    pub async fn promote(&self) {
        or_fail(self.server.text("SELECT pg_promote()::text").await);
    }

    /// Pauses the replay: arriving changes are stored but not visible until [`Self::go_on`].
    pub async fn stand_still(&self) {
        or_fail(self.pause().await);
    }

    pub async fn go_on(&self) {
        or_fail(self.server.text("SELECT pg_wal_replay_resume()::text").await);
    }

    /// Waits for the pause, because the replay finishes its current record after the request.
    async fn pause(&self) -> Result<(), Failure> {
        self.server.text("SELECT pg_wal_replay_pause()::text").await?;
        poll_until("the replay stands still", super::START_DEADLINE, async || {
            match self.server.text("SELECT pg_get_wal_replay_pause_state()").await?.as_str() {
                "paused" => Ok(()),
                other => Err(Failure::new("replay", other.to_owned())),
            }
        })
        .await
    }

    /// Waits until this replica has everything that `of` has written so far.
    pub async fn caught_up_with(&self, of: &Postgres) {
        or_fail(self.catch_up(of).await);
    }

    async fn catch_up(&self, of: &Postgres) -> Result<(), Failure> {
        let target = of.text("SELECT pg_current_wal_lsn()::text").await?;
        let ask = format!("SELECT (pg_last_wal_replay_lsn() >= '{target}')::text");
        poll_until("the replica has caught up", super::START_DEADLINE, async || {
            match self.server.text(&ask).await?.as_str() {
                "true" => Ok(()),
                other => Err(Failure::new("replay", other.to_owned())),
            }
        })
        .await
    }
}
