//! Somebody changes the rules while somebody else decides by them: a policy, a role, a delegation
//! or a freeze against an approval and against a permit. What passes has passed before the change;
//! what comes after it goes by the new rules. The control takes the gate away and sees them pass
//! each other.

use std::sync::atomic::{AtomicBool, Ordering};

use ade_core::ids::{ExecutionId, LeaseId, TaskId, TenantId};
use ade_core::task::{ApplyFacts, Command, Facts, Hold, decide};
use ade_engine::ops::deadline::Deadline;
use ade_engine::ops::decision::Work;
use ade_engine::{installation, setup};
use ade_testkit::{Database, Session};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::meetings::{Meeting, SOON, rounds};
use crate::world::{Person, World, id, quoted, seen};

const OPEN: &str = "name: gate\nrequire: [{roles: [reviewer], min: 1}]\n";
const CLOSED: &str = "name: gate\nrequire: [{roles: [nobody], min: 1}]\n";

/// What takes away the ground a decision stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Publish,
    Revoke,
    EndDelegation,
    Freeze,
    /// Of the admin who asked for an override.
    RevokeAdmin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decider {
    Approve,
    Permit,
    /// The second admin's word for an override.
    Confirm,
}

struct Gatehouse {
    world: World,
    second: Person,
    bob: Person,
    rea: Person,
    sam: Person,
    holder: Mutex<Session>,
}

/// How a round ended.
#[derive(Debug)]
struct Ended {
    passed: bool,
    /// The change was told as done while the decision had still to be written.
    was_overtaken: bool,
}

impl Gatehouse {
    async fn open(change: Change) -> Self {
        Self::in_world(World::new().await, change).await
    }

    /// In this database alone the locks that are the gate hold nobody up.
    async fn without_gate(change: Change) -> Self {
        let migrate = async |url: String| setup::migrate(&url).await;
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

    /// The path that publishes it.
    async fn draft(&self, document: &str) -> String {
        let asked = json!({ "document": document });
        let draft = self.world.post(&self.world.admin.token, "/v1/policies", asked).await;
        format!("/v1/policy-drafts/{}/publish", id(&draft.expect(201)))
    }

    /// Everything as it must be for the decision to pass; answers the call that changes it.
    async fn prepare(&self, change: Change) -> (&'static str, String, Option<Value>) {
        let admin = &self.world.admin.token;
        let roles = format!("/v1/users/{}/roles", self.rea.id);
        match change {
            Change::Publish => {
                assert_eq!(self.publish(OPEN).await, 200);
                ("POST", self.draft(CLOSED).await, None)
            }
            Change::Revoke => {
                let given = json!({ "roles": ["reviewer"] });
                self.world.send("PUT", admin, &roles, Some(given), &[]).await.expect(200);
                ("PUT", roles, Some(json!({ "roles": ["author"] })))
            }
            Change::EndDelegation => {
                let asked = json!({
                    "delegate_to": self.sam.id, "kind": "transfer",
                    "expires_at": "2100-01-01T00:00:00Z",
                });
                let made = self.world.post(&self.rea.token, "/v1/delegations", asked).await;
                let made = made.expect(201);
                ("DELETE", format!("/v1/delegations/{}", id(&made)), None)
            }
            Change::RevokeAdmin => {
                let roles = format!("/v1/users/{}/roles", self.sam.id);
                let given = json!({ "roles": ["admin"] });
                self.world.send("PUT", admin, &roles, Some(given), &[]).await.expect(200);
                ("PUT", roles, Some(json!({ "roles": ["author"] })))
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

    /// Asked of the task: what earlier rounds left unanswered fills more than a page of an inbox.
    async fn request(&self, reviewer: &Person, task: &Value) -> String {
        let path = format!("/v1/tasks/{}/approvals", id(task));
        let found = self.world.get(&self.bob.token, &path).await.expect(200);
        let mut requests = found["approvals"].as_array().unwrap().iter();
        let request = requests.find(|request| request["reviewer"] == reviewer.id);
        id(request.unwrap_or_else(|| panic!("{found}"))).to_owned()
    }

    async fn vote(&self, change: Change, task: &Value, request: &str) -> bool {
        let path = format!("/v1/approvals/{request}/approve");
        let voted = self.world.post(&self.voter(change).token, &path, seen(task)).await;
        if voted.status != 200 {
            // Where it should have passed, this is what one wants to know.
            println!("the vote was answered {}: {}", voted.status, voted.body);
        }
        voted.status == 200 && voted.body["state"] == "APPROVED"
    }

    /// What a permit will be: the basis and the freezes asked once more, then APPLYING.
    async fn permit(&self, task: &Value) -> bool {
        let tenant: TenantId = self.world.tenant.parse().unwrap();
        let task: TaskId = id(task).parse().unwrap();
        let work = Work::by_worker(&self.world.app, "permit", tenant, task).await;
        let mut work = work.unwrap().unwrap();
        work.ask_installation().await.unwrap();
        let hold = Hold { lease: LeaseId::from_uuid(task.uuid()), token: 1 };
        let execution = ExecutionId::from_uuid(task.uuid());
        let command = Command::StartApply { execution, hold };
        let apply = ApplyFacts { has_capacity: true, ..ApplyFacts::default() };
        let facts = Facts { apply, ..work.facts() };
        let decided = decide(&work.task, &command, &facts, work.now());
        let is_allowed = decided.is_ok();
        is_allowed && work.settle(Deadline::CheckBasis, &command, decided).await.is_ok()
    }

    async fn ask_override(&self, task: &Value) {
        let path = format!("/v1/tasks/{}/override", id(task));
        let asked = json!({ "ticket": "INC-1", "reason": "it burns" });
        let matching = [("if-match", &*quoted(task))];
        let told = self.world.send("POST", &self.sam.token, &path, Some(asked), &matching).await;
        told.expect(202);
    }

    async fn confirm(&self, task: &Value) -> bool {
        let path = format!("/v1/tasks/{}/override/confirm", id(task));
        let told = self.world.post(&self.second.token, &path, seen(task)).await;
        told.status == 200 && told.body["state"] == "APPROVED"
    }

    async fn round(&self, change: Change, decider: Decider, meeting: Meeting) -> Ended {
        let (method, path, body) = self.prepare(change).await;
        let task = self.world.reviewing(&self.bob, "Add a currency").await;
        let request = self.request(self.voter(change), &task).await;
        match decider {
            Decider::Approve => {}
            Decider::Permit => assert!(self.vote(change, &task, &request).await),
            Decider::Confirm => self.ask_override(&task).await,
        }
        let decide = Box::pin(async {
            match decider {
                Decider::Approve => self.vote(change, &task, &request).await,
                Decider::Permit => self.permit(&task).await,
                Decider::Confirm => self.confirm(&task).await,
            }
        });
        let caller = match change {
            Change::Publish => &self.second,
            Change::EndDelegation => &self.rea,
            Change::Revoke | Change::RevokeAdmin | Change::Freeze => &self.world.admin,
        };
        let alter = Box::pin(async {
            let told = self.world.send(method, &caller.token, &path, body, &[]).await;
            assert!(matches!(told.status, 200 | 201), "{change:?}: {}", told.body);
        });
        let (passed, was_overtaken) = self.meet(meeting, decide, alter).await;
        if passed && !was_overtaken && takes_from(change, decider) {
            let target = if decider == Decider::Permit { "APPLYING" } else { "APPROVED" };
            self.assert_in_time(&task, target, change).await;
        }
        Ended { passed, was_overtaken }
    }

    /// Whether the decision passed, and whether the change was done before it was written.
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
            // Held when it has read all it needs and wants to write. Some changes write to the
            // outbox, too; none to a task.
            Meeting::InOrder => {
                holder.run("BEGIN; LOCK TABLE task IN SHARE MODE").await;
                tokio::select! {
                    _ = &mut decide => panic!("it had to wait"),
                    () = holder.wait_for_waiting(1, SOON) => {}
                }
                let was_overtaken = tokio::select! {
                    () = &mut alter => true,
                    _ = &mut decide => panic!("it had to wait"),
                    () = holder.wait_for_waiting(2, SOON) => false,
                };
                holder.run("COMMIT").await;
                if was_overtaken {
                    return (decide.await, true);
                }
                let (passed, ()) = tokio::join!(decide, alter);
                (passed, false)
            }
            // Held when it has changed the rules and wants to leave its leaf.
            Meeting::Reversed => {
                holder.run("BEGIN; LOCK TABLE audit_leaf IN SHARE MODE").await;
                tokio::select! {
                    () = &mut alter => panic!("it had to wait"),
                    () = holder.wait_for_waiting(1, SOON) => {}
                }
                tokio::select! {
                    _ = &mut decide => panic!("it had to wait"),
                    () = &mut alter => panic!("it had to wait"),
                    () = holder.wait_for_waiting(2, SOON) => {}
                }
                holder.run("COMMIT").await;
                let (passed, ()) = tokio::join!(decide, alter);
                (passed, passed)
            }
        }
    }

    /// Both moments were taken behind the gate, so they are in the order of the two commits.
    async fn assert_in_time(&self, task: &Value, state: &str, change: Change) {
        let action = match change {
            Change::Publish => "policy.publish",
            Change::Revoke | Change::RevokeAdmin => "user.set_roles",
            Change::EndDelegation => "delegation.end",
            Change::Freeze => "freeze.set",
        };
        let sql = format!(
            "SELECT count(*) FROM audit_leaf decided, audit_leaf changed
              WHERE decided.object = '{}' AND decided.to_state = '{state}'
                AND decided.kind = 'change' AND changed.action = '{action}'
                AND changed.at = (SELECT max(at) FROM audit_leaf WHERE action = '{action}')
                AND decided.at < changed.at",
            id(task)
        );
        assert_eq!(self.world.database.number(&sql).await, 1, "{change:?} came first");
    }
}

/// A freeze stops applies and no answers; what was said for somebody stays said when the
/// delegation ends.
fn takes_from(change: Change, decider: Decider) -> bool {
    !matches!(
        (change, decider),
        (Change::Freeze, Decider::Approve) | (Change::EndDelegation, Decider::Permit)
    )
}

/// Whichever comes first, the decision passes.
async fn meet_in_peace(change: Change, decider: Decider) {
    assert!(!takes_from(change, decider), "{change:?} ends {decider:?}");
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
    println!("{change:?} against {decider:?}: {passed} passed before it, {refused} refused after");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_approval_passes_on_a_policy_that_is_gone() {
    race(Change::Publish, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_permit_passes_on_a_policy_that_is_gone() {
    race(Change::Publish, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_approval_passes_on_a_role_that_is_gone() {
    race(Change::Revoke, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_permit_passes_on_a_role_that_is_gone() {
    race(Change::Revoke, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permit_stands_on_what_was_said_through_a_delegation_that_ends() {
    meet_in_peace(Change::EndDelegation, Decider::Permit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_stops_nobody_from_answering() {
    meet_in_peace(Change::Freeze, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_approval_passes_on_a_delegation_that_is_gone() {
    race(Change::EndDelegation, Decider::Approve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_override_passes_on_an_admin_who_is_none_any_more() {
    race(Change::RevokeAdmin, Decider::Confirm).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_permit_passes_a_freeze() {
    race(Change::Freeze, Decider::Permit).await;
}

/// A stop of all tenants against a permit. When it has returned, the permit is there or never
/// comes; whichever was first, nobody passes the other.
async fn stop_all(house: &Gatehouse, meeting: Meeting) -> Ended {
    let url = house.world.database.url();
    installation::thaw(&url, "ops", "over").await.unwrap();
    let task = house.world.reviewing(&house.bob, "Add a currency").await;
    let request = house.request(&house.rea, &task).await;
    assert!(house.vote(Change::Freeze, &task, &request).await);
    let uuid = id(&task).parse::<TaskId>().unwrap().uuid();
    let is_applying = AtomicBool::new(false);
    let freeze = async || {
        let set = installation::freeze(&url, "ops", "INC-9").await.unwrap();
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
async fn no_permit_passes_a_stop_of_the_installation() {
    let house = Gatehouse::open(Change::Freeze).await;
    for round in 0..rounds() {
        let meeting = Meeting::of(round);
        let ended = stop_all(&house, meeting).await;
        assert!(!ended.was_overtaken, "{meeting:?}");
        match meeting {
            Meeting::InOrder => assert!(ended.passed, "the permit was first"),
            Meeting::Reversed => assert!(!ended.passed, "the stop was first"),
            Meeting::Free => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_a_permit_passes_a_stop_of_the_installation() {
    let house = Gatehouse::without_gate(Change::Freeze).await;
    let ended = stop_all(&house, Meeting::InOrder).await;
    assert!(ended.passed && ended.was_overtaken, "{ended:?}");
}

/// With a gate that lets everybody through, every forced round shows a decision that is written
/// after the change it does not know of.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_they_pass_each_other() {
    for (change, decider) in [
        (Change::Publish, Decider::Approve),
        (Change::Revoke, Decider::Permit),
        (Change::EndDelegation, Decider::Approve),
        (Change::Freeze, Decider::Permit),
        (Change::RevokeAdmin, Decider::Confirm),
    ] {
        let house = Gatehouse::without_gate(change).await;
        let ended = house.round(change, decider, Meeting::InOrder).await;
        assert!(ended.passed && ended.was_overtaken, "{change:?} against {decider:?}: {ended:?}");
    }
}
