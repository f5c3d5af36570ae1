//! A change of the rules races with a decision: a policy, a role, a delegation or a freeze against
//! an approval and against a permit. A decision that passes was made before the change, and every
//! later decision follows the new rules. The controls remove the tenant lock (the gate) and must
//! find a decision that was written after a change that it did not see.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use ade_core::ids::{ExecutionId, LeaseId, TaskId, TenantId};
use ade_core::task::{ApplyFacts, Command, Facts, Hold, decide};
use ade_engine::admin::bootstrap;
use ade_engine::command::installation_freeze;
use ade_engine::command::schedule::JobKind;
use ade_engine::command::task_command::TaskCommand;
use ade_testkit::{Database, DatabaseSession};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::meetings::{Meeting, SOON, rounds};
use crate::world::{Person, World, id, path_of, quoted, seen};

const OPEN: &str = "name: gate\nrequire: [{roles: [reviewer], min: 1}]\n";
const CLOSED: &str = "name: gate\nrequire: [{roles: [unassigned], min: 1}]\n";

/// A change that removes what a decision is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Publish,
    Revoke,
    EndDelegation,
    Freeze,
    /// Revokes the role of the admin who requested an override.
    RevokeAdmin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decider {
    Approve,
    Permit,
    /// The holder of a permit begins.
    Begin,
    /// The second admin confirms an override.
    Confirm,
}

struct Gatehouse {
    world: World,
    second: Person,
    bob: Person,
    rea: Person,
    sam: Person,
    holder: Mutex<DatabaseSession>,
}

/// The outcome of a round.
#[derive(Debug)]
struct Ended {
    passed: bool,
    /// The change was reported as done before the decision was written.
    was_overtaken: bool,
}

impl Gatehouse {
    async fn open(change: Change) -> Self {
        Self::in_world(World::new().await, change).await
    }

    /// Uses a separate database in which the locks that make up the gate have no effect.
    async fn without_gate(change: Change) -> Self {
        let migrate = async |url: String| bootstrap::migrate(&url).await;
        let database = Database::fresh("server", migrate).await;
        let name = database.name();
        database.run(&format!("ALTER DATABASE {name} SET search_path = public, pg_catalog")).await;
        for lock in ["pg_advisory_xact_lock", "pg_advisory_xact_lock_shared"] {
            let sql = format!("CREATE FUNCTION {lock}(bigint) RETURNS void LANGUAGE sql AS ''");
            database.run(&sql).await;
        }
        Self::in_world(World::over(database, None).await, change).await
    }

    async fn in_world(world: World, change: Change) -> Self {
        world.database.be_patient().await;
        let second = world.person("Second", &["admin"]).await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let sam = world.person("Sam", &["reviewer"]).await;
        if change == Change::EndDelegation {
            let named = format!("name: gate\nrequire: [{{people: [{}], min: 1}}]\n", rea.id);
            world.policy(&named).await;
        } else if change != Change::Publish {
            world.policy(OPEN).await;
        }
        let holder = Mutex::new(world.database.session().await);
        Self { world, second, bob, rea, sam, holder }
    }

    async fn publish(&self, document: &str) -> u16 {
        let path = self.draft(document).await;
        self.world.send("POST", &self.second.token, &path, None, &[]).await.status
    }

    /// Creates a policy draft and returns the path that publishes it.
    async fn draft(&self, document: &str) -> String {
        let asked = json!({ "document": document });
        let draft = self.world.post(&self.world.admin.token, "/v1/policies", asked).await;
        format!("/v1/policy-drafts/{}/publish", id(&draft.expect(201)))
    }

    /// Grants this role, with the second admin if the change has to wait.
    async fn grant(&self, path: &str, role: &str) {
        let given = Some(json!({ "roles": [role] }));
        let answer = self.world.send("PUT", &self.world.admin.token, path, given, &[]).await;
        if answer.status == 202 {
            let path = format!("/v1/pending-changes/{}/publish", id(&answer.body));
            self.world.send("POST", &self.second.token, &path, None, &[]).await.expect(200);
        }
        // A new role would not count for tasks of high risk yet.
        let sql = "UPDATE user_role SET granted_at = moment() - interval '2 days'";
        self.world.database.run(sql).await;
    }

    /// Sets up everything that the decision needs to pass. Returns the call that makes the change.
    async fn prepare(&self, change: Change) -> (&'static str, String, Option<Value>) {
        let admin = &self.world.admin.token;
        let roles = format!("/v1/users/{}/roles", self.rea.id);
        match change {
            Change::Publish => {
                assert_eq!(self.publish(OPEN).await, 200);
                ("POST", self.draft(CLOSED).await, None)
            }
            Change::Revoke => {
                self.grant(&roles, "reviewer").await;
                ("PUT", roles, Some(json!({ "roles": [] })))
            }
            Change::EndDelegation => {
                let asked = json!({
                    "delegate_id": self.sam.id, "kind": "transfer",
                    "expires_at": "2100-01-01T00:00:00Z",
                });
                let made = self.world.post(&self.rea.token, "/v1/delegations", asked).await;
                let made = made.expect(201);
                ("DELETE", format!("/v1/delegations/{}", id(&made)), None)
            }
            Change::RevokeAdmin => {
                let roles = format!("/v1/users/{}/roles", self.sam.id);
                self.grant(&roles, "admin").await;
                ("PUT", roles, Some(json!({ "roles": [] })))
            }
            Change::Freeze => {
                let frozen = self.world.get(admin, "/v1/freezes").await.expect(200);
                let frozen = frozen["items"].as_array().unwrap().iter();
                for freeze in frozen.filter(|freeze| freeze["in_force"] == true) {
                    let path = format!("/v1/freezes/{}", id(freeze));
                    self.world.send("DELETE", admin, &path, None, &[]).await.expect(200);
                }
                (
                    "POST",
                    "/v1/freezes".to_owned(),
                    Some(json!({ "scope": "tenant", "reason": "r" })),
                )
            }
        }
    }

    fn voter(&self, change: Change) -> &Person {
        if change == Change::EndDelegation { &self.sam } else { &self.rea }
    }

    async fn vote(&self, change: Change, task: &Value) -> bool {
        let path = format!("{}/approve", path_of(task));
        let voted = self.world.post(&self.voter(change).token, &path, seen(task)).await;
        if voted.status != 200 {
            // This explains a vote that should have passed.
            println!("the vote was refused with {}: {}", voted.status, voted.body);
        }
        voted.status == 200 && voted.body["state"] == "APPROVED"
    }

    /// Makes the decision behind a permit: it checks the basis and the freezes again and moves the
    /// task to APPLYING.
    async fn permit(&self, task: &Value) -> bool {
        let tenant: TenantId = self.world.tenant.parse().unwrap();
        let task: TaskId = id(task).parse().unwrap();
        let work = TaskCommand::by_worker(&self.world.app, "permit", tenant, task).await;
        let mut work = work.unwrap().unwrap();
        let gates = work.load_gates(BTreeSet::new()).await.unwrap();
        let hold = Hold { lease: LeaseId::from_uuid(task.uuid()), token: 1 };
        let execution = ExecutionId::from_uuid(task.uuid());
        let command = Command::StartApply { execution, hold, gates };
        let apply = ApplyFacts { has_capacity: true, ..ApplyFacts::default() };
        let facts = Facts { apply, ..work.facts() };
        let decided = decide(&work.task, &command, &facts, work.now());
        let is_allowed = decided.is_ok();
        is_allowed && work.settle(JobKind::CheckBasis, &command, decided).await.is_ok()
    }

    /// Makes the decision behind a beginning, which checks the same as the permit.
    async fn begin(&self, task: &Value) -> bool {
        let tenant: TenantId = self.world.tenant.parse().unwrap();
        let task: TaskId = id(task).parse().unwrap();
        let work = TaskCommand::by_worker(&self.world.app, "permit", tenant, task).await;
        let mut work = work.unwrap().unwrap();
        let gates = work.load_gates(BTreeSet::new()).await.unwrap();
        let hold = Hold { lease: LeaseId::from_uuid(task.uuid()), token: 1 };
        let command = Command::BeginApply { hold, gates };
        let decided = work.decide(&command);
        let is_allowed = decided.is_ok();
        is_allowed && work.settle(JobKind::CheckBasis, &command, decided).await.is_ok()
    }

    async fn request_override(&self, task: &Value) {
        let path = format!("/v1/tasks/{}/override", id(task));
        let asked = json!({ "ticket": "INC-1", "reason": "it burns" });
        let matching = [("if-match", &*quoted(task))];
        let requested = self.world.send("POST", &self.sam.token, &path, Some(asked), &matching);
        requested.await.expect(202);
    }

    async fn confirm(&self, task: &Value) -> bool {
        let path = format!("/v1/tasks/{}/override/confirm", id(task));
        let confirmed = self.world.post(&self.second.token, &path, seen(task)).await;
        confirmed.status == 200 && confirmed.body["state"] == "APPROVED"
    }

    async fn round(&self, change: Change, decider: Decider, meeting: Meeting) -> Ended {
        let (method, path, body) = self.prepare(change).await;
        let task = self.world.reviewing(&self.bob, "Add a currency").await;
        match decider {
            Decider::Approve => {}
            Decider::Permit => assert!(self.vote(change, &task).await),
            Decider::Begin => {
                assert!(self.vote(change, &task).await && self.permit(&task).await);
            }
            Decider::Confirm => self.request_override(&task).await,
        }
        let decide = Box::pin(async {
            match decider {
                Decider::Approve => self.vote(change, &task).await,
                Decider::Permit => self.permit(&task).await,
                Decider::Begin => self.begin(&task).await,
                Decider::Confirm => self.confirm(&task).await,
            }
        });
        let caller = match change {
            Change::Publish => &self.second,
            Change::EndDelegation => &self.rea,
            Change::Revoke | Change::RevokeAdmin | Change::Freeze => &self.world.admin,
        };
        let alter = Box::pin(async {
            let changed = self.world.send(method, &caller.token, &path, body, &[]).await;
            assert!(matches!(changed.status, 200 | 201), "{change:?}: {}", changed.body);
        });
        let (passed, was_overtaken) = self.meet(meeting, decide, alter).await;
        if passed && !was_overtaken && takes_from(change, decider) {
            let made = match decider {
                Decider::Permit => "to_state = 'APPLYING'",
                Decider::Begin => "action = 'task.begin_apply'",
                Decider::Approve | Decider::Confirm => "to_state = 'APPROVED'",
            };
            self.assert_in_time(&task, made, change).await;
        }
        Ended { passed, was_overtaken }
    }

    /// Returns whether the decision passed, and whether the change was done before the decision was
    /// written.
    async fn meet(
        &self,
        meeting: Meeting,
        mut decide: impl Future<Output = bool> + Unpin,
        mut alter: impl Future<Output = ()> + Unpin,
    ) -> (bool, bool) {
        let mut holder = self.holder.lock().await;
        match meeting {
            Meeting::Free => {
                let (passed, ()) = tokio::join!(decide, alter);
                (passed, false)
            }
            // The decision is held after all its reads, before its first write. Some changes write
            // to the outbox as well, but none writes to a task.
            Meeting::InOrder => {
                holder.run("BEGIN; LOCK TABLE task IN SHARE MODE").await;
                tokio::select! {
                    _ = &mut decide => panic!("the call had to wait"),
                    () = holder.wait_for_waiting(1, SOON) => {}
                }
                let was_overtaken = tokio::select! {
                    () = &mut alter => true,
                    _ = &mut decide => panic!("the call had to wait"),
                    () = holder.wait_for_waiting(2, SOON) => false,
                };
                holder.run("COMMIT").await;
                if was_overtaken {
                    return (decide.await, true);
                }
                let (passed, ()) = tokio::join!(decide, alter);
                (passed, false)
            }
            // The change is held after it has changed the rules, before it writes its audit entry.
            Meeting::Reversed => {
                holder.run("BEGIN; LOCK TABLE audit_entry IN SHARE MODE").await;
                tokio::select! {
                    () = &mut alter => panic!("the call had to wait"),
                    () = holder.wait_for_waiting(1, SOON) => {}
                }
                tokio::select! {
                    _ = &mut decide => panic!("the call had to wait"),
                    () = &mut alter => panic!("the call had to wait"),
                    () = holder.wait_for_waiting(2, SOON) => {}
                }
                holder.run("COMMIT").await;
                let (passed, ()) = tokio::join!(decide, alter);
                (passed, passed)
            }
        }
    }

    /// Asserts that the decision came first. Both timestamps were taken while holding the gate.
    async fn assert_in_time(&self, task: &Value, made: &str, change: Change) {
        let action = match change {
            Change::Publish => "policy.publish",
            Change::Revoke | Change::RevokeAdmin => "user.set_roles",
            Change::EndDelegation => "delegation.end",
            Change::Freeze => "freeze.set",
        };
        let sql = format!(
            "SELECT count(*) FROM audit_entry decided, audit_entry changed
              WHERE decided.object = '{}' AND decided.{made}
                AND decided.kind = 'change' AND changed.action = '{action}'
                AND changed.at = (SELECT max(at) FROM audit_entry WHERE action = '{action}')
                AND decided.at < changed.at",
            id(task)
        );
        assert_eq!(self.world.database.number(&sql).await, 1, "{change:?} came first");
    }
}

/// Returns whether the change prevents the decision. A freeze stops permits but no votes, and a
/// vote that was given through a delegation stays valid when the delegation ends.
fn takes_from(change: Change, decider: Decider) -> bool {
    !matches!(
        (change, decider),
        (Change::Freeze, Decider::Approve) | (Change::EndDelegation, Decider::Permit)
    )
}

/// Asserts that the decision passes, whichever call comes first.
async fn meet_in_peace(change: Change, decider: Decider) {
    assert!(!takes_from(change, decider), "{change:?} prevents {decider:?}");
    let house = Gatehouse::open(change).await;
    for round in 0..rounds() {
        let meeting = Meeting::of(round);
        let ended = house.round(change, decider, meeting).await;
        assert!(ended.passed, "{change:?} stopped {decider:?}, {meeting:?}");
    }
}

async fn race(change: Change, decider: Decider) {
    let house = Gatehouse::open(change).await;
    let (mut passed, mut refused) = (0, 0);
    for round in 0..rounds() {
        let meeting = Meeting::of(round);
        let ended = house.round(change, decider, meeting).await;
        assert!(!ended.was_overtaken, "{change:?} against {decider:?}, {meeting:?}");
        match meeting {
            Meeting::InOrder => assert!(ended.passed, "the decision was first"),
            Meeting::Reversed => assert!(!ended.passed, "the change was first"),
            Meeting::Free => {}
        }
        if ended.passed { passed += 1 } else { refused += 1 }
    }
    println!(
        "{change:?} against {decider:?}: {passed} passed before it, {refused} were refused after it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_never_passes_on_a_replaced_policy() {
    race(Change::Publish, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_never_passes_on_a_replaced_policy() {
    race(Change::Publish, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_never_passes_on_a_revoked_role() {
    race(Change::Revoke, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_never_passes_on_a_revoked_role() {
    race(Change::Revoke, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_keeps_a_vote_given_through_an_ended_delegation() {
    meet_in_peace(Change::EndDelegation, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn freeze_does_not_stop_approvals() {
    meet_in_peace(Change::Freeze, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_never_passes_on_an_ended_delegation() {
    race(Change::EndDelegation, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn override_never_passes_for_a_revoked_admin() {
    race(Change::RevokeAdmin, Decider::Confirm).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_never_passes_a_freeze() {
    race(Change::Freeze, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn begin_never_passes_a_freeze() {
    race(Change::Freeze, Decider::Begin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn begin_never_passes_on_a_revoked_role() {
    race(Change::Revoke, Decider::Begin).await;
}

/// Makes a freeze of the whole installation race with a permit. Once the freeze has returned, a
/// permit either exists already or will not be given.
async fn stop_all(house: &Gatehouse, meeting: Meeting) -> Ended {
    let url = house.world.database.url();
    installation_freeze::thaw(&url, "ops", "over").await.unwrap();
    let task = house.world.reviewing(&house.bob, "Add a currency").await;
    assert!(house.vote(Change::Freeze, &task).await);
    let uuid = id(&task).parse::<TaskId>().unwrap().uuid();
    let is_applying = AtomicBool::new(false);
    let freeze = async || {
        let set = installation_freeze::freeze(&url, "ops", "INC-9").await.unwrap();
        assert!(set.is_new && set.is_drained, "{set:?}");
        let sql = format!("SELECT count(*) FROM task WHERE id = '{uuid}' AND state = 'APPLYING'");
        is_applying.store(house.world.database.number(&sql).await == 1, Ordering::SeqCst);
    };
    let decide = Box::pin(house.permit(&task));
    let (passed, was_overtaken) = match meeting {
        Meeting::Reversed => {
            freeze().await;
            (decide.await, false)
        }
        Meeting::InOrder | Meeting::Free => house.meet(meeting, decide, Box::pin(freeze())).await,
    };
    if !was_overtaken {
        assert_eq!(passed, is_applying.load(Ordering::SeqCst), "{meeting:?}");
    }
    Ended { passed, was_overtaken }
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_never_passes_an_installation_freeze() {
    let house = Gatehouse::open(Change::Freeze).await;
    for round in 0..rounds() {
        let meeting = Meeting::of(round);
        let ended = stop_all(&house, meeting).await;
        assert!(!ended.was_overtaken, "{meeting:?}");
        match meeting {
            Meeting::InOrder => assert!(ended.passed, "the permit was first"),
            Meeting::Reversed => assert!(!ended.passed, "the freeze was first"),
            Meeting::Free => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permit_without_the_gate_passes_an_installation_freeze() {
    let house = Gatehouse::without_gate(Change::Freeze).await;
    let ended = stop_all(&house, Meeting::InOrder).await;
    assert!(ended.passed && ended.was_overtaken, "{ended:?}");
}

/// The control: with a gate that has no effect, every forced round shows a decision that is written
/// after a change that it did not see.
#[tokio::test(flavor = "multi_thread")]
async fn decision_without_the_gate_passes_a_change_of_the_rules() {
    for (change, decider) in [
        (Change::Publish, Decider::Approve),
        (Change::Revoke, Decider::Permit),
        (Change::EndDelegation, Decider::Approve),
        (Change::Freeze, Decider::Permit),
        (Change::Freeze, Decider::Begin),
        (Change::RevokeAdmin, Decider::Confirm),
    ] {
        let house = Gatehouse::without_gate(change).await;
        let ended = house.round(change, decider, Meeting::InOrder).await;
        assert!(ended.passed && ended.was_overtaken, "{change:?} against {decider:?}: {ended:?}");
    }
}
