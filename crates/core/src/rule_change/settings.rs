//! Compares risk settings, feature flags and timeouts.

use std::collections::BTreeSet;

use super::RuleFinding;
use crate::flag::Flag;
use crate::limits::RISK_CRITICALITY_DEFAULT;
use crate::policy::Strictness;
use crate::risk::{RiskConfig, Score};
use crate::timeouts::ApprovalTimeouts;

const LEVELS: [&str; 3] = ["MEDIUM", "HIGH", "CRITICAL"];

pub(super) fn compare_risk(old: &RiskConfig, new: &RiskConfig) -> Vec<RuleFinding> {
    let mut findings = Vec::new();
    let thresholds = old.thresholds.in_order().into_iter().zip(new.thresholds.in_order());
    for (level, (before, after)) in LEVELS.into_iter().zip(thresholds) {
        if before != after {
            let verdict = if after > before { Strictness::Looser } else { Strictness::Stricter };
            let sentence = format!("{level} begins at {after} points instead of {before}");
            findings.push(RuleFinding::new(verdict, sentence));
        }
    }
    // The weights always add up to the same sum, so other weights raise some scores and lower
    // others.
    if old.weights != new.weights {
        let [criticality, magnitude, radius, failures] = new.weights.in_order();
        let sentence = format!(
            "the risk factors weigh {criticality}, {magnitude}, {radius} and {failures} basis \
             points: some tasks get a higher score, others a lower one"
        );
        findings.push(RuleFinding::new(Strictness::Mixed, sentence));
    }
    findings.extend(compare_patterns(old, new));
    findings
}

/// Compares the default criticality of resources that are not in the registry. The highest matching
/// pattern applies, and 50 points without one.
fn compare_patterns(old: &RiskConfig, new: &RiskConfig) -> Vec<RuleFinding> {
    let (old, new) = (&old.pattern_defaults, &new.pattern_defaults);
    let patterns: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let finding = |pattern: &String| {
        let (verdict, sentence) = match (old.get(pattern), new.get(pattern)) {
            (before, after) if before == after => return None,
            (_, None) => {
                (Strictness::Looser, format!("{pattern} no longer has a default criticality"))
            }
            (before, Some(after)) => {
                let floor = before.copied().unwrap_or(Score::new(RISK_CRITICALITY_DEFAULT));
                let verdict =
                    if *after < floor { Strictness::Looser } else { Strictness::Stricter };
                let points = after.points();
                (verdict, format!("{pattern} has the default criticality {points}"))
            }
        };
        Some(RuleFinding::new(verdict, sentence))
    };
    patterns.into_iter().filter_map(finding).collect()
}

pub(super) fn compare_flags(old: &BTreeSet<Flag>, new: &BTreeSet<Flag>) -> Vec<RuleFinding> {
    let finding = |flag: Flag| {
        let is_enabled = new.contains(&flag);
        let verdict = match flag {
            _ if old.contains(&flag) == is_enabled => return None,
            Flag::DeadlockDetection => Strictness::Same,
            Flag::AutoApproveLowRisk | Flag::BatchApprovals if is_enabled => Strictness::Looser,
            Flag::AutoApproveLowRisk | Flag::BatchApprovals => Strictness::Stricter,
        };
        let state = if is_enabled { "enabled" } else { "disabled" };
        Some(RuleFinding::new(verdict, format!("{flag} is {state}")))
    };
    Flag::ALL.into_iter().filter_map(finding).collect()
}

/// Compares how long reviewers have. Those of locks and attempts do not concern approvals.
pub(super) fn compare_timeouts(old: ApprovalTimeouts, new: ApprovalTimeouts) -> Vec<RuleFinding> {
    let pairs = [
        ("by default", old.default_timeout_seconds, new.default_timeout_seconds),
        ("at most", old.max_timeout_seconds, new.max_timeout_seconds),
    ];
    let finding = |(which, before, after): (&str, u32, u32)| {
        let verdict = match after.cmp(&before) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Less => Strictness::Stricter,
            std::cmp::Ordering::Greater => Strictness::Looser,
        };
        let sentence =
            format!("reviewers have {which} {after} s for an answer instead of {before} s");
        Some(RuleFinding::new(verdict, sentence))
    };
    pairs.into_iter().filter_map(finding).collect()
}
