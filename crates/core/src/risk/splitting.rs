//! Change splitting: what one human did to the same resources within the window is rated as one
//! change, so that many small tasks score at least what the one big task would have.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, RecentTask, ResourceFacts};
use super::{Score, criticality};
use crate::change::Counts;
use crate::limits::CHANGE_SPLITTING_WINDOW;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// A task together with the recent ones it belongs to.
pub(super) struct Joint<'a> {
    /// Each resource once, with the worse of what is known of it.
    pub resources: BTreeMap<&'a ResourceRef, Known<'a>>,
    pub earlier: Vec<&'a RecentTask>,
}

pub(super) struct Known<'a> {
    /// The facts that rate it highest.
    pub facts: &'a ResourceFacts,
    pub criticality: Score,
    pub dependents: Option<BTreeSet<&'a ResourceRef>>,
}

impl<'a> Joint<'a> {
    pub fn new(facts: &Facts<'a>, now: Timestamp) -> Self {
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

    /// The sum of all counts; absent if any of the earlier ones is not known.
    pub fn counts(&self, own: Counts) -> Option<Counts> {
        self.earlier.iter().try_fold(own, |sum, task| {
            let counts = task.counts?;
            Some(Counts {
                adds: sum.adds.saturating_add(counts.adds),
                changes: sum.changes.saturating_add(counts.changes),
                removes: sum.removes.saturating_add(counts.removes),
                irreversible: sum.irreversible.saturating_add(counts.irreversible),
            })
        })
    }

    /// Everything that is named or hangs on what is named; absent if anything is not known.
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

/// The author's tasks within the window that belong to this one. A time still to come counts; a
/// clock that is off must not start a window.
fn related<'a>(facts: &Facts<'a>, now: Timestamp) -> Vec<&'a RecentTask> {
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

/// Those that share a resource with a task on these, or with another that does: a chain of
/// overlapping tasks is one change, too. A task that names no resource may be on any of them.
/// What is left out never counts, so nothing else has to be known of it.
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
