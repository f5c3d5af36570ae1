//! `docs/reference/cli.md` and the man page from the commands of `ade` themselves: what each prints
//! for `--help`, and the list of exit codes.

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
/// As wide as a page shows without scrolling, whatever terminal this runs on.
const COLUMNS: usize = 100;

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![
        Generated { path: DOCUMENT.to_owned(), text: document(args::command())? },
        Generated { path: MAN.to_owned(), text: man(args::command())? },
    ])
}

/// One page: whoever looks for a word finds it without knowing which command it belongs to.
fn man(command: Command) -> Result<String> {
    // The version would make every release a change of this file.
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
    for inner in command.get_subcommands() {
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
        "How to use it is told in [the guide](../guides/cli.md), and for `ade run` in \
         [its own](../guides/run.md).\nData goes to standard output, talk and errors to standard \
         error. On a terminal there is colour,\nunless `NO_COLOR` is set; in a pipe values are \
         whole. With `-o json` answers and errors are JSON.\nEvery error ends with the next \
         command to run.\n\n\
         | variable | meaning |\n|---|---|\n\
         | `ADE_PROFILE` | which kept server and token to use; `--profile` wins over it |\n\
         | `ADE_SERVER` | where the server is; wins over what `ade login` kept |\n\
         | `ADE_TOKEN` | the token; wins over what `ade login` kept |\n\
         | `NO_COLOR` | no colour, if it is set |\n\
         | `CLICOLOR_FORCE` | colour also in a pipe, if it is set |\n\
         | `ADE_FORCE_TTY` | words as on a terminal also in a pipe, if it is set |\n\
         | `XDG_CONFIG_HOME` | where `ade/config.toml` is kept, for its owner alone; `~/.config` \
         if unset |\n\n\
         ## Exit codes\n\n| code | meaning |\n|---|---|\n",
    );
    for (code, says) in exit::TOLD {
        writeln!(out, "| {code} | {says} |")?;
    }
    out.push_str("\n`ade run` ends with the command's own code once that has run.\n");
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
    for inner in command.get_subcommands_mut() {
        describe(out, inner)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_every_exit_code_is_described() {
        let text = document(args::command()).unwrap();
        for heading in ["## ade", "## ade login", "## ade tasks wait", "## ade locks top"] {
            assert!(text.lines().any(|line| line == heading), "{heading}\n{text}");
        }
        for (code, _) in exit::TOLD {
            assert!(text.contains(&format!("\n| {code} | ")), "{code}");
        }
        assert!(!text.contains('\u{1b}'), "no colour in a file");
    }

    #[test]
    fn the_man_page_has_every_command_once() {
        let page = man(args::command()).unwrap();
        for heading in [".SH ADE APPROVE\n", ".SH ADE LOCKS TOP\n", ".SH ADE CAN\\-I APPLY\n"] {
            assert_eq!(page.matches(heading).count(), 1, "{heading}");
        }
    }
}
