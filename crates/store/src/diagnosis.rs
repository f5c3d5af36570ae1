//! Whether it was the audit that took nothing, asked once a write has failed: PostgreSQL names
//! neither the table behind a lock nor the one behind a file. Costs nothing while all is well.

use sqlx::{PgConnection, query_scalar};

/// What an error leaves open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Whose lock was in the way.
    Lock,
    /// Whose file could not grow or be written; as PostgreSQL spells its path.
    File(String),
}

/// Taken by name and by parent, since the function that lists partitions waits for their locks.
/// Whoever waits for a strong lock is in the way as well: all others queue behind it.
const IS_LOCKED: &str = "
    WITH audit (id) AS (
        SELECT to_regclass('public.audit_leaf')::oid
        UNION ALL
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('public.audit_leaf'))
    SELECT EXISTS (
        SELECT FROM pg_locks l JOIN audit ON audit.id = l.relation
         WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                          'AccessExclusiveLock'))";
/// Tables, their indexes and what is stored beside them.
const IS_ITS_FILE: &str = "
    WITH audit (id) AS (
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('public.audit_leaf')),
    parts (id) AS (
        SELECT id FROM audit
        UNION ALL
        SELECT c.reltoastrelid FROM pg_class c JOIN audit ON audit.id = c.oid)
    SELECT EXISTS (
        SELECT FROM parts WHERE pg_relation_filepath(parts.id) = $1
        UNION ALL
        SELECT FROM pg_index i JOIN parts ON parts.id = i.indrelid
         WHERE pg_relation_filepath(i.indexrelid) = $1)";

impl Doubt {
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        let database = error.as_database_error()?;
        match database.code()?.as_ref() {
            "55P03" => Some(Self::Lock),
            // Disk full, and a disk that fails.
            "53100" | "58030" => file_in(database.message()).map(Self::File),
            _ => None,
        }
    }

    /// Asked outside the transaction that failed.
    pub async fn is_about_audit(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        match self {
            Self::Lock => query_scalar(IS_LOCKED).fetch_one(connection).await,
            Self::File(path) => query_scalar(IS_ITS_FILE).bind(path).fetch_one(connection).await,
        }
    }
}

/// The path between the first quotes, whatever the language around it, without the number of the
/// segment and the name of the fork: `base/5/16385_fsm.1` is a file of `base/5/16385`.
fn file_in(message: &str) -> Option<String> {
    let path = message.split('"').nth(1)?;
    let (folder, file) = path.rsplit_once('/')?;
    let number = file.split(['.', '_']).next()?;
    Some(format!("{folder}/{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_in_any_language_and_without_its_fork_and_segment() {
        for (message, path) in [
            ("could not extend file \"base/5/16385\": No space left", Some("base/5/16385")),
            ("konnte \"pg_tblspc/9/PG_15_1/5/77_fsm\" nicht", Some("pg_tblspc/9/PG_15_1/5/77")),
            ("could not write block 3 in file \"base/5/16385.2\"", Some("base/5/16385")),
            ("could not write to \"file\"", None),
            ("no file at all", None),
        ] {
            assert_eq!(file_in(message).as_deref(), path, "{message}");
        }
    }
}
