//! Shows what a vote is about and asks. A page at a time is shown, and a key that was pressed
//! before the question, for something else, does not answer it.

use std::io::{IsTerminal as _, stdin};

use ade_core::limits::CONTENT_SHOWN_MIN;
use rustix::termios::{QueueSelector, tcflush};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// The size of a page, in rows of a terminal of the usual width. More could scroll out of sight.
const PAGE_ROWS: usize = 100;
const ROW_CHARS: usize = 80;

/// Prints the whole text. If it is longer than a page, the reader asks for each further one.
pub async fn show(text: &str, cx: &Context) -> Result<(), Failure> {
    let pages = pages(text);
    let all = pages.len();
    for (at, page) in pages.iter().enumerate() {
        eprint!("{page}");
        let number = at.saturating_add(1);
        if number == all {
            break;
        }
        let question =
            format!("Page {number} of {all}. Press Enter for the next page, q to stop: ");
        if !matches!(ask(&question, cx).await?.trim(), "") {
            return Err(Failure::new(Exit::Failed, "cancelled; no vote was sent")
                .detail(format!("{number} of {all} pages were shown")));
        }
    }
    Ok(())
}

/// Prints the whole text without questions.
pub fn print(text: &str) {
    eprint!("{text}");
}

/// Asks once the text above has been on screen for a while, and drops the keys pressed until then.
pub async fn ask(question: &str, cx: &Context) -> Result<String, Failure> {
    if stdin().is_terminal() {
        tokio::time::sleep(CONTENT_SHOWN_MIN).await;
        let flushed = tcflush(stdin(), QueueSelector::IFlush);
        flushed.map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot discard earlier key presses: {error}"))
                .detail("no vote was sent")
        })?;
    }
    cx.ask(question)
}

fn pages(text: &str) -> Vec<String> {
    let mut pages = Vec::new();
    let (mut page, mut rows) = (String::new(), 0_usize);
    for piece in text.split_inclusive('\n').flat_map(pieces) {
        let more = piece.chars().count().div_ceil(ROW_CHARS).max(1);
        if rows.saturating_add(more) > PAGE_ROWS && !page.is_empty() {
            pages.push(std::mem::take(&mut page));
            rows = 0;
        }
        page.push_str(&piece);
        rows = rows.saturating_add(more);
    }
    pages.push(page);
    pages
}

/// Divides a line that would fill more than a page.
fn pieces(line: &str) -> Vec<String> {
    let most = PAGE_ROWS.saturating_mul(ROW_CHARS);
    if line.chars().count() <= most {
        return vec![line.to_owned()];
    }
    let characters: Vec<char> = line.chars().collect();
    let pieces = characters.chunks(most).map(|piece| piece.iter().collect::<String>());
    let ended = |piece: String| if piece.ends_with('\n') { piece } else { format!("{piece}\n") };
    pieces.map(ended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_a_bounded_number_of_rows_and_lose_nothing() {
        let short = "a\nb\n";
        assert_eq!(pages(short), [short]);
        let many = "a line\n".repeat(1_000);
        let long = format!("{}\nlast\n", "x".repeat(20_000));
        for (text, count) in [(many, 10), (long, 3)] {
            let pages = pages(&text);
            assert_eq!(pages.len(), count);
            let rows = |page: &String| -> usize {
                page.lines().map(|line| line.chars().count().div_ceil(ROW_CHARS).max(1)).sum()
            };
            assert!(pages.iter().all(|page| rows(page) <= PAGE_ROWS));
            assert_eq!(pages.concat().replace('\n', ""), text.replace('\n', ""));
        }
    }
}
