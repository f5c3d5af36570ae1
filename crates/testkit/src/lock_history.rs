//! Checks the history that lock holders recorded against the guarantees of the locks. Every holder,
//! in any process, writes one line per event, and the lines of all holders are judged together.
//! Times are microseconds of one clock.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

/// A lease that waits longer than this counts as lost.
pub const WAIT_BOUND: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEvent {
    pub at: u64,
    pub lease: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The lease was queued at a place in line, by a request sent at `sent`.
    Queued {
        resource: String,
        place: u64,
        arrival: u64,
        sent: u64,
    },
    /// The lease was granted, by a request sent at `sent`.
    Granted {
        resource: String,
        token: u64,
        sent: u64,
    },
    /// The lease left the queue or released the lock itself, or learned that it had expired.
    Left,
    Registered,
    /// The holder committed; `is_stale` if another holder had written while it had the exclusive
    /// lock.
    Committed {
        is_stale: bool,
    },
    /// The holder found that it had lost the lock, before its deadline or after it.
    Fenced {
        is_early: bool,
    },
    /// The database had another holder than the queue: both had granted the lock.
    Doubled,
}

/// A fault that was injected into the servers or the holders, and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedFault {
    pub at: u64,
    pub name: String,
}

impl fmt::Display for HistoryEvent {
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

impl FromStr for HistoryEvent {
    type Err = String;

    /// Parses one event. A line that was cut off, because its writer was killed, is an error.
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
pub struct HistoryVerdict {
    pub grants: usize,
    pub registered: usize,
    pub commits: usize,
    pub fenced: usize,
    /// Double grants are expected from a queue that loses acknowledged data; the database refused
    /// them.
    pub doubled: usize,
    pub stale: Vec<String>,
    pub early: Vec<String>,
    pub lost: Vec<String>,
    pub inversions: Vec<String>,
    /// The time from each fault to the first grant that was requested after it.
    pub gaps: Vec<(String, Duration)>,
}

impl HistoryVerdict {
    /// Returns every violation of a guarantee; empty if there are none.
    pub fn failures(&self) -> Vec<String> {
        let named = [
            ("stale commit", &self.stale),
            ("hold that was lost before its deadline", &self.early),
            ("waiter without an answer", &self.lost),
            ("waiter that was overtaken", &self.inversions),
        ];
        let lines = named
            .iter()
            .flat_map(|(what, leases)| leases.iter().map(move |lease| format!("{what}: {lease}")));
        lines.collect()
    }

    /// Returns the 99th percentile of the gaps, without those of faults with this name.
    pub fn gap_p99(&self, but_of: &str) -> Option<Duration> {
        let counted = self.gaps.iter().filter(|(name, _)| name != but_of);
        let mut gaps: Vec<Duration> = counted.map(|(_, gap)| *gap).collect();
        gaps.sort();
        let last = gaps.len().checked_sub(1)?;
        gaps.get(last - last / 100).copied()
    }
}

impl fmt::Display for HistoryVerdict {
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

/// The last place in line of a lease, and how the wait ended.
#[derive(Debug)]
struct Wait<'a> {
    lease: &'a str,
    resource: &'a str,
    order: (u64, u64),
    since: u64,
    sent: u64,
    queued_at: u64,
    end: Option<u64>,
    token: Option<u64>,
}

/// Judges the events of all holders. The events of one lease must be in the order in which they
/// happened.
pub fn judge(events: &[HistoryEvent], faults: &[InjectedFault], epoch_bits: u32) -> HistoryVerdict {
    let mut verdict = HistoryVerdict::default();
    let mut waits: BTreeMap<&str, Wait<'_>> = BTreeMap::new();
    for HistoryEvent { at, lease, what } in events {
        let label = || format!("{lease} at {at}");
        match what {
            What::Queued { resource, place, arrival, sent } => {
                let since = waits.get(lease.as_str()).map_or(*sent, |known| known.since);
                let (order, queued_at) = ((*place, *arrival), *at);
                let wait = Wait {
                    lease,
                    resource,
                    order,
                    since,
                    sent: *sent,
                    queued_at,
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
                verdict.stale.extend(is_stale.then(label));
            }
            What::Fenced { is_early } => {
                verdict.fenced += 1;
                verdict.early.extend(is_early.then(label));
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

/// Finds waiters of one queue and epoch where the later one was granted first. The earlier one
/// counts as queued once it received its place, before the later one sent its request.
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
                .find(|earlier| earlier.order < later.order && earlier.queued_at < later.sent);
            found.extend(earlier.map(|earlier| {
                format!("{} by {} for {resource} in epoch {epoch}", earlier.lease, later.lease)
            }));
        }
    }
    found
}

fn gaps(events: &[HistoryEvent], faults: &[InjectedFault]) -> Vec<(String, Duration)> {
    let grants: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Granted { sent, .. } => Some((sent, event.at)),
            _ => None,
        })
        .collect();
    let gap = |fault: &InjectedFault| {
        let after = grants.iter().filter(|(sent, _)| *sent >= fault.at).map(|(_, at)| *at);
        after.min().map(|at| (fault.name.clone(), Duration::from_micros(at - fault.at)))
    };
    faults.iter().filter_map(gap).collect()
}

#[cfg(test)]
#[path = "lock_history_tests.rs"]
mod tests;
