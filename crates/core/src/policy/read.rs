//! Parses a [`Document`]: converts the located tree and checks every rule for policies. No rule is
//! checked anywhere else, and a document that violates one is never created.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};

use super::document::{
    AutoApprove, DelegationRule, Document, EscalationAction, EscalationStep, Exempt, Group, Match,
    ReassignTo,
};
use super::document_error::DocumentErrors;
use super::hours::{Hours, HoursError, Weekday};
use super::node::{self, Node};
use super::reader::{Fields, Mark, Reader, Spot, word};
use super::requirement::Audience;
use super::{AuthorKind, schema};
use crate::limits::{
    NAME_MAX_BYTES, POLICY_ESCALATION_STEPS_MAX, POLICY_GROUP_MIN_MAX, POLICY_GROUPS_MAX,
    TASK_TAGS_MAX,
};
use crate::risk::Score;

pub(super) const DELEGATION_RULES: [(&str, DelegationRule); 2] =
    [("allowed", DelegationRule::Allowed), ("forbidden", DelegationRule::Forbidden)];
pub(super) const AUTHOR_KINDS: [(&str, AuthorKind); 2] =
    [("user", AuthorKind::User), ("agent", AuthorKind::Agent)];
const REASSIGN_TARGETS: [(&str, ReassignTo); 2] =
    [("delegate", ReassignTo::Delegate), ("manager", ReassignTo::Manager)];

impl Document {
    pub fn parse_yaml(text: &str) -> Result<Self, DocumentErrors> {
        document(node::from_yaml(text, node::POLICY_ROOM)?)
    }

    pub fn parse_json(text: &str) -> Result<Self, DocumentErrors> {
        document(node::from_json(text)?)
    }
}

/// Uses the same reader as for text from people, so that stored documents are checked too.
impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let root = Node::deserialize(deserializer)?;
        document(root).map_err(serde::de::Error::custom)
    }
}

fn document(root: Node) -> Result<Document, DocumentErrors> {
    let mut reader = Reader::default();
    let mut read = Document::named("");
    if let Some(mut fields) = reader.fields(Spot::root(root), &schema::DOCUMENT) {
        read.name = name(&mut reader, &mut fields);
        read_scope(&mut reader, &mut fields, &mut read);
        read_needs(&mut reader, &mut fields, &mut read);
        read_periods(&mut reader, &mut fields, &mut read);
    }
    reader.finish(read)
}

fn read_scope(reader: &mut Reader, fields: &mut Fields, read: &mut Document) {
    if let Some(spot) = fields.take("enabled") {
        read.enabled = reader.bool(spot).unwrap_or_default();
    }
    if let Some(spot) = fields.take("match") {
        read.matching = matching(reader, spot).unwrap_or_default();
    }
}

fn read_needs(reader: &mut Reader, fields: &mut Fields, read: &mut Document) {
    if let Some(spot) = fields.take("exempt")
        && let Some(mut fields) = reader.fields(spot, &schema::AUDIENCE)
    {
        let Audience { roles, people } = reader.audience(&mut fields);
        read.exempt = Exempt { roles, people };
    }
    let asks = fields.take("require");
    let clause = fields.take("auto_approve_if");
    if asks.is_none() && clause.is_none() {
        reader.refuse(
            &fields.mark,
            "the policy requires no approval: give `require`, `auto_approve_if`, or both",
        );
    }
    if let Some(spot) = asks {
        read.require = groups(reader, spot, &read.exempt);
    }
    read.auto_approve_if = clause.and_then(|spot| auto_approve(reader, spot));
    if let Some(spot) = fields.take("reject_threshold") {
        let threshold = reader.number(&spot, 1..=POLICY_GROUP_MIN_MAX);
        read.reject_threshold = threshold.unwrap_or_default();
    }
    if let Some(spot) = fields.take("delegation") {
        let rule = reader.choice(spot, &DELEGATION_RULES);
        read.delegation = rule.unwrap_or(DelegationRule::Forbidden);
    }
}

fn read_periods(reader: &mut Reader, fields: &mut Fields, read: &mut Document) {
    if let Some(spot) = fields.take("respond_within") {
        read.respond_within = Some(reader.period(spot).unwrap_or_default());
    }
    if let Some(spot) = fields.take("escalation") {
        read.escalation = escalation(reader, spot);
    }
    if let Some(spot) = fields.take("approval_valid_for") {
        read.approval_valid_for = reader.period(spot).unwrap_or_default();
    }
    if let Some(spot) = fields.take("role_age_min") {
        read.role_age_min = Some(reader.period(spot).unwrap_or_default());
    }
}

fn name(reader: &mut Reader, fields: &mut Fields) -> String {
    let Some(spot) = fields.take("name") else {
        reader.refuse(&fields.mark, "`name` is missing");
        return String::new();
    };
    let parse = |text: &str| {
        let lettered = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
        let begins = text.bytes().next().is_some_and(lettered);
        let goes_on = text.bytes().all(|byte| lettered(byte) || matches!(byte, b'-' | b'_' | b'.'));
        if begins && goes_on && text.len() <= NAME_MAX_BYTES {
            Ok(text.to_owned())
        } else {
            Err(format!(
                "a name consists of a-z, 0-9, `-`, `_` and `.`, starts with a letter or digit, \
                 and has at most {NAME_MAX_BYTES} bytes"
            ))
        }
    };
    reader.parsed(spot, parse).unwrap_or_default()
}

fn matching(reader: &mut Reader, spot: Spot) -> Option<Match> {
    let mut fields = reader.fields(spot, &schema::MATCH)?;
    let mut read = Match::default();
    if let Some(spot) = fields.take("task_types") {
        read.task_types = reader.patterns(spot);
    }
    if let Some(spot) = fields.take("resource_patterns") {
        read.resource_patterns = reader.patterns(spot);
    }
    if let Some(spot) = fields.take("tags") {
        read.tags = reader.set(spot, TASK_TAGS_MAX, word);
    }
    if let Some(spot) = fields.take("risk_at_least") {
        read.risk_at_least = score(reader, &spot, 0);
    }
    if let Some(spot) = fields.take("author_kind") {
        read.author_kind = reader.choice(spot, &AUTHOR_KINDS);
    }
    if let Some(spot) = fields.take("hours") {
        read.hours = hours(reader, spot);
    }
    Some(read)
}

fn score(reader: &mut Reader, spot: &Spot, least: u32) -> Option<Score> {
    let points = reader.number(spot, least..=u32::from(Score::MAX.points()))?;
    u8::try_from(points).ok().map(Score::new)
}

fn hours(reader: &mut Reader, spot: Spot) -> Option<Hours> {
    let mut fields = reader.fields(spot, &schema::HOURS)?;
    let days = match fields.take("days") {
        Some(spot) => reader.set(spot, Weekday::ALL.len(), weekday),
        None => BTreeSet::new(),
    };
    let mut required = |name: &str| {
        let Some(spot) = fields.take(name) else {
            reader.refuse(&fields.mark, format!("`{name}` is missing"));
            return None;
        };
        let mark = spot.mark();
        reader.text(spot).map(|text| (text, mark))
    };
    let (zone, from, to) = (required("zone"), required("from"), required("to"));
    let ((zone, zone_mark), (from, from_mark), (to, to_mark)) = (zone?, from?, to?);
    Hours::new(&zone, days, &from, &to)
        .map_err(|error| {
            let mark = match &error {
                HoursError::UnknownZone { .. } => &zone_mark,
                HoursError::BadTime { given } if *given == from => &from_mark,
                HoursError::BadTime { .. } => &to_mark,
                HoursError::Empty { .. } | HoursError::BeginsAtEnd => &fields.mark,
            };
            reader.refuse(mark, error);
        })
        .ok()
}

fn weekday(text: &str) -> Result<Weekday, String> {
    let found = Weekday::ALL.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, day)| *day)
        .ok_or_else(|| format!("`{text}` is not a day: mon, tue, wed, thu, fri, sat or sun"))
}

fn groups(reader: &mut Reader, spot: Spot, exempt: &Exempt) -> Vec<Group> {
    let mark = spot.mark();
    let before = reader.count();
    let mut groups: Vec<Group> = Vec::new();
    for item in reader.list(spot, POLICY_GROUPS_MAX) {
        let mark = item.mark();
        let Some(group) = group(reader, item, exempt) else {
            continue;
        };
        let same = |other: &Group| other.roles == group.roles && other.people == group.people;
        if groups.iter().any(same) {
            // Two groups with one audience would merge into the larger, not add up.
            reader.refuse(
                &mark,
                "requires the same roles and people as an earlier group: raise that group's `min` \
                 instead",
            );
        }
        groups.push(group);
    }
    if groups.is_empty() && reader.count() == before {
        reader.refuse(&mark, "the list is empty: add a group, or omit `require`");
    }
    groups
}

fn group(reader: &mut Reader, spot: Spot, exempt: &Exempt) -> Option<Group> {
    let before = reader.count();
    let mut fields = reader.fields(spot, &schema::GROUP)?;
    let Audience { roles, people } = reader.audience(&mut fields);
    let min = match fields.take("min") {
        Some(spot) => reader.number(&spot, 1..=POLICY_GROUP_MIN_MAX),
        None => Some(1),
    };
    let group = Group { roles, people, min: min? };
    // After an error in the group, further errors would only be guesses.
    if reader.count() == before {
        check_reachable(reader, &fields.mark, &group, exempt);
    }
    Some(group)
}

fn check_reachable(reader: &mut Reader, mark: &Mark, group: &Group, exempt: &Exempt) {
    if group.roles.is_empty() && group.people.is_empty() {
        reader.refuse(mark, "a group needs at least one role or person");
        return;
    }
    if !group.roles.is_subset(&exempt.roles) {
        return;
    }
    let named = group.people.difference(&exempt.people).count();
    if u32::try_from(named).is_ok_and(|named| named < group.min) {
        reader.refuse(
            mark,
            format!(
                "requires {} of {named} eligible people: the group can never be satisfied",
                group.min
            ),
        );
    }
}

fn auto_approve(reader: &mut Reader, spot: Spot) -> Option<AutoApprove> {
    let before = reader.count();
    let mut fields = reader.fields(spot, &schema::AUTO_APPROVE)?;
    let mut read = AutoApprove::default();
    if let Some(spot) = fields.take("risk_below") {
        read.risk_below = score(reader, &spot, 1);
    }
    if let Some(spot) = fields.take("author_has_role") {
        refuse_empty(reader, &spot);
        read.author_has_role = reader.roles(spot);
    }
    if let Some(spot) = fields.take("resources_in_scope") {
        refuse_empty(reader, &spot);
        read.resources_in_scope = reader.patterns(spot);
    }
    if let Some(spot) = fields.take("accept_declared_effect") {
        read.accept_declared_effect = reader.bool(spot).unwrap_or_default();
    }
    if reader.count() == before && !read.has_condition() {
        reader.refuse(
            &fields.mark,
            "would approve everything: give `risk_below`, `author_has_role` or \
             `resources_in_scope`",
        );
    }
    Some(read)
}

/// Refuses an empty list: it would drop its condition and approve more, the opposite of its
/// meaning.
fn refuse_empty(reader: &mut Reader, spot: &Spot) {
    if spot.is_empty_list() {
        reader
            .refuse(&spot.mark(), "the list is empty and would allow anything: fill it or omit it");
    }
}

fn escalation(reader: &mut Reader, spot: Spot) -> Vec<EscalationStep> {
    let mut steps: Vec<EscalationStep> = Vec::new();
    for item in reader.list(spot, POLICY_ESCALATION_STEPS_MAX) {
        let mark = item.mark();
        let Some(step) = step(reader, item) else {
            continue;
        };
        if steps.last().is_some_and(|last| step.after <= last.after) {
            reader.refuse(&mark, "`after` must be later than in the previous step");
        }
        steps.push(step);
    }
    steps
}

fn step(reader: &mut Reader, spot: Spot) -> Option<EscalationStep> {
    let mut fields = reader.fields(spot, &schema::ESCALATION)?;
    let after = fields.take("after");
    if after.is_none() {
        reader.refuse(&fields.mark, "`after` is missing");
    }
    let after = after.and_then(|spot| reader.period(spot));
    let action = match (fields.take("notify"), fields.take("reassign"), fields.take("widen")) {
        (Some(spot), None, None) => {
            let Audience { roles, people } = audience(reader, spot)?;
            EscalationAction::Notify { roles, people }
        }
        (None, Some(spot), None) => {
            EscalationAction::Reassign(reader.choice(spot, &REASSIGN_TARGETS)?)
        }
        (None, None, Some(spot)) => {
            let Audience { roles, people } = audience(reader, spot)?;
            EscalationAction::Widen { roles, people }
        }
        (_, _, _) => {
            reader.refuse(
                &fields.mark,
                "a step must have exactly one of `notify`, `reassign` and `widen`",
            );
            return None;
        }
    };
    Some(EscalationStep { after: after?, action })
}

fn audience(reader: &mut Reader, spot: Spot) -> Option<Audience> {
    let before = reader.count();
    let mut fields = reader.fields(spot, &schema::AUDIENCE)?;
    let audience = reader.audience(&mut fields);
    if reader.count() == before && audience.is_empty() {
        reader.refuse(&fields.mark, "name at least one role or person");
    }
    Some(audience)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
