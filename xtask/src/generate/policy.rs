//! Generates `docs/reference/policy.md` from the fields that the policy and case readers know,
//! their limits, and the complete example that the core tests.

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
        "[The guide](../guides/policies.md) explains how to write, test and publish policies. \
         A policy is YAML or JSON; a file of cases\nis YAML. Unknown, duplicate and out-of-range \
         fields are refused, all at once, with line and column. Anchors,\naliases and merge keys \
         are not supported.\n\n\
         **Globs**: `*` and `?` stay inside one segment between `/`, `**` crosses them, `{a,b}` \
         is either, `[a-z]` one\ncharacter. **Periods**: `48h`, `7d`, `1d12h`, `30m`; a day has \
         24 hours. **Words** (roles, tags, names) are case-sensitive.\n\n\
         Several policies may match one task. The strictest value of each field applies: all \
         groups, the higher `min`,\nthe shorter period, the lower `reject_threshold`; delegation \
         is forbidden if one policy forbids it, and a task\nis auto-approved only if every \
         matching policy has a clause that holds. If no policy matches, one `reviewer`\nor \
         `admin` must approve.\n",
    );
    out.push_str("\n## A policy\n");
    sections(&mut out, "policy", POLICY, limits)?;
    write!(out, "\n### Example\n\n```yaml\n{example}```\n")?;
    out.push_str(
        "\n## A file of cases\n\n`ade-server policy test` evaluates the policies for every \
         case and exits with\n0 if all results are as expected, 1 if one is not, 2 if a file \
         is invalid.\n",
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

/// Replaces the name of every limit in braces by its value.
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
    fn policy_reference_has_every_field_and_limit() {
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
    fn policy_limit_that_does_not_exist_is_an_error() {
        let limits = BTreeMap::from([("A_MAX".to_owned(), "7".to_owned())]);
        assert_eq!(filled("1 to {A_MAX}, no more", &limits).unwrap(), "1 to 7, no more");
        assert!(filled("{B_MAX}", &limits).is_err());
        assert!(filled("{A_MAX", &limits).is_err());
    }
}
