//! A byte sequence that ends the connection which carries it in one direction. Occurrences are
//! counted over all connections of the proxy, and one trap ends one connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Direction;
use crate::failure::{Failure, or_fail};

#[derive(Debug, Clone)]
pub struct Trap {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    direction: Direction,
    pattern: Vec<u8>,
    nth: usize,
    hits: watch::Sender<usize>,
}

impl Trap {
    pub(super) fn new(direction: Direction, pattern: &[u8], nth: usize) -> Self {
        Self {
            inner: Arc::new(Inner {
                direction,
                pattern: pattern.to_vec(),
                nth,
                hits: watch::Sender::new(0),
            }),
        }
    }

    /// Returns how often the pattern was seen, up to the occurrence that cut the connection.
    pub fn hits(&self) -> usize {
        *self.inner.hits.borrow()
    }

    /// Returns once the connection is cut, and fails the test at the deadline.
    pub async fn wait(&self, deadline: Duration) {
        let mut hits = self.inner.hits.subscribe();
        let sprung = hits.wait_for(|hits| *hits >= self.inner.nth);
        let waited = tokio::time::timeout(deadline, sprung).await;
        or_fail(waited.map(drop).map_err(|_| {
            let Inner { direction, pattern, nth, .. } = &*self.inner;
            let pattern = pattern.escape_ascii();
            let what = format!("waited {deadline:?} for `{pattern}` ×{nth} {direction:?}");
            Failure::new(what, format!("it was seen {} times", self.hits()))
        }));
    }

    pub(super) fn direction(&self) -> Direction {
        self.inner.direction
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Counts an occurrence. Returns true for exactly one caller: the one that saw the nth
    /// occurrence.
    fn count(&self) -> bool {
        let mut sprung = false;
        self.inner.hits.send_if_modified(|hits| {
            let counts = *hits < self.inner.nth;
            if counts {
                *hits += 1;
                sprung = *hits == self.inner.nth;
            }
            counts
        });
        sprung
    }
}

/// One trap on one connection. It remembers enough bytes to find a pattern that arrives in parts.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) trap: Trap,
    tail: Vec<u8>,
}

impl Watcher {
    pub(super) fn new(trap: Trap) -> Self {
        Self { trap, tail: Vec::new() }
    }

    /// Returns where in `chunk` the fatal occurrence begins, and zero if it began in an earlier
    /// chunk.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Option<usize> {
        let inner = Arc::clone(&self.trap.inner);
        let len = inner.pattern.len();
        let past = self.tail.len();
        let text = [self.tail.as_slice(), chunk].concat();
        // The tail is shorter than the pattern, so no occurrence is counted twice.
        let fatal = text
            .windows(len.max(1))
            .enumerate()
            .filter(|(_, window)| *window == inner.pattern)
            .find(|_| self.trap.count())
            .map(|(start, _)| start);
        let keep = text.len().min(len.saturating_sub(1));
        self.tail = text.into_iter().rev().take(keep).collect();
        self.tail.reverse();
        fatal.map(|start| start.saturating_sub(past))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(pattern: &[u8], nth: usize) -> Watcher {
        Watcher::new(Trap::new(Direction::ToClient, pattern, nth))
    }

    #[test]
    fn trap_pattern_is_found_for_any_chunking() {
        let stream = b"aaCOMaCOMMIT!";
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let mut watcher = watcher(b"COMMIT", 1);
                let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                let found: Vec<_> = parts.iter().map(|part| watcher.feed(part)).collect();
                assert_eq!(found.iter().flatten().count(), 1, "{first} {second}");
                assert_eq!(watcher.trap.hits(), 1);
            }
        }
    }

    #[test]
    fn trap_position_is_where_the_pattern_begins_in_the_chunk() {
        assert_eq!(watcher(b"xyz", 1).feed(b"abxyzc"), Some(2));
        let mut parted = watcher(b"xyz", 1);
        assert_eq!(parted.feed(b"abx"), None);
        assert_eq!(parted.feed(b"yzab"), Some(0));
    }

    #[test]
    fn trap_springs_at_the_nth_occurrence_with_overlaps() {
        let mut watcher = watcher(b"aa", 3);
        assert_eq!(watcher.feed(b"aaa"), None, "two occurrences");
        assert_eq!(watcher.trap.hits(), 2);
        assert_eq!(watcher.feed(b"aaaa"), Some(0), "the third one spans both chunks");
        assert_eq!(watcher.trap.hits(), 3, "spent");
        assert_eq!(watcher.feed(b"aaaa"), None);
        assert_eq!(watcher.trap.hits(), 3);
    }

    #[test]
    fn trap_occurrences_on_all_connections_are_added_up() {
        let trap = Trap::new(Direction::ToServer, b"x", 2);
        let mut one = Watcher::new(trap.clone());
        let mut two = Watcher::new(trap.clone());
        assert_eq!(one.feed(b"x"), None);
        assert_eq!(two.feed(b".x"), Some(1));
    }
}
