//! Displays text of other people safely on a terminal, in a message or on a page. Characters that
//! are invisible, change the text direction or move the cursor are shown by their code point. The
//! dashboard follows the same rule; both are tested with one list of samples.

use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, UnicodeEmoji as _, UnicodeGeneralCategory as _};

use crate::mixed_script::mixed;

/// The zero-width joiner, which joins two emoji into one.
const JOINER: char = '\u{200d}';

/// Returns the text on one line, without control or hidden characters.
pub fn visible(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, c) in characters.iter().enumerate() {
        if is_hidden(*c) && !is_joint(&characters, at) {
            let _ = write!(out, "‹U+{:04X}›", u32::from(*c));
        } else {
            out.push(*c);
        }
    }
    out
}

/// Returns a name or title. If it mixes scripts, a mark with their names is put in front, where it
/// is seen even if the rest is cut off.
pub fn named(text: &str) -> String {
    match mixed(text) {
        Some(scripts) => format!("‹mixed: {scripts}› {}", visible(text)),
        None => visible(text),
    }
}

/// Returns a document line by line.
pub fn visible_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        out.push_str(&visible(line));
        out.push('\n');
    }
    out
}

/// Returns whether this character is invisible or affects the display.
pub fn is_hidden(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, Surrogate,
    };
    let is_kind = matches!(
        c.general_category(),
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | Surrogate
    );
    is_kind || is_filler(c) || is_odd_space(c)
}

/// Returns whether this is a letter or mark that draws nothing.
fn is_filler(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}'
        | '\u{ffa0}' | '\u{fe00}'..='\u{fe0e}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether this is an unusual space, two of which may look like one or like none.
fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Returns whether this is a joiner between two emoji, which hides nothing.
fn is_joint(characters: &[char], at: usize) -> bool {
    if characters.get(at) != Some(&JOINER) {
        return false;
    }
    let shades = |c: &&char| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let before = characters.iter().take(at).rev().find(|c| !shades(c));
    let after = characters.get(at.saturating_add(1));
    [before, after].into_iter().all(|c| c.is_some_and(|c| is_picture(*c)))
}

/// Returns whether this is an emoji that draws a picture. Digits and the like are emoji by the
/// table, but draw none.
fn is_picture(c: char) -> bool {
    c.is_emoji_char() && !c.is_ascii() && c.general_category() == GeneralCategory::OtherSymbol
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hostile texts with their expected display; the tests of the dashboard read the same file.
    const SAMPLES: &str = include_str!("../samples/spoofing.json");

    #[test]
    fn visible_text_of_samples_is_as_expected() {
        let samples: Vec<[String; 2]> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 200, "{}", samples.len());
        for [text, shown] in samples {
            assert_eq!(visible(&text), shown, "{text:?}");
        }
    }

    #[test]
    fn visible_text_marks_and_shows_mixed_script_names() {
        assert_eq!(named("Restart pr\u{43e}d"), "‹mixed: Cyrillic+Latin› Restart pr\u{43e}d");
        assert_eq!(named("\u{202e}α"), "‹U+202E›α");
    }

    #[test]
    fn visible_text_of_a_document_keeps_its_lines() {
        assert_eq!(visible_lines("a\tb\r\nc\u{b}d"), "a‹U+0009›b\nc‹U+000B›d\n");
    }

    proptest! {
        #[test]
        fn visible_text_has_no_hidden_characters_but_emoji_joiners(
            text in "\\PC*|.*|[\u{0}-\u{2fff}]*",
        ) {
            let shown = visible(&text);
            let rest = shown.chars().filter(|c| is_hidden(*c));
            prop_assert!(rest.clone().all(|c| c == JOINER), "{shown:?}");
            prop_assert_eq!(visible(&shown), shown, "sanitizing twice changes nothing");
        }
    }
}
