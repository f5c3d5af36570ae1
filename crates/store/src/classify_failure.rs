//! Finds out after a failed write whether the audit table was the cause: PostgreSQL names neither
//! the table behind a lock nor the one behind a file. It costs nothing while writes succeed.

use sqlx::{PgExecutor, query_scalar};

/// A failure whose affected table PostgreSQL does not name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteFailure {
    /// A lock timed out.
    Lock,
    /// A file could not grow or be written, with its path as PostgreSQL spells it.
    File(String),
}

/// Asks whether the audit table is locked. Partitions are selected by name and by parent, because
/// the function that lists partitions waits for their locks. A session that waits for a strong lock
/// blocks others as well: they queue behind it.
const IS_LOCKED: &str = "
    WITH audit (id) AS (
        SELECT to_regclass('public.audit_entry')::oid
        UNION ALL
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('public.audit_entry'))
    SELECT EXISTS (
        SELECT FROM pg_locks l JOIN audit ON audit.id = l.relation
         WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                          'AccessExclusiveLock'))";
/// Asks whether the file belongs to the audit table, its indexes or its out-of-line storage.
const IS_ITS_FILE: &str = "
    WITH audit (id) AS (
        SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('public.audit_entry')),
    parts (id) AS (
        SELECT id FROM audit
        UNION ALL
        SELECT c.reltoastrelid FROM pg_class c JOIN audit ON audit.id = c.oid)
    SELECT EXISTS (
        SELECT FROM parts WHERE pg_relation_filepath(parts.id) = $1
        UNION ALL
        SELECT FROM pg_index i JOIN parts ON parts.id = i.indrelid
         WHERE pg_relation_filepath(i.indexrelid) = $1)";

impl WriteFailure {
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        let database = error.as_database_error()?;
        match database.code()?.as_ref() {
            "55P03" => Some(Self::Lock),
            // A full disk and a failing disk.
            "53100" | "58030" => file_in(database.message()).map(Self::File),
            _ => None,
        }
    }

    /// Returns whether the audit table was the cause. It runs outside the failed transaction.
    pub async fn is_about_audit<'c>(
        &self,
        connection: impl PgExecutor<'c>,
    ) -> Result<bool, sqlx::Error> {
        match self {
            Self::Lock => query_scalar(IS_LOCKED).fetch_one(connection).await,
            Self::File(path) => query_scalar(IS_ITS_FILE).bind(path).fetch_one(connection).await,
        }
    }
}

/// Returns the path between the first quotes, whatever the language of the message, without the
/// segment number and the name of the fork: `base/5/16385_fsm.1` is a file of `base/5/16385`.
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
    fn diagnosis_finds_the_file_in_messages_of_any_language() {
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
