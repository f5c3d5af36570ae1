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
    /// As in `pg_class.relkind`: a table, a partitioned table, a materialized view or a sequence.
    kind: String,
    name: String,
    inserted: i64,
    updated: i64,
    deleted: i64,
    /// The file that holds its rows; it changes with TRUNCATE and with a rewrite.
    file: Oid,
    bytes: i64,
    /// The number of rows by the statistics; negative if it is unknown.
    rows: i64,
}

impl Table {
    fn known_rows(&self) -> Option<u64> {
        u64::try_from(self.rows).ok()
    }
}

#[derive(Debug)]
pub(super) struct Look {
    objects: BTreeMap<Key, Object>,
    tables: BTreeMap<i64, Table>,
}

type TableRow = (i64, String, String, i64, i64, i64, Oid, i64, i64);

const OBJECTS: &str = include_str!("objects.sql");
// The size is read of new files only: these belong to the script, so there is no wait for a lock.
const TABLES: &str = "
    SELECT c.oid::int8, c.relkind::text, format('%I.%I', n.nspname, c.relname),
           coalesce(x.n_tup_ins, 0), coalesce(x.n_tup_upd, 0), coalesce(x.n_tup_del, 0),
           c.relfilenode,
           CASE WHEN c.relfilenode <> ALL ($1::oid[]) THEN pg_relation_size(c.oid) ELSE 0 END,
           c.reltuples::int8
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_stat_xact_user_tables x ON x.relid = c.oid
     WHERE c.relkind IN ('r', 'p', 'm', 'S') AND n.nspname !~ '^pg_'
       AND n.nspname <> 'information_schema'";
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
        let tables: Vec<TableRow> =
            sqlx::query_as(TABLES).bind(files).fetch_all(&mut *connection).await?;
        let objects = rows.into_iter().map(|(kind, number, part, name, definition, relation)| {
            ((kind, number, part), Object { name, definition, relation })
        });
        let tables = tables.into_iter().map(|row| {
            let (number, kind, name, inserted, updated, deleted, file, bytes, rows) = row;
            (number, Table { kind, name, inserted, updated, deleted, file, bytes, rows })
        });
        Ok(Self { objects: objects.collect(), tables: tables.collect() })
    }

    pub fn object_changes(&self, after: &Self, shown: &ShownNames<'_>) -> Vec<ObjectChange> {
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
            let name = |object: Option<&'_ Object>| object.map(|object| object.name.clone());
            Some(ObjectChange {
                kind: key.0.clone(),
                name: name(old).or_else(|| Some(shown.new_name(&new?.name))).unwrap_or_default(),
                action,
                irreversible: is_irreversible(&key.0, old, new),
                rows: self.tables.get(&key.1).and_then(Table::known_rows),
                before: text(old),
                after: text(new).filter(|_| shown.has_definitions()),
            })
        });
        changes.chain(self.refilled(after)).collect()
    }

    /// Returns sequences that were restarted and materialized views that were refreshed: both get
    /// a new file. The values that a sequence issues are not an effect, since a rollback leaves
    /// them as they are.
    fn refilled(&self, after: &Self) -> impl Iterator<Item = ObjectChange> {
        let refilled = self.tables.iter().filter_map(|(number, old)| {
            let kind = match old.kind.as_str() {
                "S" => "value of sequence",
                "m" => "rows of materialized view",
                _ => return None,
            };
            let new = after.tables.get(number)?;
            (new.file != old.file).then(|| ObjectChange {
                kind: kind.to_owned(),
                name: old.name.clone(),
                action: Action::Changed,
                irreversible: old.kind == "S",
                rows: None,
                before: None,
                after: None,
            })
        });
        refilled.collect::<Vec<_>>().into_iter()
    }

    /// Returns the rows written and the tables emptied. A table that was rewritten without any
    /// redefinition was emptied first, whatever it contains now.
    pub fn row_changes(&self, after: &Self, shown: &ShownNames<'_>) -> Vec<RowCounts> {
        let redefined = self.changed_relations(after);
        let mut changes = Vec::new();
        let tables = after.tables.iter().filter(|(_, table)| matches!(&*table.kind, "r" | "p"));
        for (number, table) in tables {
            let old = self.tables.get(number);
            let emptied = old.is_some_and(|old| {
                old.file != table.file && (table.bytes == 0 || !redefined.contains(number))
            });
            let since = |count: fn(&Table) -> i64| {
                let grown = count(table) - old.map_or(0, count);
                u64::try_from(grown).unwrap_or_default()
            };
            let counts = RowCounts {
                table: shown.table_name(old.map(|old| old.name.as_str()), &table.name),
                before: old.and_then(Table::known_rows),
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

/// Which names of new objects are shown. An opaque script can put rows into names and definitions,
/// so a new name of it is shown only if all its words occur in the script or in names from before.
#[derive(Debug)]
pub(super) struct ShownNames<'a> {
    opaque: Option<OpaqueWords<'a>>,
}

#[derive(Debug)]
struct OpaqueWords<'a> {
    script: BTreeSet<&'a str>,
    before: BTreeSet<&'a str>,
}

impl<'a> ShownNames<'a> {
    /// `script` is absent if the script is plain.
    pub fn new(before: &'a Look, script: Option<&'a str>) -> Self {
        let opaque = script.map(|script| OpaqueWords {
            script: words(script).collect(),
            before: before.objects.values().flat_map(|object| words(&object.name)).collect(),
        });
        Self { opaque }
    }

    fn has_definitions(&self) -> bool {
        self.opaque.is_none()
    }

    fn new_name(&self, name: &str) -> String {
        let is_shown = self.opaque.as_ref().is_none_or(|known| {
            words(name).all(|word| known.script.contains(word) || known.before.contains(word))
        });
        if is_shown { name.to_owned() } else { WITHHELD.to_owned() }
    }

    /// A plain script may rename a table; its rows are reported under the new name.
    fn table_name(&self, old: Option<&str>, new: &str) -> String {
        match old {
            Some(old) if self.opaque.is_some() => old.to_owned(),
            _ => self.new_name(new),
        }
    }
}

const WITHHELD: &str = "(name withheld)";

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
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
