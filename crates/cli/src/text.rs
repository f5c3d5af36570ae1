//! Text of other people on its way to a terminal. A title may hold an escape that moves the
//! cursor, or a mark that turns the reading direction: all that would act is shown instead.

use std::fmt::Write as _;

/// C0 has a picture for each of its characters, from here on.
const PICTURES: u32 = 0x2400;
const DELETE_PICTURE: char = '\u{2421}';

/// On one line, with nothing in it that acts.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{0}'..='\u{1f}' => out.extend(char::from_u32(PICTURES + u32::from(c))),
            '\u{7f}' => out.push(DELETE_PICTURE),
            _ if acts(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

/// A document of others, line by line.
pub fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        out.push_str(&visible(line));
        out.push('\n');
    }
    out
}

/// Controls beyond ASCII, and what cannot be seen: directions, joiners, separators, tags.
pub fn acts(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// JSON that means the same and holds nothing that acts: outside of its texts it is plain ASCII.
pub fn quiet_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut pair = [0; 2];
    for c in json.chars() {
        if c == '\u{7f}' || acts(c) {
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
    fn nothing_that_acts_is_left() {
        let nasty = "\u{1b}[2J\u{1b}]0;x\u{7}a\nb\r\u{9b}31m\u{202e}gnp\u{200b}\u{7f}\u{0}";
        let shown = visible(nasty);
        assert!(shown.chars().all(|c| !c.is_control() && !acts(c)), "{shown:?}");
        assert_eq!(visible("\u{1b}[31m"), "␛[31m");
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["Rotate the keys", "größer – 東京 🔑", "a\\nb", ""] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn json_keeps_its_meaning_and_loses_what_acts() {
        let text = "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{e0041}größer 🔑\"\\";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let quiet = quiet_json(&json);
        assert!(quiet.chars().all(|c| c == '\n' || (!c.is_control() && !acts(c))), "{quiet:?}");
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
