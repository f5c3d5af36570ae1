//! Generates `docs/reference/engine-imports.md` from the sources of the engine: which folder
//! imports which, as diagrams and as a table. The rule `layers` of `tidy` checks the same imports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;

use super::{Generated, NOTICE};
use crate::modules::Modules;
use crate::tidy::layers::{ENGINE, is_noun, part_of};
use crate::tree::Tree;

const DOCUMENT: &str = "docs/reference/engine-imports.md";

pub fn generate(tree: &Tree) -> Result<Vec<Generated>> {
    let folders = Modules::read(tree, ENGINE).folders();
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(&folders)? }])
}

fn document(folders: &BTreeMap<String, BTreeSet<String>>) -> Result<String> {
    let mut out = format!("# Imports of the engine\n\n{NOTICE} Its source is `{ENGINE}`.\n\n");
    out.push_str(
        "An arrow means that files of one part import files of another. Each part imports only \
         parts of lower layers, and\nparts for nouns import each other without a cycle. \
         `cargo xtask tidy` checks both.\n\n",
    );
    out.push_str("## Layers\n\n`nouns` are the parts of the second diagram.\n\n");
    let layers = arrows(folders, |part| if is_noun(part) { "nouns" } else { part });
    diagram(&mut out, &layers)?;
    out.push_str("\n## Nouns\n\n");
    let nouns = arrows(folders, |part| part);
    diagram(&mut out, nouns.iter().filter(|(from, to)| is_noun(from) && is_noun(to)))?;
    out.push_str("\n## All imports between folders\n\n| folder | imports |\n|---|---|\n");
    for (from, targets) in folders {
        let targets: Vec<String> = targets.iter().map(|to| format!("`{to}`")).collect();
        writeln!(out, "| `{from}` | {} |", targets.join(", "))?;
    }
    Ok(out)
}

/// Returns the imports between parts, under the names that the parts have in the diagram.
fn arrows<'a>(
    folders: &'a BTreeMap<String, BTreeSet<String>>,
    name: impl Fn(&'a str) -> &'a str,
) -> BTreeSet<(&'a str, &'a str)> {
    let all = folders.iter().flat_map(|(from, targets)| {
        targets.iter().map(|to| (name(part_of(from.as_str())), name(part_of(to.as_str()))))
    });
    all.filter(|(from, to)| from != to).collect()
}

fn diagram<'a>(
    out: &mut String,
    arrows: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) -> Result<()> {
    out.push_str("```mermaid\nflowchart TD\n");
    for (from, to) in arrows {
        writeln!(out, "    {from} --> {to}")?;
    }
    out.push_str("```\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_imports_show_layers_nouns_and_folders() {
        let tree = Tree::of(&[
            ("crates/engine/src/app.rs", ""),
            ("crates/engine/src/tasks/mod.rs", ""),
            ("crates/engine/src/review/mod.rs", "use crate::{app::App, tasks::get};\n"),
        ]);
        let text = generate(&tree).unwrap().remove(0).text;
        for part in
            ["    nouns --> app\n", "    review --> tasks\n", "| `review` | `app`, `tasks` |\n"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("review --> app"), "{text}");
    }
}
