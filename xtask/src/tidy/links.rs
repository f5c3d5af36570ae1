//! A relative link in a document points to a file and a heading that exist, and every document is
//! reachable from README.md. URLs are not checked.

use std::collections::BTreeSet;

use super::Violation;
use crate::tree::{Tree, directory_of, join};

const START: &str = "README.md";
const DOCUMENT: &str = ".md";

pub fn targets(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.ending(DOCUMENT) {
        for link in links(text) {
            if let Some(refusal) = refusal(tree, path, text, &link.target) {
                violations.push(Violation::new(path, link.line, refusal));
            }
        }
    }
    violations
}

pub fn reach(tree: &Tree) -> Vec<Violation> {
    let mut reached = BTreeSet::new();
    let mut open = vec![START.to_owned()];
    while let Some(path) = open.pop() {
        let Some(text) = tree.text(&path).filter(|_| path.ends_with(DOCUMENT)) else {
            continue;
        };
        if reached.insert(path.clone()) {
            let targets = links(text).into_iter().filter(|link| is_relative(&link.target));
            open.extend(targets.filter_map(|link| {
                let file = link.target.split('#').next().unwrap_or_default().to_owned();
                join(directory_of(&path), &file)
            }));
        }
    }
    tree.ending(DOCUMENT)
        .filter(|(path, _)| !reached.contains(*path))
        .map(|(path, _)| {
            Violation::new(
                path,
                1,
                format!("no link from {START} leads here: link it or delete it"),
            )
        })
        .collect()
}

fn refusal(tree: &Tree, path: &str, text: &str, target: &str) -> Option<String> {
    if !is_relative(target) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let (aim, aimed) = if file.is_empty() {
        (path.to_owned(), Some(text))
    } else {
        let aim = join(directory_of(path), file).filter(|aim| tree.holds(aim) || aim.is_empty());
        let Some(aim) = aim else {
            return Some(format!("`{target}` does not exist"));
        };
        let aimed = tree.text(&aim);
        (aim, aimed)
    };
    let is_heading = anchor.is_empty() || aimed.is_some_and(|text| anchors(text).contains(anchor));
    (!is_heading && aim.ends_with(DOCUMENT)).then(|| format!("{aim} has no heading `#{anchor}`"))
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// Returns every `[text](target)` outside code.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, prose) in prose(text) {
        // Text between backticks is code, so only every other piece is prose.
        for piece in prose.split('`').step_by(2) {
            for rest in piece.split("](").skip(1) {
                let target = rest.split([')', ' ']).next().unwrap_or_default().to_owned();
                found.push(Link { line, target });
            }
        }
    }
    found
}

fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((at + 1, line))
    })
}

/// Returns the anchors of the headings: lower case, spaces to dashes, punctuation removed.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    #[test]
    fn link_to_a_missing_file_is_found() {
        let files = [("README.md", "# a\n\nsee [b](docs/b.md)\n")];
        assert_one(targets, &files, "README.md:3", "docs/b.md");
        let files = [("docs/a.md", "[up](../../x.md)\n")];
        assert_one(targets, &files, "docs/a.md:1", "x.md");
    }

    #[test]
    fn link_to_file_directory_heading_or_url_is_accepted() {
        let text = "# Top of it\n[b](docs/b.md) [d](docs) [h](docs/b.md#why-not-now) \
                    [here](#top-of-it) [net](https://example.org/x) [png](p.png \"t\") [r](./)\n";
        let files = [("README.md", text), ("docs/b.md", "## Why, not `now`?\n"), ("p.png", "")];
        assert_eq!(messages(targets, &files), Vec::<String>::new());
    }

    #[test]
    fn link_to_a_missing_heading_is_reported() {
        let files = [("README.md", "[b](b.md#new)\n"), ("b.md", "# old\n")];
        assert_one(targets, &files, "README.md:1", "#new");
        assert_one(targets, &[("README.md", "[b](#new)\n")], "README.md:1", "#new");
    }

    #[test]
    fn link_in_a_code_block_is_ignored() {
        let text = "`[a](b)` and\n```\n[a](b)\n# no heading\n```\n";
        assert_eq!(messages(targets, &[("README.md", text)]), Vec::<String>::new());
        assert!(anchors(text).is_empty());
    }

    #[test]
    fn document_without_a_link_to_it_is_found() {
        let files = [
            ("README.md", "[d](docs/README.md#x)\n"),
            ("docs/README.md", "# x\n[a](adr/a.md) [up](../README.md)\n"),
            ("docs/adr/a.md", ""),
            ("docs/adr/b.md", "[a](a.md)\n"),
        ];
        assert_one(reach, &files, "docs/adr/b.md:1", "no link");
    }
}
