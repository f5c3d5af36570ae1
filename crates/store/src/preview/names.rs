//! Resolves the names of a script in its database. A listed function or operator is opaque if the
//! search path also has one outside of `pg_catalog`, because PostgreSQL may choose that one.

use sqlx::PgConnection;

use super::script::{Names, OpaqueKind, OpaqueReason, position};

/// Functions outside of `pg_catalog` that the names may resolve to. Immutable functions in C or of
/// an extension were installed as such by an administrator. A column name is looked up because
/// `item.name` calls `name(item)` if the table has no such column.
const CANDIDATES: &str = "
    WITH space AS (
        SELECT oid FROM pg_namespace WHERE nspname = ANY ($1) AND nspname <> 'pg_catalog'
    ), routine AS (
        SELECT p.* FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
         WHERE NOT (p.provolatile = 'i' AND (l.lanname IN ('c', 'internal') OR EXISTS (
             SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                AND d.deptype = 'e')))
    )
    SELECT 'function', p.proname::text FROM routine p JOIN space s ON s.oid = p.pronamespace
     WHERE p.proname = ANY ($2)
    UNION
    SELECT 'field', p.proname::text FROM routine p JOIN space s ON s.oid = p.pronamespace
      JOIN pg_type t ON t.oid = p.proargtypes[0]
     WHERE p.proname = ANY ($3) AND p.pronargs = 1 AND t.typtype IN ('c', 'p')
    UNION
    SELECT 'operator', o.oprname::text FROM pg_operator o JOIN space s ON s.oid = o.oprnamespace
      JOIN routine p ON p.oid = o.oprcode
     WHERE o.oprname = ANY ($4)
    ORDER BY 1, 2";

/// Returns the names that may call other functions than the listed ones. `path` is the search path
/// under which the script will run.
pub(super) async fn shadowed(
    connection: &mut PgConnection,
    path: &[String],
    script: &str,
    names: &Names,
) -> Result<Vec<OpaqueReason>, sqlx::Error> {
    let listed = [&names.functions, &names.fields, &names.operators]
        .map(|names| names.keys().cloned().collect::<Vec<String>>());
    let [functions, fields, operators] = listed;
    let rows: Vec<(String, String)> = sqlx::query_as(CANDIDATES)
        .bind(path)
        .bind(functions)
        .bind(fields)
        .bind(operators)
        .fetch_all(connection)
        .await?;
    let reasons = rows.into_iter().map(|(kind, name)| {
        let offsets = match kind.as_str() {
            "function" => &names.functions,
            "field" => &names.fields,
            _ => &names.operators,
        };
        let offset = offsets.get(&name).copied().unwrap_or_default();
        OpaqueReason { kind: OpaqueKind::Shadowed, position: position(script, offset), name }
    });
    Ok(reasons.collect())
}
