//! Generates `docs/reports/README.md`: the list of the reports next to it, newest first, so that
//! readers can find them.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::{Generated, NOTICE};
use crate::tree::Tree;

pub const DIRECTORY: &str = "docs/reports";

pub fn generate(tree: &Tree) -> Result<Vec<Generated>> {
    let index = format!("{DIRECTORY}/README.md");
    let mut reports = Vec::new();
    for (path, text) in tree.ending(".md").filter(|(path, _)| *path != index) {
        if let Some(file) = path.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/')) {
            let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
            let title = title.with_context(|| format!("{path} does not begin with its title"))?;
            reports.push((file, title));
        }
    }
    // File names end with the date, so the newest of each kind comes first.
    reports.reverse();
    let mut text = format!("# Reports\n\n{NOTICE}\n\n");
    if reports.is_empty() {
        text.push_str("No reports yet.\n");
    }
    for (file, title) in reports {
        let _ = writeln!(text, "- [{title}]({file})");
    }
    Ok(vec![Generated { path: index, text }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(files: &[(&str, &str)]) -> String {
        generate(&Tree::of(files)).unwrap()[0].text.clone()
    }

    #[test]
    fn report_index_lists_titles_newest_first() {
        let index = text(&[
            ("docs/reports/README.md", "# old index\n"),
            ("docs/reports/mutants-2026-01-01.md", "# First\n"),
            ("docs/reports/mutants-2026-02-01.md", "# Second\n"),
            ("docs/other.md", "# Other\n"),
        ]);
        let list = "- [Second](mutants-2026-02-01.md)\n- [First](mutants-2026-01-01.md)\n";
        assert_eq!(index, format!("# Reports\n\n{NOTICE}\n\n{list}"));
    }

    #[test]
    fn report_index_handles_no_reports_and_refuses_untitled_ones() {
        assert!(text(&[]).contains("No report"));
        assert!(generate(&Tree::of(&[("docs/reports/a.md", "text\n")])).is_err());
    }
}
