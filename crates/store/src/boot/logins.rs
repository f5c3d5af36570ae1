//! The privileges of the logins of the server. A login may read one tenant at a time, and only the
//! login of the workers may find work across tenants. A privilege counts if one `SET ROLE` is
//! enough to use it, so the roles that a login is a member of are checked as well.

use std::fmt;

use sqlx::{PgExecutor, query_as};

/// The role of every login of the server.
const APP: &str = "ade_app";
/// The additional role of the login for the workers.
const WORKER: &str = "ade_worker";
const SUPERUSER: &str = "SUPERUSER";

/// What the server uses a login for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginPurpose {
    Api,
    Workers,
    /// Reads from the replica.
    Replica,
}

impl LoginPurpose {
    /// Returns the roles that the login needs.
    fn roles(self) -> Vec<String> {
        let roles: &[&str] = match self {
            Self::Api | Self::Replica => &[APP],
            Self::Workers => &[APP, WORKER],
        };
        roles.iter().map(|role| (*role).to_owned()).collect()
    }
}

/// A privilege that a login of the server must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcessPrivilege {
    pub login: String,
    /// The role that has the privilege: the login, or a role that the login can take.
    pub holder: String,
    /// An attribute as in `ALTER ROLE`, or `ade_worker` for the membership in this role.
    pub privilege: String,
    /// The statements that remove the privilege from the login and leave it the roles it needs.
    pub fix: Vec<String>,
}

impl fmt::Display for ExcessPrivilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { login, holder, privilege, fix } = self;
        let danger = match privilege.as_str() {
            SUPERUSER => "no check of PostgreSQL applies to it",
            "BYPASSRLS" => "it can read and change the rows of every tenant",
            "CREATEROLE" => "it can take other roles, such as that of the owner",
            "REPLICATION" => "it can copy the whole database",
            _ => "a request could read the queues of every tenant",
        };
        match (login == holder, privilege == WORKER) {
            (true, _) => write!(f, "login `{login}` has {privilege}: {danger}")?,
            (false, true) => {
                write!(f, "login `{login}`, which is not for workers, is a `{WORKER}`: {danger}")?;
            }
            (false, false) => {
                write!(f, "login `{login}` has {privilege} through `{holder}`: {danger}")?;
            }
        }
        let is_replaced = privilege == SUPERUSER && login == holder;
        f.write_str(if is_replaced {
            "; connect as another login, which this statement creates:"
        } else {
            "; run these statements as a superuser:"
        })?;
        fix.iter().try_for_each(|statement| write!(f, "\n  {statement};"))
    }
}

struct Row {
    privilege: String,
    holder: String,
    fix: Vec<String>,
}

/// Returns the privileges that this login must not have. A superuser has all of them, so only this
/// one is reported.
pub(super) async fn excess<'c>(
    connection: impl PgExecutor<'c>,
    login: &str,
    purpose: LoginPurpose,
) -> Result<Vec<ExcessPrivilege>, sqlx::Error> {
    // `kept` has the login and the roles that it needs. A privilege of one of them is taken from
    // the role; any other is cut off where it is granted to one of them.
    let rows = query_as!(
        Row,
        r#"WITH login AS (
               SELECT oid, rolname FROM pg_roles WHERE rolname = $2
           ), within AS (
               SELECT r.* FROM pg_roles r, login l
                WHERE r.oid = l.oid
                   OR (pg_has_role(l.oid, r.oid, 'MEMBER')
                       AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = l.oid))
           ), kept AS (
               SELECT w.oid FROM within w, login l
                WHERE w.oid = l.oid OR w.rolname = ANY ($1::text[])
           ), excess AS (
               SELECT w.oid, w.rolname, p.name, w.oid IN (SELECT oid FROM kept) AS is_kept
                 FROM within w, LATERAL (VALUES
                      ('SUPERUSER', w.rolsuper),
                      ('BYPASSRLS', w.rolbypassrls AND NOT w.rolsuper),
                      ('CREATEROLE', w.rolcreaterole AND NOT w.rolsuper),
                      ('REPLICATION', w.rolreplication AND NOT w.rolsuper),
                      ('ade_worker', w.rolname = 'ade_worker'
                                     AND 'ade_worker' <> ALL ($1::text[]))
                      ) AS p (name, is_held)
                WHERE p.is_held
           )
           SELECT e.name AS "privilege!", e.rolname::text AS "holder!", ARRAY(
                      SELECT f.sql FROM (
                          SELECT 1, format('ALTER ROLE %I NO%s', e.rolname, e.name)
                           WHERE e.is_kept
                          UNION
                          SELECT 2, format('REVOKE %I FROM %I', pg_get_userbyid(m.roleid),
                                           pg_get_userbyid(m.member))
                            FROM pg_auth_members m
                           WHERE NOT e.is_kept
                             AND m.member IN (SELECT oid FROM kept)
                             AND m.roleid NOT IN (SELECT oid FROM kept)
                             AND pg_has_role(m.roleid, e.oid, 'MEMBER')
                          UNION
                          SELECT 3, format('GRANT %I TO %I', k.name, l.rolname)
                            FROM login l, unnest($1::text[]) AS k (name)
                           WHERE NOT e.is_kept AND NOT EXISTS (
                                 SELECT FROM pg_auth_members m
                                  WHERE m.member = l.oid
                                    AND pg_get_userbyid(m.roleid) = k.name)
                      ) AS f (step, sql) ORDER BY f.step, f.sql
                  ) AS "fix!"
             FROM excess e ORDER BY e.rolname, e.name"#,
        &purpose.roles(),
        login,
    )
    .fetch_all(connection)
    .await?;
    let of_row = |Row { privilege, holder, fix }| {
        let is_superuser = privilege == SUPERUSER && holder == login;
        let fix = if is_superuser { vec![replacement(purpose)] } else { fix };
        ExcessPrivilege { login: login.to_owned(), holder, privilege, fix }
    };
    Ok(rows.into_iter().map(of_row).collect())
}

/// Returns the statement that creates a login for this purpose. A superuser is replaced and not
/// restricted, because it may be the only one.
pub(super) fn replacement(purpose: LoginPurpose) -> String {
    let login = match purpose {
        LoginPurpose::Api => "ade_api",
        LoginPurpose::Workers => "ade_work",
        LoginPurpose::Replica => "ade_read",
    };
    let roles = purpose.roles().join(", ");
    format!("CREATE ROLE {login} LOGIN PASSWORD '…' IN ROLE {roles}")
}
