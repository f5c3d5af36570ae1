//! Detects words that mix scripts: `prod` with a Cyrillic o looks like `prod` but is different.
//! Words are judged as in UTS 39: the letters of a word belong to one script, or to those that
//! Chinese, Japanese and Korean combine, next to Latin. A word in one other script is accepted, and
//! accents are not judged; the text itself is never changed. The dashboard follows the same rule;
//! both are tested with one list of samples.

use std::collections::BTreeSet;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};
use unicode_script::{Script, UnicodeScript as _};

/// The scripts of living languages, and those with letters similar to Latin ones.
const SCRIPTS: [(Script, &str); 32] = [
    (Script::Arabic, "Arabic"),
    (Script::Armenian, "Armenian"),
    (Script::Bengali, "Bengali"),
    (Script::Bopomofo, "Bopomofo"),
    (Script::Cherokee, "Cherokee"),
    (Script::Coptic, "Coptic"),
    (Script::Cyrillic, "Cyrillic"),
    (Script::Devanagari, "Devanagari"),
    (Script::Ethiopic, "Ethiopic"),
    (Script::Georgian, "Georgian"),
    (Script::Greek, "Greek"),
    (Script::Gujarati, "Gujarati"),
    (Script::Gurmukhi, "Gurmukhi"),
    (Script::Han, "Han"),
    (Script::Hangul, "Hangul"),
    (Script::Hebrew, "Hebrew"),
    (Script::Hiragana, "Hiragana"),
    (Script::Kannada, "Kannada"),
    (Script::Katakana, "Katakana"),
    (Script::Khmer, "Khmer"),
    (Script::Lao, "Lao"),
    (Script::Latin, "Latin"),
    (Script::Lisu, "Lisu"),
    (Script::Malayalam, "Malayalam"),
    (Script::Myanmar, "Myanmar"),
    (Script::Oriya, "Oriya"),
    (Script::Sinhala, "Sinhala"),
    (Script::Tamil, "Tamil"),
    (Script::Telugu, "Telugu"),
    (Script::Thaana, "Thaana"),
    (Script::Thai, "Thai"),
    (Script::Tibetan, "Tibetan"),
];
/// The name for all other scripts.
const OTHER: &str = "other";
/// Scripts that may be combined in one word.
const TOGETHER: [&[&str]; 3] = [
    &["Han", "Hiragana", "Katakana", "Latin"],
    &["Bopomofo", "Han", "Latin"],
    &["Han", "Hangul", "Latin"],
];

/// The scripts that one letter may belong to.
type Scripts = BTreeSet<&'static str>;

/// Returns the scripts that are mixed in one word of this text, like `Cyrillic+Latin`.
pub fn mixed(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut met = Scripts::new();
    for word in text.split(|c: char| !is_of_word(c)) {
        let letters: Vec<Scripts> = word.chars().filter_map(scripts_of).collect();
        if !is_one(&letters) {
            met.extend(names(&letters));
        }
    }
    (!met.is_empty()).then(|| met.into_iter().collect::<Vec<_>>().join("+"))
}

fn is_of_word(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number};
    matches!(c.general_category_group(), Letter | Mark | Number)
}

/// Returns `None` for accents and for characters that every script uses.
fn scripts_of(c: char) -> Option<Scripts> {
    let found = c.script_extension();
    let is_anybodys = found.is_common() || found.is_inherited();
    if is_anybodys || c.general_category_group() == GeneralCategoryGroup::Mark {
        return None;
    }
    let known = SCRIPTS.iter().filter(|(script, _)| found.contains_script(*script));
    let known: Scripts = known.map(|(_, name)| *name).collect();
    Some(if known.is_empty() { Scripts::from([OTHER]) } else { known })
}

fn is_one(letters: &[Scripts]) -> bool {
    let are_all_of = |names: &[&str]| {
        letters.iter().all(|scripts| scripts.iter().any(|script| names.contains(script)))
    };
    let shares_one = |first: &Scripts| first.iter().any(|script| are_all_of(&[*script]));
    letters.first().is_none_or(shares_one) || TOGETHER.iter().any(|names| are_all_of(names))
}

/// Chooses one script for each letter that could belong to several: one that occurs anyway, or else
/// the first.
fn names(letters: &[Scripts]) -> Scripts {
    let certain = letters.iter().filter(|scripts| scripts.len() == 1);
    let mut names: Scripts = certain.flatten().copied().collect();
    for scripts in letters {
        if scripts.is_disjoint(&names) {
            names.extend(scripts.first());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Names with their mixed scripts; the tests of the dashboard read the same file.
    const SAMPLES: &str = include_str!("../samples/scripts.json");

    #[test]
    fn mixed_script_samples_have_their_expected_result() {
        let samples: Vec<[String; 2]> = serde_json::from_str(SAMPLES).unwrap();
        let marked = samples.iter().filter(|[_, scripts]| !scripts.is_empty()).count();
        assert!(marked >= 20 && samples.len() - marked >= 20, "{marked} of {}", samples.len());
        for [name, scripts] in samples {
            assert_eq!(mixed(&name).unwrap_or_default(), scripts, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn mixed_script_finds_one_foreign_letter_in_a_word(
            before in "[a-z]{1,8}",
            foreign in "[\u{430}-\u{44f}\u{3b1}-\u{3c9}\u{5d0}-\u{5ea}]",
            after in "[a-z]{0,8}",
            around in "[ a-z:/.-]{0,12}",
        ) {
            let text = format!("{around} {before}{foreign}{after} {around}");
            let found = mixed(&text);
            prop_assert!(found.is_some_and(|scripts| scripts.contains("+Latin")), "{text:?}");
        }

        #[test]
        fn mixed_script_accepts_separate_words_of_one_script(
            latin in "[a-z\u{e0}-\u{f6}]{1,8}",
            cyrillic in "[\u{430}-\u{44f}]{1,8}",
            greek in "[\u{3b1}-\u{3c9}]{1,8}",
        ) {
            prop_assert_eq!(mixed(&format!("{latin} {cyrillic}-{greek}: {latin}")), None);
        }
    }
}
