//! One admin tries to cause the votes of others or to make approvals easier, with random sequences
//! of everything an admin can do over HTTP; in half of the worlds, the admin also reads the mail of
//! a reviewer. `ADE_SEQUENCES` sets their number (10000 for a release) and `ADE_SEED` the seed.
//! After each sequence, the rules are at least as strict as before, a task still needs two people,
//! and the admin's credentials count as one person.

use ade_core::ids::{TaskId, UserId};
use ade_testkit::Random;
use serde_json::{Value, json};

use crate::approval_rules::ApprovalRules;
use crate::authenticator::{Authenticator, enrol};
use crate::messages::MailServer;
use crate::organisations::from_environment;
use crate::rule_changes::end_setup;
use crate::world::{
    ALL_SCOPES, Answer, LockBackend, NO_AUTHORITY, OWN_PAGE, Person, TestServerOptions, World, id,
    path_of, plan, seen,
};

/// A tenant serves this many sequences; then the next one begins with a new world.
const SEQUENCES_PER_WORLD: usize = 25;
const STEPS: usize = 6;
/// The address of one of the reviewers, whose mail the admin reads.
const MAILBOX: &str = "rea@example.org";
const OWN_MAILBOX: &str = "attacker@example.org";
/// Every task needs two people.
const TWO: &str = "name: two\nrequire: [{roles: [reviewer, admin], min: 2}]\n";

/// A credential that the admin controls, and the person in whose name it acts.
#[derive(Debug, Clone)]
struct Stolen {
    of: String,
    secret: Secret,
}

#[derive(Debug, Clone)]
enum Secret {
    Token(String),
    Cookie(String),
}

struct Attack {
    world: World,
    random: Random,
    author: Person,
    reviewers: Vec<Person>,
    second: Person,
    /// A reviewer who has never signed in.
    newcomer: String,
    bot: Person,
    key: Authenticator,
    /// What approvals rested on before the sequence.
    rules: ApprovalRules,
    /// The person whom half of the steps are about, so that several steps concern one person.
    focus: String,
    made: Vec<String>,
    stolen: Vec<Stolen>,
    log: Vec<String>,
}

impl Attack {
    /// With mail, the admin reads what is sent to one of the reviewers and to an address of their
    /// own. Everyone must confirm with a passkey once anyone in the tenant has one.
    async fn begin(random: Random, has_mail: bool) -> Self {
        let mail = if has_mail { Some(MailServer::start().await) } else { None };
        let address = mail.as_ref().map(|mail| mail.url.clone());
        let options = TestServerOptions { mail: address, ..LockBackend::Off.into() };
        let world = World::fitted(options).await;
        world.policy(TWO).await;
        let author = world.person("Author", &["author"]).await;
        let second = world.person("Second", &["admin"]).await;
        let mut reviewers = Vec::new();
        for name in ["Rea", "Sam"] {
            let person = world.person(name, &["reviewer"]).await;
            enrol(&world, &person).await;
            reviewers.push(person);
        }
        let newcomer = newcomer(&world).await;
        let bot = world.agent("bot", &reviewers[0]).await;
        enrol(&world, &second).await;
        let key = enrol(&world, &world.admin).await;
        let sql = format!(
            "UPDATE app_user SET email = '{MAILBOX}' WHERE id = '{}'",
            reviewers[0].id.parse::<UserId>().unwrap().uuid()
        );
        world.database.run(&sql).await;
        end_setup(&world).await;
        let (rules, focus) = (ApprovalRules::read(&world).await, newcomer.clone());
        let (made, stolen, log) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            world,
            random,
            author,
            reviewers,
            second,
            newcomer,
            bot,
            key,
            rules,
            focus,
            made,
            stolen,
            log,
        }
    }

    fn pick(&mut self, below: usize) -> usize {
        let below = u64::try_from(below).unwrap();
        usize::try_from(self.random.below(below)).unwrap()
    }

    /// Chooses one of the people: the admin, the others with a vote, and those whom the admin has
    /// created.
    fn anyone(&mut self) -> String {
        if self.pick(2) == 0 {
            return self.focus.clone();
        }
        let own = self.world.admin.id.clone();
        let known = self.reviewers.iter().chain([&self.second]);
        let mut all: Vec<String> = known.map(|person| person.id.clone()).collect();
        all.extend(self.made.iter().cloned());
        all.extend([self.newcomer.clone(), self.newcomer.clone()]);
        all.push(own);
        let chosen = self.pick(all.len());
        all.swap_remove(chosen)
    }

    /// Sends a request of the admin, with the passkey confirmation that it may need.
    async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let token = self.world.admin.token.clone();
        let version = self.version_of(path).await;
        let matching: Vec<(&str, &str)> =
            version.iter().map(|version| ("if-match", &**version)).collect();
        let answer = self.world.send(method, &token, path, body.clone(), &matching).await;
        let answer = if answer.body["code"] == "step_up_required" {
            self.key.confirm(&self.world, &token, &answer.body["step_up"]).await.expect(200);
            self.world.send(method, &token, path, body.clone(), &matching).await
        } else {
            answer
        };
        assert!(answer.status < 500, "{method} {path}: {}", answer.body);
        let body = body.unwrap_or_default();
        self.log.push(format!("{method} {path} {body} -> {}", answer.status));
        answer
    }

    async fn version_of(&self, path: &str) -> Option<String> {
        if !["/v1/risk/settings", "/v1/settings/timeouts"].contains(&path) {
            return None;
        }
        let found = self.world.get(&self.world.admin.token, path).await.expect(200);
        Some(format!("\"{}\"", found["version"]))
    }

    async fn step(&mut self) {
        match self.pick(20) {
            0 | 1 => self.create_user().await,
            2..=5 => self.invite().await,
            6 => self.steal_token().await,
            7 => self.steal_agent_token().await,
            8 => self.publish_all().await,
            9 => {
                let path = format!("/v1/users/{}/roles", self.anyone());
                let roles = [json!([]), json!(["reviewer"]), json!(["admin", "reviewer"])];
                let roles = roles[self.pick(3)].clone();
                self.ask("PUT", &path, Some(json!({ "roles": roles }))).await;
            }
            10 => {
                let path = format!("/v1/users/{}/passkeys", self.anyone());
                self.ask("DELETE", &path, None).await;
            }
            11 => {
                let path = format!("/v1/users/{}/aliases", self.anyone());
                let alias = json!({ "alias_id": self.anyone() });
                self.ask("POST", &path, Some(alias)).await;
            }
            12 => {
                let path = format!("/v1/users/{}", self.anyone());
                let changes = [
                    json!({ "active": false }),
                    json!({ "active": true }),
                    json!({ "email": OWN_MAILBOX }),
                ];
                let change = changes[self.pick(3)].clone();
                self.ask("PATCH", &path, Some(change)).await;
            }
            13 => {
                let groups = json!({ "everyone": ["admin", "reviewer"] });
                let body = json!({ "issuer": "https://idp.example.org", "groups": groups });
                self.ask("PUT", "/v1/group-roles", Some(body)).await;
            }
            14 => {
                let (owner, delegate) = (self.anyone(), self.anyone());
                let body = json!({
                    "owner_id": owner, "delegate_id": delegate, "kind": "transfer",
                    "expires_at": "2099-01-01T00:00:00Z"
                });
                self.ask("POST", "/v1/delegations", Some(body)).await;
            }
            15 => self.relax_settings().await,
            16 => {
                let body = json!({ "criticality": 0 });
                self.ask("PUT", "/v1/resources/database/orders", Some(body)).await;
            }
            17 => {
                let path = format!("/v1/agents/{}", self.bot.id);
                self.ask("PATCH", &path, Some(json!({ "capabilities": ["*"] }))).await;
            }
            18 => {
                let path = format!("/v1/users/{}/confirm", self.anyone());
                self.ask("POST", &path, None).await;
            }
            _ => {
                let draft = "name: two\nrequire: [{roles: [reviewer, admin], min: 1}]\n";
                let body = Some(json!({ "document": draft }));
                let made = self.ask("POST", "/v1/policies", body).await;
                if made.status == 201 {
                    let path = format!("/v1/policy-drafts/{}/publish", id(&made.body));
                    self.ask("POST", &path, None).await;
                }
            }
        }
    }

    async fn create_user(&mut self) {
        let roles = [json!([]), json!(["reviewer"]), json!(["author"])];
        let roles = roles[self.pick(3)].clone();
        let email = [Value::Null, json!(OWN_MAILBOX)][self.pick(2)].clone();
        let body = json!({ "name": "New", "roles": roles, "email": email });
        let made = self.ask("POST", "/v1/users", Some(body)).await;
        if made.status == 201 {
            self.focus = id(&made.body).to_owned();
            self.made.push(self.focus.clone());
        }
    }

    /// Invites someone, and accepts the invitation in their place.
    async fn invite(&mut self) {
        let of = self.anyone();
        let made = self.ask("POST", &format!("/v1/users/{of}/invitations"), None).await;
        let is_read = [MAILBOX, OWN_MAILBOX].map(Some).contains(&made.body["sent_to"].as_str());
        let invitation = match made.body["invitation"].as_str() {
            Some(shown) => shown.to_owned(),
            None if is_read => self.world.mailed_invitation(&of).await,
            None => return,
        };
        let (_, cookie) = self.world.accept(&invitation).await;
        if cookie.is_some() {
            self.focus = of.clone();
        }
        let stolen = cookie.map(|cookie| Stolen { of, secret: Secret::Cookie(cookie) });
        self.stolen.extend(stolen);
    }

    async fn steal_token(&mut self) {
        let of = self.anyone();
        let scopes = [ALL_SCOPES.as_slice(), &["read", "decide"], &NO_AUTHORITY];
        let scopes = scopes[self.pick(3)];
        let body = json!({ "user_id": of, "scopes": scopes });
        let made = self.ask("POST", "/v1/tokens", Some(body)).await;
        self.keep_token(of, &made);
    }

    async fn steal_agent_token(&mut self) {
        let body = json!({ "agent_id": self.bot.id, "scopes": NO_AUTHORITY });
        let made = self.ask("POST", "/v1/tokens", Some(body)).await;
        self.keep_token(self.bot.id.clone(), &made);
    }

    fn keep_token(&mut self, of: String, made: &Answer) {
        if made.status == 201 {
            let scopes = made.body["scopes"].as_array().unwrap();
            let has_authority =
                scopes.iter().any(|scope| !NO_AUTHORITY.contains(&scope.as_str().unwrap()));
            let log = self.log.join("\n");
            assert!(of == self.world.admin.id || !has_authority, "authority of {of} after\n{log}");
            let secret = Secret::Token(made.body["token"].as_str().unwrap().to_owned());
            self.stolen.push(Stolen { of, secret });
        }
    }

    async fn relax_settings(&mut self) {
        let (path, body) = match self.pick(4) {
            0 => (
                "/v1/risk/settings",
                json!({
                    "weights": {
                        "resource_criticality_bp": 4_000, "change_magnitude_bp": 3_000,
                        "blast_radius_bp": 2_000, "historical_failure_rate_bp": 1_000
                    },
                    "thresholds": { "medium": 98, "high": 99, "critical": 100 },
                    "pattern_defaults": {}
                }),
            ),
            1 => ("/v1/flags/auto_approve_low_risk", json!({ "enabled": true })),
            2 => ("/v1/flags/batch_approvals", json!({ "enabled": true })),
            _ => (
                "/v1/settings/timeouts",
                json!({ "approval": {
                    "default_timeout_seconds": 2_000_000, "max_timeout_seconds": 2_000_000
                } }),
            ),
        };
        self.ask("PUT", path, Some(body)).await;
    }

    /// Tries to publish everything that waits, with every credential.
    async fn publish_all(&mut self) {
        let token = self.world.admin.token.clone();
        let open = self.world.get(&token, "/v1/pending-changes?page_size=200").await.expect(200);
        for change in open["items"].as_array().unwrap() {
            let path = format!("/v1/pending-changes/{}/publish", id(change));
            self.ask("POST", &path, None).await;
            for mut stolen in self.stolen.clone() {
                self.send_as(&mut stolen, "POST", &path, None).await;
            }
        }
        self.world.work("change_applier").await;
    }

    /// Sends a request with a stolen credential. A session that is replaced stays stolen.
    async fn send_as(
        &self,
        stolen: &mut Stolen,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        match &mut stolen.secret {
            Secret::Token(token) => self.world.send(method, token, path, body, &[]).await,
            Secret::Cookie(cookie) => {
                let headers = [&[("cookie", &**cookie)], OWN_PAGE.as_slice()].concat();
                let answer = self.world.send(method, "", path, body, &headers).await;
                if let Some(replaced) = &answer.cookie {
                    cookie.clone_from(replaced);
                }
                answer
            }
        }
    }

    /// Checks what the sequence changed, and what comes of voting with everything the admin has.
    async fn check(&mut self) {
        let rules = ApprovalRules::read(&self.world).await;
        let easier = rules.easier_than(&self.rules);
        assert!(
            easier.is_empty(),
            "approvals became easier: {easier:?} after\n{}",
            self.log.join("\n")
        );
        if self.pick(2) == 0 {
            self.outwait().await;
        }
        let asked = plan("attack");
        let evaluated = self.world.post(&self.author.token, "/v1/tasks/evaluate", asked).await;
        let evaluated = evaluated.expect(200);
        let groups = evaluated["explanation"]["groups"].as_array().unwrap();
        let needed: u64 = groups.iter().map(|group| group["min"].as_u64().unwrap()).sum();
        let log = self.log.join("\n");
        assert!(needed >= 2, "the task needs {needed} people after\n{log}");
        assert_eq!(evaluated["would_pass_without_a_person"], false, "after\n{log}");

        let task = self.world.reviewing(&self.author, "attack").await;
        let path = format!("{}/approve", path_of(&task));
        self.ask("POST", &path, Some(seen(&task))).await;
        for mut stolen in self.stolen.clone() {
            let answer = self.send_as(&mut stolen, "POST", &path, Some(seen(&task))).await;
            self.confirm_as(&mut stolen, &answer).await;
            let answer = self.send_as(&mut stolen, "POST", &path, Some(seen(&task))).await;
            self.log.push(format!("vote as {} -> {}", stolen.of, answer.status));
        }
        let [of, admin] = [
            id(&task).parse::<TaskId>().unwrap().uuid(),
            self.world.admin.id.parse::<UserId>().unwrap().uuid(),
        ];
        let votes = format!(
            "SELECT count(DISTINCT voter_id) FROM vote
              WHERE task_id = '{of}' AND effectual AND voter_id <> '{admin}'
                AND voter_id NOT IN (SELECT user_id FROM user_alias
                                      WHERE alias_id = '{admin}' AND until_confirmed)"
        );
        let log = self.log.join("\n");
        let stolen = self.world.database.number(&votes).await;
        assert_eq!(stolen, 0, "the votes of {stolen} others were caused after\n{log}");
        let state = self.world.task(&self.author, &task).await["state"].clone();
        assert_ne!(state, "APPROVED", "after\n{log}");
        let cancel = format!("{}/cancel", path_of(&task));
        let body = Some(json!({ "reason": "checked" }));
        let version = self.world.task(&self.author, &task).await;
        let author = &self.author.token;
        self.world.matching("POST", author, &cancel, body, &version).await;
    }

    /// Lets every role grow old enough for tasks of high risk, as if the admin had waited.
    async fn outwait(&mut self) {
        self.log.push("wait".to_owned());
        let sql = "UPDATE user_role SET granted_at = moment() - interval '2 days';
                   UPDATE rulebook SET version = version + 1";
        self.world.database.run(sql).await;
    }

    /// Enrols a passkey of the admin for a stolen session, and confirms with it.
    async fn confirm_as(&self, stolen: &mut Stolen, answer: &Answer) {
        if answer.body["code"] != "step_up_required" {
            return;
        }
        let key = Authenticator::new();
        let offer = Some(json!({ "name": "stolen" }));
        let offer = self.send_as(stolen, "POST", "/v1/passkeys", offer).await;
        if offer.status != 201 {
            return;
        }
        let path = format!("/v1/passkeys/{}", id(&offer.body));
        let created = key.created(&offer.body["options"]);
        self.send_as(stolen, "POST", &path, Some(created)).await;
        let mut key = key;
        let asked = Some(answer.body["step_up"].clone());
        let question = self.send_as(stolen, "POST", "/v1/step-up", asked).await;
        if question.status == 201 {
            let path = format!("/v1/step-up/{}", id(&question.body));
            let given = Some(key.word(&question.body["options"]));
            self.send_as(stolen, "POST", &path, given).await;
        }
    }

    /// Returns the newcomer to the state of a person who has never signed in.
    async fn forget_newcomer(&self) {
        let user = self.newcomer.parse::<UserId>().unwrap().uuid();
        let sql = format!(
            "UPDATE token SET revoked_at = moment() WHERE user_id = '{user}' AND revoked_at IS NULL;
             UPDATE passkey SET removed_at = moment()
              WHERE user_id = '{user}' AND removed_at IS NULL;
             DELETE FROM user_alias WHERE user_id = '{user}' OR alias_id = '{user}';
             DELETE FROM user_role WHERE user_id = '{user}' AND role <> 'reviewer';
             INSERT INTO user_role (tenant_id, user_id, role)
             SELECT tenant_id, id, 'reviewer' FROM app_user WHERE id = '{user}'
             ON CONFLICT DO NOTHING;
             UPDATE user_role SET granted_at = moment() - interval '2 days';
             UPDATE app_user SET invited_by = NULL, unconfirmed_since = NULL,
                    active = true, email = 'nia@example.org' WHERE id = '{user}'"
        );
        self.world.database.run(&sql).await;
    }

    /// Withdraws what waits, and returns the roles and accounts that the admin took from others,
    /// which is no attack on approvals.
    async fn restore(&mut self) {
        let token = self.world.admin.token.clone();
        let open = self.world.get(&token, "/v1/pending-changes?page_size=200").await.expect(200);
        for change in open["items"].as_array().unwrap() {
            let path = format!("/v1/pending-changes/{}", id(change));
            self.world.send("DELETE", &token, &path, None, &[]).await.expect(200);
        }
        let people = self.reviewers.iter().map(|person| (person, "reviewer"));
        for (person, role) in people.chain([(&self.second, "admin")]) {
            let user = person.id.parse::<UserId>().unwrap().uuid();
            let sql = format!(
                "UPDATE app_user SET active = true WHERE id = '{user}';
                 DELETE FROM user_role WHERE user_id = '{user}' AND role <> '{role}';
                 INSERT INTO user_role (tenant_id, user_id, role)
                 SELECT tenant_id, id, '{role}' FROM app_user WHERE id = '{user}'
                 ON CONFLICT DO NOTHING"
            );
            self.world.database.run(&sql).await;
        }
        self.forget_newcomer().await;
        self.world.database.run("UPDATE rulebook SET version = version + 1").await;
        self.rules = ApprovalRules::read(&self.world).await;
        self.made.clear();
        let people = self.reviewers.iter().chain([&self.second]);
        let mut ids: Vec<String> = people.map(|person| person.id.clone()).collect();
        ids.push(self.newcomer.clone());
        self.focus = ids.swap_remove(self.pick(4));
        self.stolen.clear();
        self.log.clear();
    }
}

/// Creates a reviewer as if a second admin had published the role two days ago. The admin has held
/// their role as long.
async fn newcomer(world: &World) -> String {
    let body = json!({ "name": "Nia", "email": "nia@example.org" });
    let user = id(&world.post(&world.admin.token, "/v1/users", body).await.expect(201)).to_owned();
    let sql = format!(
        "INSERT INTO user_role (tenant_id, user_id, role)
         SELECT tenant_id, id, 'reviewer' FROM app_user WHERE id = '{}';
         UPDATE user_role SET granted_at = moment() - interval '2 days'",
        user.parse::<UserId>().unwrap().uuid()
    );
    world.database.run(&sql).await;
    user
}

#[tokio::test]
async fn takeover_by_one_admin_causes_no_other_vote() {
    let sequences = from_environment("ADE_SEQUENCES", 500);
    let seed = from_environment("ADE_SEED", 1);
    let mut left = sequences;
    while left > 0 {
        let random = Random::new(u64::try_from(seed * 1_000_003 + left).unwrap());
        let has_mail = (left / SEQUENCES_PER_WORLD).is_multiple_of(2);
        let mut attack = Attack::begin(random, has_mail).await;
        for _ in 0..left.min(SEQUENCES_PER_WORLD) {
            for _ in 0..STEPS {
                attack.step().await;
            }
            attack.check().await;
            attack.restore().await;
            left -= 1;
        }
    }
    println!("{sequences} sequences with seed {seed}");
}
