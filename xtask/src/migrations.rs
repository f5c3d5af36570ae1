//! Checks every migration that is newer than the baseline with `squawk`: a migration of a released
//! version runs while the previous version serves, so it must not hold a lock for long or break
//! what the other version reads. The rules are in `.squawk.toml`.

use std::path::Path;

use anyhow::Result;

use crate::ledger::{StepOutcome, tool};
use crate::tree::Tree;

const DIRECTORY: &str = "crates/store/migrations/";
/// Migrations up to this number are the baseline: they only ever run on an empty database, so
/// their locks block nothing.
const BASELINE: u32 = 11;
/// The first line of a migration that sqlx runs outside a transaction.
pub const NO_TRANSACTION: &str = "-- no-transaction";

pub fn check(root: &Path) -> Result<StepOutcome> {
    let tree = Tree::read(root)?;
    let (inside, outside) = newer_than(BASELINE, &tree);
    println!("{} migrations after the baseline", inside.len() + outside.len());
    for (paths, transaction) in
        [(inside, "--assume-in-transaction"), (outside, "--no-assume-in-transaction")]
    {
        if paths.is_empty() {
            continue;
        }
        let mut args = vec!["--config", ".squawk.toml", transaction];
        args.extend(paths);
        let outcome = tool(root, "squawk", &args)?;
        if outcome != StepOutcome::Passed {
            return Ok(outcome);
        }
    }
    Ok(StepOutcome::Passed)
}

/// Returns the newer migrations that run inside a transaction, and those that do not.
fn newer_than(baseline: u32, tree: &Tree) -> (Vec<&str>, Vec<&str>) {
    let files = tree.ending(".sql").filter(|(path, _)| {
        let number = path.strip_prefix(DIRECTORY).and_then(|name| name.split('_').next());
        // A file without a number is checked too: it is not part of the baseline.
        number.is_some_and(|number| !number.parse().is_ok_and(|number: u32| number <= baseline))
    });
    let (inside, outside): (Vec<_>, Vec<_>) =
        files.partition(|(_, text)| text.lines().next() != Some(NO_TRANSACTION));
    (paths(&inside), paths(&outside))
}

fn paths<'a>(files: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    files.iter().map(|(path, _)| *path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_after_the_baseline_are_checked() {
        let tree = Tree::of(&[
            ("crates/store/migrations/0007_old.sql", "CREATE TABLE a ();\n"),
            ("crates/store/migrations/0008_new.sql", "CREATE TABLE b ();\n"),
            ("crates/store/migrations/0009_index.sql", "-- no-transaction\nSELECT 1;\n"),
            ("crates/store/migrations/unnumbered.sql", "SELECT 1;\n"),
            ("crates/store/queries/0010_x.sql", "SELECT 1;\n"),
        ]);
        let name = |name: &str| format!("{DIRECTORY}{name}.sql");
        let (inside, outside) = newer_than(7, &tree);
        assert_eq!(inside, [name("0008_new"), name("unnumbered")]);
        assert_eq!(outside, [name("0009_index")]);
    }

    #[test]
    fn migration_that_blocks_writes_is_refused() {
        let Some(squawk) = crate::shell::find("squawk") else {
            assert!(!crate::shell::in_ci(), "squawk is not installed");
            return;
        };
        let root = crate::shell::root().unwrap();
        let folder = std::env::temp_dir().join(format!("xtask-squawk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let check = |sql: &str| {
            let path = folder.join("0100_sample.sql");
            std::fs::write(&path, sql).unwrap();
            let mut command = std::process::Command::new(&squawk);
            command.args(["--config", ".squawk.toml", "--assume-in-transaction"]).arg(&path);
            crate::shell::output(command.current_dir(&root))
        };
        let safe = "SET LOCAL lock_timeout = '1s';\nSET LOCAL statement_timeout = '5s';\n";
        check(&format!("{safe}ALTER TABLE task ADD COLUMN note text;\n")).unwrap();
        check("ALTER TABLE task ADD COLUMN note text;\n").unwrap_err();
        check(&format!("{safe}CREATE INDEX task_note ON task (note);\n")).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
