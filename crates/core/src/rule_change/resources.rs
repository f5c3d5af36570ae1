//! Compares entries of the resource registry, and the roles that groups of an identity provider
//! grant. Both are loaded only when they change.

use std::collections::{BTreeMap, BTreeSet};

use super::RuleFinding;
use crate::actor::Role;
use crate::policy::Strictness;
use crate::resource::ResourceRef;
use crate::risk::Score;

/// What the registry knows of a resource that affects risk, freezes and applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryRules {
    pub criticality: Option<Score>,
    pub environment: Option<String>,
    pub blocks_on_unknown: bool,
    pub dependents: BTreeSet<ResourceRef>,
}

/// Compares an entry with its predecessor. `fallback` is the criticality of the resource without
/// one of its own.
pub fn compare_entries(
    name: &ResourceRef,
    old: Option<&RegistryRules>,
    new: &RegistryRules,
    fallback: Score,
) -> Vec<RuleFinding> {
    let missing = RegistryRules::default();
    let old = old.unwrap_or(&missing);
    let mut findings = Vec::new();
    let mut add = |verdict, what: String| findings.push(RuleFinding::new(verdict, what));
    let (before, after) =
        (old.criticality.unwrap_or(fallback), new.criticality.unwrap_or(fallback));
    if before != after {
        let verdict = if after < before { Strictness::Looser } else { Strictness::Stricter };
        let (before, after) = (before.points(), after.points());
        add(verdict, format!("{name} has the criticality {after} instead of {before}"));
    }
    match (&old.environment, &new.environment) {
        (before, after) if before == after => {}
        (None, Some(after)) => add(
            Strictness::Stricter,
            format!("{name} belongs to the environment {after}, whose freezes apply to it"),
        ),
        (Some(before), _) => add(
            Strictness::Mixed,
            format!("{name} leaves the environment {before}, whose freezes no longer apply to it"),
        ),
        (None, None) => {}
    }
    if old.blocks_on_unknown && !new.blocks_on_unknown {
        let what = format!("{name} accepts tasks while the outcome of an earlier one is unknown");
        add(Strictness::Looser, what);
    }
    for gone in old.dependents.difference(&new.dependents) {
        add(Strictness::Looser, format!("{gone} no longer depends on {name}"));
    }
    for added in new.dependents.difference(&old.dependents) {
        add(Strictness::Stricter, format!("{added} depends on {name}"));
    }
    findings
}

/// Compares the roles that the groups of one provider grant at sign-in.
pub fn compare_group_roles(
    old: &BTreeMap<String, BTreeSet<Role>>,
    new: &BTreeMap<String, BTreeSet<Role>>,
) -> Vec<RuleFinding> {
    let groups: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let none = BTreeSet::new();
    let mut findings = Vec::new();
    for group in groups {
        let (was, is) = (old.get(group).unwrap_or(&none), new.get(group).unwrap_or(&none));
        for role in is.difference(was) {
            let sentence = format!("members of the group {group} get the role {role}");
            findings.push(RuleFinding::new(Strictness::Looser, sentence));
        }
        for role in was.difference(is) {
            // Without its other admins, one admin could change the rules without them.
            let verdict =
                if role.as_str() == Role::ADMIN { Strictness::Mixed } else { Strictness::Stricter };
            let sentence = format!("members of the group {group} lose the role {role}");
            findings.push(RuleFinding::new(verdict, sentence));
        }
    }
    findings
}
