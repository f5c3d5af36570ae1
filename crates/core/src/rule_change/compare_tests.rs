//! The comparison of two sets of rules, one change at a time.

use super::*;
use crate::actor::{Person, Role};
use crate::approval::delegation::{Conditions, DelegationKind};
use crate::ids::{DelegationId, FreezeId};
use crate::policy::Document;
use crate::resource::ResourceRef;
use crate::risk::{Score, Thresholds, Weights};
use crate::time::Timestamp;

const ANA: u128 = 1;
const BEN: u128 = 2;
const CLEO: u128 = 3;

#[derive(Debug, Clone)]
struct World {
    people: Vec<Person>,
    names: BTreeMap<UserId, String>,
    agents: Vec<(AgentId, UserId, Vec<Pattern>)>,
    policies: Vec<Policy>,
    delegations: Vec<Delegation>,
    freezes: Vec<Freeze>,
    risk: RiskConfig,
    flags: BTreeSet<Flag>,
    approval: ApprovalTimeouts,
}

impl World {
    fn new() -> Self {
        let names = [(ANA, "ana"), (BEN, "ben"), (CLEO, "cleo")];
        Self {
            people: vec![
                person(ANA, &[Role::ADMIN]),
                person(BEN, &[Role::ADMIN, "dba"]),
                person(CLEO, &["dba"]),
            ],
            names: names.map(|(id, name)| (UserId::from_u128(id), name.to_owned())).into(),
            agents: vec![(AgentId::from_u128(1), UserId::from_u128(ANA), vec![pattern("db.*")])],
            policies: Vec::new(),
            delegations: Vec::new(),
            freezes: vec![freeze(1, FreezeExtent::Tenant)],
            risk: RiskConfig::default(),
            flags: BTreeSet::new(),
            approval: ApprovalTimeouts::default(),
        }
    }

    fn person(&mut self, id: u128) -> &mut Person {
        let id = UserId::from_u128(id);
        self.people.iter_mut().find(|person| person.id == id).unwrap()
    }

    fn findings(&self, new: &Self) -> Vec<RuleFinding> {
        let (old_directory, new_directory) = (self.directory(), new.directory());
        compare_rules(&self.rules(&old_directory), &new.rules(&new_directory))
    }

    fn directory(&self) -> Directory {
        Directory::new(self.people.clone())
    }

    fn rules<'a>(&'a self, directory: &'a Directory) -> RuleSet<'a> {
        let agent = |(id, owner, capabilities): &'a (AgentId, UserId, Vec<Pattern>)| {
            (*id, AgentRules { name: "deployer", owner: *owner, capabilities })
        };
        RuleSet {
            directory,
            names: &self.names,
            agents: self.agents.iter().map(agent).collect(),
            policies: &self.policies,
            delegations: &self.delegations,
            freezes: &self.freezes,
            risk: &self.risk,
            flags: &self.flags,
            approval: self.approval,
        }
    }
}

fn person(id: u128, roles: &[&str]) -> Person {
    Person {
        id: UserId::from_u128(id),
        roles: roles.iter().map(|role| Role::new(*role)).collect(),
        roles_since: BTreeMap::new(),
        active: true,
        manager: None,
        aliases: BTreeSet::new(),
        is_unconfirmed: false,
    }
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).unwrap()
}

fn freeze(id: u128, scope: FreezeExtent) -> Freeze {
    let set_by = UserId::from_u128(ANA);
    Freeze { id: FreezeId::from_u128(id), scope, reason: "audit".to_owned(), set_by, ends_at: None }
}

fn exempting(role: &str) -> Policy {
    let text = format!("name: p\nrequire: [{{roles: [sre], min: 1}}]\nexempt: {{roles: [{role}]}}");
    let document = Document::parse_yaml(&text).unwrap();
    Policy { id: crate::ids::PolicyId::from_u128(1), version: 1, document }
}

/// Asserts the verdict of one change and returns the sentences.
#[track_caller]
fn judged(change: impl FnOnce(&mut World), verdict: Strictness) -> Vec<String> {
    let old = World::new();
    let mut new = old.clone();
    change(&mut new);
    let findings = old.findings(&new);
    assert_eq!(overall(&findings), verdict, "{findings:?}");
    findings.into_iter().map(|finding| finding.sentence).collect()
}

#[test]
fn rule_change_without_a_difference_has_no_finding() {
    assert!(judged(|_| (), Strictness::Same).is_empty());
}

#[test]
fn rule_change_of_roles_is_looser_when_one_is_added() {
    let added = judged(
        |world| world.person(CLEO).roles.extend([Role::new(Role::ADMIN)]),
        Strictness::Looser,
    );
    assert_eq!(added, ["cleo gets the role admin"]);
    let taken = judged(|world| world.person(CLEO).roles.clear(), Strictness::Stricter);
    assert_eq!(taken, ["cleo loses the role dba"]);
    let both = |world: &mut World| world.person(CLEO).roles = [Role::new("sre")].into();
    judged(both, Strictness::Mixed);
    judged(|world| world.person(CLEO).active = false, Strictness::Stricter);
    judged(|world| world.people.push(person(4, &["dba"])), Strictness::Looser);
    judged(|world| world.people.push(person(4, &[])), Strictness::Same);
}

#[test]
fn rule_change_that_frees_from_an_exemption_is_looser() {
    let mut old = World::new();
    old.policies = vec![exempting("dba")];
    let mut new = old.clone();
    new.person(CLEO).roles.clear();
    assert_eq!(overall(&old.findings(&new)), Strictness::Looser);
}

#[test]
fn rule_change_that_leaves_one_admin_is_not_stricter() {
    let sentences = judged(|world| world.person(BEN).active = false, Strictness::Mixed);
    assert!(sentences.iter().any(|text| text.contains("fewer than two admins")), "{sentences:?}");
    let link = |world: &mut World| {
        world.person(ANA).aliases = [UserId::from_u128(BEN)].into();
    };
    judged(link, Strictness::Mixed);
}

#[test]
fn rule_change_of_links_is_looser_when_accounts_are_split() {
    let linked = |world: &mut World| {
        world.person(ANA).aliases = [UserId::from_u128(CLEO)].into();
    };
    assert_eq!(judged(linked, Strictness::Stricter), ["ana and cleo count as one person"]);
    let mut old = World::new();
    linked(&mut old);
    let findings = old.findings(&World::new());
    assert_eq!(overall(&findings), Strictness::Looser);
    assert_eq!(findings[0].sentence, "ana and cleo count as two people");
}

#[test]
fn rule_change_that_adds_a_delegation_is_looser() {
    let delegation = Delegation {
        id: DelegationId::from_u128(1),
        owner: UserId::from_u128(BEN),
        delegate_to: UserId::from_u128(CLEO),
        kind: DelegationKind::Transfer,
        conditions: Conditions::default(),
        cascade: false,
        starts_at: Timestamp::from_micros(0),
        expires_at: Timestamp::from_micros(1),
        active: true,
    };
    let add = |world: &mut World| world.delegations.push(delegation);
    assert_eq!(judged(add, Strictness::Looser), ["cleo may answer for ben"]);
}

#[test]
fn rule_change_that_lifts_the_freeze_of_the_tenant_is_looser() {
    judged(|world| world.freezes.clear(), Strictness::Looser);
    let more = FreezeExtent::Environment("prod".to_owned());
    judged(|world| world.freezes.push(freeze(2, more)), Strictness::Same);
}

#[test]
fn rule_change_of_an_agent_is_looser_with_a_new_capability() {
    judged(|world| world.agents[0].2.push(pattern("k8s.*")), Strictness::Looser);
    judged(|world| world.agents[0].2.clear(), Strictness::Stricter);
    judged(|world| world.agents[0].1 = UserId::from_u128(BEN), Strictness::Mixed);
    let new = (AgentId::from_u128(2), UserId::from_u128(BEN), vec![pattern("db.*")]);
    judged(|world| world.agents.push(new), Strictness::Same);
}

#[test]
fn rule_change_of_risk_is_looser_with_higher_thresholds() {
    let thresholds = |medium, high, critical| {
        move |world: &mut World| {
            world.risk.thresholds = Thresholds::new(medium, high, critical).unwrap();
        }
    };
    judged(thresholds(98, 99, 100), Strictness::Looser);
    judged(thresholds(20, 50, 80), Strictness::Stricter);
    judged(thresholds(20, 61, 85), Strictness::Mixed);
    let weights = Weights::new(3_000, 4_000, 2_000, 1_000).unwrap();
    judged(|world| world.risk.weights = weights, Strictness::Mixed);
}

#[test]
fn rule_change_of_a_pattern_is_looser_below_the_default() {
    let set = |points| {
        move |world: &mut World| {
            world.risk.pattern_defaults.insert("database:*".to_owned(), Score::new(points));
        }
    };
    judged(set(49), Strictness::Looser);
    judged(set(50), Strictness::Stricter);
    let mut old = World::new();
    set(80)(&mut old);
    for (points, verdict) in [(79, Strictness::Looser), (81, Strictness::Stricter)] {
        let mut new = old.clone();
        set(points)(&mut new);
        assert_eq!(overall(&old.findings(&new)), verdict, "{points}");
    }
    assert_eq!(overall(&old.findings(&World::new())), Strictness::Looser, "removed");
}

#[test]
fn rule_change_of_a_flag_is_looser_when_it_is_enabled() {
    for flag in Flag::ALL {
        let (on, off) = match flag {
            Flag::AutoApproveLowRisk | Flag::BatchApprovals => {
                (Strictness::Looser, Strictness::Stricter)
            }
            Flag::DeadlockDetection => (Strictness::Same, Strictness::Same),
        };
        judged(|world| world.flags.extend([flag]), on);
        let mut old = World::new();
        old.flags.insert(flag);
        assert_eq!(overall(&old.findings(&World::new())), off);
    }
}

#[test]
fn rule_change_of_timeouts_is_looser_with_more_time() {
    judged(|world| world.approval.default_timeout_seconds += 1, Strictness::Looser);
    judged(|world| world.approval.max_timeout_seconds -= 1, Strictness::Stricter);
}

type Edit<'a> = &'a dyn Fn(&mut RegistryRules);

#[test]
fn rule_change_of_a_registry_entry_compares_every_field() {
    let name: ResourceRef = "database:orders".parse().unwrap();
    let old = RegistryRules {
        criticality: Some(Score::new(95)),
        environment: Some("prod".to_owned()),
        blocks_on_unknown: true,
        dependents: ["service:shop".parse().unwrap()].into(),
    };
    let verdict = |old: Option<&RegistryRules>, change: Edit<'_>| {
        let mut new = old.cloned().unwrap_or_default();
        change(&mut new);
        overall(&compare_entries(&name, old, &new, Score::new(50)))
    };
    let cases: [(Edit<'_>, Strictness); 8] = [
        (&|_| (), Strictness::Same),
        (&|entry| entry.criticality = Some(Score::new(94)), Strictness::Looser),
        (&|entry| entry.criticality = Some(Score::new(96)), Strictness::Stricter),
        (&|entry| entry.criticality = None, Strictness::Looser),
        (&|entry| entry.environment = Some("test".to_owned()), Strictness::Mixed),
        (&|entry| entry.environment = None, Strictness::Mixed),
        (&|entry| entry.blocks_on_unknown = false, Strictness::Looser),
        (&|entry| entry.dependents.clear(), Strictness::Looser),
    ];
    for (index, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(verdict(Some(&old), change), expected, "case {index}");
    }
    let new: [(Edit<'_>, Strictness); 3] = [
        (&|entry| entry.criticality = Some(Score::new(49)), Strictness::Looser),
        (&|entry| entry.criticality = Some(Score::new(95)), Strictness::Stricter),
        (&|entry| entry.environment = Some("prod".to_owned()), Strictness::Stricter),
    ];
    for (index, (change, expected)) in new.into_iter().enumerate() {
        assert_eq!(verdict(None, change), expected, "new entry, case {index}");
    }
}

type Mapping = BTreeMap<String, BTreeSet<Role>>;

#[test]
fn rule_change_of_group_roles_compares_each_group() {
    let mapping =
        |role: &str| BTreeMap::from([("ops".to_owned(), BTreeSet::from([Role::new(role)]))]);
    let none = Mapping::new();
    let verdict = |old: &Mapping, new: &Mapping| overall(&compare_group_roles(old, new));
    assert_eq!(verdict(&none, &mapping("dba")), Strictness::Looser);
    assert_eq!(verdict(&mapping("dba"), &none), Strictness::Stricter);
    assert_eq!(verdict(&mapping(Role::ADMIN), &none), Strictness::Mixed);
    assert_eq!(verdict(&mapping("dba"), &mapping("dba")), Strictness::Same);
}
