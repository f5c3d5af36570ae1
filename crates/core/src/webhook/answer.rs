//! What the answer of an endpoint means for a delivery. Every 2xx is a yes, a 410 says that nobody
//! wants to hear more, and everything else is tried again while tries are left. Nobody is followed
//! elsewhere: a redirect is not an answer.

use std::time::Duration;

use super::schedule::pause;
use crate::limits::{WEBHOOK_EXCERPT_MAX_CHARS, WEBHOOK_PAUSE_MAX};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Status {
        status: u16,
        /// From a `Retry-After` in seconds.
        retry_after: Option<Duration>,
    },
    /// None came, or none that could be read; it may have been heard all the same.
    None,
    /// The address may not be called.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// The endpoint wants nothing more, for good.
    Gone,
    Failed {
        retry_after: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Delivered,
    Dead,
    Again { at: Timestamp },
}

pub fn judge(answer: Answer) -> Verdict {
    match answer {
        Answer::Status { status: 200..=299, .. } => Verdict::Delivered,
        Answer::Status { status: 410, .. } => Verdict::Gone,
        // Elsewhere it says something else: when a page comes back, or where to look.
        Answer::Status { status: 429 | 503, retry_after } => Verdict::Failed { retry_after },
        Answer::Status { .. } | Answer::None | Answer::Closed => {
            Verdict::Failed { retry_after: None }
        }
    }
}

/// `tries` with this one.
pub fn next(verdict: Verdict, tries: u32, now: Timestamp, dice: u64) -> Next {
    match verdict {
        Verdict::Delivered => Next::Delivered,
        Verdict::Gone => Next::Dead,
        Verdict::Failed { retry_after } => match pause(tries, dice) {
            None => Next::Dead,
            Some(pause) => {
                let asked = retry_after.unwrap_or_default().min(WEBHOOK_PAUSE_MAX);
                Next::Again { at: now.plus(pause.max(asked)) }
            }
        },
    }
}

/// The beginning of what an endpoint said, on one line: nothing in it can move a cursor, hide or
/// turn round what stands beside it.
pub fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut shown = String::new();
    for character in text.chars().take(WEBHOOK_EXCERPT_MAX_CHARS) {
        shown.push(if acts(character) { '\u{fffd}' } else { character });
    }
    shown
}

/// Control characters, and those of the categories that only steer what is shown.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::WEBHOOK_TRIES_MAX;
    use crate::webhook::longest_pause;

    const NOW: Timestamp = Timestamp::from_micros(0);

    fn status(status: u16) -> Answer {
        Answer::Status { status, retry_after: Some(Duration::from_secs(9)) }
    }

    #[test]
    fn only_a_2xx_is_a_yes_and_only_410_is_the_end() {
        for code in 100..=999 {
            let verdict = judge(status(code));
            assert_eq!(verdict == Verdict::Delivered, (200..300).contains(&code), "{code}");
            assert_eq!(verdict == Verdict::Gone, code == 410, "{code}");
        }
        for silent in [Answer::None, Answer::Closed] {
            assert_eq!(judge(silent), Verdict::Failed { retry_after: None });
        }
    }

    #[test]
    fn whoever_is_overloaded_says_how_long() {
        for (code, asked) in [(429, true), (503, true), (500, false), (301, false), (400, false)] {
            let Verdict::Failed { retry_after } = judge(status(code)) else { panic!("{code}") };
            assert_eq!(retry_after.is_some(), asked, "{code}");
        }
    }

    proptest! {
        #[test]
        fn a_failure_comes_again_within_its_bounds_or_is_dead(
            tries in 1_u32..20,
            asked in proptest::option::of(0_u64..10_000_000),
            dice: u64,
        ) {
            let retry_after = asked.map(Duration::from_secs);
            match next(Verdict::Failed { retry_after }, tries, NOW, dice) {
                Next::Again { at } => {
                    let pause = at.since(NOW);
                    let asked = retry_after.unwrap_or_default().min(WEBHOOK_PAUSE_MAX);
                    prop_assert!(tries < WEBHOOK_TRIES_MAX);
                    prop_assert!(pause >= asked && pause <= WEBHOOK_PAUSE_MAX);
                    prop_assert!(pause <= asked.max(longest_pause(tries).unwrap()));
                }
                Next::Dead => prop_assert!(tries >= WEBHOOK_TRIES_MAX),
                Next::Delivered => prop_assert!(false),
            }
        }

        #[test]
        fn an_excerpt_is_short_and_harmless(body: Vec<u8>) {
            let shown = excerpt(&body);
            prop_assert!(shown.chars().count() <= WEBHOOK_EXCERPT_MAX_CHARS);
            prop_assert!(!shown.chars().any(acts));
        }
    }

    #[test]
    fn an_excerpt_shows_the_beginning() {
        assert_eq!(
            excerpt(b"no such\r\n\x1b[31mthing"),
            "no such\u{fffd}\u{fffd}\u{fffd}[31mthing"
        );
        assert_eq!(excerpt("a\u{202e}b".as_bytes()), "a\u{fffd}b");
        assert_eq!(excerpt(&[b'x'; 10_000]).len(), WEBHOOK_EXCERPT_MAX_CHARS);
    }
}
