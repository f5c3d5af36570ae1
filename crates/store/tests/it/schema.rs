//! `schema.sql` is what the migrations add up to, for readers. It comes from a migrated database;
//! refresh it with `ADE_UPDATE_SCHEMA=1 cargo nextest run -p ade-store schema`.

use std::path::Path;
use std::process::Command;

use ade_store::migrate;
use ade_testkit::Database;

const UPDATE_VARIABLE: &str = "ADE_UPDATE_SCHEMA";
const COLUMNS: usize = 100;
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.sql");

/// Uses a `pg_dump` of the same version as the server, because it comes from the same folder.
fn dump(database: &Database) -> String {
    let pid = database.server().process().unwrap().pid();
    let server = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    let program = server.parent().unwrap_or(Path::new("/usr/bin")).join("pg_dump");
    let output = Command::new(program)
        .args(["--schema-only", "--no-owner", "--no-tablespaces", "--schema=public"])
        // Partitions are named after days; the table of the migrator is its own.
        .args(["--exclude-table=audit_entry_*", "--exclude-table=outbox_2*"])
        .args(["--exclude-table=_sqlx_migrations", "--dbname", &database.url()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Removes what does not describe the tables: comments, session settings, tokens of the dump.
fn strip(dump: &str) -> String {
    let is_noise = |line: &&str| {
        let starts = ["--", "SET ", "SELECT pg_catalog.set_config", "\\", "CREATE SCHEMA public"];
        starts.iter().any(|start| line.starts_with(start))
    };
    let mut text = String::new();
    for line in dump.lines().filter(|line| !is_noise(line)) {
        if !line.is_empty() || !(text.is_empty() || text.ends_with("\n\n")) {
            wrap(line, &mut text);
        }
    }
    format!("{}\n", text.trim_end())
}

/// Wraps at blanks, at the width of the other files.
fn wrap(line: &str, text: &mut String) {
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        if column > 0 && column + word.trim_end().len() > COLUMNS {
            text.truncate(text.trim_end_matches(' ').len());
            text.push_str("\n        ");
            column = 8;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
}

#[tokio::test]
async fn schema_file_equals_the_result_of_the_migrations() {
    // The rig is not used, because its clock stands still.
    let database = Database::fresh("store", async |url: String| migrate::run(&url).await).await;
    let mut admin = database.connect().await;
    let version: i32 =
        sqlx::query_scalar("SELECT current_setting('server_version_num')::int / 10000")
            .fetch_one(&mut admin)
            .await
            .unwrap();
    let header = format!(
        "-- Generated: what the migrations add up to, as pg_dump {version} writes it. See\n\
         -- tests/it/schema.rs.\n\n"
    );
    let fresh = format!("{header}{}", strip(&dump(&database)));
    if std::env::var_os(UPDATE_VARIABLE).is_some() {
        std::fs::write(PATH, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    if !committed.is_empty() && !committed.starts_with(&header) {
        // Each major version formats the same tables differently.
        println!("not compared: {PATH} was written by another version than {version}");
        return;
    }
    let same = fresh == committed;
    assert!(same, "{PATH} is stale: {UPDATE_VARIABLE}=1 cargo nextest run -p ade-store schema");
}

#[test]
fn schema_dump_noise_is_stripped_and_nothing_else() {
    let dump =
        "--\n-- Name: x\n\\restrict abc\nSET a = 1;\n\n\n\nCREATE TABLE x (\n    a int\n);\n\n\n";
    assert_eq!(strip(dump), "CREATE TABLE x (\n    a int\n);\n");
}
