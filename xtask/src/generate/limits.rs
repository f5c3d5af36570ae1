//! Generates `docs/reference/limits.md` from the source text of the core's limits: their plain
//! comments become sections, their constants rows, and their doc comments the explanations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/core/src/limits.rs";
/// The files with the limits.
const PARTS: [&str; 6] = [
    "crates/core/src/limits/apply.rs",
    "crates/core/src/limits/groups.rs",
    "crates/core/src/limits/identity.rs",
    "crates/core/src/limits/live.rs",
    "crates/core/src/limits/models.rs",
    "crates/core/src/limits/webhooks.rs",
];
const DOCUMENT: &str = "docs/reference/limits.md";

pub fn generate(tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(&source(tree)?)? }])
}

/// Returns the text of all files, one after the other.
fn source(tree: &Tree) -> Result<String> {
    let paths = std::iter::once(SOURCE).chain(PARTS);
    let texts = paths.map(|path| tree.text(path).with_context(|| format!("{path} is missing")));
    Ok(texts.collect::<Result<Vec<&str>>>()?.join("\n"))
}

/// Returns every limit by its name, formatted as in the reference.
pub fn values(tree: &Tree) -> Result<BTreeMap<String, String>> {
    let source = source(tree)?;
    let mut values = BTreeMap::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("pub const ") {
            let declared = whole(line, &mut lines)?;
            let (name, value) = parts(&declared)?;
            values.insert(name.to_owned(), value);
        }
    }
    Ok(values)
}

fn document(source: &str) -> Result<String> {
    let mut out = format!("# Limits\n\n{NOTICE} Its source is `{SOURCE}`.\n");
    let mut reason = String::new();
    let mut is_in_table = false;
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("/// ") {
            if !reason.is_empty() {
                reason.push(' ');
            }
            reason.push_str(text);
        } else if let Some(title) = line.strip_prefix("// ") {
            let _ = write!(out, "\n## {}\n", title.trim_end_matches('.'));
            is_in_table = false;
        } else if line.starts_with("pub const ") {
            let declared = whole(line, &mut lines)?;
            let (name, value) = parts(&declared)?;
            if !is_in_table {
                out.push_str("\n| limit | value | why |\n|---|---|---|\n");
                is_in_table = true;
            }
            let _ = writeln!(out, "| `{name}` | {value} | {} |", reason.replace('|', "\\|"));
            reason.clear();
        }
    }
    Ok(out)
}

/// Reads a declaration, which may span several lines and ends with its semicolon.
fn whole<'a>(first: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<String> {
    let mut declared = first.to_owned();
    while !declared.ends_with(';') {
        let Some(next) = rest.next() else {
            bail!("{SOURCE}: `{first}` has no end");
        };
        declared = format!("{declared} {}", next.trim());
    }
    Ok(declared)
}

fn parts(declared: &str) -> Result<(&str, String)> {
    let read = || {
        let rest = declared.strip_prefix("pub const ")?.strip_suffix(';')?;
        let (name, rest) = rest.split_once(": ")?;
        let (kind, value) = rest.split_once(" = ")?;
        Some((name, formatted(name, kind, value)))
    };
    read().with_context(|| format!("{SOURCE}: cannot read `{declared}`"))
}

/// Formats a value in words if the expression is simple, and as it is written otherwise.
fn formatted(name: &str, kind: &str, value: &str) -> String {
    let factors: Option<Vec<u64>> = inside(value)
        .split('*')
        .map(|factor| factor.trim().replace('_', "").parse().ok())
        .collect();
    let Some(number) = factors.map(|factors| factors.iter().product::<u64>()) else {
        return format!("`{value}`");
    };
    let unit = value.split('(').next().unwrap_or_default();
    match unit.strip_prefix("Duration::from_") {
        Some("hours") if number > 48 && number.is_multiple_of(24) => format!("{} d", number / 24),
        Some("hours") => format!("{number} h"),
        Some("mins") => format!("{number} min"),
        Some("secs") => format!("{number} s"),
        Some("millis") => format!("{number} ms"),
        Some(_) => format!("`{value}`"),
        None if kind == "Duration" => format!("`{value}`"),
        None if name.ends_with("_BYTES") && number >= 1024 && number.is_multiple_of(1024) => {
            format!("{} KiB", number / 1024)
        }
        None if name.ends_with("_BYTES") => format!("{number} bytes"),
        None => number.to_string(),
    }
}

fn inside(value: &str) -> &str {
    let inner = value.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_reference_has_sections_values_and_reasons() {
        let source = "//! Head.\n\nuse std::time::Duration;\n\n// Sizes.\n\
            /// Because\n/// of | this.\npub const NAME_MAX_BYTES: usize = 4 * 1024;\n\
            pub const ITEMS_MAX: u32 = 1_000;\n\n// Times.\n\
            pub const PERIOD: Duration =\n    Duration::from_hours(7 * 24);\n";
        let expected = format!(
            "# Limits\n\n{NOTICE} Its source is `{SOURCE}`.\n\n## Sizes\n\n\
            | limit | value | why |\n|---|---|---|\n\
            | `NAME_MAX_BYTES` | 4 KiB | Because of \\| this. |\n| `ITEMS_MAX` | 1000 |  |\n\n\
            ## Times\n\n| limit | value | why |\n|---|---|---|\n| `PERIOD` | 7 d |  |\n"
        );
        assert_eq!(document(source).unwrap(), expected);
    }

    #[test]
    fn limit_value_is_formatted_or_kept_as_written() {
        for (name, kind, value, expected) in [
            ("A_MAX_BYTES", "usize", "64", "64 bytes"),
            ("A_MAX_BYTES", "usize", "1024", "1 KiB"),
            ("A_MAX_BYTES", "usize", "1025", "1025 bytes"),
            ("A_MAX", "usize", "2048", "2048"),
            ("A", "Duration", "Duration::from_hours(48)", "48 h"),
            ("A", "Duration", "Duration::from_hours(72)", "3 d"),
            ("A", "Duration", "Duration::from_hours(49)", "49 h"),
            ("A", "Duration", "Duration::from_mins(5)", "5 min"),
            ("A", "Duration", "Duration::from_secs(30)", "30 s"),
            ("A", "Duration", "Duration::from_millis(250)", "250 ms"),
            ("A", "Duration", "Duration::from_nanos(1)", "`Duration::from_nanos(1)`"),
            ("A", "Duration", "B", "`B`"),
            ("A", "usize", "B + 1", "`B + 1`"),
        ] {
            assert_eq!(formatted(name, kind, value), expected, "{value}");
        }
    }

    #[test]
    fn limit_that_cannot_be_parsed_is_an_error() {
        assert!(document("pub const A: usize\n").is_err());
        assert!(document("pub const A = 1;\n").is_err());
        assert!(generate(&Tree::of(&[])).is_err());
    }
}
