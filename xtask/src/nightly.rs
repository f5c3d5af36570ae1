//! `cargo xtask nightly`: the suites that are too long for CI, at full size. The registry says what
//! each of them shows and which command runs it. A suite runs in pieces of at most an hour; the
//! state of each piece is kept under `target/nightly`, so that an interrupted suite can be resumed.
//! A finished suite writes a report to `docs/reports`.

mod suites;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use self::suites::{SUITES, Suite, SuiteRunner};
use crate::report::{self, Stamp};
use crate::{paint, shell};

/// A piece that takes longer is stopped and counts as failed; this is one and a half times its
/// limit.
const PIECE_MAX: Duration = Duration::from_mins(90);
/// The number of lines from the end of each log in the report.
const TAIL_LINES: usize = 5;

#[derive(Debug, clap::Args)]
pub struct NightlyArgs {
    /// The suite to run; all suites, one after the other, if none is given
    suite: Option<String>,
    /// List the suites and what they show, and run nothing
    #[arg(long)]
    list: bool,
    /// The seed of everything random; by default the one of the series in progress, or the current
    /// time
    #[arg(long)]
    seed: Option<u64>,
    /// Discard the pieces that were finished before
    #[arg(long)]
    restart: bool,
    /// Stop after this many pieces; the next call continues with the following one
    #[arg(long)]
    pieces: Option<usize>,
}

/// The state of a suite in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    commit: String,
    seed: u64,
    done: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    command: String,
    passed: bool,
    seconds: u64,
    /// The last lines of its log.
    tail: String,
}

pub fn run(root: &Path, args: &NightlyArgs) -> Result<()> {
    if args.list {
        print!("{}", list());
        return Ok(());
    }
    let chosen: Vec<&Suite> = match &args.suite {
        Some(name) => vec![find(name)?],
        None => SUITES.iter().collect(),
    };
    let mut left = args.pieces.unwrap_or(usize::MAX);
    let mut failed = Vec::new();
    for suite in chosen {
        if left == 0 {
            break;
        }
        if !one(root, suite, args, &mut left)? {
            failed.push(suite.name);
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn find(name: &str) -> Result<&'static Suite> {
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let found = SUITES.iter().find(|suite| suite.name == name);
    found.with_context(|| format!("there is no suite `{name}`: choose one of {}", names.join(", ")))
}

fn list() -> String {
    let mut out = format!("{:<16}{:>8}{:>8}  shows\n", "suite", "pieces", "minutes");
    for suite in SUITES {
        let Suite { name, pieces, minutes, shows, .. } = suite;
        let _ = writeln!(out, "{name:<16}{pieces:>8}{minutes:>8}  {shows}");
    }
    out
}

/// Runs the missing pieces of one suite, and returns whether all finished pieces have passed.
fn one(root: &Path, suite: &Suite, args: &NightlyArgs, left: &mut usize) -> Result<bool> {
    let folder = shell::target_directory(root)?.join("nightly");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let kept = folder.join(format!("{}.json", suite.name));
    if args.restart {
        let _ = fs::remove_file(&kept);
    }
    let stamp = Stamp::take(root)?;
    let mut state = resume(&kept, &stamp.commit, args.seed)?;
    println!("{}", paint::bold(&format!("── {}, seed {}", suite.name, state.seed)));
    while state.done.len() < suite.pieces && *left > 0 {
        let number = state.done.len() + 1;
        let log = folder.join(format!("{}-{number}.log", suite.name));
        let piece = piece(root, suite, number, state.seed, &log)?;
        let word = if piece.passed { paint::green("passed") } else { paint::red("FAILED") };
        let (of, seconds) = (suite.pieces, piece.seconds);
        println!("piece {number} of {of} {word} after {seconds} s; log: {}", log.display());
        if !piece.passed {
            println!("{}", piece.tail);
        }
        state.done.push(piece);
        fs::write(&kept, serde_json::to_string_pretty(&state)?)
            .with_context(|| format!("cannot write {}", kept.display()))?;
        *left -= 1;
    }
    let passed = state.done.iter().all(|piece| piece.passed);
    if state.done.len() == suite.pieces {
        let name = format!("nightly-{}", suite.name);
        report::keep(root, &name, &stamp, &text(suite, &stamp, &state))?;
        // The next call begins a new series.
        fs::remove_file(&kept).with_context(|| format!("cannot remove {}", kept.display()))?;
    } else {
        println!("{} of {} pieces done: call it again to go on", state.done.len(), suite.pieces);
    }
    Ok(passed)
}

/// Returns the stored state if it has this commit and seed, because pieces of different commits or
/// seeds must not end up in one report.
fn resume(kept: &Path, commit: &str, seed: Option<u64>) -> Result<State> {
    if let Ok(text) = fs::read_to_string(kept) {
        let state: State = serde_json::from_str(&text)
            .with_context(|| format!("cannot read {}: remove it", kept.display()))?;
        if state.commit == commit && seed.is_none_or(|seed| seed == state.seed) {
            return Ok(state);
        }
        bail!(
            "{} was begun on commit {} with seed {}: finish it there, or discard it with --restart",
            kept.display(),
            state.commit,
            state.seed
        );
    }
    let now = std::time::UNIX_EPOCH.elapsed().context("the clock is before 1970")?;
    Ok(State { commit: commit.to_owned(), seed: seed.unwrap_or(now.as_secs()), done: Vec::new() })
}

fn piece(root: &Path, suite: &Suite, number: usize, seed: u64, log: &Path) -> Result<Piece> {
    let spelled = suite.spell(number, seed);
    println!("{spelled}");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=30", &PIECE_MAX.as_secs().to_string()]).arg(program(suite)?);
    command.args(suite.args(number, seed)).current_dir(root);
    for (name, value) in suite.env {
        command.env(name, suites::fill(value, number, seed));
    }
    let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let began = Instant::now();
    let result = shell::logged_to(&output, || shell::succeed(&mut command))?;
    let written = fs::read(log).unwrap_or_default();
    Ok(Piece {
        command: spelled,
        passed: result.is_ok(),
        seconds: began.elapsed().as_secs(),
        // A report names no path of the machine.
        tail: tail(&String::from_utf8_lossy(&written).replace(&format!("{}/", root.display()), "")),
    })
}

fn program(suite: &Suite) -> Result<PathBuf> {
    match suite.program {
        SuiteRunner::Cargo => {
            Ok(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into())
        }
        SuiteRunner::Xtask => std::env::current_exe().context("cannot find this program"),
    }
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines.get(from..).unwrap_or_default().join("\n")
}

fn text(suite: &Suite, stamp: &Stamp, state: &State) -> String {
    let Stamp { day, commit } = stamp;
    let Suite { name, shows, .. } = suite;
    let seed = state.seed;
    let failed = state.done.iter().filter(|piece| !piece.passed).count();
    let mut out = format!(
        "# Nightly suite `{name}`, {day}\n\nIt shows that {shows}.\n\nRepeat it on commit \
         `{commit}` with\n`cargo xtask nightly {name} --seed {seed}`.\n\n\
         | piece | result | seconds |\n|---|---|---|\n"
    );
    for (at, piece) in state.done.iter().enumerate() {
        let word = if piece.passed { "passed" } else { "failed" };
        let _ = writeln!(out, "| {} | {word} | {} |", at + 1, piece.seconds);
    }
    let _ = writeln!(out, "\nFailed pieces: {failed}.");
    for (at, Piece { command, tail, .. }) in state.done.iter().enumerate() {
        let _ = write!(out, "\n## Piece {}\n\n```text\n$ {command}\n{tail}\n```\n", at + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(passed: bool) -> Piece {
        Piece { command: "cargo x".to_owned(), passed, seconds: 90, tail: "12 passed".to_owned() }
    }

    #[test]
    fn report_names_the_seed_the_pieces_and_the_failures() {
        let stamp = Stamp { day: "2026-01-02".to_owned(), commit: "abc".to_owned() };
        let done = vec![piece(true), piece(false)];
        let state = State { commit: "abc".to_owned(), seed: 7, done };
        let text = text(&SUITES[0], &stamp, &state);
        for part in
            ["`abc`", "--seed 7", "| 1 | passed | 90 |", "| 2 | failed | 90 |", "pieces: 1."]
        {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn state_is_resumed_for_the_same_commit_and_seed_only() {
        let kept = std::env::temp_dir().join(format!("xtask-nightly-{}.json", std::process::id()));
        let _ = fs::remove_file(&kept);
        assert_eq!(resume(&kept, "abc", Some(7)).unwrap().seed, 7);
        let state = State { commit: "abc".to_owned(), seed: 7, done: vec![piece(true)] };
        fs::write(&kept, serde_json::to_string(&state).unwrap()).unwrap();
        assert_eq!(resume(&kept, "abc", None).unwrap(), state);
        assert_eq!(resume(&kept, "abc", Some(7)).unwrap(), state);
        for (commit, seed) in [("def", None), ("abc", Some(8))] {
            let error = resume(&kept, commit, seed).unwrap_err().to_string();
            assert!(error.contains("--restart"), "{error}");
        }
        fs::remove_file(&kept).unwrap();
    }

    #[test]
    fn tail_of_a_log_is_its_last_lines() {
        assert_eq!(tail("1\n2\n\n3\n4\n5\n6\n\n"), "2\n3\n4\n5\n6");
        assert_eq!(tail(""), "");
    }

    #[test]
    fn unknown_suite_is_refused_with_the_known_names() {
        let error = find("nothing").unwrap_err().to_string();
        assert!(error.contains("faults") && error.contains("schemathesis"), "{error}");
        assert!(list().contains("schemathesis"));
    }
}
