//! `docs/reference/errors.md` from the codes of the wire types; they are asked themselves.

use std::fmt::Write as _;

use ade_api::code::Code;
use anyhow::Result;

use super::{Generated, NOTICE};
use crate::tree::Tree;

const SOURCE: &str = "crates/api/src/code.rs";
const DOCUMENT: &str = "docs/reference/errors.md";

pub fn generate(_tree: &Tree) -> Result<Vec<Generated>> {
    Ok(vec![Generated { path: DOCUMENT.to_owned(), text: document(Code::ALL)? }])
}

fn document(codes: &[Code]) -> Result<String> {
    let mut out = format!("# Errors\n\n{NOTICE} Its source is `{SOURCE}`.\n\n");
    out.push_str(
        "Every error is `application/problem+json` (RFC 9457). Programs decide by `code`; \
         `detail` and `next_action`\nare for people. An error that is retriable may be gone when \
         the same call is sent again unchanged.\n\n\
         | status | code | title | retriable | what to do |\n|---|---|---|---|---|\n",
    );
    let mut sorted = codes.to_vec();
    sorted.sort_by_key(|code| (code.status(), code.as_str()));
    for code in sorted {
        let retriable = if code.is_retriable() { "yes" } else { "no" };
        writeln!(
            out,
            "| {} | `{}` | {} | {retriable} | {} |",
            code.status(),
            code.as_str(),
            code.title(),
            code.next_action()
        )?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_row_and_rows_are_sorted_by_status() {
        let text = document(Code::ALL).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("| `")).collect();
        assert_eq!(rows.len(), Code::ALL.len());
        assert!(rows.is_sorted_by_key(|row| row[..6].to_owned()), "{text}");
        for code in Code::ALL {
            assert!(text.contains(&format!("| `{}` |", code.as_str())), "{code:?}");
        }
    }
}
