//! The only admin of a tenant proposes changes that make approvals easier, and tries to keep others
//! from objecting, with random sequences over HTTP. `ADE_SEQUENCES` sets their number and
//! `ADE_SEED` the seed. No proposal takes effect before a day has passed, everyone who had a role
//! when it was proposed can object to it while it is open, and none takes effect against an
//! objection.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_core::ids::UserId;
use ade_testkit::Random;
use serde_json::{Value, json};

use crate::organisations::from_environment;
use crate::rule_changes::end_setup;
use crate::world::{Answer, Person, World, id};

/// A tenant serves this many sequences; then the next one begins with a new world.
const SEQUENCES_PER_WORLD: usize = 10;
const STEPS: usize = 10;
const DAY_HOURS: u64 = 24;
const ISSUER: &str = "https://idp.example.org";

/// A proposal to raise the thresholds, which no other proposal of the world resembles.
struct Proposal {
    change: Value,
    medium: u64,
    hour: u64,
    /// The accounts that were active and had a role, without the admin.
    objectors: BTreeSet<String>,
    is_objected: bool,
}

struct LoneAdmin {
    world: World,
    random: Random,
    reviewers: Vec<Person>,
    proposals: Vec<Proposal>,
    hour: u64,
    medium: u64,
    log: Vec<String>,
}

impl LoneAdmin {
    async fn begin(random: Random) -> Self {
        let world = World::new().await;
        let mut reviewers = Vec::new();
        for name in ["Rea", "Sam", "Tom"] {
            let person = world.person(name, &["reviewer"]).await;
            let path = format!("/v1/users/{}", person.id);
            let email = Some(json!({ "email": format!("{name}@example.org") }));
            world.send("PATCH", &world.admin.token, &path, email, &[]).await.expect(200);
            reviewers.push(person);
        }
        end_setup(&world).await;
        let (proposals, log) = (Vec::new(), Vec::new());
        Self { world, random, reviewers, proposals, hour: 0, medium: 31, log }
    }

    fn pick(&mut self, below: usize) -> usize {
        usize::try_from(self.random.below(u64::try_from(below).unwrap())).unwrap()
    }

    fn log(&self) -> String {
        self.log.join("\n")
    }

    async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let token = &self.world.admin.token;
        let risk = self.risk().await;
        let version = format!("\"{}\"", risk["version"]);
        let matching = [("if-match", &*version)];
        let matching = if path == "/v1/risk/settings" { matching.as_slice() } else { &[] };
        let answer = self.world.send(method, token, path, body.clone(), matching).await;
        assert!(answer.status < 500, "{method} {path}: {}", answer.body);
        let (hour, body) = (self.hour, body.unwrap_or_default());
        self.log.push(format!("{hour} h: {method} {path} {body} -> {}", answer.status));
        answer
    }

    async fn risk(&self) -> Value {
        self.world.get(&self.world.admin.token, "/v1/risk/settings").await.expect(200)
    }

    async fn people_with_a_role(&self) -> BTreeSet<String> {
        let path = "/v1/users?page_size=200";
        let users = self.world.get(&self.world.admin.token, path).await.expect(200);
        let users = users["items"].as_array().unwrap().iter();
        users
            .filter(|user| user["active"] == true && user["roles"] != json!([]))
            .map(|user| id(user).to_owned())
            .filter(|user| *user != self.world.admin.id)
            .collect()
    }

    async fn propose(&mut self) {
        self.medium += 1;
        let medium = self.medium;
        let body = json!({
            "weights": {
                "resource_criticality_bp": 4_000, "change_magnitude_bp": 3_000,
                "blast_radius_bp": 2_000, "historical_failure_rate_bp": 1_000
            },
            "thresholds": { "medium": medium, "high": 99, "critical": 100 },
            "pattern_defaults": {}
        });
        let objectors = self.people_with_a_role().await;
        let change = self.ask("PUT", "/v1/risk/settings", Some(body)).await.expect(202);
        let hour = self.hour;
        self.proposals.push(Proposal { change, medium, hour, objectors, is_objected: false });
    }

    async fn wait(&mut self, hours: u64) {
        self.hour += hours;
        self.log.push(format!("{} h", self.hour));
        self.world.pass(Duration::from_hours(self.hour)).await;
        while self.world.work("change_applier").await.items > 0 {}
    }

    async fn step(&mut self) {
        let chosen = self.pick(self.reviewers.len());
        let of = self.reviewers[chosen].id.clone();
        let path = |rest: &str| format!("/v1/users/{of}{rest}");
        match self.pick(11) {
            0 | 1 => self.propose().await,
            2 | 3 => {
                let hours = [1, 7, 13, 23][self.pick(4)];
                self.wait(hours).await;
            }
            4 => {
                let roles = Some(json!({ "roles": [] }));
                self.ask("PUT", &path("/roles"), roles).await;
            }
            5 | 6 => {
                let body = Some(json!({ "active": false }));
                self.ask("PATCH", &path(""), body).await;
            }
            7 => {
                let alias = Some(json!({ "alias_id": self.world.admin.id }));
                self.ask("POST", &path("/aliases"), alias).await;
            }
            8 => {
                let body = json!({ "name": "New", "email": "rea@example.org", "roles": [] });
                self.ask("POST", "/v1/users", Some(body)).await;
            }
            9 => {
                let body = json!({ "issuer": ISSUER, "groups": {} });
                self.ask("PUT", "/v1/group-roles", Some(body)).await;
            }
            _ => {
                let open = self.open().await;
                if !open.is_empty() {
                    let chosen = self.pick(open.len());
                    let path = format!("/v1/pending-changes/{}", open[chosen]);
                    self.ask("DELETE", &path, None).await;
                }
            }
        }
    }

    async fn open(&self) -> Vec<String> {
        let path = "/v1/pending-changes?page_size=200";
        let open = self.world.get(&self.world.admin.token, path).await.expect(200);
        open["items"].as_array().unwrap().iter().map(|change| id(change).to_owned()).collect()
    }

    /// Checks that the thresholds in force were proposed a day ago, and not against an objection.
    async fn check(&self) {
        let medium = self.risk().await["thresholds"]["medium"].as_u64().unwrap();
        if medium == 30 {
            return;
        }
        let proposal = self.proposals.iter().find(|proposal| proposal.medium == medium).unwrap();
        let hours = self.hour - proposal.hour;
        assert!(hours >= DAY_HOURS, "in force after {hours} h, after\n{}", self.log());
        assert!(!proposal.is_objected, "in force against an objection, after\n{}", self.log());
    }

    /// Lets one of those who may object to each open proposal do so.
    async fn object(&mut self) {
        let open = self.open().await;
        let people: BTreeMap<String, String> =
            self.reviewers.iter().map(|person| (person.id.clone(), person.token.clone())).collect();
        for place in 0..self.proposals.len() {
            let proposal = &self.proposals[place];
            let path = format!("/v1/pending-changes/{}/object", id(&proposal.change));
            let objectors: Vec<String> = proposal.objectors.iter().cloned().collect();
            if objectors.is_empty() || !open.contains(&id(&proposal.change).to_owned()) {
                continue;
            }
            let token = &people[&objectors[self.pick(objectors.len())]];
            let answer = self.world.post(token, &path, json!({ "reason": "no" })).await;
            let log = self.log();
            assert_eq!(answer.status, 200, "{} after\n{log}", answer.body);
            self.proposals[place].is_objected = true;
        }
    }

    /// Withdraws what waits, and returns the accounts and roles.
    async fn restore(&mut self) {
        for change in self.open().await {
            let path = format!("/v1/pending-changes/{change}");
            self.ask("DELETE", &path, None).await;
        }
        for person in &self.reviewers {
            let user = person.id.parse::<UserId>().unwrap().uuid();
            let sql = format!(
                "UPDATE app_user SET active = true WHERE id = '{user}';
                 DELETE FROM user_alias WHERE user_id = '{user}';
                 INSERT INTO user_role (tenant_id, user_id, role)
                 SELECT tenant_id, id, 'reviewer' FROM app_user WHERE id = '{user}'
                 ON CONFLICT DO NOTHING"
            );
            self.world.database.run(&sql).await;
        }
        self.log.clear();
    }
}

#[tokio::test]
async fn takeover_by_the_only_admin_waits_for_objections() {
    let sequences = from_environment("ADE_SEQUENCES", 40);
    let seed = from_environment("ADE_SEED", 1);
    let mut left = sequences;
    while left > 0 {
        let random = Random::new(u64::try_from(seed * 1_000_003 + left).unwrap());
        let mut attack = LoneAdmin::begin(random).await;
        for _ in 0..left.min(SEQUENCES_PER_WORLD) {
            attack.propose().await;
            for _ in 0..STEPS {
                attack.step().await;
                attack.check().await;
            }
            attack.object().await;
            attack.wait(2 * DAY_HOURS).await;
            attack.check().await;
            attack.restore().await;
            left -= 1;
        }
    }
    println!("{sequences} sequences with seed {seed}");
}
