//! What holders of locks have seen, and whether it can all be true of locks that keep their
//! promises. Holders write one line for each thing that happens to them, wherever they run; the
//! lines of all are judged together. Times are microseconds of one clock.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

/// Whoever waits longer than this for one lease has been forgotten.
pub const WAIT_BOUND: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: u64,
    pub lease: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Told its place in line, having asked at `sent`.
    Queued {
        resource: String,
        place: u64,
        arrival: u64,
        sent: u64,
    },
    /// Told that it holds, having asked at `sent`.
    Granted {
        resource: String,
        token: u64,
        sent: u64,
    },
    /// Has left the line or the lock by itself, or was told that its time is over.
    Left,
    Registered,
    /// Whether somebody else had written while it was the only one who might.
    Committed {
        is_stale: bool,
    },
    /// Found that it holds no longer: before its deadline, or after.
    Fenced {
        is_early: bool,
    },
    /// The truth knew another holder than the queue: both had granted.
    Doubled,
}

/// Something that was done to the servers or the holders, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub at: u64,
    pub name: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lease, what } = self;
        match what {
            What::Queued { resource, place, arrival, sent } => {
                write!(f, "{at} {lease} queued {resource} {place} {arrival} {sent}")
            }
            What::Granted { resource, token, sent } => {
                write!(f, "{at} {lease} granted {resource} {token} {sent}")
            }
            What::Left => write!(f, "{at} {lease} left"),
            What::Registered => write!(f, "{at} {lease} registered"),
            What::Committed { is_stale } => write!(f, "{at} {lease} committed {is_stale}"),
            What::Fenced { is_early } => write!(f, "{at} {lease} fenced {is_early}"),
            What::Doubled => write!(f, "{at} {lease} doubled"),
        }
    }
}

impl FromStr for Event {
    type Err = String;

    /// A line that was cut off, since its writer was killed, is no event.
    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| -> Result<u64, String> {
            let word = words.get(at).ok_or_else(|| format!("`{line}` ends too early"))?;
            word.parse().map_err(|_| format!("`{word}` in `{line}` is no number"))
        };
        let text = |at: usize| words.get(at).map(|word| (*word).to_owned()).unwrap_or_default();
        let is_true = |at: usize| words.get(at) == Some(&"true");
        let what = match words.get(2).copied().unwrap_or_default() {
            "queued" => What::Queued {
                resource: text(3),
                place: number(4)?,
                arrival: number(5)?,
                sent: number(6)?,
            },
            "granted" => What::Granted { resource: text(3), token: number(4)?, sent: number(5)? },
            "left" => What::Left,
            "registered" => What::Registered,
            "committed" => What::Committed { is_stale: is_true(3) },
            "fenced" => What::Fenced { is_early: is_true(3) },
            "doubled" => What::Doubled,
            other => return Err(format!("`{other}` in `{line}` is no event")),
        };
        Ok(Self { at: number(0)?, lease: text(1), what })
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub grants: usize,
    pub registered: usize,
    pub commits: usize,
    pub fenced: usize,
    /// Expected of a queue that loses what it acknowledged; the truth turned them away.
    pub doubled: usize,
    pub stale: Vec<String>,
    pub early: Vec<String>,
    pub lost: Vec<String>,
    pub inversions: Vec<String>,
    /// From each fault to the first grant that was asked for after it.
    pub gaps: Vec<(String, Duration)>,
}

impl Verdict {
    /// What no lock may do; nothing if all is well.
    pub fn failures(&self) -> Vec<String> {
        let named = [
            ("stale commit", &self.stale),
            ("hold that was lost before its deadline", &self.early),
            ("waiter that nobody answered", &self.lost),
            ("waiter that was overtaken", &self.inversions),
        ];
        let told = named
            .iter()
            .flat_map(|(what, leases)| leases.iter().map(move |lease| format!("{what}: {lease}")));
        told.collect()
    }

    /// The longest of all but one in a hundred, but for those of faults with this name.
    pub fn gap_p99(&self, but_of: &str) -> Option<Duration> {
        let counted = self.gaps.iter().filter(|(name, _)| name != but_of);
        let mut gaps: Vec<Duration> = counted.map(|(_, gap)| *gap).collect();
        gaps.sort();
        let last = gaps.len().checked_sub(1)?;
        gaps.get(last - last / 100).copied()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gaps = String::new();
        for (name, gap) in &self.gaps {
            write!(gaps, " {name}:{}ms", gap.as_millis())?;
        }
        write!(
            f,
            "grants {} registered {} commits {} fenced {} doubled {} stale {} early {} lost {} \
             inversions {} gaps{gaps}",
            self.grants,
            self.registered,
            self.commits,
            self.fenced,
            self.doubled,
            self.stale.len(),
            self.early.len(),
            self.lost.len(),
            self.inversions.len(),
        )
    }
}

/// The last place in line that a lease was told, and what became of it.
#[derive(Debug)]
struct Wait<'a> {
    lease: &'a str,
    resource: &'a str,
    order: (u64, u64),
    since: u64,
    sent: u64,
    told_at: u64,
    end: Option<u64>,
    token: Option<u64>,
}

/// `events` of all holders; within one lease in the order in which they happened.
pub fn judge(events: &[Event], faults: &[Fault], epoch_bits: u32) -> Verdict {
    let mut verdict = Verdict::default();
    let mut waits: BTreeMap<&str, Wait<'_>> = BTreeMap::new();
    for Event { at, lease, what } in events {
        let told = || format!("{lease} at {at}");
        match what {
            What::Queued { resource, place, arrival, sent } => {
                let since = waits.get(lease.as_str()).map_or(*sent, |known| known.since);
                let (order, told_at) = ((*place, *arrival), *at);
                let wait = Wait {
                    lease,
                    resource,
                    order,
                    since,
                    sent: *sent,
                    told_at,
                    end: None,
                    token: None,
                };
                waits.insert(lease, wait);
            }
            What::Granted { token, .. } => {
                verdict.grants += 1;
                if let Some(wait) = waits.get_mut(lease.as_str()) {
                    (wait.end, wait.token) = (Some(*at), Some(*token));
                }
            }
            What::Left => {
                if let Some(wait) = waits.get_mut(lease.as_str()) {
                    wait.end = wait.end.or(Some(*at));
                }
            }
            What::Registered => verdict.registered += 1,
            What::Committed { is_stale } => {
                verdict.commits += 1;
                verdict.stale.extend(is_stale.then(told));
            }
            What::Fenced { is_early } => {
                verdict.fenced += 1;
                verdict.early.extend(is_early.then(told));
            }
            What::Doubled => verdict.doubled += 1,
        }
    }
    let is_lost = |wait: &&Wait<'_>| {
        wait.end.is_none_or(|end| u128::from(end - wait.since) > WAIT_BOUND.as_micros())
    };
    verdict.lost = waits.values().filter(is_lost).map(|wait| wait.lease.to_owned()).collect();
    verdict.inversions = inversions(waits.values(), epoch_bits);
    verdict.gaps = gaps(events, faults);
    verdict
}

/// Of two who stood in one line of one epoch, the later one must not have been granted first. The
/// first counts as being there once it was told so, before the other even asked.
fn inversions<'a>(waits: impl Iterator<Item = &'a Wait<'a>>, epoch_bits: u32) -> Vec<String> {
    let mut lines: BTreeMap<(&str, u64), Vec<&Wait<'_>>> = BTreeMap::new();
    for wait in waits {
        if let Some(token) = wait.token {
            lines.entry((wait.resource, token >> epoch_bits)).or_default().push(wait);
        }
    }
    let mut found = Vec::new();
    for ((resource, epoch), mut line) in lines {
        line.retain(|wait| wait.order.1 >> epoch_bits == epoch);
        line.sort_by_key(|wait| wait.token);
        for (place, later) in line.iter().enumerate() {
            let earlier = line
                .iter()
                .skip(place + 1)
                .find(|earlier| earlier.order < later.order && earlier.told_at < later.sent);
            found.extend(earlier.map(|earlier| {
                format!("{} by {} for {resource} in epoch {epoch}", earlier.lease, later.lease)
            }));
        }
    }
    found
}

fn gaps(events: &[Event], faults: &[Fault]) -> Vec<(String, Duration)> {
    let grants: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Granted { sent, .. } => Some((sent, event.at)),
            _ => None,
        })
        .collect();
    let gap = |fault: &Fault| {
        let after = grants.iter().filter(|(sent, _)| *sent >= fault.at).map(|(_, at)| *at);
        after.min().map(|at| (fault.name.clone(), Duration::from_micros(at - fault.at)))
    };
    faults.iter().filter_map(gap).collect()
}

#[cfg(test)]
#[path = "lock_history_tests.rs"]
mod tests;
