//! Every font that the dashboard embeds is shipped with its licence, as the SIL Open Font License
//! requires: the text is in `web/public/licenses`, which the server serves, and a page links to it.

use super::Violation;
use crate::tree::Tree;

const SOURCES: &str = "web/src/";
const LICENCES: &str = "web/public/licenses/";
const ENDINGS: [&str; 4] = [".woff2", ".woff", ".ttf", ".otf"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let styles = tree.ending(".css").filter(|(path, _)| path.starts_with(SOURCES));
    styles.flat_map(|(path, text)| style_sheet(tree, path, text)).collect()
}

fn style_sheet(tree: &Tree, path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for name in line.split(['\'', '"', '(', ')']).filter_map(family) {
            if let Some(problem) = problem_of(tree, name) {
                let message = format!("the font {name} is embedded, but {problem}");
                violations.push(Violation::new(path, at + 1, message));
            }
        }
    }
    violations
}

/// Returns the name of the npm package that contains a font, or of the font file if it is in none.
fn family(font: &str) -> Option<&str> {
    let stem = ENDINGS.iter().find_map(|ending| font.strip_suffix(ending))?;
    match font.split('/').collect::<Vec<_>>().as_slice() {
        [scope, package, ..] if scope.starts_with('@') => Some(package),
        _ => stem.rsplit('/').next(),
    }
}

fn problem_of(tree: &Tree, name: &str) -> Option<String> {
    let file = format!("{LICENCES}{name}.txt");
    if tree.text(&file).is_none_or(|text| text.trim().is_empty()) {
        return Some(format!("{file} is missing: copy the licence of the font there"));
    }
    let address = format!("/licenses/{name}.txt");
    let mut pages = tree.ending(".tsx").filter(|(path, _)| path.starts_with(SOURCES));
    let is_linked = pages.any(|(_, text)| text.contains(&address));
    (!is_linked).then(|| format!("no page links to {address}: add it to the help of the dashboard"))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_one, messages};
    use super::*;

    const STYLE: (&str, &str) =
        ("web/src/a.css", "@font-face {\n  src: url('@x/plex/files/plex-400.woff2');\n}\n");
    const LICENCE: (&str, &str) = ("web/public/licenses/plex.txt", "Licence\n");
    const PAGE: (&str, &str) = ("web/src/Help.tsx", "<a href=\"/licenses/plex.txt\">\n");

    #[test]
    fn font_without_a_licence_is_found() {
        assert_eq!(messages(check, &[STYLE, LICENCE, PAGE]), Vec::<String>::new());
        let place = "web/src/a.css:2";
        assert_one(check, &[STYLE, PAGE], place, "web/public/licenses/plex.txt is missing");
        assert_one(check, &[STYLE, PAGE, (LICENCE.0, "\n")], place, "is missing");
        assert_one(check, &[STYLE, LICENCE], place, "no page links to /licenses/plex.txt");
    }

    #[test]
    fn font_file_of_our_own_needs_a_licence_of_its_name() {
        let style = ("web/src/a.css", "src: url(\"/fonts/own.ttf\") format('truetype');\n");
        assert_one(check, &[style], "web/src/a.css:1", "licenses/own.txt is missing");
        let other = ("web/src/a.css", "src: local('Arial'); background: url('/icon.svg');\n");
        assert_eq!(messages(check, &[other]), Vec::<String>::new());
    }
}
