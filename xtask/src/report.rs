//! Reports of long runs. Each names its date and commit, is stored in `docs/reports`, and is listed
//! in the index there.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{generate, shell};

/// The date and the commit of a run.
#[derive(Debug)]
pub struct Stamp {
    pub day: String,
    pub commit: String,
}

impl Stamp {
    pub fn take(root: &Path) -> Result<Self> {
        let day = shell::output(Command::new("date").args(["-u", "+%F"]))?;
        let mut head = Command::new("git");
        head.args(["rev-parse", "--short=12", "HEAD"]).current_dir(root);
        let commit = shell::output(&mut head)?;
        Ok(Self { day: day.trim().to_owned(), commit: commit.trim().to_owned() })
    }
}

/// Writes `<kind>-<day>.md` and the index, which lists the reports next to it.
pub fn keep(root: &Path, kind: &str, stamp: &Stamp, text: &str) -> Result<()> {
    let path = format!("{}/{kind}-{}.md", generate::REPORTS, stamp.day);
    fs::create_dir_all(root.join(generate::REPORTS))?;
    fs::write(root.join(&path), text).with_context(|| format!("cannot write {path}"))?;
    println!("report: {path}");
    generate::refresh(root)
}
