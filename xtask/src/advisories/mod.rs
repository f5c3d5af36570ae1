//! `cargo xtask advisories`: compares the versions in `Cargo.lock` with a dated snapshot of the
//! Rust advisory database (docs/adr/0063). Without `--strict` the result depends on the repository
//! only: old age of the snapshot is a warning, so that a commit that passed will pass again.

mod database;
mod exceptions;
mod snapshot;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, bail, ensure};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use self::exceptions::Exceptions;
use self::snapshot::Snapshot;
use crate::lockfile::Lockfile;
use crate::paint;

const SNAPSHOT: &str = "xtask/advisories/snapshot.toml";

#[derive(Debug, Default, clap::Args)]
pub struct AdvisoriesArgs {
    /// Replace the snapshot with the contents of a git checkout of the database, and print what
    /// changed
    #[arg(long, value_name = "PATH")]
    renew: Option<PathBuf>,
    /// Also fail if the snapshot is too old or an exception has ended, as for a release
    #[arg(long)]
    strict: bool,
}

pub fn run(root: &Path, args: &AdvisoriesArgs) -> Result<()> {
    let lockfile = Lockfile::read(root)?;
    if let Some(checkout) = &args.renew {
        renew(root, checkout, &lockfile)?;
    }
    let snapshot = Snapshot::parse(&read(root, SNAPSHOT)?)?;
    let exceptions = Exceptions::parse(&read(root, exceptions::PATH)?)?;
    let verdict = verdict::of(&lockfile, &snapshot, &exceptions, today()?)?;
    for warning in verdict.warnings.iter().chain(&verdict.overdue) {
        println!("{} {warning}", paint::bold("warning:"));
    }
    let is_overdue = args.strict && !verdict.overdue.is_empty();
    for failure in &verdict.failures {
        println!("{failure}");
    }
    match verdict.failures.len() {
        0 if is_overdue => bail!("the list of advisories or an exception is too old (--strict)"),
        0 => {
            let (count, date) = (lockfile.external().count(), snapshot.database.date);
            println!("{count} packages have no open advisory of {date} or before");
            Ok(())
        }
        many => bail!(
            "{many} finding(s): update the package with `cargo update`, or name the advisory in \
             {} with a reason and an end date",
            exceptions::PATH
        ),
    }
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

fn today() -> Result<Date> {
    let now = std::time::UNIX_EPOCH.elapsed().context("the clock is before 1970")?;
    let now = Timestamp::from_second(i64::try_from(now.as_secs())?).map_err(Error::msg)?;
    Ok(now.to_zoned(TimeZone::UTC).date())
}

fn renew(root: &Path, checkout: &Path, lockfile: &Lockfile) -> Result<()> {
    // The first snapshot has no predecessor.
    let before = fs::read_to_string(root.join(SNAPSHOT)).ok();
    let before = before.map(|text| Snapshot::parse(&text)).transpose()?.unwrap_or_default();
    let after = database::read(checkout, lockfile)?;
    ensure!(
        after.database.date >= before.database.date,
        "the checkout is of {}, but the snapshot is of {}: run `git pull` in {}",
        after.database.date,
        before.database.date,
        checkout.display()
    );
    print!("{}", after.changes_since(&before));
    let path = root.join(SNAPSHOT);
    fs::create_dir_all(path.parent().context("the snapshot is in a directory")?)?;
    fs::write(path, after.text()).with_context(|| format!("cannot write {SNAPSHOT}"))
}
