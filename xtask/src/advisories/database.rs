//! Reads a git checkout of the Rust advisory database: one Markdown file for each advisory, which
//! begins with its facts as TOML.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Error, Result, ensure};
use jiff::civil::Date;
use semver::VersionReq;
use serde::Deserialize;

use super::snapshot::{Advisory, AdvisoryKind, DatabaseState, Snapshot, date};
use crate::lockfile::Lockfile;
use crate::shell;

/// The directory with the advisories about crates; others are about the toolchain.
const CRATES: &str = "crates";

#[derive(Debug, Deserialize)]
struct Document {
    advisory: Facts,
    #[serde(default)]
    versions: Versions,
}

#[derive(Debug, Deserialize)]
struct Facts {
    id: String,
    package: String,
    #[serde(deserialize_with = "date")]
    date: Date,
    /// The kind; a vulnerability has none.
    informational: Option<AdvisoryKind>,
    /// The date of the withdrawal, if the advisory is no longer valid.
    withdrawn: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Versions {
    #[serde(default)]
    patched: Vec<String>,
    #[serde(default)]
    unaffected: Vec<String>,
}

pub fn read(checkout: &Path, lockfile: &Lockfile) -> Result<Snapshot> {
    let mut database = state(checkout)?;
    let locked: BTreeSet<&str> = lockfile.external().map(|package| &*package.name).collect();
    let mut advisories = Vec::new();
    let mut others = BTreeSet::new();
    for path in files(&checkout.join(CRATES))? {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let read = parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
        database.advisories += 1;
        let Some(advisory) = read else { continue };
        if locked.contains(advisory.package.as_str()) {
            advisories.push(advisory);
        } else {
            others.insert(advisory.package);
        }
    }
    let has_any = database.advisories > 0;
    ensure!(has_any, "{} is not a checkout of the advisory database", checkout.display());
    advisories.sort_by(|one, other| (&one.package, &one.id).cmp(&(&other.package, &other.id)));
    Ok(Snapshot { database, advisories, others: Snapshot::group(others) })
}

/// Returns the commit of the checkout and its date. The files must be those of the commit.
fn state(checkout: &Path) -> Result<DatabaseState> {
    let git = |args: &[&str]| {
        shell::output(Command::new("git").arg("-C").arg(checkout).args(args).env("TZ", "UTC"))
    };
    let changes = git(&["status", "--porcelain", "--", CRATES])?;
    ensure!(
        changes.is_empty(),
        "{} differs from its commit: run `git stash --include-untracked` there",
        checkout.display()
    );
    let commit = git(&["rev-parse", "HEAD"])?.trim().to_owned();
    let date = git(&["log", "-1", "--date=format-local:%F", "--format=%cd"])?;
    let date = date.trim().parse().map_err(Error::msg).context("git reported no date")?;
    Ok(DatabaseState { date, commit, advisories: 0 })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let context = || format!("cannot read {}: is it the advisory database?", folder.display());
    for package in fs::read_dir(folder).with_context(context)? {
        let package = package?.path();
        if package.is_dir() {
            for file in fs::read_dir(package)? {
                files.push(file?.path());
            }
        }
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    Ok(files)
}

/// Returns `None` for an advisory that was withdrawn.
fn parse(text: &str) -> Result<Option<Advisory>> {
    let (facts, rest) = text
        .strip_prefix("```toml\n")
        .and_then(|text| text.split_once("\n```"))
        .context("it does not begin with a block of TOML")?;
    let Document { advisory: facts, versions } = toml::from_str(facts)?;
    if facts.withdrawn.is_some() {
        return Ok(None);
    }
    let title = rest.lines().find_map(|line| line.strip_prefix("# ")).context("it has no title")?;
    Ok(Some(Advisory {
        id: facts.id,
        package: facts.package,
        date: facts.date,
        kind: facts.informational.unwrap_or(AdvisoryKind::Vulnerability),
        patched: ranges(&versions.patched)?,
        unaffected: ranges(&versions.unaffected)?,
        title: title.trim().to_owned(),
    }))
}

fn ranges(texts: &[String]) -> Result<Vec<VersionReq>> {
    let range = |text: &String| text.parse().with_context(|| format!("the range `{text}`"));
    texts.iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0007\"\n\
        package = \"bytes\"\ndate = \"2026-02-03\"\nurl = \"x\"\naliases = [\"CVE-1\"]\n\
        [affected]\nos = [\"linux\"]\n[versions]\npatched = [\">= 1.11.1\"]\n\
        unaffected = [\"< 1.2.1\"]\n```\n\n# Integer overflow\n\nText.\n";

    #[test]
    fn advisory_is_read_from_its_document() {
        let advisory = parse(DOCUMENT).unwrap().unwrap();
        assert_eq!((&*advisory.id, &*advisory.package), ("RUSTSEC-2026-0007", "bytes"));
        assert_eq!(advisory.title, "Integer overflow");
        assert_eq!(advisory.kind, AdvisoryKind::Vulnerability);
        for (version, affected) in [("1.2.0", false), ("1.2.1", true), ("1.11.1", false)] {
            assert_eq!(advisory.affects(&version.parse().unwrap()), affected, "{version}");
        }
        let unsound = DOCUMENT.replace("url =", "informational = \"unsound\"\nurl =");
        assert_eq!(parse(&unsound).unwrap().unwrap().kind, AdvisoryKind::Unsound);
    }

    #[test]
    fn advisory_that_was_withdrawn_is_left_out() {
        let text = DOCUMENT.replace("url =", "withdrawn = \"2026-03-01\"\nurl =");
        assert_eq!(parse(&text).unwrap(), None);
    }

    #[test]
    fn advisory_document_that_is_malformed_is_an_error() {
        for (from, to) in [
            ("```toml", "```"),
            ("id =", "name ="),
            (">= 1.11.1", "new"),
            ("# Integer", "Integer"),
            ("url =", "informational = \"other\"\nurl ="),
        ] {
            assert!(parse(&DOCUMENT.replace(from, to)).is_err(), "{to}");
        }
    }
}
