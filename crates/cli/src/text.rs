//! Makes untrusted text safe for a terminal and cuts it to fit.

use std::fmt::Write as _;

use ade_core::sanitize_display::is_hidden;
pub use ade_core::sanitize_display::{named, visible, visible_lines};

/// Escapes every control and invisible character in JSON; the meaning of the JSON is unchanged.
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

/// Cuts a text to at most `chars` characters; the last one is an ellipsis if the text was cut.
pub fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(chars.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Returns the longest prefix of at most `bytes` bytes.
pub fn within(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// Quotes an argument for a shell.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Cuts a text to at most `bytes` bytes. A text that was cut says how much of it is left.
pub fn shortened(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let all = text.chars().count();
    let mark = |kept: usize| format!("… ({} of {} characters)", grouped(kept), grouped(all));
    let kept = within(text, bytes.saturating_sub(mark(all).len()));
    format!("{kept}{}", mark(kept.chars().count()))
}

/// Writes a number with separators, such as `9,000`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_text_keeps_its_meaning_without_escapes() {
        let text = "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}größer 🔑\"\\";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let quiet = quiet_json(&json);
        assert!(quiet.chars().all(|c| c == '\n' || !is_hidden(c)), "{quiet:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&quiet).unwrap(), [text]);
        assert!(quiet.contains("größer 🔑"), "{quiet}");
    }

    #[test]
    fn text_that_is_shortened_says_how_much_is_left() {
        assert_eq!(shortened("rm -r /", 7), "rm -r /");
        let text = shortened(&"x".repeat(9_000), 512);
        assert!(text.ends_with("x… (481 of 9,000 characters)"), "{text}");
        for bytes in [100, 101, 102, 200] {
            let text = shortened(&"ß".repeat(1_234_567), bytes);
            let kept = text.matches('ß').count();
            assert!(text.len() <= bytes && text.len() > bytes - 20, "{text}");
            assert!(text.ends_with(&format!("… ({kept} of 1,234,567 characters)")), "{text}");
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "grö…");
        assert_eq!(within("größer", 3), "gr");
        assert_eq!(within("größer", 4), "grö");
        assert_eq!(within("x", 9), "x");
    }
}
