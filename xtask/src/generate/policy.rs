//! `docs/reference/policy.md` from the fields that the readers of policies and cases know, the
//! limits they keep, and the example that the core tests as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ade_core::policy::schema::{CASES, POLICY, Section};
use anyhow::{Context as _, Result, bail};

use super::{Generated, NOTICE, limits};
use crate::tree::Tree;

const SOURCE: &str = "crates/core/src/policy/schema.rs";
const EXAMPLE: &str = "crates/core/tests/policies/production-databases.yaml";
const DOCUMENT: &str = "docs/reference/policy.md";

pub fn generate(tree: &Tree) -> Result<Vec<Generated>> {
    let example = tree.text(EXAMPLE).with_context(|| format!("{EXAMPLE} is missing"))?;
    let text = document(&limits::values(tree)?, example)?;
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text }])
}

fn document(limits: &BTreeMap<String, String>, example: &str) -> Result<String> {
    let mut out = format!("# Policies and their cases\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "How to write, try and publish policies is told in [the guide](../guides/policies.md). \
         A policy is YAML or\nJSON; a file of cases is YAML. What is unknown, given twice or out \
         of bounds is refused with its line and\ncolumn, all of it at once. Anchors, aliases and \
         merge keys are not read.\n\n\
         **Globs**: `*` and `?` stay inside one segment between `/`, `**` crosses them, `{a,b}` \
         is either, `[a-z]` one\ncharacter. **Periods**: `48h`, `7d`, `1d12h`, `30m`; a day has \
         24 hours. **Words** (roles, tags, names) are compared\nletter by letter.\n\n\
         Several policies may match one task. The strictest word of each holds: all groups, the \
         higher `min`, the shorter\nperiod, the lower `reject_threshold`; delegation is forbidden \
         if one forbids it, and a task passes without a\nperson only if every policy that matches \
         has a clause that holds. If no policy matches, one `reviewer` or\n`admin` is asked.\n",
    );
    out.push_str("\n## A policy\n");
    sections(&mut out, "policy", POLICY, limits)?;
    write!(out, "\n### Example\n\n```yaml\n{example}```\n")?;
    out.push_str(
        "\n## A file of cases\n\nRead by `ade-server policy test`, which asks the policies about \
         every case and ends with\n0 if all is as expected, 1 if something is not, 2 if a file \
         cannot be read.\n",
    );
    sections(&mut out, "file", CASES, limits)?;
    Ok(out)
}

fn sections(
    out: &mut String,
    root: &str,
    sections: &[Section],
    limits: &BTreeMap<String, String>,
) -> Result<()> {
    for section in sections {
        let title = if section.path.is_empty() {
            format!("The {root}")
        } else {
            let paths = section.path.split(", ").map(|path| format!("`{path}`"));
            paths.collect::<Vec<_>>().join(", ")
        };
        write!(out, "\n### {title}\n\n{}\n\n", section.says)?;
        out.push_str("| field | holds | if left out | meaning |\n|---|---|---|---|\n");
        for field in section.fields {
            let [holds, default, meaning] =
                [field.holds, field.default, field.meaning].map(|text| filled(text, limits));
            let row = format!("| `{}` | {} | {} | {} |", field.name, holds?, default?, meaning?);
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}

/// With the value of every limit that the text names in braces.
fn filled(text: &str, limits: &BTreeMap<String, String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            bail!("{SOURCE}: a brace is not closed in `{text}`");
        };
        let value = limits.get(name).with_context(|| format!("{SOURCE}: no limit `{name}`"))?;
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_row_and_every_limit_its_value() {
        let tree = Tree::read(&crate::shell::root().unwrap()).unwrap();
        let text = &generate(&tree).unwrap()[0].text;
        for section in POLICY.iter().chain(CASES) {
            for field in section.fields {
                assert!(text.contains(&format!("\n| `{}` |", field.name)), "{}", field.name);
            }
        }
        assert!(text.contains("| `min` | 1 to 50 | 1 |"), "{text}");
        assert!(!text.contains("_MAX"), "{text}");
    }

    #[test]
    fn a_limit_that_is_not_there_is_an_error() {
        let limits = BTreeMap::from([("A_MAX".to_owned(), "7".to_owned())]);
        assert_eq!(filled("1 to {A_MAX}, no more", &limits).unwrap(), "1 to 7, no more");
        assert!(filled("{B_MAX}", &limits).is_err());
        assert!(filled("{A_MAX", &limits).is_err());
    }
}
