//! Startup checks that must pass before the server accepts requests. All problems are reported at
//! once, each with its fix. No setting skips them.

mod logins;

use std::fmt;

use sqlx::{PgExecutor, query_as};
use thiserror::Error as ThisError;

use self::logins::LoginPurpose;
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
    login: String,
    fsync: String,
    full_page_writes: String,
    owned: i64,
}

/// Checks the database and both logins of the server. `api` serves requests, `worker` runs the
/// background jobs.
pub async fn check(api: &Pool, worker: &Pool) -> Result<(), BootError> {
    let (api_login, mut problems) = problems_of(api, LoginPurpose::Api).await?;
    let (worker_login, others) = problems_of(worker, LoginPurpose::Workers).await?;
    // Both logins see the same settings and migrations.
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
    let answer = ask(connection.get()?).await?;
    let excess = logins::excess(connection.get()?, &answer.login, purpose).await?;
    connection.give_back();
    let versions = migrate::pending(pool).await?;
    let login = answer.login.clone();
    Ok((login, problems(answer, excess, versions)))
}

/// Checks every role that the login may take on, because `SET ROLE` is one statement away.
async fn ask<'c>(connection: impl PgExecutor<'c>) -> Result<Answer, sqlx::Error> {
    query_as!(
        Answer,
        r#"WITH within AS (
               SELECT r.oid FROM pg_roles r
                WHERE r.rolname IN (session_user, current_user)
                   OR pg_has_role(session_user, r.oid, 'MEMBER')
           )
           SELECT session_user::text AS "login!",
                  current_setting('fsync') AS "fsync!",
                  current_setting('full_page_writes') AS "full_page_writes!",
                  (SELECT count(*) FROM pg_class c JOIN within w ON w.oid = c.relowner
                    WHERE c.relkind IN ('r', 'p')
                      AND c.relnamespace = 'public'::regnamespace) AS "owned!""#,
    )
    .fetch_one(connection)
    .await
}

fn problems(answer: Answer, excess: Vec<ExcessPrivilege>, versions: Vec<i64>) -> Vec<BootProblem> {
    let Answer { login, fsync, full_page_writes, owned } = answer;
    let mut problems = Vec::new();
    for (name, value) in [("fsync", fsync), ("full_page_writes", full_page_writes)] {
        if value != "on" {
            problems.push(BootProblem::NotDurable { name });
        }
    }
    if !versions.is_empty() {
        problems.push(BootProblem::Pending { versions });
    }
    problems.extend(excess.into_iter().map(BootProblem::Excess));
    if owned > 0 {
        problems.push(BootProblem::OwnsTables { login, tables: owned });
    }
    problems
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
