//! Text of other people on its way to a terminal: as the core shows it, cut to fit.

use std::fmt::Write as _;

use ade_core::visible::is_hidden;
pub use ade_core::visible::{named, visible, visible_lines};

/// JSON that means the same and holds nothing that acts: outside of its texts it is plain ASCII.
pub fn quiet_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut pair = [0; 2];
    for c in json.chars() {
        if c != '\n' && is_hidden(c) {
            for unit in c.encode_utf16(&mut pair) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// At most so many characters, the last of them an ellipsis if something is missing.
pub fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(chars.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// The longest beginning of at most so many bytes.
pub fn within(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_and_loses_what_acts() {
        let text = "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}größer 🔑\"\\";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let quiet = quiet_json(&json);
        assert!(quiet.chars().all(|c| c == '\n' || !is_hidden(c)), "{quiet:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&quiet).unwrap(), [text]);
        assert!(quiet.contains("größer 🔑"), "{quiet}");
    }

    #[test]
    fn cuts_end_between_characters() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "grö…");
        assert_eq!(within("größer", 3), "gr");
        assert_eq!(within("größer", 4), "grö");
        assert_eq!(within("x", 9), "x");
    }
}
