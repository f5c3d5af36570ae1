//! Generates `docs/reference/config.md` from the server's `config.default.toml`: its tables become
//! sections, its settings rows, and its comments the explanations. A setting without a comment is
//! an error.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/server/config.default.toml";
const DOCUMENT: &str = "docs/reference/config.md";

pub fn generate(tree: &Tree) -> Result<Vec<Generated>> {
    let source = tree.text(SOURCE).with_context(|| format!("{SOURCE} is missing"))?;
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(source)? }])
}

fn document(source: &str) -> Result<String> {
    let mut out = format!("# Settings\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "A file given with `--config` overrides these defaults, and the environment overrides \
         the file:\n`ADE__SERVER__LISTEN` is `listen` of `[server]`. Unknown settings are \
         refused. An empty string means\nthat the setting is not set. Secrets come from separate \
         files or from the environment.\n",
    );
    let mut section = String::new();
    let mut reason = String::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("# ") {
            if !reason.is_empty() {
                reason.push(' ');
            }
            reason.push_str(text);
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
            let paragraph = if reason.is_empty() { String::new() } else { format!("\n{reason}\n") };
            write!(out, "\n## {section}\n{paragraph}\n")?;
            out.push_str("| setting | default | environment | meaning |\n|---|---|---|---|\n");
            reason.clear();
        } else if let Some((name, value)) = line.split_once(" = ") {
            if reason.is_empty() || section.is_empty() {
                bail!("{SOURCE}: `{name}` needs a section and a comment above it");
            }
            let variable = format!("ADE__{section}__{name}").replace('.', "__").to_uppercase();
            writeln!(
                out,
                "| `{name}` | `{value}` | `{variable}` | {} |",
                reason.replace('|', "\\|")
            )?;
            reason.clear();
        } else if line.is_empty() {
            // A separate comment describes the file and not a setting.
            reason.clear();
        } else {
            bail!("{SOURCE}: cannot read `{line}`");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_reference_has_default_variable_and_reason() {
        let source =
            "# The file.\n\n# Where.\n[server]\n# The address\n# to use.\nlisten = \"x\"\n";
        let text = document(source).unwrap();
        let row = "| `listen` | `\"x\"` | `ADE__SERVER__LISTEN` | The address to use. |\n";
        assert!(text.ends_with(row), "{text}");
        assert!(text.contains("\n## server\n\nWhere.\n\n| setting |"), "{text}");
        assert!(!text.contains("The file."), "{text}");
    }

    #[test]
    fn config_setting_without_reason_is_an_error() {
        for bad in ["[a]\nb = 1\n", "# Why.\nb = 1\n", "[a]\n# Why.\n  b\n"] {
            assert!(document(bad).is_err(), "{bad}");
        }
        assert!(generate(&Tree::of(&[])).is_err());
    }
}
