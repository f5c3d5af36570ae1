//! What the snapshot says about the locked versions, as a function of the files and the date.

use anyhow::{Context as _, Error, Result};
use jiff::civil::Date;
use semver::Version;

use super::exceptions::{AdvisoryException, Exceptions};
use super::snapshot::{Advisory, AdvisoryKind, Snapshot};
use crate::lockfile::{LockedPackage, Lockfile};

/// Every run warns when the snapshot is older than this.
const WARN_AFTER_DAYS: i32 = 30;
/// Nightly runs and releases fail when the snapshot is older than this.
const FAIL_AFTER_DAYS: i32 = 120;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Findings that do not depend on the date.
    pub failures: Vec<String>,
    pub warnings: Vec<String>,
    /// What the passage of time made a finding; only a strict run fails for it.
    pub overdue: Vec<String>,
}

pub fn of(
    lockfile: &Lockfile,
    snapshot: &Snapshot,
    exceptions: &Exceptions,
    today: Date,
) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let mut used = Vec::new();
    for package in lockfile.external() {
        let LockedPackage { name, version, .. } = package;
        if snapshot.leaves_out(name) {
            let text = format!(
                "{name} {version}: the database has advisories about this crate, but the snapshot \
                 was made without it: run `cargo xtask advisories --renew PATH`"
            );
            verdict.failures.push(text);
        }
        let number: Version = version
            .parse()
            .with_context(|| format!("Cargo.lock: {name} has the version `{version}`"))?;
        let own = snapshot.advisories.iter().filter(|advisory| advisory.package == *name);
        for advisory in own.filter(|advisory| advisory.affects(&number)) {
            let text = describe(package, advisory);
            match (exceptions.of(&advisory.id), advisory.kind) {
                (Some(exception), _) => {
                    used.push(&exception.id);
                    accept(exception, &text, today, &mut verdict);
                }
                (None, AdvisoryKind::Vulnerability | AdvisoryKind::Unsound) => {
                    verdict.failures.push(text);
                }
                (None, AdvisoryKind::Unmaintained | AdvisoryKind::Notice) => {
                    verdict.warnings.push(text);
                }
            }
        }
    }
    for AdvisoryException { id, .. } in exceptions.all.iter().filter(|one| !used.contains(&&one.id))
    {
        let text = format!("{id}: no locked package needs this exception: remove it");
        verdict.failures.push(text);
    }
    judge_age(snapshot, today, &mut verdict)?;
    Ok(verdict)
}

fn describe(package: &LockedPackage, advisory: &Advisory) -> String {
    let LockedPackage { name, version, .. } = package;
    let Advisory { id, kind, title, patched, .. } = advisory;
    let fixed: Vec<String> = patched.iter().map(ToString::to_string).collect();
    let remedy = match fixed.as_slice() {
        [] => "no version has a fix".to_owned(),
        ranges => format!("fixed in {}", ranges.join(" or ")),
    };
    format!("{name} {version}: {id} ({}): {title}; {remedy}", kind.name())
}

fn accept(exception: &AdvisoryException, text: &str, today: Date, verdict: &mut Verdict) {
    let AdvisoryException { reason, until, .. } = exception;
    if today > *until {
        verdict.overdue.push(format!("{text}; the exception for it ended on {until}"));
    } else {
        verdict.warnings.push(format!("{text}; accepted until {until}: {reason}"));
    }
}

fn judge_age(snapshot: &Snapshot, today: Date, verdict: &mut Verdict) -> Result<()> {
    let date = snapshot.database.date;
    let days = today.since(date).map_err(Error::msg)?.get_days();
    let text = format!(
        "the snapshot of the advisories is {days} days old ({date}): run `cargo xtask advisories \
         --renew PATH` with a current checkout of the database; a strict run fails after \
         {FAIL_AFTER_DAYS} days"
    );
    if days > FAIL_AFTER_DAYS {
        verdict.overdue.push(text);
    } else if days > WARN_AFTER_DAYS {
        verdict.warnings.push(text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKFILE: &str = "[[package]]\nname = \"time\"\nversion = \"0.2.22\"\nsource = \"r\"\n\
        [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
    const SNAPSHOT: &str = r#"
        [database]
        date = "2026-08-01"
        commit = "abc"
        advisories = 2
        [[advisory]]
        id = "RUSTSEC-2020-0071"
        package = "time"
        date = "2020-11-18"
        kind = "vulnerability"
        patched = [">=0.2.23"]
        unaffected = []
        title = "A title"
        [others]
        o = ["ours"]
        z = ["zip"]
    "#;

    fn judge(lockfile: &str, snapshot: &str, exceptions: &str, today: &str) -> Verdict {
        let lockfile = Lockfile::parse(lockfile).unwrap();
        let snapshot = Snapshot::parse(snapshot).unwrap();
        let exceptions = Exceptions::parse(exceptions).unwrap();
        of(&lockfile, &snapshot, &exceptions, today.parse().unwrap()).unwrap()
    }

    fn exception(id: &str) -> String {
        format!("[[exception]]\nid = \"{id}\"\nreason = \"unused\"\nuntil = \"2026-08-05\"\n")
    }

    #[test]
    fn advisory_for_a_locked_version_is_a_failure() {
        let verdict = judge(LOCKFILE, SNAPSHOT, "", "2026-08-02");
        let text = "time 0.2.22: RUSTSEC-2020-0071 (vulnerability): A title; fixed in >=0.2.23";
        assert_eq!(verdict, Verdict { failures: vec![text.to_owned()], ..Verdict::default() });
        let fixed = LOCKFILE.replace("0.2.22", "0.2.23");
        assert_eq!(judge(&fixed, SNAPSHOT, "", "2026-08-02"), Verdict::default());
        let unsound = SNAPSHOT.replace("\"vulnerability\"", "\"unsound\"");
        assert_eq!(judge(LOCKFILE, &unsound, "", "2026-08-02").failures.len(), 1);
    }

    #[test]
    fn advisory_that_informs_only_is_a_warning() {
        for kind in ["unmaintained", "notice"] {
            let snapshot = SNAPSHOT.replace("vulnerability", kind);
            let verdict = judge(LOCKFILE, &snapshot, "", "2026-08-02");
            assert_eq!((verdict.failures.len(), verdict.warnings.len()), (0, 1), "{verdict:?}");
        }
    }

    #[test]
    fn exception_accepts_an_advisory_until_its_end_date() {
        let exception = exception("RUSTSEC-2020-0071");
        let during = judge(LOCKFILE, SNAPSHOT, &exception, "2026-08-05");
        assert!(during.failures.is_empty() && during.overdue.is_empty(), "{during:?}");
        assert!(during.warnings[0].ends_with("accepted until 2026-08-05: unused"), "{during:?}");
        let after = judge(LOCKFILE, SNAPSHOT, &exception, "2026-08-06");
        assert!(after.failures.is_empty(), "a date fails strict runs only: {after:?}");
        assert!(after.overdue[0].ends_with("ended on 2026-08-05"), "{after:?}");
    }

    #[test]
    fn exception_that_nothing_needs_is_a_failure() {
        let both = exception("RUSTSEC-2020-0071") + &exception("RUSTSEC-2021-0001");
        let verdict = judge(LOCKFILE, SNAPSHOT, &both, "2026-08-02");
        assert_eq!(verdict.failures.len(), 1, "{verdict:?}");
        assert!(verdict.failures[0].contains("RUSTSEC-2021-0001"), "{verdict:?}");
    }

    #[test]
    fn crate_that_the_snapshot_leaves_out_is_a_failure() {
        let fixed = LOCKFILE.replace("0.2.22", "0.2.23");
        let added = format!("{fixed}[[package]]\nname = \"zip\"\nversion = \"1.0.0\"\n");
        assert_eq!(judge(&added, SNAPSHOT, "", "2026-08-02"), Verdict::default(), "our own");
        let verdict = judge(&format!("{added}source = \"r\"\n"), SNAPSHOT, "", "2026-08-02");
        assert!(verdict.failures[0].contains("zip 1.0.0") && verdict.failures.len() == 1);
    }

    #[test]
    fn snapshot_age_is_a_warning_before_it_is_overdue() {
        let fixed = LOCKFILE.replace("0.2.22", "0.2.23");
        for (today, warnings, overdue) in [
            ("2026-08-31", 0, 0),
            ("2026-09-01", 1, 0),
            ("2026-11-29", 1, 0),
            ("2026-11-30", 0, 1),
            ("2027-08-01", 0, 1),
        ] {
            let verdict = judge(&fixed, SNAPSHOT, "", today);
            let counts = (verdict.warnings.len(), verdict.overdue.len());
            assert_eq!(counts, (warnings, overdue), "{today}: {verdict:?}");
        }
    }
}
