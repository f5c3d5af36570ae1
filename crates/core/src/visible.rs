//! Text that somebody else wrote, on its way to a terminal, a message or a page. Whatever cannot
//! be seen, turns the direction of what follows or moves a cursor is shown by its number: what a
//! reader sees is what is there. The dashboard follows the same rule; both are held to one list of
//! samples.

use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, UnicodeEmoji as _, UnicodeGeneralCategory as _};

use crate::script::mixed;

/// Joins two pictures into one.
const JOINER: char = '\u{200d}';

/// On one line, with nothing in it that acts or hides.
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

/// A name or a title that others gave. In front of one that mixes scripts stands which: there it is
/// seen even where the rest is cut off.
pub fn named(text: &str) -> String {
    match mixed(text) {
        Some(scripts) => format!("‹mixed: {scripts}› {}", visible(text)),
        None => visible(text),
    }
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

/// Whether nobody would see this character, or see it do something.
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

/// Letters and marks that draw nothing.
fn is_filler(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}'
        | '\u{ffa0}' | '\u{fe00}'..='\u{fe0e}' | '\u{e0000}'..='\u{e0fff}')
}

/// Two of them may look like one, or like none.
fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// A joiner between two pictures makes one picture of them and hides nothing.
fn is_joint(characters: &[char], at: usize) -> bool {
    if characters.get(at) != Some(&JOINER) {
        return false;
    }
    let shades = |c: &&char| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let before = characters.iter().take(at).rev().find(|c| !shades(c));
    let after = characters.get(at.saturating_add(1));
    [before, after].into_iter().all(|c| c.is_some_and(|c| is_picture(*c)))
}

/// Digits and the like are emoji by the table, and draw no picture.
fn is_picture(c: char) -> bool {
    c.is_emoji_char() && !c.is_ascii() && c.general_category() == GeneralCategory::OtherSymbol
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What people try, with what is shown of it; the dashboard's tests read the same file.
    const SAMPLES: &str = include_str!("../samples/spoofing.json");

    #[test]
    fn what_is_shown_of_every_sample_is_what_was_agreed() {
        let samples: Vec<[String; 2]> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 200, "{}", samples.len());
        for [text, shown] in samples {
            assert_eq!(visible(&text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_name_of_mixed_script_is_marked_and_shown_all_the_same() {
        assert_eq!(named("Restart pr\u{43e}d"), "‹mixed: Cyrillic+Latin› Restart pr\u{43e}d");
        assert_eq!(named("\u{202e}α"), "‹U+202E›α");
    }

    #[test]
    fn a_document_keeps_its_lines_and_nothing_else() {
        assert_eq!(visible_lines("a\tb\r\nc\u{b}d"), "a‹U+0009›b\nc‹U+000B›d\n");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_but_joints_of_pictures(text in "\\PC*|.*|[\u{0}-\u{2fff}]*") {
            let shown = visible(&text);
            let rest = shown.chars().filter(|c| is_hidden(*c));
            prop_assert!(rest.clone().all(|c| c == JOINER), "{shown:?}");
            prop_assert_eq!(visible(&shown), shown, "once is enough");
        }
    }
}
