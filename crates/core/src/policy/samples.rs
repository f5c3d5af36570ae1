//! Values and strategies that the tests of this folder share. Every generated document follows the
//! rules of `read`; names are chosen to be awkward for YAML.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::ids::UserId;
use crate::limits::{POLICY_GROUP_MIN_MAX, POLICY_PERIOD_MAX};
use crate::time::Timestamp;

/// Few roles, so that audiences of two policies often coincide.
const ROLES: [&str; 4] = ["dba", "sre", "on", "Domain Admins"];
const WORDS: [&str; 12] =
    ["null", "~", "1e3", "0x10", "true", "*", "&a", "# x", "a: b", "- é", "2026-03-18", "'\""];
const PATTERNS: [&str; 8] =
    ["*", "**", "prod-*", "database:prod-*", "{a,b}:[!x]?", "!x", "@a", "cache:**/x"];

pub fn roles(names: &[&str]) -> BTreeSet<Role> {
    names.iter().map(|name| Role::new(*name)).collect()
}

pub fn people(numbers: &[u128]) -> BTreeSet<UserId> {
    numbers.iter().map(|number| UserId::from_u128(*number)).collect()
}

pub fn group(names: &[&str], numbers: &[u128], min: u32) -> Group {
    Group { roles: roles(names), people: people(numbers), min }
}

pub fn policy(number: u128, document: Document) -> Policy {
    Policy { id: PolicyId::from_u128(number), version: 1, document }
}

/// A document that requires one `dba`.
pub fn asking(name: &str) -> Document {
    Document { require: vec![group(&["dba"], &[], 1)], ..Document::named(name) }
}

pub fn subject() -> Subject {
    Subject {
        task_type: "schema.migrate".to_owned(),
        resources: ["database:prod-db-01", "cache:eu/x"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect(),
        tags: BTreeSet::from(["production".to_owned()]),
        risk: Score::new(40),
        author_kind: AuthorKind::Agent,
        author_roles: roles(&["author", "dba"]),
        origin: Origin::Observed,
    }
}

pub fn noon() -> Timestamp {
    "2026-03-18T12:00:00Z".parse().unwrap()
}

pub fn hours(count: u64) -> Duration {
    Duration::from_hours(count)
}

fn some_roles() -> impl Strategy<Value = BTreeSet<Role>> {
    btree_set(select(&ROLES[..]).prop_map(Role::new), 1..=2)
}

fn some_people() -> impl Strategy<Value = BTreeSet<UserId>> {
    btree_set((0..4_u128).prop_map(UserId::from_u128), 0..=2)
}

/// Patterns are compiled once, because compiling them would dominate tests with thousands of
/// documents.
static COMPILED: LazyLock<Vec<Pattern>> =
    LazyLock::new(|| PATTERNS.iter().map(|text| Pattern::new(text).unwrap()).collect());

fn some_patterns() -> impl Strategy<Value = Vec<Pattern>> {
    vec(select(COMPILED.clone()), 0..=3)
}

fn a_period() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1..=72_u64).prop_map(Duration::from_hours),
        (1..=POLICY_PERIOD_MAX.as_secs()).prop_map(Duration::from_secs),
    ]
}

fn a_window() -> impl Strategy<Value = Hours> {
    let zone = select(&["UTC", "Europe/Vienna", "America/New_York", "Asia/Kathmandu"][..]);
    let days = btree_set(select(&Weekday::ALL[..]).prop_map(|(_, day)| day), 0..=7);
    (zone, days, 0..1440_u16, 0..=1440_u16).prop_filter_map(
        "an empty window",
        |(zone, days, from, to)| {
            let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
            Hours::new(zone, days, &text(from), &text(to)).ok()
        },
    )
}

fn a_match() -> impl Strategy<Value = Match> {
    (
        some_patterns(),
        some_patterns(),
        btree_set(select(&WORDS[..]).prop_map(str::to_owned), 0..=2),
        option::of((0..=100_u8).prop_map(Score::new)),
        option::of(select(&[AuthorKind::User, AuthorKind::Agent][..])),
        option::of(a_window()),
    )
        .prop_map(
            |(task_types, resource_patterns, tags, risk_at_least, author_kind, hours)| Match {
                task_types,
                resource_patterns,
                tags,
                risk_at_least,
                author_kind,
                hours,
            },
        )
}

fn a_clause() -> impl Strategy<Value = AutoApprove> {
    let role_sets = prop_oneof![Just(BTreeSet::new()), some_roles()];
    (option::of((1..=100_u8).prop_map(Score::new)), role_sets, some_patterns(), any::<bool>())
        .prop_map(|(risk_below, author_has_role, resources_in_scope, accepts)| AutoApprove {
            risk_below,
            author_has_role,
            resources_in_scope,
            accept_declared_effect: accepts,
        })
        .prop_filter("a clause needs a condition", AutoApprove::has_condition)
}

fn an_action() -> impl Strategy<Value = EscalationAction> {
    prop_oneof![
        (some_roles(), some_people())
            .prop_map(|(roles, people)| EscalationAction::Notify { roles, people }),
        select(&[ReassignTo::Delegate, ReassignTo::Manager][..])
            .prop_map(EscalationAction::Reassign),
        (some_roles(), some_people())
            .prop_map(|(roles, people)| EscalationAction::Widen { roles, people }),
    ]
}

fn some_steps() -> impl Strategy<Value = Vec<EscalationStep>> {
    vec((1..=6_u64, an_action()), 0..=4).prop_map(|steps| {
        let mut hour = 0;
        let mut out = Vec::new();
        for (wait, action) in steps {
            hour += wait;
            out.push(EscalationStep { after: Duration::from_hours(hour), action });
        }
        out
    })
}

fn some_groups() -> impl Strategy<Value = Vec<Group>> {
    vec((some_roles(), some_people(), 1..=POLICY_GROUP_MIN_MAX), 0..=3).prop_map(|groups| {
        let mut out: Vec<Group> = Vec::new();
        for (roles, people, min) in groups {
            if !out.iter().any(|group| group.roles == roles && group.people == people) {
                out.push(Group { roles, people, min });
            }
        }
        out
    })
}

fn an_exemption() -> impl Strategy<Value = Exempt> {
    let exempt_roles = btree_set(select(&WORDS[..]).prop_map(Role::new), 0..=2);
    let exempt_people = btree_set((10..14_u128).prop_map(UserId::from_u128), 0..=2);
    (exempt_roles, exempt_people).prop_map(|(roles, people)| Exempt { roles, people })
}

pub fn documents() -> impl Strategy<Value = Document> {
    documents_of("[a-z0-9][a-z0-9._-]{0,30}", any::<bool>(), a_match())
}

/// Generates policies that match every task, for tests of merging.
pub fn unconstrained() -> impl Strategy<Value = Document> {
    documents_of(Just("any".to_owned()), Just(true), Just(Match::default()))
}

fn documents_of(
    name: impl Strategy<Value = String>,
    enabled: impl Strategy<Value = bool>,
    matching: impl Strategy<Value = Match>,
) -> impl Strategy<Value = Document> {
    (
        name,
        enabled,
        matching,
        some_groups(),
        1..=POLICY_GROUP_MIN_MAX,
        option::of(a_clause()),
        (option::of(a_period()), a_period(), option::of(a_period())),
        some_steps(),
        select(&[DelegationRule::Allowed, DelegationRule::Forbidden][..]),
        an_exemption(),
    )
        .prop_map(
            |(
                name,
                enabled,
                matching,
                require,
                threshold,
                clause,
                periods,
                escalation,
                rule,
                exempt,
            )| {
                let mut document = Document {
                    name,
                    enabled,
                    matching,
                    require,
                    reject_threshold: threshold,
                    auto_approve_if: clause,
                    respond_within: periods.0,
                    escalation,
                    approval_valid_for: periods.1,
                    delegation: rule,
                    role_age_min: periods.2,
                    exempt,
                };
                if document.require.is_empty() && document.auto_approve_if.is_none() {
                    document.require.push(group(&["dba"], &[], 1));
                }
                document
            },
        )
}

pub fn numbered(documents: Vec<Document>) -> Vec<Policy> {
    (0..).zip(documents).map(|(number, document)| policy(number, document)).collect()
}

pub fn subjects() -> impl Strategy<Value = Subject> {
    let resource = select(&["database:prod-db-01", "cache:eu/x", "a:z"][..]);
    (
        btree_set(resource.prop_map(|text| text.parse().unwrap()), 0..=2),
        0..=100_u8,
        some_roles(),
        select(&[Origin::Observed, Origin::Declared][..]),
    )
        .prop_map(|(resources, risk, author_roles, origin)| Subject {
            resources,
            risk: Score::new(risk),
            author_roles,
            origin,
            ..subject()
        })
}
