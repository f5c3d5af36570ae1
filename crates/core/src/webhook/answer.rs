//! What an endpoint's response means for a delivery. Every 2xx is a success, a 410 ends the
//! subscription, and everything else is retried while attempts are left. Redirects are not
//! followed.

use std::time::Duration;

use super::schedule::pause;
use crate::limits::{WEBHOOK_EXCERPT_MAX_CHARS, WEBHOOK_PAUSE_MAX};
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResponse {
    Status {
        status: u16,
        /// The value of a `Retry-After` header in seconds.
        retry_after: Option<Duration>,
    },
    /// There was no readable response; the endpoint may have received the delivery all the same.
    None,
    /// The address may not be called.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryVerdict {
    Delivered,
    /// The endpoint wants no further deliveries.
    Gone,
    Failed {
        retry_after: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStep {
    Delivered,
    Dead,
    Again { at: Timestamp },
}

pub fn judge(answer: DeliveryResponse) -> DeliveryVerdict {
    match answer {
        DeliveryResponse::Status { status: 200..=299, .. } => DeliveryVerdict::Delivered,
        DeliveryResponse::Status { status: 410, .. } => DeliveryVerdict::Gone,
        // With other statuses the header has another meaning.
        DeliveryResponse::Status { status: 429 | 503, retry_after } => {
            DeliveryVerdict::Failed { retry_after }
        }
        DeliveryResponse::Status { .. } | DeliveryResponse::None | DeliveryResponse::Closed => {
            DeliveryVerdict::Failed { retry_after: None }
        }
    }
}

/// Returns what happens next. `tries` includes this attempt.
pub fn next(verdict: DeliveryVerdict, tries: u32, now: Timestamp, dice: u64) -> DeliveryStep {
    match verdict {
        DeliveryVerdict::Delivered => DeliveryStep::Delivered,
        DeliveryVerdict::Gone => DeliveryStep::Dead,
        DeliveryVerdict::Failed { retry_after } => match pause(tries, dice) {
            None => DeliveryStep::Dead,
            Some(pause) => {
                let asked = retry_after.unwrap_or_default().min(WEBHOOK_PAUSE_MAX);
                DeliveryStep::Again { at: now.plus(pause.max(asked)) }
            }
        },
    }
}

/// Returns the beginning of the response on one line, without characters that affect the display.
pub fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut shown = String::new();
    for character in text.chars().take(WEBHOOK_EXCERPT_MAX_CHARS) {
        shown.push(if acts(character) { '\u{fffd}' } else { character });
    }
    shown
}

/// Returns whether the character is a control character or only affects the display.
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

    fn status(status: u16) -> DeliveryResponse {
        DeliveryResponse::Status { status, retry_after: Some(Duration::from_secs(9)) }
    }

    #[test]
    fn webhook_answer_succeeds_with_2xx_and_ends_with_410() {
        for code in 100..=999 {
            let verdict = judge(status(code));
            assert_eq!(verdict == DeliveryVerdict::Delivered, (200..300).contains(&code), "{code}");
            assert_eq!(verdict == DeliveryVerdict::Gone, code == 410, "{code}");
        }
        for silent in [DeliveryResponse::None, DeliveryResponse::Closed] {
            assert_eq!(judge(silent), DeliveryVerdict::Failed { retry_after: None });
        }
    }

    #[test]
    fn webhook_retry_after_is_used_for_429_and_503() {
        for (code, asked) in [(429, true), (503, true), (500, false), (301, false), (400, false)] {
            let DeliveryVerdict::Failed { retry_after } = judge(status(code)) else {
                panic!("{code}")
            };
            assert_eq!(retry_after.is_some(), asked, "{code}");
        }
    }

    proptest! {
        #[test]
        fn webhook_failure_is_retried_within_bounds_or_dead(
            tries in 1_u32..20,
            asked in proptest::option::of(0_u64..10_000_000),
            dice: u64,
        ) {
            let retry_after = asked.map(Duration::from_secs);
            match next(DeliveryVerdict::Failed { retry_after }, tries, NOW, dice) {
                DeliveryStep::Again { at } => {
                    let pause = at.since(NOW);
                    let asked = retry_after.unwrap_or_default().min(WEBHOOK_PAUSE_MAX);
                    prop_assert!(tries < WEBHOOK_TRIES_MAX);
                    prop_assert!(pause >= asked && pause <= WEBHOOK_PAUSE_MAX);
                    prop_assert!(pause <= asked.max(longest_pause(tries).unwrap()));
                }
                DeliveryStep::Dead => prop_assert!(tries >= WEBHOOK_TRIES_MAX),
                DeliveryStep::Delivered => prop_assert!(false),
            }
        }

        #[test]
        fn webhook_excerpt_is_short_and_harmless(body: Vec<u8>) {
            let shown = excerpt(&body);
            prop_assert!(shown.chars().count() <= WEBHOOK_EXCERPT_MAX_CHARS);
            prop_assert!(!shown.chars().any(acts));
        }
    }

    #[test]
    fn webhook_excerpt_shows_the_beginning() {
        assert_eq!(
            excerpt(b"no such\r\n\x1b[31mthing"),
            "no such\u{fffd}\u{fffd}\u{fffd}[31mthing"
        );
        assert_eq!(excerpt("a\u{202e}b".as_bytes()), "a\u{fffd}b");
        assert_eq!(excerpt(&[b'x'; 10_000]).len(), WEBHOOK_EXCERPT_MAX_CHARS);
    }
}
