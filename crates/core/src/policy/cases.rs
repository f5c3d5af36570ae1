//! A file of policy test cases: tasks, and the expected outcome of each under a set of policies. It
//! is parsed like a policy: errors have positions, and a file with an error is refused as a whole.
//! `policy_test` runs the cases.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::document::{DelegationRule, Group};
use super::document_error::DocumentErrors;
use super::node::{self, Node, Room};
use super::read::{AUTHOR_KINDS, DELEGATION_RULES};
use super::reader::{Fields, Reader, Spot, word};
use super::requirement::Audience;
use super::{AuthorKind, Subject, schema};
use crate::actor::Person;
use crate::change::Origin;
use crate::ids::UserId;
use crate::limits::{
    CASES_MAX, CASES_MAX_BYTES, CASES_PEOPLE_MAX, CASES_VALUES_MAX, NAME_MAX_BYTES,
    POLICY_GROUP_MIN_MAX, POLICY_GROUPS_MAX, POLICY_PATTERNS_MAX, TASK_RESOURCES_MAX,
    TASK_TAGS_MAX,
};
use crate::resource::ResourceRef;
use crate::risk::Score;
use crate::time::Timestamp;

const ROOM: Room = Room { bytes: CASES_MAX_BYTES, values: CASES_VALUES_MAX };
const OUTCOMES: [(&str, CaseOutcome); 3] = [
    ("passes", CaseOutcome::Passes),
    ("review", CaseOutcome::Review),
    ("denied", CaseOutcome::Denied),
];
/// A file does not state since when a role is held, so roles count as older than any policy
/// requires.
const LONG_AGO: Timestamp = Timestamp::from_micros(i64::MIN);
const ORIGINS: [(&str, Origin); 2] =
    [("observed", Origin::Observed), ("declared", Origin::Declared)];

/// The outcome of a submitted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseOutcome {
    /// The task is approved without a person.
    Passes,
    /// People are asked and could approve, as far as is known.
    Review,
    /// People would be asked, but those listed could never be enough.
    Denied,
}

impl CaseOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Review => "review",
            Self::Denied => "denied",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cases {
    /// The people of the file. If it lists no one, it is unknown who could approve.
    pub people: Vec<Person>,
    /// The cases in the order of the file; never empty, with unique names.
    pub cases: Vec<Case>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub name: String,
    /// The line at which the case begins.
    pub line: u64,
    pub subject: Subject,
    pub author: Option<UserId>,
    pub at: Option<Timestamp>,
    pub expected: Expected,
}

/// The expected values. A field that is absent is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub outcome: CaseOutcome,
    pub groups: Option<Vec<Group>>,
    pub policies: Option<BTreeSet<String>>,
    pub reject_threshold: Option<u32>,
    pub respond_within: Option<Duration>,
    pub approval_valid_for: Option<Duration>,
    pub delegation: Option<DelegationRule>,
    pub role_age_min: Option<Duration>,
}

impl Cases {
    pub fn parse_yaml(text: &str) -> Result<Self, DocumentErrors> {
        read(node::from_yaml(text, ROOM)?)
    }
}

fn read(root: Node) -> Result<Cases, DocumentErrors> {
    let mut reader = Reader::default();
    let mut read = Cases { people: Vec::new(), cases: Vec::new() };
    if let Some(mut fields) = reader.fields(Spot::root(root), &schema::CASE_FILE) {
        let named = fields.take("people").map(|spot| people(&mut reader, spot));
        let named = named.unwrap_or_default();
        if let Some(spot) = required(&mut reader, &mut fields, "cases") {
            read.cases = cases(&mut reader, spot, &named);
        }
        read.people = named.into_values().collect();
    }
    reader.finish(read)
}

fn required(reader: &mut Reader, fields: &mut Fields, name: &str) -> Option<Spot> {
    let spot = fields.take(name);
    if spot.is_none() {
        reader.refuse(&fields.mark, format!("`{name}` is missing"));
    }
    spot
}

fn people(reader: &mut Reader, spot: Spot) -> BTreeMap<String, Person> {
    let mut named: BTreeMap<String, Person> = BTreeMap::new();
    for (place, item) in (1_u128..).zip(reader.list(spot, CASES_PEOPLE_MAX)) {
        let mark = item.mark();
        let Some((name, person)) = person(reader, item, UserId::from_u128(place)) else {
            continue;
        };
        if named.values().any(|other| other.id == person.id) {
            reader.refuse(&mark, "has the id of an earlier person: give each person their own");
        } else if let Some(first) = named.insert(name.clone(), person) {
            reader.refuse(&mark, format!("`{name}` is listed twice: keep one"));
            named.insert(name, first);
        }
    }
    named
}

fn person(reader: &mut Reader, spot: Spot, unless_given: UserId) -> Option<(String, Person)> {
    let mut fields = reader.fields(spot, &schema::CASE_PERSON)?;
    let id = match fields.take("id") {
        Some(spot) => reader.parsed(spot, str::parse::<UserId>),
        None => Some(unless_given),
    };
    let roles = fields.take("roles").map(|spot| reader.roles(spot)).unwrap_or_default();
    let name = required(reader, &mut fields, "name")?;
    let name = reader.parsed(name, word)?;
    let person = Person {
        id: id?,
        roles_since: roles.iter().map(|role| (role.clone(), LONG_AGO)).collect(),
        roles,
        active: true,
        manager: None,
        aliases: BTreeSet::new(),
        is_unconfirmed: false,
    };
    Some((name, person))
}

fn cases(reader: &mut Reader, spot: Spot, people: &BTreeMap<String, Person>) -> Vec<Case> {
    let mark = spot.mark();
    let before = reader.count();
    let mut names = BTreeSet::new();
    let mut cases = Vec::new();
    for item in reader.list(spot, CASES_MAX) {
        let mark = item.mark();
        let Some(case) = case(reader, item, people) else { continue };
        if !names.insert(case.name.clone()) {
            let taken =
                format!("`{}` is already the name of an earlier case: choose another", case.name);
            reader.refuse(&mark, taken);
        }
        cases.push(case);
    }
    // A file without cases would count as passed.
    if cases.is_empty() && reader.count() == before {
        reader.refuse(&mark, "the list is empty: write at least one case");
    }
    cases
}

fn case(reader: &mut Reader, spot: Spot, people: &BTreeMap<String, Person>) -> Option<Case> {
    let line = spot.mark().line();
    let mut fields = reader.fields(spot, &schema::CASE)?;
    let name = required(reader, &mut fields, "name");
    let name = name.and_then(|spot| reader.parsed(spot, title));
    let task = required(reader, &mut fields, "task");
    let task = task.and_then(|spot| task_of(reader, spot, people));
    let expected = required(reader, &mut fields, "expect");
    let expected = expected.and_then(|spot| expectation(reader, spot, people.is_empty()));
    let Asked { subject, author, at } = task?;
    Some(Case { name: name?, line, subject, author, at, expected: expected? })
}

fn title(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > NAME_MAX_BYTES || text.chars().any(char::is_control) {
        return Err(format!("must be one line of 1 to {NAME_MAX_BYTES} bytes"));
    }
    Ok(text.to_owned())
}

struct Asked {
    subject: Subject,
    author: Option<UserId>,
    at: Option<Timestamp>,
}

fn task_of(reader: &mut Reader, spot: Spot, people: &BTreeMap<String, Person>) -> Option<Asked> {
    let before = reader.count();
    let mut fields = reader.fields(spot, &schema::CASE_TASK)?;
    let task_type = required(reader, &mut fields, "type");
    let task_type = task_type.and_then(|spot| reader.parsed(spot, word));
    let risk = required(reader, &mut fields, "risk");
    let risk = risk.and_then(|spot| reader.number(&spot, 0..=u32::from(Score::MAX.points())));
    let mut read = Subject {
        task_type: task_type.unwrap_or_default(),
        resources: BTreeSet::new(),
        tags: BTreeSet::new(),
        risk: risk.and_then(|points| u8::try_from(points).ok()).map_or(Score::MAX, Score::new),
        author_kind: AuthorKind::User,
        author_roles: BTreeSet::new(),
        origin: Origin::Observed,
    };
    if let Some(spot) = fields.take("resources") {
        read.resources = reader.set(spot, TASK_RESOURCES_MAX, str::parse::<ResourceRef>);
    }
    if let Some(spot) = fields.take("tags") {
        read.tags = reader.set(spot, TASK_TAGS_MAX, word);
    }
    if let Some(spot) = fields.take("author_kind") {
        read.author_kind = reader.choice(spot, &AUTHOR_KINDS).unwrap_or(AuthorKind::User);
    }
    if let Some(spot) = fields.take("effect") {
        read.origin = reader.choice(spot, &ORIGINS).unwrap_or(Origin::Declared);
    }
    let at = fields.take("at").and_then(|spot| reader.parsed(spot, str::parse::<Timestamp>));
    let author = fields.take("author").and_then(|spot| {
        let known = |name: &str| people.get(name).cloned();
        let known = |name: &str| known(name).ok_or(format!("`{name}` is not in `people`"));
        reader.parsed(spot, known)
    });
    match (fields.take("author_roles"), &author) {
        (Some(spot), Some(_)) => reader.refuse(&spot.mark(), TWO_SOURCES),
        (Some(spot), None) => read.author_roles = reader.roles(spot),
        (None, Some(author)) => read.author_roles.clone_from(&author.roles),
        (None, None) => {}
    }
    let author = author.map(|person| person.id);
    (reader.count() == before).then_some(Asked { subject: read, author, at })
}

const TWO_SOURCES: &str = "`author` already has roles: give one of the two";

fn expectation(reader: &mut Reader, spot: Spot, has_no_people: bool) -> Option<Expected> {
    let mut fields = reader.fields(spot, &schema::CASE_EXPECT)?;
    let outcome = required(reader, &mut fields, "outcome")?;
    let mark = outcome.mark();
    let outcome = reader.choice(outcome, &OUTCOMES);
    if outcome == Some(CaseOutcome::Denied) && has_no_people {
        reader.refuse(&mark, "`people` is missing: without it, who could approve is unknown");
    }
    let groups = fields.take("groups").map(|spot| groups(reader, spot));
    let policies = fields.take("policies").map(|spot| reader.set(spot, POLICY_PATTERNS_MAX, word));
    let threshold = fields.take("reject_threshold");
    let threshold = threshold.map(|spot| reader.number(&spot, 1..=POLICY_GROUP_MIN_MAX));
    let respond_within = fields.take("respond_within").map(|spot| reader.period(spot));
    let approval_valid_for = fields.take("approval_valid_for").map(|spot| reader.period(spot));
    let delegation = fields.take("delegation");
    let delegation = delegation.map(|spot| reader.choice(spot, &DELEGATION_RULES));
    let role_age_min = fields.take("role_age_min").map(|spot| reader.period(spot));
    Some(Expected {
        outcome: outcome?,
        groups,
        policies,
        reject_threshold: threshold.flatten(),
        respond_within: respond_within.flatten(),
        approval_valid_for: approval_valid_for.flatten(),
        delegation: delegation.flatten(),
        role_age_min: role_age_min.flatten(),
    })
}

fn groups(reader: &mut Reader, spot: Spot) -> Vec<Group> {
    let mark = spot.mark();
    let before = reader.count();
    let items = reader.list(spot, POLICY_GROUPS_MAX);
    let groups: Vec<Group> = items.into_iter().filter_map(|item| group(reader, item)).collect();
    if groups.is_empty() && reader.count() == before {
        reader.refuse(&mark, "at least one group always applies: omit `groups` to accept any");
    }
    groups
}

fn group(reader: &mut Reader, spot: Spot) -> Option<Group> {
    let mut fields = reader.fields(spot, &schema::GROUP)?;
    let Audience { roles, people } = reader.audience(&mut fields);
    let min = match fields.take("min") {
        Some(spot) => reader.number(&spot, 1..=POLICY_GROUP_MIN_MAX),
        None => Some(1),
    };
    Some(Group { roles, people, min: min? })
}

#[cfg(test)]
#[path = "cases_tests.rs"]
mod tests;
