//! The four factors, each 0–100 with an explanation. Unknown facts count as the maximum.
//! Explanations are one line and contain facts only, no text of an author.

use std::collections::BTreeSet;

use super::facts::{History, Outcomes, ResourceFacts, RiskFacts};
use super::scale::log_scaled;
use super::splitting::{Joint, Known};
use super::{Score, criticality};
use crate::change::{Counts, Effect, Origin};
use crate::limits::{
    RISK_BLAST_RADIUS_DOUBLINGS, RISK_FAILURE_PRIOR_TASKS, RISK_FAILURE_RATE_DEFAULT_BP,
    RISK_IRREVERSIBLE_UNITS, RISK_MAGNITUDE_DOUBLINGS, RISK_ROWS_DOUBLINGS,
};
use crate::resource::ResourceRef;

pub(super) type Rated = (Score, String);

const WHOLE_BP: u64 = 10_000;

/// Returns a resource that the effect touches although the task does not list it. Such a task has
/// no digest and can never be approved, so it gets the worst rating.
fn stranger<'a>(facts: &RiskFacts<'a>) -> Option<&'a ResourceRef> {
    let listed: BTreeSet<_> = facts.resources.iter().map(|r| &r.resource).collect();
    let touched = facts.effect.map(Effect::resources).unwrap_or_default();
    touched.into_iter().find(|resource| !listed.contains(resource))
}

fn worst(why: impl Into<String>) -> Rated {
    (Score::MAX, why.into())
}

pub(super) fn resource_criticality(facts: &RiskFacts<'_>, joint: &Joint<'_>) -> Rated {
    if let Some(stranger) = stranger(facts) {
        return worst(format!(
            "the effect touches {stranger}, which the task does not list, so its criticality is \
             unknown and counts as the highest"
        ));
    }
    let mut highest: Option<&Known<'_>> = None;
    for known in joint.resources.values() {
        if highest.is_none_or(|other| known.criticality > other.criticality) {
            highest = Some(known);
        }
    }
    let (false, Some(highest)) = (facts.resources.is_empty(), highest) else {
        return worst("the task lists no resource, so its criticality counts as the highest");
    };
    let of_several = match joint.resources.len() {
        0 | 1 => String::new(),
        count => format!(", the highest of {count} resources"),
    };
    let sentence = format!("{}{of_several}", rating(highest.facts));
    (highest.criticality, sentence)
}

fn rating(facts: &ResourceFacts) -> String {
    let resource = &facts.resource;
    let points = criticality(facts).points();
    match (facts.criticality, facts.pattern_default) {
        (Some(_), _) => format!("{resource} is rated {points} of 100 in the registry"),
        (None, Some(_)) => {
            format!("{resource} is not in the registry; its pattern is rated {points} of 100")
        }
        (None, None) => format!(
            "{resource} is not in the registry and no pattern matches it, so it counts as \
             {points} of 100"
        ),
    }
}

pub(super) fn change_magnitude(facts: &RiskFacts<'_>, joint: &Joint<'_>) -> Rated {
    if let Some(stranger) = stranger(facts) {
        return worst(format!(
            "the effect touches {stranger}, which the task does not list, so its size counts as \
             the largest"
        ));
    }
    let Some(effect) = facts.effect else {
        return worst("the change was not previewed, so its size counts as the largest");
    };
    let Some(own) = effect.measured() else {
        return worst(match effect.origin() {
            Origin::Declared => {
                "the effect was declared, not observed, so its size counts as the largest"
                    .to_owned()
            }
            Origin::Observed => format!(
                "the preview ended with {}, so its size counts as the largest",
                counted(effect.errors().len(), "error")
            ),
        });
    };
    let Some(counts) = joint.counts(own) else {
        return worst(
            "a recent task of the same author on these resources was not previewed, so their \
             combined size counts as the largest",
        );
    };
    let changes = log_scaled(units(counts), RISK_MAGNITUDE_DOUBLINGS);
    let score = changes.max(log_scaled(counts.rows, RISK_ROWS_DOUBLINGS));
    (score, format!("{}{}", size(counts), together(joint)))
}

/// Returns the weight of the counts. An irreversible change also counts as its kind.
fn units(counts: Counts) -> u64 {
    u64::from(counts.adds)
        + u64::from(counts.changes)
        + u64::from(counts.removes)
        + u64::from(counts.irreversible) * RISK_IRREVERSIBLE_UNITS
}

fn size(counts: Counts) -> String {
    let Counts { adds, changes, removes, irreversible, rows } = counts;
    let rows = match rows {
        0 => String::new(),
        u64::MAX => ", and an unknown number of rows".to_owned(),
        _ => format!(", and {}", counted(usize::try_from(rows).unwrap_or(usize::MAX), "row")),
    };
    format!(
        "the preview observed {adds} added, {changes} changed and {removes} removed, \
         {irreversible} of them irreversible{rows}"
    )
}

fn together(joint: &Joint<'_>) -> String {
    match joint.earlier.len() {
        0 => String::new(),
        count => format!(
            ", combined with {} by the same author on these resources",
            counted(count, "recent task")
        ),
    }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

pub(super) fn blast_radius(facts: &RiskFacts<'_>, joint: &Joint<'_>) -> Rated {
    if let Some(stranger) = stranger(facts) {
        return worst(format!(
            "the effect touches {stranger}, which the task does not list, so its blast radius \
             counts as the widest"
        ));
    }
    if facts.resources.is_empty() {
        return worst("the task lists no resource, so its blast radius counts as the widest");
    }
    let Some(reach) = joint.reach() else {
        let mut unknown = joint.resources.iter();
        let resource = unknown.find(|(_, known)| known.dependents.is_none());
        let resource = resource.map(|(resource, _)| resource.to_string());
        return worst(format!(
            "the dependents of {} are unknown, so the blast radius counts as the widest",
            resource.unwrap_or_default()
        ));
    };
    let named = joint.resources.len();
    let score = log_scaled(as_u64(reach.len()), RISK_BLAST_RADIUS_DOUBLINGS);
    let sentence = format!(
        "the change reaches {} and {}{}",
        counted(named, "resource"),
        counted(reach.len() - named, "dependent"),
        together(joint)
    );
    (score, sentence)
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

pub(super) fn historical_failure_rate(history: Option<History>) -> Rated {
    let Some(History { like, tenant }) = history else {
        return worst("the outcomes of similar tasks are unknown, so they count as failed");
    };
    // The mean of the tenant counts like some tasks: few outcomes say little, many dominate it.
    let prior = RISK_FAILURE_PRIOR_TASKS;
    let failed_bp = u64::from(like.failed_at_most()) * WHOLE_BP + prior * mean_bp(tenant);
    let rate = failed_bp.div_ceil((u64::from(like.total) + prior) * (WHOLE_BP / 100));
    let score = Score::new(u8::try_from(rate).unwrap_or(u8::MAX));
    let of_tenant = match tenant.total {
        0 => format!(
            "no other task has finished either, so {} of 100 count as failed",
            RISK_FAILURE_RATE_DEFAULT_BP * 100 / WHOLE_BP
        ),
        total => format!("{} of all {total} tasks failed", tenant.failed),
    };
    let sentence = match like.total {
        0 => format!("no similar task has finished yet; {of_tenant}"),
        total => format!("{} of {total} similar tasks failed; {of_tenant}", like.failed),
    };
    (score, sentence)
}

fn mean_bp(tenant: Outcomes) -> u64 {
    match u64::from(tenant.total) {
        0 => RISK_FAILURE_RATE_DEFAULT_BP,
        total => (u64::from(tenant.failed_at_most()) * WHOLE_BP).div_ceil(total),
    }
}

impl Outcomes {
    /// Returns the history that failed more often, or the larger one if both are equal.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        // Compares fractions over a common denominator; an empty history is better than any other.
        let share =
            |one: Self, two: Self| u64::from(one.failed_at_most()) * u64::from(two.total.max(1));
        let (own, others) = (share(self, other), share(other, self));
        if (others, other.total) > (own, self.total) { other } else { self }
    }

    /// Bounds the failures by the number of tasks; more would be a counting error.
    fn failed_at_most(self) -> u32 {
        self.failed.min(self.total)
    }
}

#[cfg(test)]
#[path = "factor_tests.rs"]
mod tests;
