//! The objects of a database, and the differences between two snapshots. Both are taken inside one
//! transaction, before and after a script. Objects are identified by their number, so that a new
//! name is a change and not a loss.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::change::Digest;
use ade_core::limits::{SQL_PREVIEW_OBJECTS_MAX, SQL_PREVIEW_TEXT_MAX_BYTES};
use sqlx::PgConnection;
use sqlx::postgres::types::Oid;

use super::{Action, ObjectChange, RowCounts, ScriptPreviewError, cut};

/// The key of an object: its kind, its number, and the number of a part (a column).
type Key = (String, i64, i32);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    name: String,
    definition: String,
    /// The relation it belongs to, or zero.
    relation: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    name: String,
    inserted: i64,
    updated: i64,
    deleted: i64,
    /// The file that holds its rows; it changes with TRUNCATE and with a rewrite.
    file: Oid,
    bytes: i64,
}

#[derive(Debug)]
pub(super) struct Look {
    objects: BTreeMap<Key, Object>,
    tables: BTreeMap<i64, Table>,
    sequences: BTreeMap<String, i64>,
}

const OBJECTS: &str = include_str!("objects.sql");
// The size is read of new files only: these belong to the script, so there is no wait for a lock.
const TABLES: &str = "
    SELECT c.oid::int8, format('%I.%I', n.nspname, c.relname),
           coalesce(x.n_tup_ins, 0), coalesce(x.n_tup_upd, 0), coalesce(x.n_tup_del, 0),
           c.relfilenode,
           CASE WHEN c.relfilenode <> ALL ($1::oid[]) THEN pg_relation_size(c.oid) ELSE 0 END
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_stat_xact_user_tables x ON x.relid = c.oid
     WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_'
       AND n.nspname <> 'information_schema'";
const SEQUENCES: &str = "
    SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
     WHERE last_value IS NOT NULL";

impl Look {
    /// Takes a snapshot. The caller has set the search path to `pg_catalog` alone.
    pub async fn take(
        connection: &mut PgConnection,
        before: Option<&Self>,
    ) -> Result<Self, ScriptPreviewError> {
        let files: Option<Vec<Oid>> =
            before.map(|look| look.tables.values().map(|table| table.file).collect());
        let sql = format!("{OBJECTS} LIMIT {}", SQL_PREVIEW_OBJECTS_MAX + 1);
        let rows: Vec<(String, i64, i32, String, String, i64)> =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *connection).await?;
        if rows.len() > SQL_PREVIEW_OBJECTS_MAX {
            return Err(ScriptPreviewError::TooManyObjects);
        }
        let tables: Vec<(i64, String, i64, i64, i64, Oid, i64)> =
            sqlx::query_as(TABLES).bind(files).fetch_all(&mut *connection).await?;
        let sequences: Vec<(String, i64)> =
            sqlx::query_as(SEQUENCES).fetch_all(&mut *connection).await?;
        let objects = rows.into_iter().map(|(kind, number, part, name, definition, relation)| {
            ((kind, number, part), Object { name, definition, relation })
        });
        let tables =
            tables.into_iter().map(|(number, name, inserted, updated, deleted, file, bytes)| {
                (number, Table { name, inserted, updated, deleted, file, bytes })
            });
        Ok(Self {
            objects: objects.collect(),
            tables: tables.collect(),
            sequences: sequences.into_iter().collect(),
        })
    }

    pub fn object_changes(&self, after: &Self) -> Vec<ObjectChange> {
        let keys: BTreeSet<&Key> = self.objects.keys().chain(after.objects.keys()).collect();
        let changes = keys.into_iter().filter_map(|key| {
            let (old, new) = (self.objects.get(key), after.objects.get(key));
            let action = match (old, new) {
                (Some(old), Some(new)) if old == new => return None,
                (Some(_), Some(_)) => Action::Changed,
                (Some(_), None) => Action::Dropped,
                (None, _) => Action::Created,
            };
            let text = |object: Option<&Object>| {
                let object = object?;
                let full = format!("{}: {}", object.name, object.definition);
                Some(cut(&full, SQL_PREVIEW_TEXT_MAX_BYTES))
            };
            Some(ObjectChange {
                kind: key.0.clone(),
                name: old.or(new).map(|object| object.name.clone()).unwrap_or_default(),
                action,
                irreversible: is_irreversible(&key.0, old, new),
                before: text(old),
                after: text(new),
            })
        });
        changes.collect()
    }

    /// Returns the rows written and the tables emptied. A table that was rewritten without any
    /// redefinition was emptied first, whatever it contains now.
    pub fn row_changes(&self, after: &Self) -> Vec<RowCounts> {
        let redefined = self.changed_relations(after);
        let mut changes = Vec::new();
        for (number, table) in &after.tables {
            let old = self.tables.get(number);
            let emptied = old.is_some_and(|old| {
                old.file != table.file && (table.bytes == 0 || !redefined.contains(number))
            });
            let since = |count: fn(&Table) -> i64| {
                let grown = count(table) - old.map_or(0, count);
                u64::try_from(grown).unwrap_or_default()
            };
            let counts = RowCounts {
                table: table.name.clone(),
                inserted: since(|table| table.inserted),
                updated: since(|table| table.updated),
                deleted: since(|table| table.deleted),
                emptied,
            };
            if counts.emptied || counts.inserted + counts.updated + counts.deleted > 0 {
                changes.push(counts);
            }
        }
        changes.sort_by(|left, right| left.table.cmp(&right.table));
        changes
    }

    /// Returns sequences that were set back. A rollback does not restore them: gaps are harmless,
    /// but going back issues numbers twice.
    pub fn sequences_set_back(&self, after: &Self) -> Vec<String> {
        let set_back = self
            .sequences
            .iter()
            .filter(|(name, last)| after.sequences.get(*name).is_some_and(|now| now < last));
        set_back.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the version of each touched table before the script, for later comparison.
    pub fn versions(&self, after: &Self) -> BTreeMap<String, String> {
        let mut touched = self.changed_relations(after);
        touched.extend(after.tables.iter().filter_map(|(number, table)| {
            self.tables.get(number).is_none_or(|old| old != table).then_some(*number)
        }));
        let tables = self.tables.iter().filter(|(number, _)| touched.contains(number));
        tables.map(|(number, table)| (table.name.clone(), self.fingerprint(*number))).collect()
    }

    fn fingerprint(&self, relation: i64) -> String {
        let mut text = String::new();
        for ((kind, number, part), object) in &self.objects {
            if object.relation == relation {
                let place = format!("{kind}\0{number}\0{part}\0");
                text.extend([&place, object.name.as_str(), "\0", &object.definition, "\0"]);
            }
        }
        Digest::of(text.as_bytes()).to_string()
    }

    fn changed_relations(&self, after: &Self) -> BTreeSet<i64> {
        let keys: BTreeSet<&Key> = self.objects.keys().chain(after.objects.keys()).collect();
        let changed = keys.into_iter().filter_map(|key| {
            let (old, new) = (self.objects.get(key), after.objects.get(key));
            (old != new).then(|| old.or(new).map(|object| object.relation))?
        });
        changed.filter(|relation| *relation != 0).collect()
    }
}

/// Returns whether a change loses data: with its table or column, or by a change of the column
/// type.
fn is_irreversible(kind: &str, old: Option<&Object>, new: Option<&Object>) -> bool {
    let data_type = |object: &Object| object.definition.split(" | ").next().map(str::to_owned);
    match (kind, old, new) {
        ("table" | "column" | "role", Some(_), None) => true,
        ("column", Some(old), Some(new)) => data_type(old) != data_type(new),
        _ => false,
    }
}
