//! Startup checks that must pass before the server accepts requests. All problems are reported at
//! once, each with its fix. No setting skips them.

mod logins;

use std::fmt;

use sqlx::{PgExecutor, query_as, query_scalar};
use thiserror::Error as ThisError;

use self::logins::LoginPurpose;
use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::migrate;
use crate::pool::Pool;

pub use self::logins::ExcessPrivilege;

#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum BootProblem {
    #[error("`{name}` is off, so a commit may be lost: set `{name} = on` and restart PostgreSQL")]
    NotDurable { name: &'static str },
    #[error("migrations {versions:?} are missing: run `ade-server migrate` as the owner")]
    Pending { versions: Vec<i64> },
    #[error("{0}")]
    Excess(ExcessPrivilege),
    #[error(
        "login `{login}` owns {tables} table(s) or can act as their owner: connect as a login that \
         is only a member of `ade_app`"
    )]
    OwnsTables { login: String, tables: i64 },
    #[error(
        "login `{login}` is used for the API and for the workers, so a request could read the \
         queues of every tenant: create another login for the workers and name it in \
         `database.worker_url`:\n  {};",
        logins::replacement(LoginPurpose::Workers)
    )]
    SharedLogin { login: String },
}

#[derive(Debug)]
pub struct Problems(pub Vec<BootProblem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

#[derive(Debug, ThisError)]
pub enum BootError {
    #[error("the database is not ready:\n{0}")]
    Unfit(Problems),
    #[error(transparent)]
    Store(#[from] StoreError),
}

struct Answer {
    fsync: String,
    full_page_writes: String,
}

/// Checks the database and the logins of the server. `api` serves requests, `worker` runs the
/// background jobs, and `replica` serves reads from a standby, if there is one.
pub async fn check(api: &Pool, worker: &Pool, replica: Option<&Pool>) -> Result<(), BootError> {
    let (api_login, mut problems) = problems_of(api, LoginPurpose::Api).await?;
    let (worker_login, mut others) = problems_of(worker, LoginPurpose::Workers).await?;
    if let Some(replica) = replica {
        others.extend(problems_of_replica(api, replica).await?);
    }
    // All logins see the same settings and migrations, and one login may have two purposes.
    for problem in others {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    if api_login == worker_login {
        problems.push(BootProblem::SharedLogin { login: api_login });
    }
    if problems.is_empty() { Ok(()) } else { Err(BootError::Unfit(Problems(problems))) }
}

/// Returns the login of the pool and everything that it finds wrong.
async fn problems_of(
    pool: &Pool,
    purpose: LoginPurpose,
) -> Result<(String, Vec<BootProblem>), StoreError> {
    let mut connection = pool.acquire().await?;
    let login = login_of(connection.get()?).await?;
    let durability = query_as!(
        Answer,
        r#"SELECT current_setting('fsync') AS "fsync!",
                  current_setting('full_page_writes') AS "full_page_writes!""#,
    )
    .fetch_one(connection.get()?)
    .await?;
    let excess = problems_of_login(&mut connection, &login, purpose).await?;
    connection.give_back();
    let mut problems = Vec::new();
    let Answer { fsync, full_page_writes } = durability;
    for (name, value) in [("fsync", fsync), ("full_page_writes", full_page_writes)] {
        if value != "on" {
            problems.push(BootProblem::NotDurable { name });
        }
    }
    let versions = migrate::pending(pool).await?;
    if !versions.is_empty() {
        problems.push(BootProblem::Pending { versions });
    }
    problems.extend(excess);
    Ok((login, problems))
}

/// Checks the login of the replica. The server starts also while the replica is down: a standby has
/// the roles of its primary, so the primary is asked about the login in the address.
async fn problems_of_replica(api: &Pool, replica: &Pool) -> Result<Vec<BootProblem>, StoreError> {
    let asked = async {
        let mut connection = replica.acquire().await?;
        let login = login_of(connection.get()?).await?;
        Ok::<_, StoreError>((connection, login))
    };
    let (mut connection, login) = match asked.await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "replica did not respond; its login is checked on the primary");
            (api.acquire().await?, replica.login().to_owned())
        }
    };
    let found = problems_of_login(&mut connection, &login, LoginPurpose::Replica).await?;
    connection.give_back();
    Ok(found)
}

async fn login_of<'c>(connection: impl PgExecutor<'c>) -> Result<String, sqlx::Error> {
    query_scalar!(r#"SELECT session_user::text AS "login!""#).fetch_one(connection).await
}

/// Checks every role that the login may take on, because `SET ROLE` is one statement away.
async fn problems_of_login(
    connection: &mut PooledConnection,
    login: &str,
    purpose: LoginPurpose,
) -> Result<Vec<BootProblem>, StoreError> {
    let excess = logins::excess(connection.get()?, login, purpose).await?;
    let tables = query_scalar!(
        r#"SELECT count(*) AS "owned!" FROM pg_class c
             JOIN pg_roles o ON o.oid = c.relowner
             JOIN pg_roles l ON l.rolname = $1
            WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
              AND pg_has_role(l.oid, o.oid, 'MEMBER')"#,
        login,
    )
    .fetch_one(connection.get()?)
    .await?;
    let mut problems: Vec<BootProblem> = excess.into_iter().map(BootProblem::Excess).collect();
    if tables > 0 {
        problems.push(BootProblem::OwnsTables { login: login.to_owned(), tables });
    }
    Ok(problems)
}

const DURABILITY: &str = "
    SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
           (SELECT count(*) FROM pg_stat_replication)";

/// Returns the setting because of which a failover could lose an acknowledged commit, and with it a
/// registered lock.
pub async fn durability(pool: &Pool) -> Result<Option<String>, StoreError> {
    let mut connection = pool.acquire().await?;
    let (names, commit, followers): (String, String, i64) =
        query_as(DURABILITY).fetch_one(connection.get()?).await?;
    Ok(match (names.is_empty(), commit.as_str()) {
        (_, "off" | "local") => Some(format!(
            "`synchronous_commit` is `{commit}`: a crash or failover may lose lock holders"
        )),
        (true, _) if followers > 0 => Some(
            "a standby follows asynchronously: set `synchronous_standby_names`, or a failover may \
             lose lock holders"
                .to_owned(),
        ),
        _ => None,
    })
}

const CHECKSUMS: &str = "SELECT current_setting('data_checksums')";

/// Returns a warning if data checksums are off, so that disk corruption would go unnoticed. It is
/// not a reason to refuse: PostgreSQL used to create clusters without them by default, and a
/// running cluster has to be stopped to enable them.
pub async fn checksums(pool: &Pool) -> Result<Option<String>, StoreError> {
    let mut connection = pool.acquire().await?;
    let (value,): (String,) = query_as(CHECKSUMS).fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(without_checksums(&value))
}

fn without_checksums(value: &str) -> Option<String> {
    (value != "on").then(|| {
        "`data_checksums` is off, so corrupted pages go unnoticed: stop PostgreSQL, run \
         `pg_checksums --enable` on its data directory, and start it again"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_without_checksums_reports_what_to_do() {
        assert_eq!(without_checksums("on"), None);
        for value in ["off", "inprogress-on", ""] {
            assert!(without_checksums(value).unwrap().contains("pg_checksums --enable"));
        }
    }
}
