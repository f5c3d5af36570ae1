//! Generates `crates/store/.sqlx`: PostgreSQL's description of every checked query, so that the
//! store compiles without a server. A description follows from the text of the query and the
//! migrations; both are compared here, and a server is started only if one differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ade_core::change::Digest;
use ade_testkit::Database;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::shell;
use crate::tidy::source::{Kind, Source, SourceToken};
use crate::tree::Tree;

pub const DIRECTORY: &str = "crates/store/.sqlx";
const FRESH: &str = "crates/store/.sqlx.fresh";
const SOURCES: &str = "crates/store/src/";
const ROOT_MODULE: &str = "crates/store/src/lib.rs";
const MIGRATIONS: &str = "crates/store/migrations/";
/// The file with the hash of the migrations that the descriptions were made with.
const FINGERPRINT: &str = "migrations.sha256";
const MACROS: [&str; 3] = ["query", "query_as", "query_scalar"];

/// Returns everything that differs; empty if the descriptions are current.
pub fn faults(tree: &Tree) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let texts = texts(tree)?;
    for (text, place) in &texts {
        let path = description(text);
        let described = tree.text(&path).and_then(query_of);
        if described.as_deref() != Some(text) {
            faults.push(format!("{place}: this query has no description in {DIRECTORY}"));
        }
    }
    let wanted: BTreeSet<String> = texts.keys().map(|text| description(text)).collect();
    let kept = tree.ending(".json").map(|(path, _)| path);
    for path in kept.filter(|path| path.starts_with(DIRECTORY) && !wanted.contains(*path)) {
        faults.push(format!("{path}: no query of the store has this text any more"));
    }
    let marked = tree.text(&format!("{DIRECTORY}/{FINGERPRINT}")).map(str::trim_end);
    if !texts.is_empty() && marked != Some(fingerprint(tree).as_str()) {
        faults.push(format!("{DIRECTORY}/{FINGERPRINT}: the migrations have changed"));
    }
    Ok(faults)
}

/// Writes the descriptions if necessary, and returns whether it did.
pub fn refresh(root: &Path, tree: &Tree) -> Result<bool> {
    if faults(tree)?.is_empty() {
        return Ok(false);
    }
    let fresh = root.join(FRESH);
    remove(&fresh)?;
    fs::create_dir_all(&fresh).with_context(|| format!("cannot make {FRESH}"))?;
    let described = describe(root, tree, &fresh);
    if let Err(error) = described {
        remove(&fresh)?;
        return Err(error);
    }
    fs::write(fresh.join(FINGERPRINT), format!("{}\n", fingerprint(tree)))
        .with_context(|| format!("cannot write {FINGERPRINT}"))?;
    let directory = root.join(DIRECTORY);
    remove(&directory)?;
    fs::rename(&fresh, &directory).with_context(|| format!("cannot replace {DIRECTORY}"))?;
    Ok(true)
}

/// Returns the text of every checked query, with one place where it occurs.
fn texts(tree: &Tree) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    let sources = tree.ending(".rs").filter(|(path, _)| path.starts_with(SOURCES));
    for (path, source) in sources {
        let tokens = Source::scan(source).tokens;
        for (at, window) in tokens.windows(3).enumerate() {
            let [name, bang, bracket] = window else { continue };
            let is_checked = MACROS.iter().any(|known| name.is(known));
            if !(is_checked && bang.is("!") && bracket.is("(")) {
                continue;
            }
            let place = format!("{path}:{}", name.line);
            let text = first_literal(tokens.get(at + 3..).unwrap_or_default())
                .with_context(|| format!("{place}: a checked query needs its text as a literal"))?;
            if text.contains('\\') {
                bail!("{place}: a checked query contains a backslash: write `r\"…\"` without one");
            }
            texts.insert(text.to_owned(), place);
        }
    }
    Ok(texts)
}

fn first_literal(tokens: &[SourceToken]) -> Option<&str> {
    tokens.iter().find(|token| token.kind == Kind::Literal).map(|token| token.text.as_str())
}

/// Returns the file name that the macros use for the description of a query.
fn description(text: &str) -> String {
    format!("{DIRECTORY}/query-{}.json", hex(&Digest::of(text.as_bytes())))
}

fn query_of(description: &str) -> Option<String> {
    let description: Value = serde_json::from_str(description).ok()?;
    Some(description.get("query")?.as_str()?.to_owned())
}

fn fingerprint(tree: &Tree) -> String {
    let mut all = String::new();
    for (path, text) in migrations(tree) {
        all.push_str(path);
        all.push('\n');
        all.push_str(text);
    }
    hex(&Digest::of(all.as_bytes()))
}

/// Returns the migrations in the order in which they are applied, which is that of their names.
fn migrations(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(".sql").filter(|(path, _)| path.starts_with(MIGRATIONS))
}

fn hex(digest: &Digest) -> String {
    digest.bytes().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Compiles the store against a migrated database; the macros write the descriptions.
fn describe(root: &Path, tree: &Tree, directory: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let database =
        runtime.block_on(Database::fresh("queries", async |url| migrate(tree, &url).await));
    // Cargo does not know what the macros read, only whether a source file is newer.
    let module = tree.text(ROOT_MODULE).with_context(|| format!("{ROOT_MODULE} is missing"))?;
    fs::write(root.join(ROOT_MODULE), module)
        .with_context(|| format!("cannot touch {ROOT_MODULE}"))?;
    let mut check = shell::cargo(root, &["check", "--quiet", "--package", "ade-store"]);
    check.env("DATABASE_URL", database.url()).env("SQLX_OFFLINE", "false");
    shell::succeed(check.env("SQLX_OFFLINE_DIR", directory))
}

/// Applies the migrations without the store's own migrator, because the store may not compile
/// before this is done.
async fn migrate(tree: &Tree, url: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    for (_, text) in migrations(tree) {
        sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut connection).await?;
    }
    connection.close().await
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn f() {\n    query_as!(Row, r#\"SELECT \"a\"\"#, x);\n}\n";
    const TEXT: &str = "SELECT \"a\"";

    fn tree(code: &str, described: &[&str], migration: &str) -> Tree {
        let old = Tree::of(&[("crates/store/migrations/1.sql", "CREATE TABLE a ()")]);
        let mark = (format!("{DIRECTORY}/{FINGERPRINT}"), format!("{}\n", fingerprint(&old)));
        let mut files = vec![
            ("crates/store/src/a.rs".to_owned(), code.to_owned()),
            ("crates/store/migrations/1.sql".to_owned(), migration.to_owned()),
            mark,
        ];
        for text in described {
            let json = serde_json::json!({ "query": text }).to_string();
            files.push((description(text), json));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        Tree::of(&files)
    }

    fn stale(code: &str, described: &[&str], migration: &str) -> Vec<String> {
        faults(&tree(code, described, migration)).unwrap()
    }

    #[test]
    fn query_descriptions_that_match_are_current() {
        assert_eq!(stale(CODE, &[TEXT], "CREATE TABLE a ()"), Vec::<String>::new());
        let plain = "fn f() {\n    sqlx::query(\"SELECT 1\");\n    // query!(\"x\")\n}\n";
        assert_eq!(stale(plain, &[], "CREATE TABLE a ()"), Vec::<String>::new());
    }

    #[test]
    fn query_descriptions_that_are_stale_are_reported() {
        let missing = stale(CODE, &[], "CREATE TABLE a ()");
        assert!(missing.len() == 1 && missing[0].starts_with("crates/store/src/a.rs:2"));
        let left = stale("", &[TEXT], "CREATE TABLE a ()");
        assert!(left.len() == 1 && left[0].contains("any more"), "{left:?}");
        let moved = stale(CODE, &[TEXT], "CREATE TABLE a (b int)");
        assert!(moved.len() == 1 && moved[0].contains("migrations"), "{moved:?}");
    }

    #[test]
    fn query_that_cannot_be_parsed_is_an_error() {
        for code in ["query!(r\"a\\b\")", "query!(TEXT)"] {
            assert!(faults(&tree(code, &[], "")).is_err(), "{code}");
        }
    }

    #[test]
    fn query_description_is_named_by_the_hash_of_its_text() {
        let hash = "e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5";
        assert_eq!(description("SELECT 1"), format!("{DIRECTORY}/query-{hash}.json"));
    }
}
