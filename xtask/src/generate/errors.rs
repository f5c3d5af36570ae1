//! Generates `docs/reference/errors.md` from the error codes in the API types.

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
        "Every error is `application/problem+json` (RFC 9457). Programs use `code`; \
         `detail` and `next_action`\nare for people.\n\n\
         `retriable` means that the same call, unchanged, may succeed later although its caller \
         does nothing\nelse. Repeat such a call after `Retry-After`, if the response has one, \
         and with the same\n`Idempotency-Key`. Repeating any other call is pointless: first do \
         what `next_action` says.\n\n\
         `unauthenticated` has a `cause` if it is safe to tell: `malformed`, or, for a caller with \
         the right secret,\n`expired`, `revoked` or `inactive`. `lease_lost` has the `state` of \
         the lease, `broken` with who broke it and\nwhy, and `has_begun` for the lease of an \
         attempt.\n\n\
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
    fn error_reference_has_every_code_sorted_by_status() {
        let text = document(Code::ALL).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("| `")).collect();
        assert_eq!(rows.len(), Code::ALL.len());
        assert!(rows.is_sorted_by_key(|row| row[..6].to_owned()), "{text}");
        for code in Code::ALL {
            assert!(text.contains(&format!("| `{}` |", code.as_str())), "{code:?}");
        }
    }
}
