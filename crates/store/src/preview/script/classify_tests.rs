//! Scripts that are plain, and for each rule a script that breaks it, with the position.

use super::OpaqueKind::{Catalogue, Condition, Function, Statement};
use super::*;

fn reasons(script: &str) -> Vec<OpaqueReason> {
    classify(script).unwrap().reasons
}

#[test]
fn script_of_plain_statements_is_plain() {
    for script in [
        "",
        "-- nothing\n;;",
        "SELECT count(*) FROM item WHERE lower(name) LIKE 'a%' GROUP BY old HAVING max(id) > 1",
        "INSERT INTO item VALUES (11, 'new', now()), (12, 'newer', current_timestamp - '1 day')",
        "INSERT INTO item (id, at) SELECT id, coalesce(at, now()) FROM b ON CONFLICT DO NOTHING",
        "UPDATE item SET name = upper(name), at = clock_timestamp() WHERE id <= 3 RETURNING id",
        "WITH x AS (DELETE FROM sale WHERE id < 3 RETURNING *) INSERT INTO old SELECT * FROM x",
        "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN UPDATE SET x = b.x \
         WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.x)",
        "TRUNCATE sale RESTART IDENTITY CASCADE",
        "CREATE TABLE tag (id bigserial PRIMARY KEY,
             word text NOT NULL DEFAULT 'x' CHECK (word <> ''),
             at timestamptz DEFAULT now(), up text GENERATED ALWAYS AS (upper(word)) STORED,
             item int REFERENCES item ON DELETE CASCADE) PARTITION BY RANGE (id)",
        "CREATE TABLE one PARTITION OF tag FOR VALUES FROM (1) TO (10)",
        "ALTER TABLE item ADD COLUMN price numeric(10, 2) NOT NULL DEFAULT 0, DROP COLUMN old,
             ALTER COLUMN id TYPE bigint USING id::bigint, ADD CONSTRAINT p CHECK (price >= 0),
             ENABLE ROW LEVEL SECURITY, SET (fillfactor = 80), OWNER TO someone",
        "ALTER TABLE sale RENAME TO sold; ALTER TABLE sold SET SCHEMA archive",
        "CREATE UNIQUE INDEX i ON item (lower(name)) WHERE old IS NULL; DROP INDEX i",
        "CREATE VIEW v AS SELECT * FROM item; CREATE MATERIALIZED VIEW m AS SELECT 1 AS one;
         REFRESH MATERIALIZED VIEW m; DROP VIEW v",
        "CREATE TYPE mood AS ENUM ('sad'); ALTER TYPE mood ADD VALUE 'ok'; DROP TYPE mood",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE SCHEMA s CREATE TABLE t (a int)",
        "CREATE SEQUENCE s START 5; ALTER SEQUENCE s RESTART WITH 7; DROP SEQUENCE s",
        "GRANT SELECT ON item TO PUBLIC; REVOKE ALL ON SCHEMA shop FROM other",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
        "CREATE POLICY p ON item USING (id > 1); DROP POLICY p ON item; DROP FUNCTION f(int)",
        "COMMENT ON TABLE item IS 'now'",
        "SELECT extract(year FROM at), at AT TIME ZONE 'utc', substring(name FROM 2) FROM item",
    ] {
        assert_eq!(reasons(script), [], "{script}");
    }
}

const OPAQUE: &[(&str, OpaqueKind, &str, usize)] = &[
    ("DO 'BEGIN END'", Statement, "DO", 1),
    ("SELECT 1; CALL f()", Statement, "CALL", 11),
    ("SELECT 1;\n -- é\n  DO $$ $$", Statement, "DO", 19),
    ("SET search_path = x", Statement, "SET or SHOW", 1),
    ("RESET ALL", Statement, "SET or SHOW", 1),
    ("SET CONSTRAINTS ALL DEFERRED", Statement, "SET or SHOW", 1),
    ("LOCK item", Statement, "LOCK", 1),
    ("COPY item TO PROGRAM 'x'", Statement, "COPY", 1),
    ("PREPARE p AS SELECT 1", Statement, "a prepared statement", 1),
    ("EXECUTE p", Statement, "a prepared statement", 1),
    ("COMMIT", Statement, "transaction control", 1),
    ("CREATE FUNCTION f() RETURNS int RETURN 1", Statement, "a function", 1),
    ("CREATE TRIGGER t BEFORE INSERT ON a EXECUTE FUNCTION f()", Statement, "CREATE TRIGGER", 1),
    ("CREATE RULE r AS ON DELETE TO a DO INSTEAD NOTHING", Statement, "CREATE RULE", 1),
    ("CREATE OPERATOR + (FUNCTION = f)", Statement, "an operator, aggregate or similar object", 1),
    (
        "CREATE SCHEMA s CREATE TRIGGER t BEFORE INSERT ON a EXECUTE FUNCTION f()",
        Statement,
        "CREATE TRIGGER",
        1,
    ),
    ("CREATE EXTENSION dblink", Statement, "an extension", 1),
    ("IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c", Statement, "this kind of statement", 1),
    ("ALTER FUNCTION evil(int) RENAME TO lower", Statement, "this kind of statement", 1),
    ("ALTER SCHEMA hidden RENAME TO shop", Statement, "this kind of statement", 1),
    ("ALTER FOREIGN TABLE a ADD COLUMN b int", Statement, "ALTER of this kind of object", 1),
    ("EXPLAIN ANALYZE DELETE FROM a", Statement, "EXPLAIN", 1),
    ("DECLARE c CURSOR FOR SELECT 1", Statement, "a cursor", 1),
    ("NOTIFY a", Statement, "LISTEN or NOTIFY", 1),
    ("CREATE ROLE a", Statement, "a role", 1),
    ("CREATE TABLE a AS EXECUTE p", Statement, "a prepared statement", 1),
    ("SELECT * FROM item TABLESAMPLE system (1)", Statement, "TABLESAMPLE", 32),
    ("SELECT U&\"\\0073etval\"('s', 1)", Function, "setval", 8),
    ("SELECT \"setval\"('s', 1)", Function, "setval", 8),
    ("SELECT SETVAL('s', 1)", Function, "setval", 8),
    ("SELECT pg_catalog.setval('s', 1)", Function, "setval", 8),
    ("SELECT shop.lower('s')", Function, "shop.lower", 8),
    ("SELECT nextval('s')", Function, "nextval", 8),
    ("SELECT pg_sleep(1)", Function, "pg_sleep", 8),
    ("SELECT set_config('a', 'b', true)", Function, "set_config", 8),
    ("SELECT current_setting('application_name')", Function, "current_setting", 8),
    ("SELECT query_to_xml('DELETE FROM a', true, true, '')", Function, "query_to_xml", 8),
    ("SELECT lo_create(1)", Function, "lo_create", 8),
    ("SELECT 1 OPERATOR(shop.+) 2", Function, "shop.+", 10),
    ("SELECT current_user", Function, "current_user or similar", 8),
    ("INSERT INTO a VALUES (session_user)", Function, "current_user or similar", 23),
    ("CREATE INDEX i ON a (evil(b))", Function, "evil", 22),
    ("CREATE TABLE a (b int DEFAULT nextval('s'))", Function, "nextval", 31),
    ("ALTER TABLE a ADD CHECK (pg_sleep(1) IS NULL)", Function, "pg_sleep", 26),
    ("DELETE FROM a WHERE random() < 0.5", Condition, "random", 21),
    ("DELETE FROM a WHERE at < now()", Condition, "now", 26),
    ("UPDATE a SET b = CASE WHEN now() > c THEN 1 END", Condition, "now", 28),
    ("INSERT INTO a VALUES ((SELECT 1 WHERE now() > '2026-01-01'))", Condition, "now", 39),
    ("DELETE FROM a WHERE CURRENT_DATE > b", Condition, "current_timestamp", 21),
    ("DELETE FROM a WHERE b < 'Tomorrow'", Condition, "tomorrow", 25),
    ("DELETE FROM a WHERE b < ('no' || 'w')::timestamptz", Condition, "timestamptz", 38),
    ("DELETE FROM a USING pg_stat_activity s", Catalogue, "pg_stat_activity", 21),
    ("SELECT 1 FROM information_schema.tables", Catalogue, "tables", 15),
    ("SELECT 1 FROM pg_catalog.pg_locks", Catalogue, "pg_locks", 15),
    ("INSERT INTO pg_settings VALUES (1)", Catalogue, "pg_settings", 13),
];

#[test]
fn script_with_an_opaque_part_names_it() {
    for &(script, kind, name, position) in OPAQUE {
        let found = reasons(script);
        let expected = OpaqueReason { kind, name: name.to_owned(), position };
        assert_eq!(found.first(), Some(&expected), "{script}: {found:?}");
    }
}

#[test]
fn script_names_for_the_search_path_are_collected() {
    let script = "SELECT lower(i.name) || 'x', (i).evil, pg_catalog.upper('a') FROM item i \
                  WHERE a === b ORDER BY c USING <#>";
    let Names { functions, operators, fields } = classify(script).unwrap().names;
    assert_eq!(functions.keys().collect::<Vec<_>>(), ["lower"]);
    for operator in ["||", "===", "<#>", "="] {
        assert!(operators.contains_key(operator), "{operator}: {operators:?}");
    }
    for field in ["name", "evil", "a"] {
        assert!(fields.contains_key(field), "{field}: {fields:?}");
    }
    assert_eq!(position(script, fields["name"]), 14);
}

#[test]
fn script_outside_the_grammar_is_unparsable() {
    let too_deep = format!("SELECT 1{}", "+1".repeat(100_000));
    let nested = format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for script in ["SELECTED 1", "SELECT '", "SELECT 1 FROM", "\0", &too_deep, &nested] {
        assert_eq!(classify(script), Err(Unparsable));
    }
}

#[test]
fn script_reasons_are_bounded() {
    let script = "DO 'x';".repeat(1_000);
    assert_eq!(reasons(&script).len(), ade_core::limits::SQL_PREVIEW_REASONS_MAX);
}
