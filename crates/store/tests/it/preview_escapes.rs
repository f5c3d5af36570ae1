//! Attempts to escape a preview, each with a name. None leaves an effect, keeps a session with its
//! locks, or returns a row; and on a live target none is executed that is not plain.

use std::time::Duration;

use ade_store::preview::{Limits, ScriptPreview, ScriptPreviewError, TargetKind};
use sqlx::PgConnection;

use self::Live::{Executed, Refused};
use crate::preview::Target;
use crate::test_database::run;

/// A row that no preview may return.
const SECRET: &str = "4111-1111-1111-1111";

/// What a live target does with a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Live {
    /// It is opaque and not executed.
    Refused,
    /// It is plain.
    Executed,
}

type Attempt = (&'static str, Live, &'static str);

/// Runs every attempt on a copy and on a live target.
async fn assert_contained(attempts: &[Attempt], limits: &Limits) {
    let target = Target::live().await;
    let mut admin = target.database.connect().await;
    let setup = format!(
        "UPDATE shop.item SET name = '{SECRET}' WHERE id = 1;
         CREATE SEQUENCE shop.numbers; GRANT ALL ON shop.numbers TO {login};
         CREATE FUNCTION shop.evil(shop.item) RETURNS int LANGUAGE plpgsql AS
             'BEGIN PERFORM setval(''shop.numbers'', 999); RETURN 1; END';
         CREATE FUNCTION shop.initcap(int) RETURNS int LANGUAGE plpgsql AS
             'BEGIN PERFORM setval(''shop.numbers'', 998); RETURN 1; END';
         CREATE OPERATOR shop.@@@ (FUNCTION = shop.initcap, RIGHTARG = int)",
        login = target.login
    );
    run(&mut admin, &setup).await;
    for kind in [TargetKind::Copy, TargetKind::Live] {
        let before = Traces::read(&target, &mut admin, kind).await;
        for (name, live, script) in attempts {
            let seen = target.preview(kind, script, limits).await;
            assert!(!format!("{seen:?}").contains("4111"), "{name} returned a row: {seen:?}");
            assert_ended(name, kind, *live, &seen);
            target.wait_until_unused(&mut admin, name).await;
            let after = Traces::read(&target, &mut admin, kind).await;
            assert_eq!(after, before, "{name}, {kind:?}");
        }
    }
}

fn assert_ended(
    name: &str,
    kind: TargetKind,
    live: Live,
    seen: &Result<ScriptPreview, ScriptPreviewError>,
) {
    match seen {
        Ok(seen) if kind == TargetKind::Live && live == Refused => {
            let is_known = |code| matches!(code, "0A000" | "42601" | "22021");
            assert!(is_known(seen.errors[0].sqlstate), "{name}: {seen:?}");
            assert!(seen.rows.is_empty() && seen.objects.is_empty(), "{name}: {seen:?}");
        }
        Ok(seen) if live == Refused => {
            let is_proven = seen.opaque.is_empty() && seen.errors.is_empty();
            assert!(!is_proven, "{name} counts as observed: {seen:?}");
        }
        Ok(seen) => assert_eq!(seen.opaque, [], "{name} is plain"),
        Err(error) => {
            let is_refused = kind == TargetKind::Live && live == Refused;
            let is_late = matches!(
                error,
                ScriptPreviewError::Deadline
                    | ScriptPreviewError::Busy
                    | ScriptPreviewError::Unreachable(_)
            );
            assert!(is_late && !is_refused, "{name}: {error}");
        }
    }
}

/// What an escape would change. On a copy, no application depends on sequences and messages.
#[derive(Debug, PartialEq)]
struct Traces {
    shop: String,
    others: String,
    live: Option<String>,
}

impl Traces {
    async fn read(target: &Target, admin: &mut PgConnection, kind: TargetKind) -> Self {
        // Roles, locks and sessions belong to the whole cluster, in which other tests run too.
        let others = "
            SELECT concat_ws(' ', (SELECT count(*) FROM pg_largeobject_metadata),
                (SELECT string_agg(concat_ws(' ', rolsuper, rolcreaterole, rolconfig,
                        (SELECT count(*) FROM pg_auth_members WHERE member = r.oid)), ',')
                   FROM pg_roles r WHERE rolname IN ($1, 'escaped')),
                (SELECT count(*) FROM pg_replication_slots WHERE database = current_database()),
                (SELECT count(*) FROM pg_database WHERE datname = 'escaped'),
                (SELECT count(*) FROM pg_tablespace WHERE spcname = 't'),
                (SELECT count(*) FROM pg_extension), (SELECT count(*) FROM pg_event_trigger),
                (SELECT count(*) FROM pg_foreign_server), (SELECT count(*) FROM pg_proc),
                (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_operator),
                (SELECT count(*) FROM pg_cast), (SELECT count(*) FROM pg_publication),
                (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database =
                    (SELECT oid FROM pg_database WHERE datname = current_database())))";
        let numbers = "SELECT string_agg(last_value::text, ',' ORDER BY sequencename)
                         FROM pg_sequences WHERE schemaname = 'shop' AND sequencename = 'numbers'";
        let others = sqlx::query_scalar(others).bind(&target.login);
        let others = others.fetch_one(&mut *admin).await.unwrap();
        let live = match kind {
            TargetKind::Live => sqlx::query_scalar(numbers).fetch_one(&mut *admin).await.unwrap(),
            TargetKind::Copy => None,
        };
        Self { shop: Target::fingerprint_by(admin).await, others, live }
    }
}

const SEQUENCES_AND_MESSAGES: &[Attempt] = &[
    ("setval", Refused, "SELECT setval('numbers', 9)"),
    ("setval in capitals", Refused, "SELECT SETVAL('numbers', 9)"),
    ("setval quoted", Refused, "SELECT \"setval\"('numbers', 9)"),
    ("setval qualified", Refused, "SELECT pg_catalog . setval('numbers', 9, false)"),
    ("setval by Unicode escape", Refused, "SELECT U&\"\\0073etval\"('numbers', 9)"),
    (
        "setval by another escape",
        Refused,
        "SELECT U&\"!0073et!+000076al\" UESCAPE '!' ('numbers', 9)",
    ),
    ("setval in a comment's shadow", Refused, "SELECT /* /* */ */ set/**/val('numbers', 9)"),
    ("setval behind a comment", Refused, "SELECT setval/* x */('numbers', 9) -- '"),
    ("setval in full width", Refused, "SELECT ｓｅｔｖａｌ('numbers', 9)"),
    (
        "setval in EXECUTE",
        Refused,
        "DO $$ BEGIN EXECUTE 'SELECT set' || 'val(''numbers'', 9)'; END $$",
    ),
    (
        "setval in XML",
        Refused,
        "SELECT query_to_xml('SELECT setval(''numbers'', 9)', true, true, '')",
    ),
    (
        "setval as a default",
        Refused,
        "CREATE TABLE t (a bigint DEFAULT setval('numbers', 9)); INSERT INTO t DEFAULT VALUES",
    ),
    ("setval in CHECK", Refused, "ALTER TABLE item ADD CHECK (setval('numbers', 9) > 0)"),
    ("setval in WHERE", Refused, "DELETE FROM sale WHERE setval('numbers', 9) > 0"),
    ("setval in RETURNING", Refused, "DELETE FROM sale RETURNING setval('numbers', 9)"),
    ("setval in a window", Refused, "SELECT sum(setval('numbers', 9)) OVER () FROM sale"),
    ("setval in ORDER BY", Refused, "SELECT 1 FROM sale ORDER BY setval('numbers', 9)"),
    ("setval in LIMIT", Refused, "SELECT 1 FROM sale LIMIT setval('numbers', 9)"),
    (
        "setval in MERGE",
        Refused,
        "MERGE INTO sale s USING item i ON s.item = i.id WHEN MATCHED AND setval('numbers', \
         9) > 0 THEN DELETE WHEN NOT MATCHED THEN DO NOTHING",
    ),
    (
        "setval in a CTE",
        Refused,
        "WITH x AS MATERIALIZED (SELECT setval('numbers', 9)) SELECT * FROM x",
    ),
    ("setval in FROM", Refused, "SELECT * FROM setval('numbers', 9)"),
    ("nextval in a series", Refused, "SELECT nextval('numbers') FROM generate_series(1, 10000)"),
    ("sequence restarted", Executed, "ALTER SEQUENCE sale_id_seq RESTART WITH 9"),
    ("logical message", Refused, "SELECT pg_logical_emit_message(false, 'outbox', 'x')"),
    ("notification", Refused, "SELECT pg_notify('outbox', 'x')"),
    ("LISTEN", Refused, "LISTEN outbox; NOTIFY outbox, 'x'"),
];

#[tokio::test]
async fn escape_by_a_sequence_or_message_is_contained() {
    assert_contained(SEQUENCES_AND_MESSAGES, &Limits::default()).await;
}

const CODE: &[Attempt] = &[
    ("DO", Refused, "DO 'BEGIN DELETE FROM sale; END'"),
    (
        "detects the preview by name",
        Refused,
        "DO $$ BEGIN IF current_setting('application_name') = '' THEN DROP TABLE sale; END \
         IF; END $$",
    ),
    (
        "detects the preview by isolation",
        Refused,
        "DELETE FROM sale WHERE current_setting('transaction_isolation') <> 'repeatable read'",
    ),
    (
        "detects the preview by sessions",
        Refused,
        "DELETE FROM sale WHERE (SELECT count(*) FROM pg_stat_activity) > 1000",
    ),
    ("detects the preview by locks", Refused, "DELETE FROM sale USING pg_catalog.pg_locks"),
    ("detects the preview by user", Refused, "DELETE FROM sale WHERE session_user <> 'x'"),
    ("detects the preview by time", Refused, "DELETE FROM sale WHERE now() > '2100-01-01'"),
    (
        "detects the preview by a date word",
        Refused,
        "DELETE FROM sale WHERE 'now'::timestamptz > '2100-01-01'",
    ),
    ("chance", Refused, "DELETE FROM sale WHERE random() < 0.5"),
    ("sample", Refused, "DELETE FROM sale USING item TABLESAMPLE system (50)"),
    ("PREPARE", Refused, "PREPARE p AS DELETE FROM sale; EXECUTE p"),
    ("cursor", Refused, "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM item; FETCH ALL FROM c"),
    (
        "refcursor",
        Refused,
        "DO $$ DECLARE c refcursor; r record; BEGIN OPEN c FOR SELECT * FROM item; FETCH c \
         INTO r; RAISE NOTICE '%', r; END $$",
    ),
    (
        "temporary function",
        Refused,
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'DELETE FROM sale RETURNING \
         1'; SELECT pg_temp.f()",
    ),
    (
        "function",
        Refused,
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM pg_notify(''a'', \
         ''b''); END'; SELECT f()",
    ),
    (
        "function for others",
        Refused,
        "CREATE FUNCTION f() RETURNS int SECURITY DEFINER RETURN 1; GRANT EXECUTE ON FUNCTION \
         f TO PUBLIC",
    ),
    ("procedure that commits", Refused, "DELETE FROM sale; CALL commits()"),
    (
        "trigger",
        Refused,
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM sale; \
         RETURN NULL; END'; CREATE TRIGGER t AFTER UPDATE ON item EXECUTE FUNCTION f(); \
         UPDATE item SET old = 'y'",
    ),
    (
        "rule",
        Refused,
        "CREATE RULE r AS ON UPDATE TO item DO ALSO DELETE FROM sale; UPDATE item SET old = \
         'y'",
    ),
    (
        "event trigger",
        Refused,
        "CREATE FUNCTION f() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'; CREATE \
         EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION f()",
    ),
    (
        "generated column",
        Refused,
        "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM \
         setval(''numbers'', 9); RETURN 1; END'; ALTER TABLE sale ADD COLUMN g int GENERATED \
         ALWAYS AS (f(id)) STORED",
    ),
    ("index expression", Refused, "CREATE INDEX i ON item (evil(item))"),
    (
        "view of a function",
        Refused,
        "CREATE VIEW v AS SELECT shop.evil(i) FROM item i; SELECT * FROM v",
    ),
    ("materialized view", Refused, "CREATE MATERIALIZED VIEW m AS SELECT evil(i) FROM item i"),
    ("domain", Refused, "CREATE DOMAIN d AS int CHECK (setval('numbers', VALUE) > 0); SELECT 9::d"),
    (
        "policy",
        Refused,
        "CREATE POLICY p ON sale USING (setval('numbers', 9) > 0); ALTER TABLE sale FORCE ROW \
         LEVEL SECURITY, ENABLE ROW LEVEL SECURITY; SELECT * FROM sale",
    ),
    ("partition key", Refused, "CREATE TABLE t (a int) PARTITION BY RANGE (pg_sleep(a))"),
    ("operator", Refused, "SELECT @@@ 5"),
    ("qualified operator", Refused, "SELECT OPERATOR(shop.@@@) 5"),
    (
        "new operator",
        Refused,
        "CREATE OPERATOR <<<< (FUNCTION = initcap, RIGHTARG = int); SELECT <<<< 5",
    ),
    (
        "aggregate",
        Refused,
        "CREATE AGGREGATE a (int) (SFUNC = int4pl, STYPE = int, FINALFUNC = initcap); SELECT \
         a(1)",
    ),
    (
        "cast",
        Refused,
        "CREATE CAST (item AS int) WITH FUNCTION evil(item); SELECT i::int FROM item i",
    ),
    ("column that is a function", Refused, "SELECT i.evil FROM item i"),
    ("field that is a function", Refused, "SELECT (i.*).evil FROM item i"),
    ("overloaded name", Refused, "SELECT initcap(5)"),
    (
        "renamed function",
        Refused,
        "ALTER FUNCTION evil(item) RENAME TO lower; SELECT lower(i) FROM item i",
    ),
    ("moved schema", Refused, "CREATE SCHEMA s; ALTER SCHEMA s RENAME TO t"),
    ("search_path", Refused, "SET search_path = shop, pg_catalog; SELECT initcap(5)"),
    ("search_path by function", Refused, "SELECT set_config('search_path', 'shop', false)"),
    (
        "shadowed catalogue",
        Refused,
        "CREATE TEMP TABLE pg_class (oid oid); SET search_path = pg_temp, pg_catalog; DROP \
         TABLE sale",
    ),
    ("extension", Refused, "CREATE EXTENSION IF NOT EXISTS pg_trgm"),
    ("library", Refused, "LOAD 'auto_explain'"),
    ("language", Refused, "CREATE LANGUAGE plpython3u"),
    (
        "foreign server",
        Refused,
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE \
         FOREIGN TABLE f (a int) SERVER s",
    ),
    ("foreign schema", Refused, "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO shop"),
    ("subscription", Refused, "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1' PUBLICATION p"),
    ("publication", Refused, "CREATE PUBLICATION p FOR TABLE item"),
];

#[tokio::test]
async fn escape_by_code_of_the_script_is_contained() {
    assert_contained(CODE, &Limits::default()).await;
}

const TRANSACTIONS: &[Attempt] = &[
    ("COMMIT", Refused, "DELETE FROM sale; COMMIT; DROP TABLE sale"),
    ("COMMIT in EXECUTE", Refused, "DO $$ BEGIN DELETE FROM sale; EXECUTE 'COMM' || 'IT'; END $$"),
    ("ROLLBACK", Refused, "ROLLBACK; DROP TABLE sale"),
    ("savepoint", Refused, "SAVEPOINT a; DROP TABLE sale; RELEASE a"),
    ("two phases", Refused, "DROP TABLE sale; PREPARE TRANSACTION 'kept'"),
    (
        "end of the quote",
        Refused,
        "SELECT 1$script_0$; END $block_0$; COMMIT; DROP TABLE sale; DO $block_0$ BEGIN \
         EXECUTE $script_0$SELECT 1",
    ),
    ("backslash", Refused, "SELECT '\\'; COMMIT; DROP TABLE sale; --'"),
    ("zero byte", Refused, "SELECT 1; \0 COMMIT"),
    ("outside the grammar", Refused, "SELECTED 1; COMMIT; DROP TABLE sale"),
    ("isolation", Refused, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
    ("read only", Refused, "SET TRANSACTION READ ONLY; SET ROLE NONE"),
    (
        "session authorization",
        Refused,
        "SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DROP TABLE sale",
    ),
    ("application_name", Refused, "SET application_name = 'victim'"),
    ("role attributes", Refused, "ALTER ROLE CURRENT_USER SUPERUSER CREATEROLE"),
    ("role settings", Refused, "ALTER ROLE CURRENT_USER SET statement_timeout = 0"),
    ("role membership", Refused, "GRANT pg_execute_server_program TO CURRENT_USER"),
    ("new role", Refused, "CREATE ROLE escaped LOGIN SUPERUSER"),
    ("system settings", Refused, "ALTER SYSTEM SET fsync = off"),
    ("program", Refused, "COPY item TO PROGRAM 'touch /tmp/escaped'"),
    ("file", Refused, "COPY item TO '/tmp/escaped'"),
    ("COPY to the client", Refused, "COPY item TO STDOUT"),
    ("server file", Refused, "SELECT pg_read_file('/etc/passwd')"),
    ("large object", Refused, "SELECT lo_from_bytea(4711, 'x')"),
    ("large object import", Refused, "SELECT lo_import('/etc/passwd')"),
    ("replication slot", Refused, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')"),
    ("WAL switch", Refused, "SELECT pg_switch_wal()"),
    ("tablespace", Refused, "CREATE TABLESPACE t LOCATION '/tmp'"),
    ("other database", Refused, "CREATE DATABASE escaped"),
    ("vacuum", Refused, "VACUUM item"),
    ("concurrent index", Executed, "CREATE INDEX CONCURRENTLY i ON item (name)"),
    ("own session", Refused, "SELECT pg_terminate_backend(pg_backend_pid())"),
    (
        "other sessions",
        Refused,
        "SELECT pg_terminate_backend(pid), pg_cancel_backend(pid) FROM pg_stat_activity WHERE \
         pid <> pg_backend_pid()",
    ),
];

#[tokio::test]
async fn escape_from_the_transaction_is_contained() {
    assert_contained(TRANSACTIONS, &Limits::default()).await;
}

const TIME_AND_MEMORY: &[Attempt] = &[
    ("pg_sleep", Refused, "SELECT pg_sleep(60)"),
    ("LOCK", Refused, "LOCK TABLE item IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)"),
    ("advisory lock", Refused, "SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2)"),
    ("timeout by SET", Refused, "SET statement_timeout = 0; SELECT pg_sleep(60)"),
    (
        "timeout by function",
        Refused,
        "SELECT set_config('statement_timeout', '0', false); SELECT pg_sleep(60)",
    ),
    (
        "caught cancellation",
        Refused,
        "DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN \
         NULL; END; END LOOP; END $$",
    ),
    (
        "deferred trigger",
        Refused,
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); \
         RETURN NULL; END'; CREATE CONSTRAINT TRIGGER t AFTER DELETE ON sale DEFERRABLE \
         INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f(); SELECT \
         set_config('statement_timeout', '0', false); DELETE FROM sale",
    ),
    (
        "endless recursion",
        Executed,
        "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n FROM r) DELETE FROM sale USING \
         r",
    ),
    ("huge result", Executed, "SELECT g, repeat('x', 1000) FROM generate_series(1, 1000000000) g"),
    ("huge value", Executed, "SELECT repeat('x', 1000000000) || repeat('x', 1000000000)"),
    ("huge array", Executed, "SELECT array_fill(0, ARRAY[1000000000])"),
    (
        "slow pattern",
        Executed,
        "SELECT regexp_replace(repeat('a', 100000), '(a+)+(b|$c)\\1', '') FROM \
         generate_series(1, 100000000)",
    ),
    (
        "row locks",
        Executed,
        "SELECT * FROM item, generate_series(1, 1000000000) FOR UPDATE OF item",
    ),
    (
        "cross join",
        Executed,
        "DELETE FROM sale USING item a, item b, item c, item d, item e, item f, item g, item \
         h, item i, item j WHERE sale.id < 0 OR a.id + b.id + c.id + d.id + e.id + f.id + \
         g.id + h.id + i.id + j.id < 0",
    ),
];

#[tokio::test]
async fn escape_by_time_and_memory_is_contained() {
    let limits = Limits {
        statement_timeout: Duration::from_millis(600),
        deadline: Duration::from_secs(2),
        ..Limits::default()
    };
    assert_contained(TIME_AND_MEMORY, &limits).await;
}

const ROWS: &[Attempt] = &[
    (
        "NOTICE",
        Refused,
        "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM item LOOP RAISE NOTICE '%', r; \
         END LOOP; END $$",
    ),
    (
        "WARNING without end",
        Refused,
        "DO $$ BEGIN FOR n IN 1..100000 LOOP RAISE WARNING '%', (SELECT name FROM item WHERE \
         id = 1); END LOOP; END $$",
    ),
    (
        "EXCEPTION",
        Refused,
        "DO $$ BEGIN RAISE EXCEPTION '%', (SELECT name FROM item WHERE id = 1) USING DETAIL = \
         'x', HINT = 'y'; END $$",
    ),
    (
        "error code",
        Refused,
        "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = (SELECT left(name, 4) || '1' FROM \
         item WHERE id = 1); END $$",
    ),
    ("ASSERT", Refused, "DO $$ BEGIN ASSERT false, (SELECT name FROM item WHERE id = 1); END $$"),
    (
        "error in a context",
        Refused,
        "CREATE FUNCTION f(text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1::int; END'; \
         SELECT f(name) FROM item",
    ),
    ("cast", Executed, "SELECT (SELECT string_agg(name, ',') FROM item)::int"),
    ("cast of each row", Executed, "SELECT name::int FROM item ORDER BY id"),
    ("JSON", Executed, "SELECT name::json FROM item WHERE id = 1"),
    ("duplicate key", Executed, "CREATE UNIQUE INDEX u ON item (old)"),
    ("CHECK", Executed, "ALTER TABLE item ADD CHECK (name LIKE 'item%')"),
    ("NOT NULL", Executed, "INSERT INTO item (id, old) SELECT id + 100, name FROM item"),
    (
        "foreign key",
        Executed,
        "ALTER TABLE item ADD COLUMN c text REFERENCES item; DELETE FROM item WHERE id = 1",
    ),
    ("long text", Executed, "ALTER TABLE item ALTER COLUMN name TYPE varchar(3)"),
    (
        "table name",
        Refused,
        "DO $$ BEGIN EXECUTE format('CREATE TABLE %I ()', (SELECT name FROM item WHERE id = \
         1)); END $$",
    ),
    (
        "column name",
        Refused,
        "DO $$ BEGIN EXECUTE format('ALTER TABLE item ADD COLUMN %I int', (SELECT name FROM \
         item WHERE id = 1)); END $$",
    ),
    (
        "rows of a renamed table",
        Refused,
        "DO $$ BEGIN DELETE FROM sale; EXECUTE format('ALTER TABLE sale RENAME TO %I', \
         (SELECT name FROM item WHERE id = 1)); END $$",
    ),
    (
        "rows of a new table",
        Refused,
        "DO $$ DECLARE n text := (SELECT name FROM item WHERE id = 1); BEGIN EXECUTE \
         format('CREATE TABLE %I (a int); INSERT INTO %I VALUES (1)', n, n); END $$",
    ),
    (
        "default",
        Refused,
        "DO $$ BEGIN EXECUTE format('ALTER TABLE item ALTER COLUMN old SET DEFAULT %L', \
         (SELECT name FROM item WHERE id = 1)); END $$",
    ),
    (
        "comment",
        Refused,
        "DO $$ BEGIN EXECUTE format('COMMENT ON TABLE item IS %L', (SELECT name FROM item \
         WHERE id = 1)); END $$",
    ),
    (
        "constraint name",
        Refused,
        "DO $$ BEGIN EXECUTE format('ALTER TABLE item ADD CONSTRAINT %I CHECK (false)', \
         (SELECT name FROM item WHERE id = 1)); END $$",
    ),
    (
        "role setting",
        Refused,
        "DO $$ BEGIN EXECUTE format('ALTER ROLE CURRENT_USER SET application_name = %L', \
         (SELECT name FROM item WHERE id = 1)); END $$",
    ),
    ("EXPLAIN", Refused, "EXPLAIN ANALYZE SELECT * FROM item"),
    ("COPY", Refused, "COPY item TO STDOUT"),
    ("RETURNING", Executed, "UPDATE item SET old = name RETURNING *"),
    ("cursor", Refused, "DECLARE c CURSOR FOR SELECT * FROM item; FETCH ALL FROM c"),
    ("view", Executed, "CREATE VIEW v AS SELECT * FROM item; SELECT * FROM v"),
];

#[tokio::test]
async fn escape_of_a_row_to_the_author_is_contained() {
    assert_contained(ROWS, &Limits::default()).await;
}
