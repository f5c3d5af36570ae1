//! Tasks for the tests of this folder, made by hand or generated, always with effects within the
//! named resources.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::{
    Assessment, History, Outcomes, RecentTask, ResourceFacts, RiskConfig, RiskFacts, Score,
    Weights, assess,
};
use crate::change::{Change, ChangeKind, Counts, Effect, Report};
use crate::ids::{TaskId, UserId};
use crate::limits::CHANGE_SPLITTING_WINDOW;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

pub(super) const NOW: Timestamp = Timestamp::from_micros(1_773_847_800_000_000);
pub(super) const AUTHOR: UserId = UserId::from_u128(1);
pub(super) const STRANGER: UserId = UserId::from_u128(2);

/// Facts that own their data.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub resources: Vec<ResourceFacts>,
    pub effect: Option<Effect>,
    pub history: Option<History>,
    pub recent: Vec<RecentTask>,
}

impl Sample {
    /// The lowest risk: one harmless resource, an empty preview, no failures.
    pub fn harmless() -> Self {
        Self {
            resources: vec![known("db:0", 0, &[])],
            effect: Some(Effect::observed(Report::default()).unwrap()),
            history: Some(History {
                like: Outcomes::default(),
                tenant: Outcomes { failed: 0, total: 1 },
            }),
            recent: vec![],
        }
    }

    pub fn facts(&self) -> RiskFacts<'_> {
        RiskFacts {
            task: TaskId::from_u128(0),
            author: AUTHOR,
            resources: &self.resources,
            effect: self.effect.as_ref(),
            history: self.history,
            recent: &self.recent,
        }
    }

    pub fn rated(&self, settings: &RiskConfig) -> Assessment {
        assess(&self.facts(), settings, NOW)
    }

    pub fn score(&self, settings: &RiskConfig) -> Score {
        self.rated(settings).score
    }

    /// Returns points and explanation of one factor, in the order of the weights.
    pub fn factor(&self, index: usize) -> (u8, String) {
        let factor = &self.rated(&RiskConfig::default()).factors[index];
        (factor.score.points(), factor.sentence.clone())
    }
}

pub(super) fn resource(text: &str) -> ResourceRef {
    text.parse().unwrap()
}

pub(super) fn known(name: &str, criticality: u8, dependents: &[&str]) -> ResourceFacts {
    ResourceFacts {
        resource: resource(name),
        criticality: Some(Score::new(criticality)),
        pattern_default: None,
        dependents: Some(dependents.iter().map(|name| resource(name)).collect()),
    }
}

pub(super) fn change(name: &str, action: ChangeKind, irreversible: bool) -> Change {
    Change {
        resource: resource(name),
        action,
        irreversible,
        rows: None,
        summary: String::new(),
        before: None,
        after: None,
    }
}

pub(super) fn observed(changes: Vec<Change>) -> Effect {
    Effect::observed(report(changes)).unwrap()
}

pub(super) fn report(changes: Vec<Change>) -> Report {
    Report { changes, ..Report::default() }
}

pub(super) fn recent(number: u128, resources: Vec<ResourceFacts>, adds: u32) -> RecentTask {
    RecentTask {
        task: TaskId::from_u128(number),
        author: AUTHOR,
        at: NOW,
        resources,
        counts: Some(Counts { adds, ..Counts::default() }),
    }
}

const NAMES: [&str; 5] = ["db:0", "db:1", "db:2", "svc:3", "svc:4"];

pub(super) fn weights() -> impl Strategy<Value = RiskConfig> {
    prop::collection::vec(0..=10_000_u16, 3).prop_map(|mut cuts| {
        cuts.sort_unstable();
        let weights = Weights::new(cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 10_000 - cuts[2]);
        RiskConfig { weights: weights.unwrap(), ..RiskConfig::default() }
    })
}

fn points() -> impl Strategy<Value = Option<Score>> {
    prop::option::of((0..=100_u8).prop_map(Score::new))
}

/// One entry for each name, in order, with the same facts for every task that names it.
pub(super) fn registry() -> impl Strategy<Value = Vec<ResourceFacts>> {
    let dependents = prop::collection::btree_set(0..12_u8, 0..6);
    let entry = (points(), points(), prop::option::weighted(0.9, dependents));
    prop::collection::vec(entry, NAMES.len()).prop_map(|entries| {
        let entries = NAMES.iter().zip(entries);
        entries
            .map(|(name, (criticality, pattern_default, dependents))| {
                let dependents = dependents.map(|numbers: BTreeSet<u8>| {
                    let names = numbers.iter().map(|number| format!("svc:{number}"));
                    names.map(|name| resource(&name)).collect()
                });
                ResourceFacts { resource: resource(name), criticality, pattern_default, dependents }
            })
            .collect()
    })
}

/// Generates a selection of the names.
pub(super) fn named() -> impl Strategy<Value = BTreeSet<usize>> {
    prop::collection::btree_set(0..NAMES.len(), 1..=3)
}

pub(super) fn changes() -> impl Strategy<Value = Vec<(ChangeKind, bool)>> {
    let kind =
        prop_oneof![Just(ChangeKind::Add), Just(ChangeKind::Change), Just(ChangeKind::Remove)];
    prop::collection::vec((kind, prop::bool::weighted(0.2)), 0..40)
}

pub(super) fn outcomes() -> impl Strategy<Value = Outcomes> {
    (0..50_u32, 0..50_u32).prop_map(|(failed, more)| Outcomes { failed, total: failed + more })
}

fn history() -> impl Strategy<Value = History> {
    (outcomes(), outcomes()).prop_map(|(like, tenant)| History { like, tenant })
}

pub(super) fn pick(registry: &[ResourceFacts], named: &BTreeSet<usize>) -> Vec<ResourceFacts> {
    named.iter().map(|index| registry[*index].clone()).collect()
}

/// Distributes the changes over the resources in turn.
pub(super) fn dealt(resources: &[ResourceFacts], kinds: &[(ChangeKind, bool)]) -> Vec<Change> {
    let names = resources.iter().map(|facts| facts.resource.to_string());
    let names = names.cycle().zip(kinds);
    names.map(|(name, (kind, irreversible))| change(&name, *kind, *irreversible)).collect()
}

/// Generates a task of any author, around the time of the window.
fn neighbour() -> impl Strategy<Value = (BTreeSet<usize>, bool, u64, Option<u32>)> {
    let seconds = 0..2 * CHANGE_SPLITTING_WINDOW.as_secs();
    let adds = prop::option::weighted(0.9, 0..20_u32);
    (named(), any::<bool>(), seconds, adds)
}

/// Generates a task whose effect was observed without errors.
pub(super) fn sample() -> impl Strategy<Value = Sample> {
    let neighbours = prop::collection::vec(neighbour(), 0..4);
    (registry(), named(), changes(), history(), neighbours).prop_map(
        |(registry, named, kinds, history, neighbours)| {
            let resources = pick(&registry, &named);
            let recent = (1..).zip(neighbours).map(|(number, neighbour)| {
                let (named, is_own, seconds, adds) = neighbour;
                let task = recent(number, pick(&registry, &named), 0);
                RecentTask {
                    author: if is_own { AUTHOR } else { STRANGER },
                    at: NOW.minus(Duration::from_secs(seconds)),
                    counts: adds.map(|adds| Counts { adds, ..Counts::default() }),
                    ..task
                }
            });
            Sample {
                effect: Some(observed(dealt(&resources, &kinds))),
                resources,
                history: Some(history),
                recent: recent.collect(),
            }
        },
    )
}
