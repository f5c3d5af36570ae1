//! Generates `docs/reference/cli.md` and the man page from the command definitions of `ade`: the
//! help of every command and the list of exit codes.

use std::fmt::Write as _;
use std::io::Write as _;

use ade_cli::{args, exit};
use anyhow::Result;
use clap::Command;
use clap_mangen::Man;

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/cli/src/args/mod.rs";
const DOCUMENT: &str = "docs/reference/cli.md";
const MAN: &str = "docs/man/ade.1";
/// The width of the help texts, independent of the terminal.
const COLUMNS: usize = 100;

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![
        Generated { path: DOCUMENT.to_owned(), text: document(args::command())? },
        Generated { path: MAN.to_owned(), text: man(args::command())? },
    ])
}

/// Returns one man page for all commands, so that it can be searched as a whole.
fn man(command: Command) -> Result<String> {
    // Without the version, a release does not change this file.
    let mut command = command.version(None::<&str>);
    command.build();
    let page = Man::new(command.clone()).title("ADE").manual("Community ADE");
    let mut text = Vec::new();
    page.render(&mut text)?;
    below(&mut text, &command)?;
    let text = String::from_utf8(text)?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(format!(".\\\" {NOTICE} Its source is `{SOURCE}`.\n{}\n", lines.join("\n")))
}

fn below(text: &mut Vec<u8>, command: &Command) -> Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let name = inner.get_bin_name().unwrap_or_else(|| inner.get_name());
        let mut section = Vec::new();
        let page = Man::new(inner.clone());
        page.render_synopsis_section(&mut section)?;
        page.render_description_section(&mut section)?;
        page.render_options_section(&mut section)?;
        let section = String::from_utf8(section)?.replace(".SH ", ".SS ");
        writeln!(text, ".SH {}\n{section}", name.to_uppercase().replace('-', "\\-"))?;
        below(text, inner)?;
    }
    Ok(())
}

fn document(command: Command) -> Result<String> {
    let mut out = format!("# The command line\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "[The CLI guide](../guides/cli.md) explains how to use `ade`, and [its own \
         guide](../guides/run.md) explains `ade run`.\nData goes to standard output, messages and \
         errors go to standard error. On a terminal the output is\ncoloured unless `NO_COLOR` is \
         set; in a pipe no value is cut. With `-o json`, output and errors are JSON.\nEvery error \
         ends with the next command to run.\n\n\
         | variable | meaning |\n|---|---|\n\
         | `ADE_PROFILE` | profile to use; `--profile` takes precedence |\n\
         | `ADE_SERVER` | server URL; takes precedence over the settings file |\n\
         | `ADE_TOKEN` | token; takes precedence over the stored one |\n\
         | `NO_COLOR` | disables colours if set |\n\
         | `CLICOLOR_FORCE` | enables colours in a pipe if set |\n\
         | `ADE_FORCE_TTY` | formats output in a pipe as on a terminal if set |\n\
         | `XDG_CONFIG_HOME` | directory of `ade/config.toml`, which only its owner can read; \
         defaults to `~/.config` |\n\n\
         ## Exit codes\n\n| code | meaning |\n|---|---|\n",
    );
    for (code, says) in exit::CODES {
        writeln!(out, "| {code} | {says} |")?;
    }
    out.push_str("\nOnce its command has run, `ade run` exits with the command's own code.\n");
    let mut command = command.term_width(COLUMNS);
    command.build();
    describe(&mut out, &mut command)?;
    Ok(out)
}

fn describe(out: &mut String, command: &mut Command) -> Result<()> {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    write!(out, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end())?;
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        describe(out, inner)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_reference_has_every_command_and_exit_code() {
        let text = document(args::command()).unwrap();
        for heading in ["## ade", "## ade login", "## ade tasks wait", "## ade locks top"] {
            assert!(text.lines().any(|line| line == heading), "{heading}\n{text}");
        }
        for (code, _) in exit::CODES {
            assert!(text.contains(&format!("\n| {code} | ")), "{code}");
        }
        assert!(!text.contains('\u{1b}'), "no escape sequences in a file");
    }

    #[test]
    fn man_page_has_every_command_once() {
        let page = man(args::command()).unwrap();
        for heading in [".SH ADE APPROVE\n", ".SH ADE LOCKS TOP\n", ".SH ADE CAN\\-I APPLY\n"] {
            assert_eq!(page.matches(heading).count(), 1, "{heading}");
        }
    }
}
