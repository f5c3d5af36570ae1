//! What must hold before the server takes a request. Everything that is wrong is told at once,
//! each with what to do; there is no switch to go on regardless.

use std::fmt;

use sqlx::{PgConnection, query_as};
use thiserror::Error as ThisError;

use crate::error::Error;
use crate::migrate;
use crate::pool::Pool;

#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Problem {
    #[error("`{name}` is off: a commit may be lost; set `{name} = on` and restart PostgreSQL")]
    NotDurable { name: &'static str },
    #[error("migrations {versions:?} are missing: run `ade-server migrate` as the owner")]
    Pending { versions: Vec<i64> },
    #[error("role `{role}` is superuser or can become one: connect as a member of `ade_app`")]
    Superuser { role: String },
    #[error("role `{role}` bypasses row security or can become one that does: use another")]
    BypassesRowSecurity { role: String },
    #[error("role `{role}` owns {tables} table(s) or can act as their owner: use another role")]
    OwnsTables { role: String, tables: i64 },
}

#[derive(Debug)]
pub struct Problems(pub Vec<Problem>);

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
pub enum Refusal {
    #[error("the database is not fit to be used:\n{0}")]
    Unfit(Problems),
    #[error(transparent)]
    Store(#[from] Error),
}

struct Answer {
    role: String,
    fsync: String,
    full_page_writes: String,
    is_superuser: bool,
    bypasses: bool,
    owned: i64,
}

pub async fn check(pool: &Pool) -> Result<(), Refusal> {
    let mut connection = pool.acquire().await?;
    let answer = ask(connection.get().map_err(Error::from)?).await.map_err(Error::from)?;
    let versions = migrate::pending(connection.get().map_err(Error::from)?).await?;
    let problems = problems(answer, versions);
    if problems.is_empty() { Ok(()) } else { Err(Refusal::Unfit(Problems(problems))) }
}

/// About every role that the login may take on, since `SET ROLE` is one statement away.
async fn ask(connection: &mut PgConnection) -> Result<Answer, sqlx::Error> {
    query_as!(
        Answer,
        r#"WITH within AS (
               SELECT r.oid, r.rolsuper, r.rolbypassrls
                 FROM pg_roles r
                WHERE r.rolname IN (session_user, current_user)
                   OR pg_has_role(session_user, r.oid, 'MEMBER')
           )
           SELECT session_user::text AS "role!",
                  current_setting('fsync') AS "fsync!",
                  current_setting('full_page_writes') AS "full_page_writes!",
                  (SELECT bool_or(rolsuper) FROM within) AS "is_superuser!",
                  (SELECT bool_or(rolbypassrls) FROM within) AS "bypasses!",
                  (SELECT count(*) FROM pg_class c JOIN within w ON w.oid = c.relowner
                    WHERE c.relkind IN ('r', 'p')
                      AND c.relnamespace = 'public'::regnamespace) AS "owned!""#,
    )
    .fetch_one(connection)
    .await
}

fn problems(answer: Answer, versions: Vec<i64>) -> Vec<Problem> {
    let Answer { role, fsync, full_page_writes, is_superuser, bypasses, owned } = answer;
    let mut problems = Vec::new();
    for (name, value) in [("fsync", fsync), ("full_page_writes", full_page_writes)] {
        if value != "on" {
            problems.push(Problem::NotDurable { name });
        }
    }
    if !versions.is_empty() {
        problems.push(Problem::Pending { versions });
    }
    if is_superuser {
        problems.push(Problem::Superuser { role: role.clone() });
    }
    if bypasses {
        problems.push(Problem::BypassesRowSecurity { role: role.clone() });
    }
    if owned > 0 {
        problems.push(Problem::OwnsTables { role, tables: owned });
    }
    problems
}

const DURABILITY: &str = "
    SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),
           (SELECT count(*) FROM pg_stat_replication)";

/// What would let a failover lose a commit that was acknowledged, and with it a registered lock.
pub async fn durability(pool: &Pool) -> Result<Option<String>, Error> {
    let mut connection = pool.acquire().await?;
    let (names, commit, followers): (String, String, i64) =
        query_as(DURABILITY).fetch_one(connection.get()?).await?;
    Ok(match (names.is_empty(), commit.as_str()) {
        (_, "off" | "local") => Some(format!(
            "`synchronous_commit` is `{commit}`: a crash or failover may forget who holds what"
        )),
        (true, _) if followers > 0 => Some(
            "a standby follows, but not synchronously: set `synchronous_standby_names`, or a \
             failover may forget who holds what"
                .to_owned(),
        ),
        _ => None,
    })
}

const CHECKSUMS: &str = "SELECT current_setting('data_checksums')";

/// What lets damage on a disk pass for data. Told and no reason to refuse: PostgreSQL makes a
/// cluster without them unless it is asked to, and one that is in use has to be stopped for them.
pub async fn checksums(pool: &Pool) -> Result<Option<String>, Error> {
    let mut connection = pool.acquire().await?;
    let (value,): (String,) = query_as(CHECKSUMS).fetch_one(connection.get()?).await?;
    connection.give_back();
    Ok(without_checksums(&value))
}

fn without_checksums(value: &str) -> Option<String> {
    (value != "on").then(|| {
        "`data_checksums` is off: what a disk spoils is read as if it were true; stop PostgreSQL, \
         run `pg_checksums --enable` on its data, and start it again"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_without_checksums_is_told_what_to_do() {
        assert_eq!(without_checksums("on"), None);
        for value in ["off", "inprogress-on", ""] {
            assert!(without_checksums(value).unwrap().contains("pg_checksums --enable"));
        }
    }
}
