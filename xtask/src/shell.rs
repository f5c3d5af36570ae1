//! Runs other programs: finds the repository, cargo and tools, and names a command when it fails.

use std::cell::RefCell;
use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// Returns the root of the workspace. It is determined at run time, because a binary in a shared
/// target directory may come from another checkout: cargo sets `CARGO_MANIFEST_DIR`; without cargo,
/// as in CI, the root is the nearest directory above the current one that contains `Cargo.lock`.
pub fn root() -> Result<PathBuf> {
    if let Some(package) = env::var_os("CARGO_MANIFEST_DIR") {
        let root = Path::new(&package).parent().context("xtask has no parent directory")?;
        return Ok(root.to_owned());
    }
    let here = env::current_dir().context("cannot determine the current directory")?;
    let root = here.ancestors().find(|directory| directory.join("Cargo.lock").is_file());
    root.map(Path::to_owned).context("run `cargo xtask …`, or call xtask inside the workspace")
}

pub fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    command
}

thread_local! {
    /// The file that receives the output of programs started by this thread; `None` for our own
    /// output.
    static SINK: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Runs `work` on this thread with the output of every program it starts appended to `log`, so
/// that steps which run in parallel do not interleave.
pub fn logged_to<T>(log: &File, work: impl FnOnce() -> T) -> Result<T> {
    let sink = log.try_clone().context("cannot share the log of a step")?;
    SINK.with(|cell| cell.replace(Some(sink)));
    let result = work();
    SINK.with(|cell| cell.replace(None));
    Ok(result)
}

/// Sends what `command` prints to the log of the current step, if it has one.
fn redirect(command: &mut Command) -> Result<()> {
    SINK.with(|cell| {
        if let Some(log) = &*cell.borrow() {
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
        }
        Ok(())
    })
}

pub fn succeed(command: &mut Command) -> Result<()> {
    redirect(command)?;
    let status = command.status().with_context(|| format!("cannot start {}", spell(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", spell(command));
    }
    Ok(())
}

pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", spell(command)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}\n{}", spell(command), output.status, text.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no text", spell(command)))
}

/// Returns the directory where cargo puts its artifacts.
pub fn target_directory(root: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let args = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    let text = output(&mut cargo(root, &args))?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("cannot read what cargo metadata says")?;
    Ok(metadata.target_directory)
}

/// Returns whether `.ci/run` has built and linted the workspace and checked the dashboard.
pub fn is_built() -> bool {
    env::var_os("ADE_BUILT").is_some()
}

/// Builds every program of the workspace, unless `.ci/run` has done so, and returns the directory
/// they are in.
pub fn programs(root: &Path) -> Result<PathBuf> {
    if !is_built() {
        succeed(&mut cargo(root, &["build", "--workspace", "--bins", "--locked"]))?;
    }
    Ok(target_directory(root)?.join("debug"))
}

/// Finds a tool in the directory that `ADE_TOOLS` names, where CI puts its own, or on the path.
pub fn find(tool: &str) -> Option<PathBuf> {
    let own = env::var_os("ADE_TOOLS").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    own.into_iter()
        .chain(env::split_paths(&path))
        .map(|directory| directory.join(tool))
        .find(|candidate| candidate.is_file())
}

pub fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Formats a command in readable length: the name of the program and its first arguments.
fn spell(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().take(8).map(|arg| arg.to_string_lossy().into_owned()));
    if command.get_args().len() > 8 {
        words.push("…".to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_failure_names_the_command_and_its_output() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo because >&2; exit 3"]);
        let text = output(&mut command).unwrap_err().to_string();
        assert!(text.contains("sh -c") && text.contains("because"), "{text}");
        assert!(succeed(&mut command).unwrap_err().to_string().contains('3'));
    }

    #[test]
    fn command_success_returns_its_output() {
        assert_eq!(output(Command::new("/bin/echo").arg("yes")).unwrap(), "yes\n");
        assert!(succeed(&mut Command::new("/bin/true")).is_ok());
    }

    #[test]
    fn logged_step_keeps_all_output_in_its_file() {
        let path = env::temp_dir().join(format!("xtask-shell-{}", std::process::id()));
        let log = File::create(&path).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo err >&2; exit 1"]);
        assert!(logged_to(&log, || succeed(&mut command)).unwrap().is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "out\nerr\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn command_line_that_is_long_is_cut() {
        let mut command = Command::new("/bin/echo");
        command.args((0..9).map(|n| n.to_string()));
        assert_eq!(spell(&command), "echo 0 1 2 3 4 5 6 7 …");
    }

    #[test]
    fn tool_on_the_path_is_found() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-tool-anywhere"), None);
    }
}
