//! Other programs: where the repository is, which cargo to call, how a tool is found, and one
//! way to run a command that names it when it fails.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// Asked at run time: a binary in a shared target directory may come from another checkout.
pub fn root() -> Result<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask …`")?;
    let root = Path::new(&package).parent().context("xtask has no parent directory")?;
    Ok(root.to_owned())
}

pub fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    command
}

pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", spell(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", spell(command));
    }
    Ok(())
}

pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", spell(command)))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}\n{}", spell(command), output.status, told.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no text", spell(command)))
}

/// Where cargo puts what it builds.
pub fn target_directory(root: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let args = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    let told = output(&mut cargo(root, &args))?;
    let metadata: Metadata =
        serde_json::from_str(&told).context("cannot read what cargo metadata says")?;
    Ok(metadata.target_directory)
}

/// A tool in the directory `ADE_TOOLS` names (CI puts its own there), else on the path.
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

/// Short enough to read: the program's name and its first arguments.
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
    fn a_failure_names_the_command_and_what_it_said() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo because >&2; exit 3"]);
        let told = output(&mut command).unwrap_err().to_string();
        assert!(told.contains("sh -c") && told.contains("because"), "{told}");
        assert!(succeed(&mut command).unwrap_err().to_string().contains('3'));
    }

    #[test]
    fn success_gives_what_was_written() {
        assert_eq!(output(Command::new("/bin/echo").arg("yes")).unwrap(), "yes\n");
        assert!(succeed(&mut Command::new("/bin/true")).is_ok());
    }

    #[test]
    fn long_commands_are_cut() {
        let mut command = Command::new("/bin/echo");
        command.args((0..9).map(|n| n.to_string()));
        assert_eq!(spell(&command), "echo 0 1 2 3 4 5 6 7 …");
    }

    #[test]
    fn tools_on_the_path_are_found() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-tool-anywhere"), None);
    }
}
