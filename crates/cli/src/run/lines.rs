//! Splits a byte stream into lines of bounded length. Invalid UTF-8 is replaced and long lines are
//! cut, so that no output can break the log.

use ade_core::limits::EXECUTION_LINE_MAX_BYTES;

#[derive(Debug, Default)]
pub struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Adds bytes and returns the completed lines.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            self.open.extend_from_slice(line);
            lines.extend(self.cut(true));
            rest = after.get(1..).unwrap_or_default();
        }
        self.open.extend_from_slice(rest);
        lines.extend(self.cut(false));
        lines
    }

    /// Returns the last, incomplete line of the stream.
    pub fn rest(&mut self) -> Vec<String> {
        if self.open.is_empty() { Vec::new() } else { self.cut(true) }
    }

    /// Cuts complete pieces, or everything if `is_whole` is set.
    fn cut(&mut self, is_whole: bool) -> Vec<String> {
        let mut pieces = Vec::new();
        while self.open.len() > EXECUTION_LINE_MAX_BYTES {
            let rest = self.open.split_off(boundary(&self.open));
            pieces.extend(texts(&std::mem::replace(&mut self.open, rest)));
        }
        if is_whole {
            let line = std::mem::take(&mut self.open);
            pieces.extend(texts(line.strip_suffix(b"\r").unwrap_or(&line)));
        }
        pieces
    }
}

/// Returns a cut position that does not split a character.
fn boundary(bytes: &[u8]) -> usize {
    let is_start = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let longest = EXECUTION_LINE_MAX_BYTES;
    (longest.saturating_sub(3)..=longest).rev().find(is_start).unwrap_or(longest)
}

/// Converts bytes to text. Replacement characters take three bytes, so the text is cut again.
fn texts(bytes: &[u8]) -> Vec<String> {
    // PostgreSQL does not store U+0000, so its symbol is used instead.
    let text = String::from_utf8_lossy(bytes).replace('\0', "\u{2400}");
    let mut rest = text.as_str();
    let mut pieces = Vec::new();
    loop {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(EXECUTION_LINE_MAX_BYTES));
        pieces.push(piece.to_owned());
        rest = after;
        if rest.is_empty() {
            return pieces;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut all: Vec<String> = chunks.iter().flat_map(|chunk| lines.push(chunk)).collect();
        all.extend(lines.rest());
        all
    }

    #[test]
    fn lines_are_the_same_for_any_chunking() {
        let text = "one\ntwo\r\n\ngrößer\nlast".as_bytes();
        let expected = ["one", "two", "", "größer", "last"];
        assert_eq!(whole(&[text]), expected);
        for at in 0..text.len() {
            let (one, other) = text.split_at(at);
            assert_eq!(whole(&[one, other]), expected, "cut at {at}");
        }
        assert_eq!(whole(&[b"a\n"]), ["a"]);
        assert_eq!(whole(&[b""]), Vec::<String>::new());
    }

    #[test]
    fn line_without_an_end_is_cut_between_characters() {
        let long = "ß".repeat(EXECUTION_LINE_MAX_BYTES);
        let lines = whole(&[b"x", long.as_bytes()]);
        assert!(lines.iter().all(|line| line.len() <= EXECUTION_LINE_MAX_BYTES));
        assert_eq!(lines.concat(), format!("x{long}"));
    }

    #[test]
    fn line_that_is_not_text_is_bounded() {
        let lines = whole(&[&[0xff; EXECUTION_LINE_MAX_BYTES], b"\n\0\n"]);
        assert!(lines.iter().all(|line| line.len() <= EXECUTION_LINE_MAX_BYTES));
        let count: usize = lines.iter().map(|line| line.matches('\u{fffd}').count()).sum();
        assert_eq!(count, EXECUTION_LINE_MAX_BYTES);
        assert_eq!(lines.last().unwrap(), "\u{2400}");
    }
}
