//! Change splitting: all changes of one human to the same resources within the window are rated as
//! one change, so that many small tasks score at least as high as one big task.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{RecentTask, ResourceFacts, RiskFacts};
use super::{Score, criticality};
use crate::change::Counts;
use crate::limits::CHANGE_SPLITTING_WINDOW;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// A task together with the recent tasks that belong to it.
pub(super) struct Joint<'a> {
    /// Each resource once, with the worse of its known facts.
    pub resources: BTreeMap<&'a ResourceRef, Known<'a>>,
    pub earlier: Vec<&'a RecentTask>,
}

pub(super) struct Known<'a> {
    /// The facts with the highest rating.
    pub facts: &'a ResourceFacts,
    pub criticality: Score,
    pub dependents: Option<BTreeSet<&'a ResourceRef>>,
}

impl<'a> Joint<'a> {
    pub fn new(facts: &RiskFacts<'a>, now: Timestamp) -> Self {
        let earlier = related(facts, now);
        let mut resources = BTreeMap::new();
        let all = earlier.iter().flat_map(|task| &task.resources);
        for facts in facts.resources.iter().chain(all) {
            let known = Known {
                facts,
                criticality: criticality(facts),
                dependents: facts.dependents.as_ref().map(|set| set.iter().collect()),
            };
            let merged = match resources.remove(&facts.resource) {
                Some(other) => worse(other, known),
                None => known,
            };
            resources.insert(&facts.resource, merged);
        }
        Self { resources, earlier }
    }

    /// Returns the sum of all counts; `None` if any earlier count is unknown.
    pub fn counts(&self, own: Counts) -> Option<Counts> {
        self.earlier.iter().try_fold(own, |sum, task| {
            let counts = task.counts?;
            Some(Counts {
                adds: sum.adds.saturating_add(counts.adds),
                changes: sum.changes.saturating_add(counts.changes),
                removes: sum.removes.saturating_add(counts.removes),
                irreversible: sum.irreversible.saturating_add(counts.irreversible),
                rows: sum.rows.saturating_add(counts.rows),
            })
        })
    }

    /// Returns all named resources and their dependents; `None` if any dependents are unknown.
    pub fn reach(&self) -> Option<BTreeSet<&'a ResourceRef>> {
        let mut reach: BTreeSet<_> = self.resources.keys().copied().collect();
        for known in self.resources.values() {
            reach.extend(known.dependents.as_ref()?);
        }
        Some(reach)
    }
}

fn worse<'a>(one: Known<'a>, other: Known<'a>) -> Known<'a> {
    let dependents = match (one.dependents, other.dependents) {
        (Some(mut all), Some(more)) => {
            all.extend(more);
            Some(all)
        }
        (None, _) | (_, None) => None,
    };
    let higher = if other.criticality > one.criticality {
        (other.facts, other.criticality)
    } else {
        (one.facts, one.criticality)
    };
    Known { facts: higher.0, criticality: higher.1, dependents }
}

/// Returns the tasks of the author within the window that belong to this one. A time in the future
/// counts too: a wrong clock must not start a new window.
fn related<'a>(facts: &RiskFacts<'a>, now: Timestamp) -> Vec<&'a RecentTask> {
    let since = now.minus(CHANGE_SPLITTING_WINDOW);
    let open: Vec<&RecentTask> = facts
        .recent
        .iter()
        .filter(|task| task.task != facts.task)
        .filter(|task| task.author == facts.author && task.at >= since)
        .collect();
    let own = facts.resources.iter().map(|r| &r.resource).collect();
    connected(own, open, |task| task.resources.iter().map(|r| &r.resource).collect())
}

/// Returns the tasks that share a resource with these, directly or through other tasks: a chain of
/// overlapping tasks is one change. A task that names no resource may be on any of them. Tasks that
/// are left out never count.
pub fn connected<'a, T: Copy>(
    mut touched: BTreeSet<&'a ResourceRef>,
    mut open: Vec<T>,
    named: impl Fn(T) -> Vec<&'a ResourceRef>,
) -> Vec<T> {
    if touched.is_empty() {
        return open;
    }
    let mut related = Vec::new();
    loop {
        let (found, rest): (Vec<T>, Vec<T>) = open.into_iter().partition(|task| {
            let named = named(*task);
            named.is_empty() || named.iter().any(|resource| touched.contains(resource))
        });
        if found.is_empty() {
            return related;
        }
        touched.extend(found.iter().flat_map(|task| named(*task)));
        related.extend(found);
        open = rest;
    }
}

#[cfg(test)]
#[path = "splitting_tests.rs"]
mod tests;
