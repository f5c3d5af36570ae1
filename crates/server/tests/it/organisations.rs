//! Generated organisations with policies, delegations and votes are run over HTTP and compared with
//! an independent oracle. `ADE_CASES` sets the number of tasks (10000 for a release) and `ADE_SEED`
//! selects other organisations.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::oracle::{
    ADMINS, ALL_PEOPLE, Delegation, Group, Move, Organisation, PEOPLE, Policy, Review, Story,
};
use crate::world::{Person, World, id, path_of, seen};

const ROLES: [&str; 4] = ["reviewer", "dba", "sre", "lead"];
const FAMILIES: [&str; 2] = ["db", "infra"];
const STORIES: usize = 20;
const LATER: &str = "2100-01-01T00:00:00Z";

pub fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

fn some_roles(
    sizes: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = BTreeSet<&'static str>> {
    subsequence(ROLES.to_vec(), sizes).prop_map(|roles| roles.into_iter().collect())
}

fn family() -> impl Strategy<Value = Option<&'static str>> {
    option::of(select(FAMILIES.to_vec()))
}

fn group() -> impl Strategy<Value = Group> {
    let people = prop_oneof![3 => Just(BTreeSet::new()), 1 => btree_set(0..PEOPLE, 1..4)];
    let min = prop_oneof![3 => Just(1), 2 => Just(2), 1 => Just(3)];
    (some_roles(0..=2), people, min).prop_map(|(mut roles, people, min)| {
        if roles.is_empty() && people.is_empty() {
            roles.insert("dba");
        }
        // The server refuses a document that names fewer people than it needs.
        let min = if roles.is_empty() { min.min(people.len()) } else { min };
        Group { roles, people, min }
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let exempt =
        (option::weighted(0.15, select(ROLES.to_vec())), option::weighted(0.15, 0..PEOPLE));
    let parts = (family(), vec(group(), 1..4), 1usize..4, exempt, prop::bool::weighted(0.15));
    parts.prop_map(|(family, mut groups, reject_threshold, exempt, forbids_delegation)| {
        // The server also refuses a document with two equal groups.
        groups.sort_by(|one, other| (&one.roles, &one.people).cmp(&(&other.roles, &other.people)));
        groups.dedup_by(|one, other| one.roles == other.roles && one.people == other.people);
        // It also refuses one that exempts so many people that a group can never be satisfied.
        let (role, person) = exempt;
        let is_possible = |group: &Group| {
            let asked = group.people.iter().filter(|one| person != Some(**one)).count();
            group.roles.iter().any(|one| role != Some(*one)) || asked >= group.min
        };
        let (exempt_role, exempt_person) =
            if groups.iter().all(is_possible) { exempt } else { (None, None) };
        Policy { family, groups, reject_threshold, exempt_role, exempt_person, forbids_delegation }
    })
}

fn delegation() -> impl Strategy<Value = Delegation> {
    let parts = (0..PEOPLE, 0..ALL_PEOPLE, any::<bool>(), any::<bool>(), family());
    parts.prop_map(|(owner, to, follows, cascade, family)| Delegation {
        owner,
        to,
        follows,
        cascade,
        family,
    })
}

fn story() -> impl Strategy<Value = Story> {
    let what = prop_oneof![
        6 => Just(Move::Approve),
        2 => Just(Move::Reject),
        1 => Just(Move::RequestChanges),
        2 => Just(Move::Withdraw),
    ];
    let moves = vec((0..ALL_PEOPLE, what), 0..16);
    (0..PEOPLE, select(FAMILIES.to_vec()), moves).prop_map(|(author, family, moves)| Story {
        author,
        family,
        moves,
    })
}

fn organisation() -> impl Strategy<Value = Organisation> {
    let pair = (0..PEOPLE, 0..PEOPLE).prop_filter("two of them", |(one, other)| one != other);
    let parts = (
        vec(some_roles(0..=3), PEOPLE),
        option::weighted(0.4, pair.clone()),
        option::weighted(0.3, pair),
        vec(policy(), 0..3),
        vec(delegation(), 0..6),
        vec(story(), STORIES),
    );
    parts.prop_map(|(mut roles, same, leaver, policies, delegations, mut stories)| {
        // Both accounts of one human have the same roles, so that both are asked.
        if let Some((one, other)) = same {
            roles[other] = roles[one].clone();
        }
        for story in &mut stories {
            // A person who has left cannot propose a task.
            if leaver.is_some_and(|(leaver, _)| leaver == story.author) {
                story.author = (story.author + 1) % PEOPLE;
            }
        }
        Organisation { roles, same, leaver, policies, delegations, stories }
    })
}

/// An organisation that exists on the server, with a token for each person.
struct Founded<'a> {
    world: &'a World,
    people: Vec<Person>,
}

impl<'a> Founded<'a> {
    /// Creates the organisation, and removes the delegations that the server rightly refuses.
    async fn found(world: &'a World, name: &str, organisation: &mut Organisation) -> Self {
        let (_, admin) = world.tenant(name).await;
        let mut people = Vec::new();
        for (number, roles) in organisation.roles.iter().enumerate() {
            let roles: Vec<&str> = roles.iter().copied().chain(["author"]).collect();
            people.push(world.person_of(&admin, &format!("Person {number}"), &roles).await);
        }
        let second = world.person_of(&admin, "Second", &["admin"]).await;
        people.extend([admin, second]);
        let founded = Self { world, people };
        for (number, policy) in organisation.policies.iter().enumerate() {
            founded.publish(number, policy).await;
        }
        if let Some((one, other)) = organisation.same {
            let path = format!("/v1/users/{}/aliases", founded.people[one].id);
            let alias = json!({ "alias_id": founded.people[other].id });
            let status = world.post(&founded.admin().token, &path, alias).await.status;
            assert!((200..300).contains(&status), "{status}");
        }
        for wanted in std::mem::take(&mut organisation.delegations) {
            if founded.delegate(organisation, &wanted).await {
                organisation.delegations.push(wanted);
            }
        }
        if let Some((leaver, manager)) = organisation.leaver {
            let path = format!("/v1/users/{}", founded.people[leaver].id);
            let left = json!({ "manager_id": founded.people[manager].id, "active": false });
            let token = &founded.admin().token;
            world.send("PATCH", token, &path, Some(left), &[]).await.expect(200);
        }
        founded
    }

    fn admin(&self) -> &Person {
        &self.people[ADMINS[0]]
    }

    async fn publish(&self, number: usize, policy: &Policy) {
        let ids = |people: &mut dyn Iterator<Item = usize>| -> Vec<String> {
            people.map(|person| self.people[person].id.clone()).collect()
        };
        let groups: Vec<Value> = policy
            .groups
            .iter()
            .map(|group| {
                let people = ids(&mut group.people.iter().copied());
                json!({ "roles": group.roles, "people": people, "min": group.min })
            })
            .collect();
        let exempt_roles: Vec<&str> = policy.exempt_role.into_iter().collect();
        let exempt_people = ids(&mut policy.exempt_person.into_iter());
        let mut document = json!({
            "name": format!("policy-{number}"),
            "require": groups,
            "reject_threshold": policy.reject_threshold,
            "exempt": { "roles": exempt_roles, "people": exempt_people },
            "delegation": if policy.forbids_delegation { "forbidden" } else { "allowed" },
        });
        if let Some(family) = policy.family {
            document["match"] = json!({ "task_types": [format!("{family}.*")] });
        }
        let draft = json!({ "document": document.to_string() });
        let draft = self.world.post(&self.admin().token, "/v1/policies", draft).await.expect(201);
        let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
        let second = &self.people[ADMINS[1]].token;
        self.world.send("POST", second, &path, None, &[]).await.expect(200);
    }

    /// Requests a delegation and returns whether it was created. Exactly those to oneself and those
    /// that close a cycle are refused.
    async fn delegate(&self, organisation: &Organisation, wanted: &Delegation) -> bool {
        let families: Vec<String> =
            wanted.family.into_iter().map(|family| format!("{family}.*")).collect();
        let body = json!({
            "delegate_id": self.people[wanted.to].id,
            "kind": if wanted.follows { "follow" } else { "transfer" },
            "cascade": wanted.cascade,
            "conditions": { "task_types": families },
            "expires_at": LATER,
        });
        let owner = &self.people[wanted.owner].token;
        let answer = self.world.post(owner, "/v1/delegations", body).await;
        let is_to_self = organisation.human(wanted.owner) == organisation.human(wanted.to);
        let is_refused = is_to_self || organisation.closes_circle(wanted);
        assert_eq!(answer.status, if is_refused { 422 } else { 201 }, "{}", answer.body);
        !is_refused
    }

    async fn propose(&self, number: usize, story: &Story) -> Value {
        let author = &self.people[story.author];
        let mut task = crate::world::plan(&format!("story {number}"));
        task["type"] = json!(format!("{}.change", story.family));
        let task = self.world.post(&author.token, "/v1/tasks", task).await.expect(201);
        self.world.submit(author, &task).await;
        task
    }

    async fn play(&self, organisation: &Organisation, story: &Story, task: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        let mut review = Review::open(organisation, story);
        let author = &self.people[story.author];
        let path = format!("/v1/tasks/{}", id(task));
        let asked = self.world.get(&author.token, &format!("{path}/approvals")).await.expect(200);
        let asked = asked["approvals"].as_array().unwrap();
        let number = |reviewer: &Value| {
            self.people.iter().position(|person| reviewer == person.id.as_str()).unwrap()
        };
        let reviewers: BTreeSet<usize> =
            asked.iter().map(|one| number(&one["reviewer_id"])).collect();
        let expected = review.asked();
        let says = format!("reviewers: {story:?} {organisation:?}");
        assert_eq!(reviewers, expected.keys().copied().collect(), "{says}");
        let explained = self.world.get(&author.token, &format!("{path}/explain")).await.expect(200);
        let may_answer: BTreeMap<usize, BTreeSet<usize>> = explained["may_answer"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let owners = one["for_user_ids"].as_array().unwrap();
                assert!(!one["because"].as_array().unwrap().is_empty(), "{one}");
                (number(&one["user_id"]), owners.iter().map(&number).collect())
            })
            .collect();
        assert_eq!(may_answer, expected, "{says}");
        let gates = explained["gates"].as_array().unwrap();
        let policy = gates.iter().find(|gate| gate["name"] == "policy").unwrap();
        outcome.is_unreachable = !review.is_reachable();
        let is_said = policy["passed"] == false;
        assert_eq!(is_said, outcome.is_unreachable, "{policy} {story:?} {organisation:?}");
        // A withdrawal belongs to its caller, so any request of the task can be used.
        let Some(request) = asked.first() else { return outcome };
        for (person, what) in &story.moves {
            let expected = review.take(*person, *what);
            let answer = self.answer(*person, *what, id(request), task).await;
            let says = format!("{person} {what:?}: {answer} {story:?} {organisation:?}");
            assert_eq!(answer["state"].is_string(), expected, "{says}");
            if expected {
                assert_eq!(answer["state"], review.state, "{says}");
            } else {
                assert!(answer["code"].is_string(), "{says}");
            }
            outcome.moves += 1;
            if review.state != "REVIEWING" {
                break;
            }
        }
        let now = self.world.get(&author.token, &path).await.expect(200);
        assert_eq!(now["state"], review.state, "{story:?} {organisation:?}");
        outcome.state = review.state;
        outcome
    }

    async fn answer(&self, person: usize, what: Move, request: &str, task: &Value) -> Value {
        let path = match what {
            Move::Approve => format!("{}/approve", path_of(task)),
            Move::Reject => format!("{}/reject", path_of(task)),
            Move::RequestChanges => format!("{}/request-changes", path_of(task)),
            Move::Withdraw => format!("/v1/approvals/{request}/withdraw"),
        };
        let mut vote = seen(task);
        vote["reason"] = json!("so it goes");
        let body = (what != Move::Withdraw).then_some(vote);
        let token = &self.people[person].token;
        self.world.send("POST", token, &path, body, &[]).await.body
    }
}

#[derive(Debug, Default)]
struct Outcome {
    is_unreachable: bool,
    moves: usize,
    state: &'static str,
}

#[tokio::test]
async fn review_outcomes_agree_with_brute_force() {
    let cases = from_environment("ADE_CASES", 100);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&from_environment("ADE_SEED", 1).to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let world = World::new().await;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for number in 0..cases.div_ceil(STORIES) {
        let mut made = organisation().new_tree(&mut runner).unwrap().current();
        let founded = Founded::found(&world, &format!("org-{number}"), &mut made).await;
        let mut tasks = Vec::new();
        for (number, story) in made.stories.iter().enumerate() {
            tasks.push(founded.propose(number, story).await);
        }
        while world.work("review_opener").await.items > 0 {}
        for (story, task) in made.stories.iter().zip(&tasks) {
            outcomes.push(founded.play(&made, story, task).await);
        }
    }
    let of = |state: &str| outcomes.iter().filter(|one| one.state == state).count();
    let counts = ["APPROVED", "REJECTED", "DRAFT", "REVIEWING"].map(of);
    let unreachable = outcomes.iter().filter(|one| one.is_unreachable).count();
    let moves: usize = outcomes.iter().map(|one| one.moves).sum();
    println!(
        "{} tasks, {moves} moves: {counts:?} approved, rejected, sent back, still open; \
         {unreachable} could not be approved and were reported as such",
        outcomes.len()
    );
    // A generator that makes only one kind of story proves nothing.
    assert!(counts.iter().all(|count| count * 50 > outcomes.len()), "{counts:?}");
    assert!((outcomes.len() / 50..outcomes.len() / 2).contains(&unreachable), "{unreachable}");
}
