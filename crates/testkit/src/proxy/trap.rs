//! A byte sequence that, once seen in one direction, ends the connection that carried it.
//! Counted over all connections of the proxy; one trap ends one connection and is spent.

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

    /// How often the pattern went by, up to the occurrence that cut.
    pub fn hits(&self) -> usize {
        *self.inner.hits.borrow()
    }

    /// Returns once the connection is cut; ends the test at the deadline.
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

    /// True for exactly one caller: the one that saw the nth occurrence.
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

/// One trap on one connection: remembers enough of the past to see a pattern that comes in parts.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) trap: Trap,
    tail: Vec<u8>,
}

impl Watcher {
    pub(super) fn new(trap: Trap) -> Self {
        Self { trap, tail: Vec::new() }
    }

    /// Where in `chunk` the fatal occurrence begins; zero if it began in an earlier one.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Option<usize> {
        let inner = Arc::clone(&self.trap.inner);
        let len = inner.pattern.len();
        let past = self.tail.len();
        let text = [self.tail.as_slice(), chunk].concat();
        // The tail is shorter than the pattern: no occurrence is counted twice.
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
    fn a_pattern_is_found_however_it_is_cut_into_chunks() {
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
    fn the_fatal_place_is_where_the_pattern_begins_in_this_chunk() {
        assert_eq!(watcher(b"xyz", 1).feed(b"abxyzc"), Some(2));
        let mut parted = watcher(b"xyz", 1);
        assert_eq!(parted.feed(b"abx"), None);
        assert_eq!(parted.feed(b"yzab"), Some(0));
    }

    #[test]
    fn only_the_nth_occurrence_is_fatal_and_overlaps_count() {
        let mut watcher = watcher(b"aa", 3);
        assert_eq!(watcher.feed(b"aaa"), None, "two");
        assert_eq!(watcher.trap.hits(), 2);
        assert_eq!(watcher.feed(b"aaaa"), Some(0), "the third lies across");
        assert_eq!(watcher.trap.hits(), 3, "spent");
        assert_eq!(watcher.feed(b"aaaa"), None);
        assert_eq!(watcher.trap.hits(), 3);
    }

    #[test]
    fn occurrences_on_several_connections_count_together() {
        let trap = Trap::new(Direction::ToServer, b"x", 2);
        let mut one = Watcher::new(trap.clone());
        let mut two = Watcher::new(trap.clone());
        assert_eq!(one.feed(b"x"), None);
        assert_eq!(two.feed(b".x"), Some(1));
    }
}
