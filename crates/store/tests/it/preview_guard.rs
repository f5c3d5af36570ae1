//! What surrounds a previewed script: the deadline that it cannot move, the login that cannot
//! reach beyond the database, and the names that must mean what their lists say.

use std::time::{Duration, Instant};

use ade_store::preview::{
    Limits, OpaqueKind, ScriptPreview, ScriptPreviewError, TargetKind, login_problems,
};
use ade_testkit::within;
use sqlx::PgConnection;

use crate::preview::Target;
use crate::test_database::{run, try_run};

/// Locks a table and sleeps in a deferred trigger, without any timeout of its own session.
const SLEEPS_IN_A_TRIGGER: &str = "
    CREATE FUNCTION shop.slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM set_config(''statement_timeout'', ''0'', false), pg_sleep(300);
         RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON sale DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION slow();
    LOCK TABLE item IN ACCESS EXCLUSIVE MODE;
    INSERT INTO sale (item) VALUES (1);
    SELECT set_config('statement_timeout', '0', false),
           set_config('client_connection_check_interval', '0', false)";

/// Limits under which only the deadline of the preview can end it.
fn only_deadline(deadline: Duration) -> Limits {
    Limits { statement_timeout: Duration::from_mins(5), deadline, ..Limits::default() }
}

/// Returns how long the table stays locked.
async fn time_to_lock(admin: &mut PgConnection, table: &str) -> Duration {
    let begun = Instant::now();
    let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; ROLLBACK");
    run(admin, &lock).await;
    begun.elapsed()
}

#[tokio::test]
async fn preview_locks_end_with_the_deadline_in_time() {
    let target = Target::new().await;
    let mut admin = target.database.connect().await;
    within(Duration::from_secs(2), async || {
        let limits = only_deadline(Duration::from_secs(2));
        let late = target.preview(TargetKind::Copy, SLEEPS_IN_A_TRIGGER, &limits).await;
        assert!(matches!(late, Err(ScriptPreviewError::Deadline)), "{late:?}");
        time_to_lock(&mut admin, "shop.item").await
    })
    .await;
}

#[tokio::test]
async fn preview_trigger_at_the_end_obeys_the_timeout() {
    let target = Target::new().await;
    let limits = Limits { statement_timeout: Duration::from_secs(2), ..Limits::default() };
    let preview = target.preview(TargetKind::Copy, SLEEPS_IN_A_TRIGGER, &limits).await.unwrap();
    assert_eq!(preview.errors[0].sqlstate, "57014");
}

#[tokio::test]
async fn preview_dropped_by_its_caller_leaves_no_session() {
    let target = Target::new().await;
    let limits = only_deadline(Duration::from_mins(5));
    let preview = target.preview(TargetKind::Copy, SLEEPS_IN_A_TRIGGER, &limits);
    assert!(tokio::time::timeout(Duration::from_secs(2), preview).await.is_err());
    let mut admin = target.database.connect().await;
    target.wait_until_unused(&mut admin, "the session of a dropped preview ends").await;
}

#[tokio::test]
async fn preview_that_ends_its_watch_is_terminated() {
    let target = Target::new().await;
    let script = "DO $$ BEGIN
            PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE usename = current_user AND pid <> pg_backend_pid();
            PERFORM pg_sleep(300);
        END $$";
    let limits = only_deadline(Duration::from_secs(3));
    let late = target.preview(TargetKind::Copy, script, &limits).await;
    assert!(matches!(late, Err(ScriptPreviewError::Deadline)), "{late:?}");
    let mut admin = target.database.connect().await;
    target.wait_until_unused(&mut admin, "a new connection ends the session").await;
}

async fn problems(target: &Target, kind: TargetKind) -> Vec<String> {
    let problems = login_problems(&target.url(), kind).await.unwrap();
    problems.into_iter().map(|one| format!("{}; {}", one.problem, one.fix)).collect()
}

#[tokio::test]
async fn preview_login_with_server_access_is_refused() {
    let target = Target::new().await;
    let (login, kind) = (&target.login, TargetKind::Copy);
    assert_eq!(problems(&target, kind).await, Vec::<String>::new());
    let superuser = login_problems(&target.database.url(), kind).await.unwrap();
    assert!(superuser[0].problem.contains("superuser"), "{superuser:?}");
    let mut admin = target.database.connect().await;
    run(&mut admin, &format!("CREATE ROLE {login}_app LOGIN")).await;
    let function = "CREATE FUNCTION shop.danger() RETURNS int SECURITY DEFINER RETURN 1";
    for (grant, problem) in [
        (format!("ALTER ROLE {login} CREATEROLE"), "CREATEROLE"),
        (format!("ALTER ROLE {login} REPLICATION"), "REPLICATION"),
        (format!("ALTER ROLE {login} BYPASSRLS"), "BYPASSRLS"),
        (format!("GRANT pg_execute_server_program TO {login}"), "pg_execute_server_program"),
        (format!("GRANT pg_read_all_data TO {login}"), "pg_read_all_data"),
        (format!("GRANT pg_signal_backend TO {login}"), "pg_signal_backend"),
        (format!("GRANT {login}_app TO {login}"), "whose sessions it could end"),
        (format!("GRANT EXECUTE ON FUNCTION pg_read_file(text) TO {login}"), "pg_read_file"),
        (function.to_owned(), "with the rights of the superuser"),
        ("CREATE EXTENSION dblink SCHEMA public".to_owned(), "through the extension dblink"),
    ] {
        if try_run(&mut admin, &grant).await.is_err() {
            assert!(grant.contains("dblink"), "{grant}");
            continue;
        }
        let found = login_problems(&target.url(), kind).await.unwrap();
        assert!(found.iter().all(|one| one.problem.contains(problem)), "{problem}: {found:?}");
        let refused = target.preview(kind, "SELECT 1", &Limits::default()).await;
        assert!(matches!(refused, Err(ScriptPreviewError::Unfit { .. })), "{grant}: {refused:?}");
        assert!(!found.is_empty(), "{grant}");
        for one in found {
            run(&mut admin, &one.fix).await;
        }
        assert_eq!(problems(&target, kind).await, Vec::<String>::new(), "{grant} is undone");
    }
    let nowhere = login_problems("postgres://x@127.0.0.1:1/x", kind).await;
    assert!(matches!(nowhere, Err(ScriptPreviewError::Unreachable(_))), "{nowhere:?}");
}

#[tokio::test]
async fn preview_live_login_needs_more_than_a_copy() {
    let target = Target::new().await;
    let mut admin = target.database.connect().await;
    let (login, name) = (&target.login, target.database.name());
    run(&mut admin, &format!("ALTER DATABASE {name} OWNER TO {login}")).await;
    assert_eq!(problems(&target, TargetKind::Copy).await, Vec::<String>::new());
    let live = problems(&target, TargetKind::Live).await.join("\n");
    for part in ["owns the database", "setval(regclass,bigint)", "pg_logical_emit_message"] {
        assert!(live.contains(part), "{part}: {live}");
    }
    let refused = target.preview(TargetKind::Live, "SELECT 1", &Limits::default()).await;
    assert!(matches!(refused, Err(ScriptPreviewError::Unfit { .. })), "{refused:?}");
    run(&mut admin, &format!("ALTER DATABASE {name} OWNER TO CURRENT_USER")).await;
    for problem in login_problems(&target.url(), TargetKind::Live).await.unwrap() {
        run(&mut admin, &problem.fix).await;
    }
    assert_eq!(problems(&target, TargetKind::Live).await, Vec::<String>::new());
    let preview = target.preview(TargetKind::Live, "DELETE FROM sale", &Limits::default()).await;
    assert_eq!(preview.unwrap().rows[0].deleted, 5);
}

#[tokio::test]
async fn preview_of_an_opaque_script_is_refused_or_unproven() {
    let target = Target::live().await;
    let before = target.fingerprint().await;
    let script = "DO $$ BEGIN DELETE FROM shop.sale; END $$";
    let limits = Limits::default();
    let copy = target.preview(TargetKind::Copy, script, &limits).await.unwrap();
    assert_eq!((copy.rows[0].deleted, copy.opaque[0].name.as_str()), (5, "DO"));
    let live = target.preview(TargetKind::Live, script, &limits).await.unwrap();
    let error = &live.errors[0];
    assert_eq!((error.sqlstate, error.position, live.rows.len()), ("0A000", Some(1), 0));
    let plain = target.preview(TargetKind::Copy, "DELETE FROM sale", &limits).await.unwrap();
    assert_eq!((plain.rows[0].deleted, plain.opaque.len()), (5, 0));
    assert_eq!(target.fingerprint().await, before);
}

#[tokio::test]
async fn preview_name_outside_the_catalogue_is_opaque() {
    let target = Target::live().await;
    let mut admin = target.database.connect().await;
    run(
        &mut admin,
        "CREATE SCHEMA hidden;
         CREATE FUNCTION hidden.upper(int) RETURNS int VOLATILE RETURN 1;
         CREATE FUNCTION shop.lower(int) RETURNS int VOLATILE RETURN 1;
         CREATE FUNCTION shop.evil(shop.item) RETURNS int VOLATILE RETURN 1;
         CREATE FUNCTION shop.joins(int, int) RETURNS int VOLATILE RETURN 1;
         CREATE OPERATOR shop.|| (FUNCTION = shop.joins, LEFTARG = int, RIGHTARG = int)",
    )
    .await;
    for (script, name, position) in [
        ("SELECT lower(1)", "lower", 8),
        ("SELECT i.evil FROM item i", "evil", 8),
        ("SELECT (i).evil FROM item i", "evil", 8),
        ("SELECT 1 || 2", "||", 10),
    ] {
        let preview = target.preview(TargetKind::Live, script, &Limits::default()).await.unwrap();
        let reason = preview.opaque.first().unwrap_or_else(|| panic!("{script}: {preview:?}"));
        let found = (reason.kind, reason.name.as_str(), reason.position);
        assert_eq!(found, (OpaqueKind::Shadowed, name, position), "{script}");
        assert_eq!(preview.errors[0].sqlstate, "0A000");
    }
    let script = "SELECT pg_catalog.lower('A'), upper('a'), i.name FROM item i";
    let preview = target.preview(TargetKind::Live, script, &Limits::default()).await.unwrap();
    assert_eq!(preview, ScriptPreview::default());
}

#[tokio::test]
async fn preview_functions_of_the_list_are_not_volatile() {
    let target = Target::new().await;
    let mut admin = target.database.connect().await;
    let volatile: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT proname::text FROM pg_proc
          WHERE pronamespace = 'pg_catalog'::regnamespace AND provolatile = 'v'",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert!(volatile.contains(&"setval".to_owned()), "{volatile:?}");
    for name in volatile {
        let script = format!("DELETE FROM item WHERE {name}() IS NULL");
        let parsed = ade_store::preview::classify(&script).unwrap();
        assert_eq!(parsed.reasons.len(), 1, "{name} is listed although it is volatile");
    }
}
