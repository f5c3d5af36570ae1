//! Generates `docs/reference/threats.md` from the list of threats and their tests.

use std::fmt::Write as _;

use anyhow::Result;

use super::{Generated, NOTICE};
use crate::threats::{self, Threat};
use crate::tree::Tree;

const SOURCE: &str = "xtask/threats.toml";
const DOCUMENT: &str = "docs/reference/threats.md";

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(&threats::all()?)? }])
}

fn document(threats: &[Threat]) -> Result<String> {
    let mut out = format!("# Threats and the tests against them\n\n{NOTICE} Its source is ");
    write!(
        out,
        "`{SOURCE}`.\n\n`cargo xtask threats` runs these tests and fails if one of them fails.\n\n"
    )?;
    out.push_str("| | attack | tests |\n|---|---|---|\n");
    for Threat { id, attack, proved_by, pending } in threats {
        let mut tests: Vec<String> = proved_by.iter().map(|name| format!("`{name}`")).collect();
        if tests.is_empty() {
            tests.push(pending.clone().unwrap_or_else(|| "none yet".to_owned()));
        }
        writeln!(out, "| T{id} | {} | {} |", uncapital(attack), tests.join("<br>"))?;
    }
    Ok(out)
}

/// Lowers the first letter, for use inside a sentence.
fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
